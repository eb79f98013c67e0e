package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Field report 4: three exchanges between 16 producers and 16 consumers, every channel remote, in 2048 segments. Two
// fit; of the third the outputs and five gates do. Asked for at once the sixth gate's exclusive segments fail one way,
// asked for channel by channel another; when it is given up, the numbers add up.
func TestFieldReport4InsufficientBuffers(t *testing.T) {
	const parallelism = 16
	for _, atOnce := range []bool{true, false} {
		g := NewGlobalPool(2048, 32<<10)
		partition := PartitionSizing{Type: PipelinedBounded, Subpartitions: parallelism, BuffersPerChannel: 2, FloatingPerGate: 8}
		required, maximum := partition.Pool()
		exclusive, floating, maxFloating := GateSizing{Channels: parallelism, BuffersPerChannel: 2, FloatingPerGate: 8}.Split()
		if required != 17 || maximum != 40 || exclusive != 2 || floating != 1 || maxFloating != 8 {
			t.Fatal(required, maximum, exclusive, floating, maxFloating)
		}
		var unpooled []*Segment
		var failed error
		gates := 0
	set:
		for range 3 {
			for range parallelism {
				mustPool(t, g, PoolOptions{Required: required, Max: maximum, Subpartitions: parallelism, MaxBuffersPerSubpartition: 10, MaxOverdraft: 20})
			}
			for range parallelism {
				if !atOnce {
					if _, failed = g.CreateLocalPool(PoolOptions{Required: floating, Max: maxFloating}); failed != nil {
						break set
					}
				}
				n, times := exclusive, parallelism
				if atOnce {
					n, times = exclusive*parallelism, 1
				}
				for range times {
					var s []*Segment
					if s, failed = g.RequestUnpooled(n); failed != nil {
						break set
					}
					unpooled = append(unpooled, s...)
				}
				if atOnce {
					mustPool(t, g, PoolOptions{Required: floating, Max: maxFloating})
				}
				gates++
			}
		}
		var insufficient *InsufficientError
		if !errors.As(failed, &insufficient) {
			t.Fatal(failed)
		}
		want := InsufficientError{Required: 2, Available: 0, Total: 2048, SegmentBytes: 32 << 10}
		if atOnce {
			want.Required, want.Available = 32, 11
		}
		if *insufficient != want || gates != 2*parallelism+5 {
			t.Errorf("gate %d: %v", gates, failed)
		}
		if usage := g.RequestedUsagePercent(); usage <= 100 || g.UsageWarning() == "" {
			t.Errorf("usage %d%%", usage)
		}
		g.DestroyAllPools()
		g.RecycleUnpooled(unpooled)
		if g.Pools() != 0 || g.Required() != 0 || g.Available() != 2048 {
			t.Errorf("%d pools, %d required, %d free", g.Pools(), g.Required(), g.Available())
		}
	}
}

// A gate that may not insist on all its buffers has floating ones instead of exclusive ones.
func TestGateSizing(t *testing.T) {
	for _, c := range []struct {
		gate GateSizing
		want [3]int
	}{
		{GateSizing{Channels: 2, BuffersPerChannel: 2, FloatingPerGate: 8}, [3]int{2, 1, 8}},
		{GateSizing{Channels: 16, BuffersPerChannel: 2, FloatingPerGate: 8, RequiredPerGateMax: 33}, [3]int{2, 1, 8}},
		{GateSizing{Channels: 16, BuffersPerChannel: 2, FloatingPerGate: 8, RequiredPerGateMax: 20}, [3]int{1, 4, 24}},
		{GateSizing{Channels: 16, BuffersPerChannel: 2, FloatingPerGate: 8, RequiredPerGateMax: 10}, [3]int{0, 10, 40}},
		{GateSizing{Channels: 2, FloatingPerGate: 1}, [3]int{0, 1, 1}},
		{GateSizing{Channels: 2, BuffersPerChannel: 2}, [3]int{2, 1, 1}},
		{GateSizing{FloatingPerGate: 8}, [3]int{0, 1, 8}},
	} {
		a, b, d := c.gate.Split()
		if got := [3]int{a, b, d}; got != c.want {
			t.Errorf("%+v: %v, expected %v", c.gate, got, c.want)
		}
	}
}

func TestPoolOptionsAreChecked(t *testing.T) {
	g := NewGlobalPool(10, 128)
	for _, o := range []PoolOptions{
		{Required: 0}, {Required: -1}, {Required: 3, Max: 2}, {Required: 1, Subpartitions: -1},
		{Required: 1, Subpartitions: 1}, {Required: 1, MaxOverdraft: -1},
	} {
		if _, err := g.CreateLocalPool(o); !errors.Is(err, ErrArgument) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if g.Pools() != 0 || g.Required() != 0 {
		t.Errorf("%d pools, %d required", g.Pools(), g.Required())
	}
}

// Memory is carved as it is needed, and a segment's neighbours are out of its reach.
func TestCarvedLazily(t *testing.T) {
	g := NewGlobalPool(2048, 32<<10)
	if g.CarvedBytes() != 0 {
		t.Errorf("%d bytes before the first request", g.CarvedBytes())
	}
	p := mustPool(t, g, PoolOptions{Required: 2048, Max: 2048})
	if g.CarvedBytes() != firstChunk*32<<10 {
		t.Errorf("%d bytes after the first", g.CarvedBytes())
	}
	ids := map[int]bool{}
	for i := range 2048 {
		before := g.CarvedBytes()
		s := p.Request(-1)
		if grown := g.CarvedBytes() - before; grown > chunkBytes {
			t.Errorf("%d bytes at once", grown)
		}
		if cap(s.Bytes()) != 32<<10 || len(s.Room()) != 32<<10+SegmentTail || cap(s.Room()) != len(s.Room()) {
			t.Fatalf("segment %d: %d and %d bytes", i, cap(s.Bytes()), cap(s.Room()))
		}
		ids[s.ID()] = true
	}
	if len(ids) != 2048 {
		t.Errorf("%d ids", len(ids))
	}
	large := NewGlobalPool(2, 3<<20)
	mustPool(t, large, PoolOptions{Required: 2, Max: 2})
	if large.CarvedBytes() != 3<<20 {
		t.Errorf("%d bytes for one segment of 3 MiB", large.CarvedBytes())
	}
}

// The segment that came back last goes out first, from a local pool and from the global one.
func TestLastInFirstOut(t *testing.T) {
	g := NewGlobalPool(8, 128)
	p := mustPool(t, g, PoolOptions{Required: 4, Max: 4})
	s := take(t, p, 4)
	release(s)
	for i := range s {
		if got := p.Request(-1); got != s[3-i] {
			t.Errorf("request %d: segment %d", i, got.ID())
		}
	}
	u, err := g.RequestUnpooled(2)
	if err != nil {
		t.Fatal(err)
	}
	u[0].Release()
	if again, _ := g.RequestUnpooled(1); again[0] != u[0] {
		t.Errorf("segment %d, expected %d", again[0].ID(), u[0].ID())
	}
}

func TestSegmentPosition(t *testing.T) {
	g := NewGlobalPool(1, 128)
	p := mustPool(t, g, PoolOptions{Owner: "map (1/2)", Required: 1, Subpartitions: 2, MaxBuffersPerSubpartition: 10})
	s := p.Request(1)
	check := func(n int, finished bool) {
		t.Helper()
		if a, b := s.Written(); a != n || b != finished {
			t.Errorf("written %d %v, expected %d %v", a, b, n, finished)
		}
	}
	check(0, false)
	s.Publish(17)
	check(17, false)
	s.Finish(128)
	check(128, true)
	s.Reset()
	check(0, false)
	s.Finish(0)
	check(0, true)
	if s.Subpartition() != 1 || s.Owner() != Recycler(p) || s.Refs() != 1 || s.Size() != 128 {
		t.Errorf("subpartition %d, %d references", s.Subpartition(), s.Refs())
	}
	s.Retain()
	s.Release()
	if p.Stats().Used != 1 {
		t.Error("recycled with a reference left")
	}
	s.Release()
	if again := p.Request(-1); again != s || again.Subpartition() != -1 {
		t.Error("not recycled with its last reference")
	}
	check(0, false)
}

// TestRandomHistories drives several pools at random and compares each step with plain sums: no segment is lost, no
// pool exceeds what it may have, availability is what its definition says.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := &history{t: t, name: fmt.Sprintf("seed %d", seed), r: r, total: 1 + r.IntN(60)}
		h.g = NewGlobalPool(h.total, 64)
		for range 300 {
			h.step()
			h.check()
			if t.Failed() {
				return
			}
		}
		h.end()
	}
}

type history struct {
	t        *testing.T
	name     string
	r        *rand.Rand
	g        *GlobalPool
	total    int
	pools    []*modelPool
	unpooled []*Segment
}

type modelPool struct {
	*LocalPool
	options PoolOptions
	out     []*Segment
	gone    bool
}

func (h *history) step() {
	r := h.r
	if len(h.pools) == 0 || r.IntN(20) == 0 {
		o := PoolOptions{Required: 1 + r.IntN(6), Max: 1 + r.IntN(14), Subpartitions: 1 + r.IntN(3),
			MaxBuffersPerSubpartition: 1 + r.IntN(6), MaxOverdraft: r.IntN(5)}
		if p, err := h.g.CreateLocalPool(o); err == nil {
			h.pools = append(h.pools, &modelPool{LocalPool: p, options: o})
		}
		return
	}
	p := h.pools[r.IntN(len(h.pools))]
	switch r.IntN(30) {
	case 0:
		p.Destroy()
		p.gone = true
	case 1:
		if s, err := h.g.RequestUnpooled(r.IntN(5)); err == nil {
			h.unpooled = append(h.unpooled, s...)
		}
	case 2:
		n := r.IntN(len(h.unpooled) + 1)
		h.g.RecycleUnpooled(h.unpooled[:n])
		h.unpooled = slices.Clone(h.unpooled[n:])
	case 3:
		_ = p.SetSize(r.IntN(15))
	case 4:
		p.SetMaxOverdraft(r.IntN(5))
	case 5:
		p.options.MaxBuffersPerSubpartition = 1 + r.IntN(6)
		p.SetMaxBuffersPerSubpartition(p.options.MaxBuffersPerSubpartition)
	case 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16:
		if len(p.out) > 0 {
			i := r.IntN(len(p.out))
			p.out[i].Release()
			p.out = slices.Delete(p.out, i, i+1)
		}
	default:
		before := p.Stats()
		s := p.Request(r.IntN(p.options.Subpartitions+1) - 1)
		if s != nil {
			p.out = append(p.out, s)
		}
		if before.Available && s == nil {
			h.t.Errorf("%s: available but gave nothing: %+v", h.name, before)
		}
		if s != nil && before.Ready == 0 && before.Overdraft >= before.MaxOverdraft {
			h.t.Errorf("%s: more overdraft than allowed: %+v", h.name, before)
		}
	}
}

func (h *history) check() {
	sum, required := len(h.unpooled), len(h.unpooled)
	for _, p := range h.pools {
		st := p.Stats()
		held, full := make([]int, p.options.Subpartitions), 0
		for _, s := range p.out {
			if s.Subpartition() >= 0 {
				held[s.Subpartition()]++
			}
		}
		for _, n := range held {
			if n >= p.options.MaxBuffersPerSubpartition {
				full++
			}
		}
		if st.Used != len(p.out) || st.AtLimit != full || !slices.Equal(held, p.AppendSubpartitions(nil)) {
			h.t.Errorf("%s: %d out, %v: %+v", h.name, len(p.out), held, st)
		}
		if st.Available != (st.Ready > 0 && full == 0) || st.Available != p.Available() {
			h.t.Errorf("%s: %+v", h.name, st)
		}
		// A pool that could use one more segment, and has none ready, has one unless there is none.
		if !p.gone && st.Ready == 0 && st.Requested < st.Size && h.g.Available() > 0 {
			h.t.Errorf("%s: nothing ready with %d free: %+v", h.name, h.g.Available(), st)
		}
		if !p.gone {
			required += p.options.Required
			if st.Size < p.options.Required || st.Size > p.options.Max {
				h.t.Errorf("%s: %+v", h.name, st)
			}
		}
		sum += st.Requested
	}
	if sum+h.g.Available() != h.total || required != h.g.Required() || required > h.total {
		h.t.Errorf("%s: %d of %d with pools, %d free, %d required", h.name, sum, h.total, h.g.Available(), required)
	}
}

func (h *history) end() {
	h.g.DestroyAllPools()
	for _, p := range h.pools {
		release(p.out)
	}
	h.g.RecycleUnpooled(h.unpooled)
	if h.g.Available() != h.total || h.g.Required() != 0 {
		h.t.Errorf("%s: %d of %d are back", h.name, h.g.Available(), h.total)
	}
}

func TestRequestAllocatesNothing(t *testing.T) {
	g := NewGlobalPool(64, 1024)
	p := mustPool(t, g, PoolOptions{Required: 3, Max: 12, Subpartitions: 2, MaxBuffersPerSubpartition: 10, MaxOverdraft: 20})
	if n := testing.AllocsPerRun(1000, func() { p.Request(0).Release() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequestRecycle(b *testing.B) {
	g := NewGlobalPool(2048, 32<<10)
	p := mustPool(b, g, PoolOptions{Required: 3, Max: 12, Subpartitions: 2, MaxBuffersPerSubpartition: 10, MaxOverdraft: 20})
	b.ReportAllocs()
	for b.Loop() {
		p.Request(1).Release()
	}
}

// BenchmarkRequestRecycleOverdraft takes and returns one segment beyond the size, by way of the global pool.
func BenchmarkRequestRecycleOverdraft(b *testing.B) {
	g := NewGlobalPool(2048, 32<<10)
	p := mustPool(b, g, PoolOptions{Required: 3, Max: 12, Subpartitions: 2, MaxBuffersPerSubpartition: 100, MaxOverdraft: 20})
	take(b, p, 12)
	b.ReportAllocs()
	for b.Loop() {
		p.Request(1).Release()
	}
}
