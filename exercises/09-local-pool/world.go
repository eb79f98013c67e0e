package localpool

import (
	"fmt"

	"weir/engine/memory"
	"weir/exercises/calls"
	"weir/exercises/kit"
)

// world is a pool beside a global one, and others who take from that; learner's and ours alike. Its calls:
//
//	Start(global, size, max, subpartitions, maximum of each, overdraft)
//	Request(subpartition) Recycle(subpartition) SetSize(n) SetMaxOverdraft(n) OthersTake(n) OthersReturn(n)
type world interface {
	calls.Subject
	state() poolState
}

// poolState is what can be seen after each call.
type poolState struct {
	memory.CoreState
	free int // in the global pool
	size int
	out  []int // granted for each subpartition, and held still
	used int   // out in all
}

func (s poolState) String() string {
	available := "not available"
	if s.Available {
		available = "available"
	}
	return fmt.Sprintf("%s, requested %d, ready %d, at limit %d", available, s.Requested, s.Ready, s.AtLimit)
}

// answer is how a call ended.
func answer(w world, c calls.Call, granted bool) string {
	s := w.state().String()
	switch {
	case c.Name != "Request":
		return s
	case granted:
		return "granted; " + s
	}
	return "refused; " + s
}

// theirs is a world with a learner's pool: the segments are numbers.
type theirs struct {
	core   kit.Core
	p      *proxy
	free   int
	others int
	size   int
	most   int
	out    []int
	single int // out for no subpartition
}

func (t *theirs) state() poolState {
	s := poolState{CoreState: t.p.State(), free: t.free, size: t.size, out: t.out, used: t.single}
	for _, n := range t.out {
		s.used += n
	}
	return s
}

// settle moves what the pool took or gave back.
func (t *theirs) settle(before int) { t.free -= t.p.State().Requested - before }

// Do implements calls.Subject.
func (t *theirs) Do(c calls.Call) string {
	if c.Name == "Start" {
		t.p, t.free, t.others = begin(t.core), c.Int(0), 0
		t.size, t.most, t.out, t.single = c.Int(1), c.Int(2), make([]int, c.Int(3)), 0
		t.p.Start(memory.CoreOptions{Size: t.size, Max: t.most, Subpartitions: c.Int(3), MaxPerSubpartition: c.Int(4), MaxOverdraft: c.Int(5)}, t.free)
		t.settle(0)
		return answer(t, c, false)
	}
	if t.p == nil {
		return "no pool"
	}
	before, granted, n := t.p.State().Requested, false, c.Int(0)
	switch c.Name {
	case "Request":
		if granted = t.p.Request(n, t.free); granted {
			t.count(n, 1)
		}
	case "Recycle":
		if !t.holds(n) {
			return "nothing is out"
		}
		t.count(n, -1)
		t.p.Recycle(n)
	case "SetSize":
		t.size = min(n, t.most)
		t.p.SetSize(n, t.free)
	case "SetMaxOverdraft":
		t.p.SetMaxOverdraft(n)
	case "OthersTake":
		n = min(n, t.free)
		t.free, t.others = t.free-n, t.others+n
	case "OthersReturn":
		n = min(n, t.others)
		empty := t.free == 0 && n > 0
		t.free, t.others = t.free+n, t.others-n
		if empty {
			t.p.GlobalAvailable(t.free)
		}
	}
	t.settle(before)
	return answer(t, c, granted)
}

func (t *theirs) count(subpartition, by int) {
	if subpartition >= 0 && subpartition < len(t.out) {
		t.out[subpartition] += by
	} else {
		t.single += by
	}
}

func (t *theirs) holds(subpartition int) bool {
	if subpartition >= 0 && subpartition < len(t.out) {
		return t.out[subpartition] > 0
	}
	return t.single > 0
}

// ours is a world with the engine's own pool.
type ours struct {
	global *memory.GlobalPool
	pool   *memory.LocalPool
	out    map[int][]*memory.Segment
	others []*memory.Segment
}

func (o *ours) state() poolState {
	st := o.pool.Stats()
	return poolState{CoreState: memory.CoreState{Available: o.pool.Available(), Requested: st.Requested, Ready: st.Ready, AtLimit: st.AtLimit},
		free: o.global.Available(), size: st.Size, out: o.pool.AppendSubpartitions(nil), used: st.Used}
}

// Do implements calls.Subject.
func (o *ours) Do(c calls.Call) string {
	n, granted := c.Int(0), false
	switch c.Name {
	case "Start":
		o.global, o.out, o.others = memory.NewGlobalPool(n, 64), map[int][]*memory.Segment{}, nil
		var err error
		o.pool, err = o.global.CreateLocalPool(memory.PoolOptions{Owner: "source", Required: 1, Max: c.Int(2), Subpartitions: c.Int(3),
			MaxBuffersPerSubpartition: c.Int(4), MaxOverdraft: c.Int(5)})
		if err == nil {
			err = o.pool.SetSize(c.Int(1))
		}
		if err != nil {
			return err.Error()
		}
	case "Request":
		if s := o.pool.Request(n); s != nil {
			granted = true
			o.out[n] = append(o.out[n], s)
		}
	case "Recycle":
		list := o.out[n]
		if len(list) == 0 {
			return "nothing is out"
		}
		o.out[n] = list[:len(list)-1]
		list[len(list)-1].Release()
	case "SetSize":
		if err := o.pool.SetSize(n); err != nil {
			return err.Error()
		}
	case "SetMaxOverdraft":
		o.pool.SetMaxOverdraft(n)
	case "OthersTake":
		for ; n > 0; n-- {
			if s := o.global.RequestPooled(); s != nil {
				o.others = append(o.others, s)
			}
		}
	case "OthersReturn":
		for ; n > 0 && len(o.others) > 0; n-- {
			o.global.RecyclePooled(o.others[0])
			o.others = o.others[1:]
		}
	}
	return answer(o, c, granted)
}
