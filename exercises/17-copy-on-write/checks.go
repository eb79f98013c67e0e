package copyonwrite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir/engine/state/heap"
	"weir/exercises/17-copy-on-write/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
	"weir/labs"
)

var checks = []kit.Def{
	{ID: "script", Points: 3, Run: script, Name: labs.Text{En: "Who gets a copy, and when: the behaviours of Flink's map", Zh: "谁在何时得到副本：Flink 那张 map 的行为"}},
	{ID: "random", Points: 3, Seeds: 5, Run: random, Name: labs.Text{En: "Random histories against Weir's own map", Zh: "随机历史，与 Weir 自己的 map 比较"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: []string{"script"}, Run: edges, Name: labs.Text{En: "Empty snapshots, keys that come back, snapshots released out of order", Zh: "空快照、删了又来的键、不按顺序释放的快照"}},
	{ID: "job", Needs: []string{"script"}, Points: 4, Run: inJob, Name: labs.Text{En: "The state of a running count: a checkpoint read while records come, and a restore", Zh: "运行中计数任务的状态：一边来数据一边读检查点，再恢复"}},
}

var (
	where = labs.Text{En: "Get, Put, Snapshot and Release in core.go; in Flink, CopyOnWriteStateMap with stateMapVersion and highestRequiredSnapshotVersion", Zh: "core.go 的 Get、Put、Snapshot、Release；对应 Flink 的 CopyOnWriteStateMap，看 stateMapVersion 与 highestRequiredSnapshotVersion"}
	try   = labs.Text{En: "Object numbers tell values apart: the same number is the same value in memory. Ask of each step: does an open snapshot hold this entry, and does it hold this value?", Zh: "object 编号用来区分值：编号相同就是内存里的同一个值。对每一步都问：有没有打开的快照持有这个 entry？持有这个值？"}
)

// step is one call; its code and arguments are those of api.
type step struct {
	code    int64
	key, to int64
}

func (s step) String() string {
	switch s.code {
	case api.Put:
		return fmt.Sprintf("Put(%d, %d)", s.key, s.to)
	case api.Get:
		return fmt.Sprintf("Get(%d)", s.key)
	case api.Change:
		return fmt.Sprintf("Get(%d).N = %d", s.key, s.to)
	case api.Remove:
		return fmt.Sprintf("Remove(%d)", s.key)
	case api.Len:
		return "Len()"
	case api.Take:
		return fmt.Sprintf("s%d = Snapshot()", s.key)
	case api.Read:
		return fmt.Sprintf("read s%d", s.key)
	default:
		return fmt.Sprintf("Release(s%d)", s.key)
	}
}

// object is a value of the model, with its number.
type object struct{ n, id int64 }

func (o *object) String() string { return fmt.Sprintf("%d (object %d)", o.n, o.id) }

// model is Weir's own map.
type model struct {
	m         *heap.CopyOnWriteMap[int64, *object]
	snapshots map[int64]*heap.MapSnapshot[int64, *object]
	objects   int64
}

func newModel() *model {
	m := &model{snapshots: map[int64]*heap.MapSnapshot[int64, *object]{}}
	m.m = heap.NewCopyOnWriteMap[int64](func(o *object) *object { return m.object(o.n) })
	return m
}

func (m *model) object(n int64) *object {
	m.objects++
	return &object{n, m.objects}
}

func (m *model) do(s step) string {
	h := int32(s.key)
	switch s.code {
	case api.Put:
		o := m.object(s.to)
		m.m.Put(h, s.key, o)
		return o.String()
	case api.Get, api.Change:
		o, ok := m.m.Get(h, s.key)
		if !ok {
			return "none"
		}
		if s.code == api.Change {
			o.n = s.to
		}
		return o.String()
	case api.Remove:
		m.m.Remove(h, s.key)
	case api.Len:
		return fmt.Sprint(m.m.Size())
	case api.Take:
		m.snapshots[s.key] = m.m.Snapshot()
	case api.Read:
		if m.snapshots[s.key] == nil {
			return "nothing"
		}
		var lines []string
		m.snapshots[s.key].Each(func(k int64, o *object) bool { lines = append(lines, fmt.Sprintf("%d: %v", k, o)); return true })
		return list(lines)
	case api.Release:
		if sn := m.snapshots[s.key]; sn != nil {
			m.m.Release(sn)
			delete(m.snapshots, s.key)
		}
	}
	return "nothing"
}

func list(lines []string) string {
	if len(lines) == 0 {
		return "no entries"
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// answer reads what the learner's map answered to a step.
func (s step) answer(r *wire.Reader, there bool) string {
	value := func() string {
		if !r.Bool() {
			return "none"
		}
		o := object{n: r.Int()}
		o.id = r.Int()
		return o.String()
	}
	switch s.code {
	case api.Put, api.Get, api.Change:
		return value()
	case api.Len:
		return fmt.Sprint(r.Int())
	case api.Read:
		if !there {
			return "nothing"
		}
		n := r.Int()
		var lines []string
		for i := int64(0); i < n && !r.Short(); i++ {
			lines = append(lines, fmt.Sprintf("%d: %s", r.Int(), value()))
		}
		return list(lines)
	}
	return "nothing"
}

// play gives all steps to the learner's map in one call, and compares answer by answer.
func play(w *kit.Work) history.Play[step] {
	return func(steps []step) *history.Difference {
		at := possible(steps)
		var args wire.Writer
		for _, i := range at {
			s := steps[i]
			args.Int(s.code)
			args.Int(s.key)
			if s.code == api.Put || s.code == api.Change {
				args.Int(s.to)
			}
		}
		w.Core.Call(api.Begin, nil)
		r := &wire.Reader{B: w.Core.Call(api.Do, args.B)}
		m := newModel()
		for _, i := range at {
			s := steps[i]
			there := m.snapshots[s.key] != nil
			if want, got := m.do(s), s.answer(r, there); want != got {
				if r.Short() {
					got = "no answer"
				}
				return &history.Difference{Step: i, Call: s.String(), Expected: want, Seen: got}
			}
		}
		return nil
	}
}

// possible are the places of the steps that a caller would do: a snapshot is taken once under a name, and read and released only while it
// is open.
func possible(steps []step) []int {
	open, used := map[int64]bool{}, map[int64]bool{}
	var at []int
	for i, s := range steps {
		switch s.code {
		case api.Take:
			if used[s.key] {
				continue
			}
			open[s.key], used[s.key] = true, true
		case api.Read, api.Release:
			if !open[s.key] {
				continue
			}
			open[s.key] = s.code == api.Read
		}
		at = append(at, i)
	}
	return at
}

// script has the behaviours COW-01 to COW-12, of Flink's CopyOnWriteStateMapTest.
func script(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	put, get, change := func(k, n int64) step { return step{api.Put, k, n} }, func(k int64) step { return step{api.Get, k, 0} }, func(k, n int64) step { return step{api.Change, k, n} }
	take, read, release := func(s int64) step { return step{api.Take, s, 0} }, func(s int64) step { return step{api.Read, s, 0} }, func(s int64) step { return step{api.Release, s, 0} }
	length, remove := step{api.Len, 0, 0}, func(k int64) step { return step{api.Remove, k, 0} }
	return history.Check(ctx, w, []step{
		// Without a snapshot: the very values.
		get(1), put(1, 10), put(2, 20), put(3, 30), length, get(1), get(1), change(1, 11), get(1),
		// A snapshot: the first Get copies, the next one does not; a Put copies nothing; the snapshot stays.
		take(1), read(1), get(1), get(1), change(1, 12), put(2, 21), get(2), remove(3), length, put(4, 40), get(4), read(1),
		// A second one: copied again, once. What was made between the two belongs to the second alone.
		take(2), get(1), get(1), change(4, 41), read(1), read(2),
		put(5, 50), get(5), get(5),
		// The second is released: what was made after the first is nobody's now, what is older still the first one's.
		release(2), get(2), get(2), change(5, 51), read(1),
		// Both are released: no copies.
		release(1), get(1), get(2), get(4), change(4, 42), get(4), length,
	}, play(w), where, try)
}

// random are histories over few keys, with up to three snapshots open.
func random(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 17))
	var steps []step
	var open []int64
	next := int64(1)
	for range 400 {
		k, n := int64(rnd.IntN(7)), int64(rnd.IntN(1000))
		switch x := rnd.IntN(100); {
		case x < 22:
			steps = append(steps, step{api.Get, k, 0})
		case x < 44:
			steps = append(steps, step{api.Change, k, n})
		case x < 62:
			steps = append(steps, step{api.Put, k, n})
		case x < 70:
			steps = append(steps, step{api.Remove, k, 0})
		case x < 73:
			steps = append(steps, step{api.Len, 0, 0})
		case x < 80 && len(open) < 3:
			steps = append(steps, step{api.Take, next, 0})
			open = append(open, next)
			next++
		case x < 93 && len(open) > 0:
			steps = append(steps, step{api.Read, open[rnd.IntN(len(open))], 0})
		case len(open) > 0:
			i := rnd.IntN(len(open))
			steps = append(steps, step{api.Read, open[i], 0}, step{api.Release, open[i], 0})
			open = slices.Delete(open, i, i+1)
		}
	}
	return history.Check(ctx, w, steps, play(w), where, try)
}
