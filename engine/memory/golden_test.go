package memory

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
)

func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/golden/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type goldenError struct{ Class, Message string }

type redistributeCase struct {
	Kind, Note, Type          string
	Total                     int
	SegmentSize               int
	BuffersPerChannel         int
	FloatingBuffersPerGate    int
	SortShuffleMinParallelism int
	SortShuffleMinBuffers     int
	Subpartitions             int
	Min, Max                  int
	Steps                     []redistributeStep
}

type redistributeStep struct {
	Op                                                             string
	Required, Max, Pool, N, ID                                     int
	Error                                                          *goldenError
	Sizes                                                          []*int
	Order                                                          []int
	TotalRequired, EstimatedRequested, RequestedUsagePercent, Free int
}

// TestGoldenRedistribute replays redistribute.json, visiting the pools in the order in which Flink did.
func TestGoldenRedistribute(t *testing.T) {
	var golden struct{ Cases []redistributeCase }
	readGolden(t, "redistribute.json", &golden)
	if len(golden.Cases) != 62 {
		t.Fatalf("%d cases, expected 62", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprintf("%02d-%s-%s", i, c.Kind, c.Note), func(t *testing.T) {
			switch c.Kind {
			case "pools":
				c.replay(t)
			case "partitionSize":
				types := map[string]PartitionType{"PIPELINED": Pipelined, "PIPELINED_BOUNDED": PipelinedBounded, "BLOCKING": Blocking}
				lo, hi := PartitionSizing{Type: types[c.Type], Subpartitions: c.Subpartitions,
					BuffersPerChannel: c.BuffersPerChannel, FloatingPerGate: c.FloatingBuffersPerGate,
					SortShuffleMinParallelism: c.SortShuffleMinParallelism, SortShuffleMinBuffers: c.SortShuffleMinBuffers}.Pool()
				if lo != c.Min || hi != c.Max {
					t.Errorf("%d to %d, expected %d to %d", lo, hi, c.Min, c.Max)
				}
			case "gateSize":
				if lo, hi := FloatingPool(c.FloatingBuffersPerGate); lo != c.Min || hi != c.Max {
					t.Errorf("%d to %d, expected %d to %d", lo, hi, c.Min, c.Max)
				}
			default:
				t.Fatalf("unknown kind %q", c.Kind)
			}
		})
	}
}

func (c redistributeCase) replay(t *testing.T) {
	g := NewGlobalPool(c.Total, c.SegmentSize)
	var pools []*LocalPool
	unpooled := map[int][]*Segment{}
	for i, s := range c.Steps {
		g.SetOrder(func(resizable []*LocalPool) {
			slices.SortFunc(resizable, func(a, b *LocalPool) int {
				return slices.Index(s.Order, a.ID()) - slices.Index(s.Order, b.ID())
			})
		})
		var err error
		switch s.Op {
		case "create":
			var p *LocalPool
			if p, err = g.CreateLocalPool(PoolOptions{Required: s.Required, Max: s.Max}); err == nil {
				pools = append(pools, p)
			}
		case "destroy":
			pools[s.Pool].Destroy()
		case "requestUnpooled":
			var segments []*Segment
			if segments, err = g.RequestUnpooled(s.N); err == nil {
				unpooled[s.ID] = segments
			}
		case "recycleUnpooled":
			g.RecycleUnpooled(unpooled[s.ID])
		default:
			t.Fatalf("step %d: unknown op %q", i, s.Op)
		}
		switch {
		case s.Error == nil && err != nil:
			t.Fatalf("step %d %s: %v", i, s.Op, err)
		case s.Error != nil && (err == nil || err.Error() != s.Error.Message):
			t.Errorf("step %d %s: error %v\nexpected %s", i, s.Op, err, s.Error.Message)
		}
		for j, size := range s.Sizes {
			if p := pools[j]; size == nil != p.Destroyed() || size != nil && p.Stats().Size != *size {
				t.Errorf("step %d %s: pool %d has %+v, expected size %v", i, s.Op, j, p.Stats(), size)
			}
		}
		got := [4]int{g.Required(), g.EstimatedRequested(), g.RequestedUsagePercent(), g.Available()}
		if want := [4]int{s.TotalRequired, s.EstimatedRequested, s.RequestedUsagePercent, s.Free}; got != want {
			t.Errorf("step %d %s: required, estimate, usage, free %v, expected %v", i, s.Op, got, want)
		}
	}
}

type localPoolCase struct {
	Note                                                                 string
	Total, Required, Max, Subpartitions, MaxBuffersPerChannel, Overdraft int
	Steps                                                                []struct {
		Op    []json.RawMessage
		State []json.RawMessage
	}
}

// TestGoldenLocalPool replays local_buffer_pool.json.
func TestGoldenLocalPool(t *testing.T) {
	var golden struct{ Cases []localPoolCase }
	readGolden(t, "local_buffer_pool.json", &golden)
	if len(golden.Cases) != 25 {
		t.Fatalf("%d cases, expected 25", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprintf("%02d-%s", i, c.Note), func(t *testing.T) { c.replay(t) })
	}
}

func (c localPoolCase) replay(t *testing.T) {
	g := NewGlobalPool(c.Total, 64)
	var p *LocalPool
	out := map[int]*Segment{}
	var others []*Segment
	for i, s := range c.Steps {
		var op string
		mustDecode(t, s.Op[0], &op)
		arg := func(k int) (n int) { mustDecode(t, s.Op[k], &n); return n }
		switch op {
		case "create":
			var err error
			if p, err = g.CreateLocalPool(PoolOptions{Required: c.Required, Max: c.Max, Subpartitions: c.Subpartitions,
				MaxBuffersPerSubpartition: c.MaxBuffersPerChannel, MaxOverdraft: c.Overdraft}); err != nil {
				t.Fatal(err)
			}
		case "request":
			var want *int
			mustDecode(t, s.Op[2], &want)
			got := p.Request(arg(1))
			if (got == nil) != (want == nil) {
				t.Fatalf("step %d %s: got %v", i, s.Op, got)
			}
			if want != nil {
				out[*want] = got
			}
		case "recycle":
			out[arg(1)].Release()
		case "setNumBuffers":
			if err := p.SetSize(arg(1)); err != nil {
				t.Fatalf("step %d %s: %v", i, s.Op, err)
			}
		case "setMaxOverdraft":
			p.SetMaxOverdraft(arg(1))
		case "othersTake":
			got := 0
			for range arg(1) {
				if s := g.segments.take(); s != nil {
					others = append(others, s)
					got++
				}
			}
			if got != arg(2) {
				t.Fatalf("step %d %s: others got %d", i, s.Op, got)
			}
		case "othersReturn":
			n := min(arg(1), len(others))
			if n != arg(2) {
				t.Fatalf("step %d %s: others returned %d", i, s.Op, n)
			}
			for range n {
				wake(g.segments.put(others[0]))
				others = others[1:]
			}
		default:
			t.Fatalf("step %d: unknown op %q", i, op)
		}
		st := p.Stats()
		available := 0
		if p.Available() {
			available = 1
		}
		got := fmt.Sprint([]any{available, st.Used, st.Requested, st.Ready, st.Size, st.Overdraft, st.AtLimit,
			g.Available(), p.AppendSubpartitions([]int{})})
		var state []any
		for _, raw := range s.State {
			var v any
			mustDecode(t, raw, &v)
			state = append(state, v)
		}
		if want := fmt.Sprint(state); got != want {
			t.Fatalf("step %d %s: state %s, expected %s", i, s.Op, got, want)
		}
	}
}

func mustDecode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}
