package memory

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func mustPool(t testing.TB, g *GlobalPool, o PoolOptions) *LocalPool {
	t.Helper()
	p, err := g.CreateLocalPool(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func take(t testing.TB, p *LocalPool, n int) []*Segment {
	t.Helper()
	var segments []*Segment
	for range n {
		s := p.Request(-1)
		if s == nil {
			t.Fatalf("got %d segments, expected %d: %+v", len(segments), n, p.Stats())
		}
		segments = append(segments, s)
	}
	return segments
}

func release(segments []*Segment) {
	for _, s := range segments {
		s.Release()
	}
}

// takeBlocking asks for n segments one after another, waiting for each.
func takeBlocking(p *LocalPool, n int) (segments []*Segment, err error) {
	for range n {
		s, err := p.RequestBlocking(-1, nil)
		if err != nil {
			return segments, err
		}
		segments = append(segments, s)
	}
	return segments, nil
}

// LBP-05: the first pool holds both segments there are, so the second waits for its own in vain, until its time is up.
func TestLBP05ReserveTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGlobalPool(2, 128)
		first := mustPool(t, g, PoolOptions{Required: 1, Max: 2})
		out := take(t, first, 2)
		second := mustPool(t, g, PoolOptions{Required: 1, Max: 10})
		start := time.Now()
		err := second.Reserve(context.Background(), 1, 2*time.Second)
		if !errors.Is(err, ErrTimeout) || time.Since(start) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if second.Available() {
			t.Error("the second pool is available")
		}
		// The first pool shrank to one when the second came: what it recycles reaches the one that waits.
		release(out[:1])
		if st := second.Stats(); !st.Available || st.Ready != 1 {
			t.Errorf("second pool %+v", st)
		}
	})
}

// A wait for reserved segments ends with the pool.
func TestReserveEndsWithThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGlobalPool(2, 128)
		first := mustPool(t, g, PoolOptions{Required: 1, Max: 2})
		take(t, first, 2)
		second := mustPool(t, g, PoolOptions{Required: 1, Max: 10})
		result := make(chan error)
		go func() { result <- second.Reserve(context.Background(), 1, 0) }()
		synctest.Wait()
		second.Destroy()
		if err := <-result; !errors.Is(err, ErrDestroyed) {
			t.Errorf("error %v", err)
		}
	})
}

// LBP-16: pool A holds all but one of 1024 segments when B, which may count on 512, blocks for them.
func TestLBP16BlockedPoolGetsItsMinimum(t *testing.T) {
	for _, overdraft := range []int{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGlobalPool(1024, 128)
			a := mustPool(t, g, PoolOptions{Required: 512, Max: 2048, MaxOverdraft: overdraft})
			held := take(t, a, 1023)
			b := mustPool(t, g, PoolOptions{Required: 512, Max: 512, MaxOverdraft: overdraft})
			got := make(chan int)
			go func() {
				segments, err := takeBlocking(b, 512)
				if err != nil {
					t.Error(err)
				}
				got <- len(segments)
			}()
			synctest.Wait()
			release(held)
			a.Destroy()
			if n := <-got; n != 512 {
				t.Errorf("overdraft %d: got %d segments", overdraft, n)
			}
		})
	}
}

// LBP-22: many goroutines request and recycle at once.
func TestLBP22ManyAtOnce(t *testing.T) {
	const tasks, rounds = 128, 1024
	g := NewGlobalPool(1024, 128)
	p := mustPool(t, g, PoolOptions{Required: 1, Max: tasks})
	var wg sync.WaitGroup
	for range tasks {
		wg.Go(func() {
			for range rounds {
				s, err := p.RequestBlocking(-1, nil)
				if err != nil {
					t.Error(err)
					return
				}
				s.Release()
			}
		})
	}
	wg.Wait()
	p.Destroy()
	if g.Available() != 1024 {
		t.Errorf("%d segments are back, expected 1024", g.Available())
	}
}

// LBP-27 with goroutines: sizes change while the global pool runs dry and segments come and go. What is ready and what
// is said to be available agree in the end, and nobody stays blocked.
func TestLBP27ConsistentUnderRaces(t *testing.T) {
	g := NewGlobalPool(4, 128)
	p := mustPool(t, g, PoolOptions{Required: 1, Max: 6, MaxOverdraft: 1})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 2000 {
				s, err := p.RequestBlocking(-1, nil)
				if err != nil {
					t.Error(err)
					return
				}
				s.Release()
			}
		})
	}
	// The last size leaves a segment to the one who asks for it outside any pool.
	wg.Go(func() {
		for i := range 2000 {
			if err := p.SetSize(1 + i%6); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range 500 {
			segments, err := g.RequestUnpooledBlocking(context.Background(), 1, 0)
			if err != nil {
				t.Error(err)
				return
			}
			g.RecycleUnpooled(segments)
		}
	})
	wg.Wait()
	if st := p.Stats(); st.Used != 0 || st.Available != (st.Ready > 0) {
		t.Errorf("pool %+v", st)
	}
	p.Destroy()
	if g.Available() != 4 {
		t.Errorf("%d segments are back, expected 4", g.Available())
	}
}

// LBP-28, the whole table.
func TestLBP28OverdraftTable(t *testing.T) {
	for _, size := range []int{4, 8, 12} {
		for _, perSubpartition := range []int{3, 5, 10} {
			for overdraft := range 3 {
				g := NewGlobalPool(1024, 128)
				p := mustPool(t, g, PoolOptions{Required: 1, Max: size, Subpartitions: 3,
					MaxBuffersPerSubpartition: perSubpartition, MaxOverdraft: overdraft})
				var out []*Segment
				for i := range size + overdraft {
					s := p.Request(i % 3)
					if s == nil {
						t.Fatalf("size %d limit %d: refused at %d: %+v", size, overdraft, i, p.Stats())
					}
					out = append(out, s)
				}
				for sub := range 3 {
					if p.Request(sub) != nil {
						t.Errorf("size %d limit %d: subpartition %d got one too many", size, overdraft, sub)
					}
				}
				for len(out) > 0 {
					out[0].Release()
					out = out[1:]
					full := false
					for _, held := range p.AppendSubpartitions(nil) {
						full = full || held >= perSubpartition
					}
					if want := len(out) < size && !full; p.Available() != want {
						t.Errorf("size %d limit %d per subpartition %d: available %v with %d out",
							size, overdraft, perSubpartition, p.Available(), len(out))
					}
				}
			}
		}
	}
}

// A blocking request ends when it is told to quit or the pool is destroyed.
func TestRequestBlockingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGlobalPool(1, 128)
		p := mustPool(t, g, PoolOptions{Required: 1, Max: 1, Subpartitions: 1, MaxBuffersPerSubpartition: 1})
		held := p.Request(0)
		result := make(chan error)
		quit := make(chan struct{})
		go func() { _, err := p.RequestBlocking(0, quit); result <- err }()
		synctest.Wait()
		close(quit)
		if err := <-result; err != ErrQuit {
			t.Errorf("error %v", err)
		}
		go func() { _, err := p.RequestBlocking(0, nil); result <- err }()
		synctest.Wait()
		p.Destroy()
		if err := <-result; !errors.Is(err, ErrDestroyed) {
			t.Errorf("error %v", err)
		}
		held.Release()
		if _, err := p.TryRequest(1); !errors.Is(err, ErrArgument) {
			t.Errorf("error %v", err)
		}
	})
}

// Hooks and listeners run with no lock held: they may use the pools, and other goroutines may too meanwhile.
func TestHooksMayUseThePools(t *testing.T) {
	g := NewGlobalPool(4, 128)
	a := mustPool(t, g, PoolOptions{Required: 1, Max: 2, Subpartitions: 1, MaxBuffersPerSubpartition: 1})
	b := mustPool(t, g, PoolOptions{Required: 1, Max: 2})
	calls := 0
	visit := func() {
		calls++
		a.Stats()
		b.Stats()
		a.SetMaxOverdraft(1)
		g.UsageWarning()
		g.Available()
	}
	a.SetOnAvailable(visit)
	a.SetOnLimit(func(int) { visit() })
	b.SetOnAvailable(visit)
	first := a.Request(0) // limit
	held := take(t, b, 2)
	first.Release()                                       // a turns available
	release(held)                                         // b turns available
	take(t, b, 2)                                         // and is drained
	c := mustPool(t, g, PoolOptions{Required: 2, Max: 4}) // resizes both under the factory lock
	c.Destroy()
	b.Destroy()
	if calls < 4 {
		t.Errorf("%d calls", calls)
	}
}

// NBP-11: a pool holds all ten segments. Five out of any pool are asked for, so it shrinks, and what it recycles 100 ms
// later goes to the one who waits.
func TestNBP11UnpooledWaitsForRecycled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGlobalPool(10, 128)
		p := mustPool(t, g, PoolOptions{Required: 5, Max: 10})
		held := take(t, p, 10)
		time.AfterFunc(100*time.Millisecond, func() { release(held) })
		start := time.Now()
		segments, err := g.RequestUnpooledBlocking(context.Background(), 5, time.Minute)
		if err != nil || len(segments) != 5 || time.Since(start) != 100*time.Millisecond {
			t.Fatalf("%d segments after %v, error %v", len(segments), time.Since(start), err)
		}
		for i, s := range segments {
			if s == nil {
				t.Errorf("segment %d is missing", i)
			}
		}
	})
}

// NBP-12: a request that waits ends with the pool, or with the one who asks; in the second case all is back.
func TestNBP12BlockedRequestIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result := make(chan error)
		g := NewGlobalPool(10, 128)
		p := mustPool(t, g, PoolOptions{Required: 1, Max: 10})
		out := take(t, p, 10)
		interrupt := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() { _, err := g.RequestUnpooledBlocking(ctx, 9, 0); result <- err }()
		synctest.Wait()
		release(out[:3]) // it has gathered three
		cancel(interrupt)
		if err := <-result; !errors.Is(err, interrupt) {
			t.Errorf("error %v", err)
		}
		release(out[3:])
		p.Destroy()
		if g.Available() != 10 || g.Required() != 0 {
			t.Errorf("%d free, %d required", g.Available(), g.Required())
		}
		other := NewGlobalPool(1, 128)
		r := mustPool(t, other, PoolOptions{Required: 1, Max: 1})
		take(t, r, 1)
		r.Destroy() // promised to nobody now, and still out
		go func() { _, err := other.RequestUnpooledBlocking(context.Background(), 1, 0); result <- err }()
		synctest.Wait()
		other.Destroy()
		if err := <-result; !errors.Is(err, ErrDestroyed) || !strings.Contains(err.Error(), "destroyed") {
			t.Errorf("error %v", err)
		}
	})
}

// NBP-13: none is free for 50 ms.
func TestNBP13UnpooledTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGlobalPool(10, 128)
		p := mustPool(t, g, PoolOptions{Required: 1, Max: 10})
		take(t, p, 10)
		start := time.Now()
		_, err := g.RequestUnpooledBlocking(context.Background(), 2, 50*time.Millisecond)
		if !errors.Is(err, ErrTimeout) || !strings.HasPrefix(err.Error(), "Timeout triggered when requesting exclusive buffers") {
			t.Errorf("error %v", err)
		}
		if d := time.Since(start); d != 50*time.Millisecond || g.Required() != 1 {
			t.Errorf("after %v, %d required", d, g.Required())
		}
	})
}

// NBP-15: two pools block for ten segments each while ten held elsewhere return one by one.
func TestNBP15NoSignalIsLost(t *testing.T) {
	for range 50 {
		g := NewGlobalPool(20, 128)
		elsewhere := make([]*Segment, 10)
		for i := range elsewhere {
			elsewhere[i] = g.segments.take()
		}
		pools := []*LocalPool{
			mustPool(t, g, PoolOptions{Required: 5, Max: 10}),
			mustPool(t, g, PoolOptions{Required: 5, Max: 10}),
		}
		var wg sync.WaitGroup
		for _, p := range pools {
			wg.Go(func() {
				if segments, err := takeBlocking(p, 10); err != nil || len(segments) != 10 {
					t.Errorf("%d segments, error %v", len(segments), err)
				}
			})
		}
		wg.Go(func() {
			for _, s := range elsewhere {
				wake(g.segments.put(s))
			}
		})
		wg.Wait()
	}
}
