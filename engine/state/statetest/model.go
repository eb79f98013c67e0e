package statetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
)

// content is a plain model of what the states of the random history hold, by key and window.
type content struct {
	value map[place]string
	list  map[place][]int64
	dict  map[place]map[int64]string
	sum   map[place]int64
	timer map[state.Timer]bool
}

type place struct {
	key serde.Key
	ns  state.Window
}

func newContent() content {
	return content{map[place]string{}, map[place][]int64{}, map[place]map[int64]string{}, map[place]int64{}, map[state.Timer]bool{}}
}

func (c content) clone() content {
	n := content{maps.Clone(c.value), maps.Clone(c.list), maps.Clone(c.dict), maps.Clone(c.sum), maps.Clone(c.timer)}
	for k, v := range n.list {
		n.list[k] = slices.Clone(v)
	}
	for k, v := range n.dict {
		n.dict[k] = maps.Clone(v)
	}
	return n
}

// machine is one backend with the states of the random history.
type machine struct {
	b      state.Backend
	value  *state.ValueState[string]
	list   *state.ListState[int64]
	dict   *state.MapState[int64, string]
	sum    *state.ReducingState[int64]
	timers *state.Timers
}

func newMachine(t testing.TB, c Config, e Env, restore []checkpoint.KeyGroupState, restoreFirst bool) *machine {
	t.Helper()
	m := &machine{b: c.New(t, e)}
	if restoreFirst {
		ok(t, m.b.Restore(restore))
	}
	var err error
	m.value, err = keyed.Value(m.b, state.ValueDescriptor[string]{Name: "value", Codec: state.String()})
	ok(t, err)
	m.list, err = keyed.List(m.b, state.ListDescriptor[int64]{Name: "list", Codec: state.Int64(), Namespace: state.WindowNamespace})
	ok(t, err)
	m.dict, err = keyed.Map(m.b, state.MapDescriptor[int64, string]{Name: "dict", Key: state.Int64(), Value: state.String()})
	ok(t, err)
	m.sum, err = keyed.Reducing(m.b, state.ReducingDescriptor[int64]{Name: "sum", Codec: state.Int64(), Namespace: state.WindowNamespace, Reduce: func(a, b int64) int64 { return a + b }})
	ok(t, err)
	m.timers, err = m.b.Timers("timers", state.NoNamespace)
	ok(t, err)
	if !restoreFirst {
		ok(t, m.b.Restore(restore))
	}
	return m
}

// content reads all of the machine into c.
func (m *machine) content(t testing.TB, c content) {
	t.Helper()
	put := func(group int, k serde.Key) {
		if at := keygroup.Assign(serde.HashKey(m.b.Context().KeyType(), k), groups); at != group || !m.b.Context().Groups().Contains(group) {
			t.Errorf("key %v in group %d, want %d", k, group, at)
		}
	}
	own := func(k serde.Key) serde.Key { return serde.Key{Num: k.Num, Str: string([]byte(k.Str))} }
	ok(t, m.value.Each(func(g int, k serde.Key, ns state.Window, v string) bool {
		put(g, k)
		c.value[place{own(k), ns}] = v
		return true
	}))
	ok(t, m.list.Each(func(g int, k serde.Key, ns state.Window, v []int64) bool {
		put(g, k)
		c.list[place{own(k), ns}] = slices.Clone(v)
		return true
	}))
	ok(t, m.dict.Each(func(g int, k serde.Key, ns state.Window, uk int64, v string) bool {
		put(g, k)
		p := place{own(k), ns}
		if c.dict[p] == nil {
			c.dict[p] = map[int64]string{}
		}
		c.dict[p][uk] = v
		return true
	}))
	ok(t, m.sum.Each(func(g int, k serde.Key, ns state.Window, v int64) bool {
		put(g, k)
		c.sum[place{own(k), ns}] = v
		return true
	}))
	for g := range groups {
		m.timers.EachOf(g, func(x state.Timer) bool {
			put(g, x.Key)
			c.timer[x] = true
			return true
		})
	}
}

// step does something random with the current key, and the same with the model.
func (m *machine) step(t testing.TB, rnd *rand.Rand, key serde.Key, c content) {
	plain := place{key: key}
	in := place{key, window(rnd.Int64N(3))}
	m.list.SetNamespace(in.ns)
	m.sum.SetNamespace(in.ns)
	n := rnd.Int64N(1000)
	switch rnd.IntN(14) {
	case 0:
		v, had, err := m.value.Get()
		want, has := c.value[plain]
		if err != nil || v != want || had != has {
			t.Fatalf("value %q %v %v, want %q", v, had, err, want)
		}
	case 1, 2:
		s := fmt.Sprint("é", n)
		c.value[plain] = s
		ok(t, m.value.Update(s))
	case 3:
		delete(c.value, plain)
		ok(t, m.value.Clear())
	case 4, 5:
		c.list[in] = append(c.list[in], n, n+1)
		ok(t, m.list.Add(n, n+1))
	case 6:
		v, err := m.list.Get()
		if err != nil || !slices.Equal(v, c.list[in]) {
			t.Fatalf("list %v %v, want %v", v, err, c.list[in])
		}
		if len(v) > 0 && rnd.IntN(2) == 0 { // change in place, and write it back
			v[0] = n
			c.list[in] = slices.Clone(v)
			ok(t, m.list.Update(v))
		}
	case 7:
		delete(c.list, in)
		ok(t, m.list.Clear())
	case 8, 9:
		if c.dict[plain] == nil {
			c.dict[plain] = map[int64]string{}
		}
		c.dict[plain][n%7] = fmt.Sprint(n)
		ok(t, m.dict.Put(n%7, fmt.Sprint(n)))
	case 10:
		if delete(c.dict[plain], n%7); len(c.dict[plain]) == 0 {
			delete(c.dict, plain)
		}
		ok(t, m.dict.Remove(n%7))
	case 11:
		got := map[int64]string{}
		ok(t, m.dict.EachEntry(func(k int64, v string) bool { got[k] = v; return true }))
		if len(got)+len(c.dict[plain]) > 0 && !maps.Equal(got, c.dict[plain]) {
			t.Fatalf("map %v, want %v", got, c.dict[plain])
		}
	case 12:
		c.sum[in] += n
		ok(t, m.sum.Add(n))
	case 13:
		x := state.Timer{Time: n, Key: key}
		fresh, err := m.timers.Register(n, state.Window{})
		if err != nil || fresh == c.timer[x] {
			t.Fatalf("timer: %v, %v", fresh, err)
		}
		c.timer[x] = true
	}
}

// model runs a random history on some subtasks and on a plain model, with snapshots that are written beside it, and
// rescales now and then.
func model(t *testing.T, c Config, steps int) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	kt := []serde.KeyType{serde.Long, serde.String, serde.Int}[rnd.IntN(3)]
	key := func() serde.Key {
		if n := rnd.Int64N(60); kt == serde.String {
			return serde.Key{Str: fmt.Sprint("k", n)}
		} else {
			return serde.Key{Num: n}
		}
	}
	type written struct {
		groups []checkpoint.KeyGroupState
		err    error
	}
	want := newContent()
	var machines []*machine
	start := func(p int, from []checkpoint.KeyGroupState) {
		for _, m := range machines {
			ok(t, m.b.Close())
		}
		machines = nil
		for i := range p {
			machines = append(machines, newMachine(t, c, subtask(t, kt, p, i), from, rnd.IntN(2) == 0))
		}
	}
	check := func(when string, machines []*machine, want content) {
		t.Helper()
		got := newContent()
		for _, m := range machines {
			m.content(t, got)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, %s: %+v, want %+v", seed, when, got, want)
		}
	}
	start(1+rnd.IntN(4), nil)
	type open struct {
		at      int
		want    content
		started bool
		results []chan written
		snaps   []state.Snapshot
	}
	var snapshots []*open
	finish := func(o *open, step int) []checkpoint.KeyGroupState {
		var all []checkpoint.KeyGroupState
		for _, r := range o.results {
			w := <-r
			ok(t, w.err)
			all = append(all, w.groups...)
		}
		m := newMachine(t, c, Env{Key: kt, MaxParallelism: groups, KeyGroups: keygroup.Range{First: 0, Last: groups - 1}}, all, rnd.IntN(2) == 0)
		check(fmt.Sprintf("snapshot of step %d read at step %d", o.at, step), []*machine{m}, o.want)
		ok(t, m.b.Close())
		return all
	}
	begin := func(o *open) {
		o.started = true
		for _, s := range o.snaps {
			r := make(chan written, 1)
			o.results = append(o.results, r)
			go func() {
				var buf bytes.Buffer
				offsets, err := s.Write(context.Background(), &buf)
				s.Release()
				r <- written{state.SplitGroups(buf.Bytes(), offsets), err}
			}()
		}
	}
	for step := range steps {
		k := key()
		group := keygroup.Assign(serde.HashKey(kt, k), groups)
		m := machines[keygroup.OperatorIndex(groups, len(machines), group)]
		set(t, m.b, k)
		m.step(t, rnd, k, want)
		m.b.Context().Clear()
		if rnd.IntN(steps/20+1) == 0 {
			o := &open{at: step, want: want.clone()}
			for _, m := range machines {
				s, err := m.b.Snapshot(int64(step))
				ok(t, err)
				o.snaps = append(o.snaps, s)
			}
			snapshots = append(snapshots, o)
		}
		// A snapshot is begun some time after it was taken, and read some time later, in any order.
		if len(snapshots) > 0 && rnd.IntN(steps/60+1) == 0 {
			i := rnd.IntN(len(snapshots))
			o := snapshots[i]
			if !o.started {
				begin(o)
			} else {
				snapshots = slices.Delete(snapshots, i, i+1)
				all := finish(o, step)
				if rnd.IntN(3) == 0 { // go back to it, at another parallelism
					for _, o := range snapshots {
						if !o.started {
							begin(o)
						}
						finish(o, step)
					}
					snapshots = nil
					want = o.want.clone()
					start(1+rnd.IntN(4), all)
				}
			}
		}
	}
	check("at the end", machines, want)
	for _, o := range snapshots {
		if !o.started {
			begin(o)
		}
		finish(o, steps)
	}
}
