package golden

import (
	"fmt"
	"slices"

	"weir/engine/memory"
)

type redistributeCase struct {
	Kind                      string            `json:"kind"`
	Total                     int               `json:"total"`
	SegmentSize               int               `json:"segmentSize"`
	Type                      string            `json:"type"`
	Subpartitions             int               `json:"subpartitions"`
	BuffersPerChannel         int               `json:"buffersPerChannel"`
	FloatingBuffersPerGate    int               `json:"floatingBuffersPerGate"`
	SortShuffleMinParallelism int               `json:"sortShuffleMinParallelism"`
	SortShuffleMinBuffers     int               `json:"sortShuffleMinBuffers"`
	Min                       int               `json:"min"`
	Max                       int               `json:"max"`
	Steps                     []redistributeOne `json:"steps"`
}

type redistributeOne struct {
	Op       string `json:"op"`
	Required int    `json:"required"`
	Max      int    `json:"max"`
	Pool     int    `json:"pool"`
	N        int    `json:"n"`
	ID       int    `json:"id"`
	Error    *struct {
		Message string `json:"message"`
	} `json:"error"`
	Sizes []*int `json:"sizes"`
	// Order is the one in which Flink visited the pools that it could resize.
	Order                 []int `json:"order"`
	TotalRequired         int   `json:"totalRequired"`
	EstimatedRequested    int   `json:"estimatedRequested"`
	RequestedUsagePercent int   `json:"requestedUsagePercent"`
	Free                  int   `json:"free"`
}

var partitionTypes = map[string]memory.PartitionType{"PIPELINED": memory.Pipelined,
	"PIPELINED_BOUNDED": memory.PipelinedBounded, "BLOCKING": memory.Blocking}

// Redistribute replays redistribute.json: the sizes of all local pools after each change, visited in the order in which
// Flink did, and what partitions and gates ask for.
func Redistribute(data []byte) (Report, error) {
	return replay(data, nil, func(c *redistributeCase) error {
		switch c.Kind {
		case "pools":
			return c.checkPools()
		case "partitionSize":
			t, ok := partitionTypes[c.Type]
			if !ok {
				return fmt.Errorf("unknown type %q", c.Type)
			}
			return c.checkSize(memory.PartitionSizing{Type: t, Subpartitions: c.Subpartitions,
				BuffersPerChannel: c.BuffersPerChannel, FloatingPerGate: c.FloatingBuffersPerGate,
				SortShuffleMinParallelism: c.SortShuffleMinParallelism, SortShuffleMinBuffers: c.SortShuffleMinBuffers}.Pool())
		case "gateSize":
			return c.checkSize(memory.FloatingPool(c.FloatingBuffersPerGate))
		}
		return fmt.Errorf("unknown kind %q", c.Kind)
	})
}

func (c *redistributeCase) checkSize(least, most int) error {
	if got, want := [2]int{least, most}, [2]int{c.Min, c.Max}; got != want {
		return differs("the least and the most", got, want)
	}
	return nil
}

// poolsReplay is one global pool with what the steps made of it.
type poolsReplay struct {
	global   *memory.GlobalPool
	pools    []*memory.LocalPool
	unpooled map[int][]*memory.Segment
}

func (c *redistributeCase) checkPools() error {
	r := poolsReplay{global: memory.NewGlobalPool(c.Total, c.SegmentSize), unpooled: map[int][]*memory.Segment{}}
	for i := range c.Steps {
		s := &c.Steps[i]
		r.global.SetOrder(func(resizable []*memory.LocalPool) {
			slices.SortFunc(resizable, func(a, b *memory.LocalPool) int {
				return slices.Index(s.Order, a.ID()) - slices.Index(s.Order, b.ID())
			})
		})
		err := r.do(s)
		message, want := "none", "none"
		if err != nil {
			message = err.Error()
		}
		if s.Error != nil {
			want = s.Error.Message
		}
		if message != want {
			return differs(fmt.Sprintf("step %d %s: the error", i, s.Op), message, want)
		}
		if err := r.check(s); err != nil {
			return fmt.Errorf("step %d %s: %w", i, s.Op, err)
		}
	}
	return nil
}

func (r *poolsReplay) do(s *redistributeOne) error {
	switch s.Op {
	case "create":
		p, err := r.global.CreateLocalPool(memory.PoolOptions{Required: s.Required, Max: s.Max})
		if err == nil {
			r.pools = append(r.pools, p)
		}
		return err
	case "destroy":
		if s.Pool < 0 || s.Pool >= len(r.pools) {
			return fmt.Errorf("no pool %d", s.Pool)
		}
		r.pools[s.Pool].Destroy()
		return nil
	case "requestUnpooled":
		segments, err := r.global.RequestUnpooled(s.N)
		if err == nil {
			r.unpooled[s.ID] = segments
		}
		return err
	case "recycleUnpooled":
		r.global.RecycleUnpooled(r.unpooled[s.ID])
		delete(r.unpooled, s.ID)
		return nil
	}
	return fmt.Errorf("unknown op %q", s.Op)
}

func (r *poolsReplay) check(s *redistributeOne) error {
	if len(s.Sizes) != len(r.pools) {
		return differs("the number of pools", len(r.pools), len(s.Sizes))
	}
	for i, want := range s.Sizes {
		p := r.pools[i]
		switch {
		case want == nil && !p.Destroyed():
			return fmt.Errorf("pool %d must be destroyed", i)
		case want != nil && p.Destroyed():
			return fmt.Errorf("pool %d must not be destroyed", i)
		case want != nil && p.Stats().Size != *want:
			return differs(fmt.Sprintf("the size of pool %d", i), p.Stats().Size, *want)
		}
	}
	g := r.global
	got := [4]int{g.Required(), g.EstimatedRequested(), g.RequestedUsagePercent(), g.Available()}
	if want := [4]int{s.TotalRequired, s.EstimatedRequested, s.RequestedUsagePercent, s.Free}; got != want {
		return differs("required, estimated requested, usage in percent, free", got, want)
	}
	return nil
}
