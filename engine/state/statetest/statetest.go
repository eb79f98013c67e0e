// Package statetest is the one suite of behaviours that every state backend must show (after Flink's
// StateBackendTestBase; the ids are those of the behaviour list, SBT). A backend's test calls Run.
package statetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
)

// Config says which backend is under test, and in what backends differ.
type Config struct {
	// New makes an empty backend, and closes it when the test ends.
	New func(t testing.TB, e Env) state.Backend
	// Live: a value that is changed in place is seen by the next read.
	Live bool
	// Ordered: the entries of a map come in the order of their keys' bytes.
	Ordered bool
	// SafeToReuse is what the backend answers.
	SafeToReuse bool
}

// Env is where a backend stands.
type Env struct {
	Key            serde.KeyType
	MaxParallelism int
	KeyGroups      keygroup.Range
	Clock          func() int64
}

// Run runs all behaviours.
func Run(t *testing.T, c Config) {
	for _, b := range []struct {
		name string
		f    func(*testing.T, Config)
	}{
		{"SBT-01 value", value}, {"SBT-02 default object", defaultObject}, {"SBT-03 list refuses nil", listNil},
		{"SBT-04 merge lists", mergeLists}, {"SBT-05 reducing and aggregating", folding}, {"SBT-06 map iteration", mapIteration},
		{"SBT-07 map with nil value", mapNil}, {"SBT-08 rescale", rescale}, {"SBT-09 untouched state", untouched},
		{"SBT-10 entries", entries}, {"SBT-11 closed while writing", closedWhileWriting}, {"SBT-12 updates while writing", updatesWhileWriting},
		{"SBT-13 registration while writing", registrationWhileWriting}, {"SBT-14 apply to all keys", applyToAll},
		{"SBT-15 timers", timers}, {"SBT-16 wrong codec", wrongCodec}, {"SBT-17 bad descriptors", badDescriptors},
		{"SBT-18 safe to reuse", safeToReuse},
		{"outside a record", outsideRecord}, {"in-place change", inPlace}, {"time to live", timeToLive}, {"windows", windows},
		{"restore refuses", restoreRefuses}, {"key is cloned", keyIsCloned}, {"foreign key", foreignKey}, {"figures", figures},
		{"model", func(t *testing.T, c Config) { model(t, c, 6000) }},
	} {
		t.Run(b.name, func(t *testing.T) { b.f(t, c) })
	}
}

const groups = 128

// all is the environment of the only subtask.
func all(k serde.KeyType) Env {
	return Env{Key: k, MaxParallelism: groups, KeyGroups: keygroup.Range{First: 0, Last: groups - 1}}
}

func subtask(t testing.TB, k serde.KeyType, p, i int) Env {
	t.Helper()
	r, err := keygroup.RangeFor(groups, p, i)
	if err != nil {
		t.Fatal(err)
	}
	return Env{Key: k, MaxParallelism: groups, KeyGroups: r}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func num(n int64) serde.Key { return serde.Key{Num: n} }

func set(t testing.TB, b state.Backend, k serde.Key) {
	t.Helper()
	ok(t, b.Context().Set(k, serde.HashKey(b.Context().KeyType(), k)))
}

func saved(t testing.TB, b state.Backend) []checkpoint.KeyGroupState {
	t.Helper()
	g, err := state.GroupBytes(b, 1)
	ok(t, err)
	return g
}

func longs(t testing.TB, b state.Backend, name string) *state.ValueState[int64] {
	t.Helper()
	v, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: name, Codec: state.Int64()})
	ok(t, err)
	return v
}

func expect[V comparable](t testing.TB, what string, want V, got V, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("%s: %v, %v, want %v", what, got, err, want)
	}
}

func value(t *testing.T, c Config) {
	d := state.ValueDescriptor[*int64]{Name: "v", Codec: state.Pointer(state.Int64()), Default: func() *int64 { n := int64(42); return &n }}
	b := c.New(t, all(serde.Long))
	v, err := keyed.Value(b, d)
	ok(t, err)
	is := func(k, want int64) {
		t.Helper()
		set(t, b, num(k))
		got, err := v.Value()
		ok(t, err)
		expect(t, fmt.Sprintf("key %d", k), want, *got, nil)
	}
	update := func(k, n int64) {
		set(t, b, num(k))
		ok(t, v.Update(&n))
	}
	is(1, 42)
	update(1, 1)
	is(1, 1)
	is(2, 42)
	ok(t, v.Clear())
	is(2, 42)
	set(t, b, num(1))
	ok(t, v.Clear())
	is(1, 42)
	update(1, 17)
	is(1, 17)
	ok(t, v.Update(nil))
	is(1, 42)
	update(3, 17)
	groups := saved(t, b)
	b = c.New(t, all(serde.Long))
	ok(t, b.Restore(groups))
	v, err = keyed.Value(b, d)
	ok(t, err)
	is(3, 17)
	is(1, 42)
}

func defaultObject(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v, err := keyed.Value(b, state.ValueDescriptor[[]byte]{Name: "v", Codec: state.ByteArray(), Default: func() []byte { return []byte("default") }})
	ok(t, err)
	set(t, b, num(1))
	one, err := v.Value()
	ok(t, err)
	set(t, b, num(2))
	two, err := v.Value()
	ok(t, err)
	if !bytes.Equal(one, two) || &one[0] == &two[0] {
		t.Errorf("%q and %q, want equal ones that are not the same", one, two)
	}
}

func listNil(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	l, err := keyed.List(b, state.ListDescriptor[[]byte]{Name: "l", Codec: state.ByteArray()})
	ok(t, err)
	set(t, b, num(1))
	if got, err := l.Get(); got != nil || err != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
	if err := l.Add(nil...); err != nil {
		t.Errorf("nothing added: %v", err)
	}
	if err := l.Add([]byte(nil)); err == nil {
		t.Error("nil was added")
	}
	if err := l.Update([][]byte{{1}, nil}); err == nil || !strings.Contains(err.Error(), "element 2 of 2") {
		t.Errorf("update with nil: %v", err)
	}
	ok(t, l.Add([]byte{1}, []byte{2}))
	ok(t, l.Update([][]byte{}))
	if got, err := l.Get(); got != nil || err != nil {
		t.Errorf("emptied: %v, %v", got, err)
	}
}

func window(n int64) state.Window { return state.Window{Start: n * 1000, End: (n + 1) * 1000} }

func mergeLists(t *testing.T, c Config) {
	b := c.New(t, all(serde.String))
	l, err := keyed.List(b, state.ListDescriptor[int64]{Name: "l", Codec: state.Int64(), Namespace: state.WindowNamespace})
	ok(t, err)
	for name, filled := range map[string][3][]int64{
		"abc": {{33, 55}, {22, 11}, {44}}, "def": {{11, 44}, nil, {22, 55, 33}}, "jkl": {{11, 22, 33, 44, 55}, nil, nil},
		"mno": {nil, nil, {11, 22, 33, 44, 55}}, "ghi": {nil, {11, 22, 33, 44, 55}, nil},
	} {
		set(t, b, serde.Key{Str: name})
		for i, list := range filled {
			l.SetNamespace(window(int64(i + 1)))
			ok(t, l.Add(list...))
		}
		ok(t, l.Merge(window(1), window(2), window(3)))
		for i := range filled {
			l.SetNamespace(window(int64(i + 1)))
			got, err := l.Get()
			ok(t, err)
			var want []int64
			if i == 0 {
				want = []int64{11, 22, 33, 44, 55}
			}
			got = slices.Sorted(slices.Values(got))
			if !slices.Equal(got, want) {
				t.Errorf("%s, window %d: %v, want %v", name, i+1, got, want)
			}
		}
		l.SetNamespace(window(1))
		ok(t, l.Clear())
	}
	if n := l.Entries(); n != 0 {
		t.Errorf("%d lists left", n)
	}
}

func folding(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	r, err := keyed.Reducing(b, state.ReducingDescriptor[int64]{Name: "r", Codec: state.Int64(), Namespace: state.WindowNamespace, Reduce: func(a, b int64) int64 { return a + b }})
	ok(t, err)
	immutable, err := keyed.Aggregating(b, state.AggregatingDescriptor[int64, int64, int64]{
		Name: "immutable", Codec: state.Int64(), Namespace: state.WindowNamespace, Create: func() int64 { return 0 },
		Add: func(acc, v int64) int64 { return acc + v }, Merge: func(a, b int64) int64 { return a + b }, Result: func(acc int64) int64 { return acc },
	})
	ok(t, err)
	mutable, err := keyed.Aggregating(b, state.AggregatingDescriptor[int64, *int64, int64]{
		Name: "mutable", Codec: state.Pointer(state.Int64()), Namespace: state.WindowNamespace, Create: func() *int64 { return new(int64) },
		Add: func(acc *int64, v int64) *int64 { *acc += v; return acc }, Merge: func(a, b *int64) *int64 { *a += *b; return a },
		Result: func(acc *int64) int64 { return *acc },
	})
	ok(t, err)
	type folding interface {
		SetNamespace(state.Window)
		Add(int64) error
		Get() (int64, bool, error)
		Clear() error
		Merge(state.Window, ...state.Window) error
		Entries() int64
	}
	for name, s := range map[string]folding{"reducing": r, "immutable": immutable, "mutable": mutable} {
		get := func(k int64, ns int64, want int64, has bool) {
			t.Helper()
			set(t, b, num(k))
			s.SetNamespace(window(ns))
			if got, had, err := s.Get(); err != nil || got != want || had != has {
				t.Errorf("%s, key %d: %d, %v, %v, want %d", name, k, got, had, err, want)
			}
		}
		get(1, 1, 0, false)
		for _, n := range []int64{17, 11} {
			ok(t, s.Add(n))
		}
		get(2, 1, 0, false)
		for _, n := range []int64{1, 2} {
			ok(t, s.Add(n))
		}
		get(1, 1, 28, true)
		get(2, 1, 3, true)
		set(t, b, num(1))
		for ns, list := range map[int64][]int64{2: {22, 11}, 3: {44}} {
			s.SetNamespace(window(ns))
			for _, n := range list {
				ok(t, s.Add(n))
			}
		}
		ok(t, s.Merge(window(1), window(2), window(3), window(4)))
		get(1, 1, 28+33+44, true)
		get(1, 2, 0, false)
		get(1, 3, 0, false)
		get(2, 1, 3, true)
		ok(t, s.Merge(window(5), window(1)))
		get(2, 5, 3, true)
		ok(t, s.Clear())
		get(2, 5, 0, false)
		if n := s.Entries(); n != 1 {
			t.Errorf("%s: %d entries, want 1", name, n)
		}
	}
}

func mapIteration(t *testing.T, c Config) {
	const n = 4096
	b := c.New(t, all(serde.String))
	m, err := keyed.Map(b, state.MapDescriptor[int64, int64]{Name: "m", Key: state.Int64(), Value: state.Int64()})
	ok(t, err)
	set(t, b, serde.Key{Str: "other"})
	ok(t, m.Put(7, 7))
	set(t, b, serde.Key{Str: "testkey"})
	for _, i := range rand.Perm(n) {
		ok(t, m.Put(int64(i), int64(i)*2))
	}
	var seen []int64
	removed := 0
	err = m.EachEntry(func(k, v int64) bool {
		if v != 2*k {
			t.Errorf("%d: %d", k, v)
		}
		seen = append(seen, k)
		if rand.IntN(2) == 0 {
			removed++
			ok(t, m.Remove(k))
			ok(t, m.Remove(k)) // a second time: nothing happens
		}
		return true
	})
	ok(t, err)
	if !c.Ordered {
		slices.Sort(seen)
	}
	for i, k := range seen {
		if k != int64(i) {
			t.Fatalf("entry %d is %d", i, k)
		}
	}
	if len(seen) != n {
		t.Errorf("%d entries seen, want %d", len(seen), n)
	}
	if got := m.Entries(); got != int64(n-removed+1) {
		t.Errorf("%d entries left, want %d", got, n-removed+1)
	}
	ok(t, m.Clear())
	empty, err := m.IsEmpty()
	expect(t, "empty", true, empty, err)
	set(t, b, serde.Key{Str: "other"})
	v, had, err := m.Get(7)
	if v != 7 || !had || err != nil {
		t.Errorf("the other key's: %d, %v, %v", v, had, err)
	}
}

func mapNil(t *testing.T, c Config) {
	d := state.MapDescriptor[string, *int64]{Name: "m", Key: state.String(), Value: state.Pointer(state.Int64())}
	b := c.New(t, all(serde.Long))
	m, err := keyed.Map(b, d)
	ok(t, err)
	check := func() {
		t.Helper()
		set(t, b, num(1))
		for _, k := range []string{"nil", "one", "none"} {
			v, had, err := m.Get(k)
			ok(t, err)
			if had != (k != "none") || (v != nil) != (k == "one") || v != nil && *v != 1 {
				t.Errorf("%s: %v, %v", k, v, had)
			}
		}
	}
	set(t, b, num(1))
	one := int64(1)
	ok(t, m.Put("nil", nil))
	ok(t, m.Put("one", &one))
	check()
	groups := saved(t, b)
	b = c.New(t, all(serde.Long))
	m, err = keyed.Map(b, d)
	ok(t, err)
	ok(t, b.Restore(groups))
	check()
}

func rescale(t *testing.T, c Config) {
	const keys = 1000
	for _, move := range [][2]int{{4, 2}, {2, 4}, {3, 3}, {15, 77}, {77, 15}} {
		var all []checkpoint.KeyGroupState
		for i := range move[0] {
			b := c.New(t, subtask(t, serde.Long, move[0], i))
			v := longs(t, b, "v")
			for k := range int64(keys) {
				if b.Context().Set(num(k), serde.HashKey(serde.Long, num(k))) == nil {
					ok(t, v.Update(k*k))
				}
			}
			all = append(all, saved(t, b)...)
			ok(t, b.Close())
		}
		var sum int64
		for i := range move[1] {
			e := subtask(t, serde.Long, move[1], i)
			b := c.New(t, e)
			v := longs(t, b, "v")
			ok(t, b.Restore(all))
			owned := int64(0)
			for k := range int64(keys) {
				mine := e.KeyGroups.Contains(keygroup.Assign(serde.HashKey(serde.Long, num(k)), groups))
				if err := b.Context().Set(num(k), serde.HashKey(serde.Long, num(k))); (err == nil) != mine {
					t.Fatalf("key %d in %v: %v", k, e.KeyGroups, err)
				} else if mine {
					owned++
					got, err := v.Value()
					expect(t, fmt.Sprintf("key %d", k), k*k, got, err)
				}
			}
			s := b.Stats()
			if s.Keys != owned || s.RestoredKeys != owned || s.KeysOutOfRange != keys-owned {
				t.Errorf("%d to %d, subtask %d: %+v, want %d keys", move[0], move[1], i, s, owned)
			}
			sum += s.Keys
			ok(t, b.Close())
		}
		if sum != keys {
			t.Errorf("%d to %d: %d keys, want %d", move[0], move[1], sum, keys)
		}
	}
}

func untouched(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	name := state.ValueDescriptor[string]{Name: "name", Codec: state.String()}
	list := state.ListDescriptor[string]{Name: "list", Codec: state.String()}
	m := state.MapDescriptor[string, string]{Name: "map", Key: state.String(), Value: state.String()}
	v, err := keyed.Value(b, name)
	ok(t, err)
	l, err := keyed.List(b, list)
	ok(t, err)
	u, err := keyed.Map(b, m)
	ok(t, err)
	for i, s := range []string{"foo", "bar", "hello world"} {
		set(t, b, num(int64(i)))
		ok(t, v.Update(s))
		ok(t, l.Add(s, s+"!"))
		ok(t, u.Put("a", s))
		ok(t, u.Put("b", s))
	}
	want := b.Stats()
	for range 3 {
		groups := saved(t, b)
		b = c.New(t, all(serde.Long))
		ok(t, b.Restore(groups))
		s := b.Stats()
		if s.Keys != 3 || s.RestoredKeys != 3 || s.Bytes != want.Bytes {
			t.Errorf("untouched: %+v, want as before: %+v", s, want)
		}
	}
	v, err = keyed.Value(b, name)
	ok(t, err)
	l, err = keyed.List(b, list)
	ok(t, err)
	u, err = keyed.Map(b, m)
	ok(t, err)
	for i, s := range []string{"foo", "bar", "hello world"} {
		set(t, b, num(int64(i)))
		got, err := v.Value()
		expect(t, "value", s, got, err)
		all, err := l.Get()
		if err != nil || !slices.Equal(all, []string{s, s + "!"}) {
			t.Errorf("list: %q, %v", all, err)
		}
		got, _, err = u.Get("b")
		expect(t, "map", s, got, err)
	}
}

func entries(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "v")
	count := func(want int64) {
		t.Helper()
		if n := v.Entries(); n != want {
			t.Errorf("%d entries, want %d", n, want)
		}
		if s := b.Stats(); s.Keys != want {
			t.Errorf("%d keys, want %d", s.Keys, want)
		}
	}
	count(0)
	set(t, b, num(0))
	ok(t, v.Update(1))
	count(1)
	set(t, b, num(1))
	ok(t, v.Update(1))
	count(2)
	ok(t, v.Update(2))
	count(2)
	ok(t, v.Clear())
	count(1)
	ok(t, v.Clear())
	count(1)
	set(t, b, num(0))
	ok(t, v.Clear())
	count(0)
}

// blocker blocks each write from the first on, until it is let go.
type blocker struct {
	reached, goOn chan struct{}
	once          bool
}

func (w *blocker) Write(p []byte) (int, error) {
	if !w.once {
		w.once = true
		close(w.reached)
	}
	<-w.goOn
	return len(p), nil
}

func closedWhileWriting(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "v")
	for k := range int64(100) {
		set(t, b, num(k))
		ok(t, v.Update(k))
	}
	b.Context().Clear()
	s, err := b.Snapshot(1)
	ok(t, err)
	w := &blocker{reached: make(chan struct{}), goOn: make(chan struct{})}
	done := make(chan error)
	go func() {
		_, err := s.Write(context.Background(), w)
		s.Release()
		done <- err
	}()
	<-w.reached
	// A backend may wait for who reads it.
	closed := make(chan error)
	go func() { closed <- b.Close() }()
	if c.Live {
		ok(t, <-closed)
		close(w.goOn)
	} else {
		close(w.goOn)
		ok(t, <-closed)
	}
	if err := <-done; !errors.Is(err, state.ErrClosed) && (c.Live || err != nil) {
		t.Errorf("%v, want %v", err, state.ErrClosed)
	}
}

// pacer lets the test run between two writes.
type pacer struct {
	buf  bytes.Buffer
	turn chan struct{}
}

func (w *pacer) Write(p []byte) (int, error) {
	w.turn <- struct{}{}
	<-w.turn
	return w.buf.Write(p)
}

// written writes a snapshot in a goroutine, while between runs, and restores it.
func written(t *testing.T, c Config, b state.Backend, between func()) state.Backend {
	t.Helper()
	s, err := b.Snapshot(1)
	ok(t, err)
	between()
	w := &pacer{turn: make(chan struct{})}
	type result struct {
		offsets []state.GroupOffset
		err     error
	}
	done := make(chan result)
	go func() {
		o, err := s.Write(context.Background(), w)
		s.Release()
		done <- result{o, err}
	}()
	for {
		select {
		case <-w.turn:
			between()
			w.turn <- struct{}{}
			continue
		case r := <-done:
			ok(t, r.err)
			to := c.New(t, all(b.Context().KeyType()))
			ok(t, to.Restore(state.SplitGroups(w.buf.Bytes(), r.offsets)))
			return to
		}
	}
}

func updatesWhileWriting(t *testing.T, c Config) {
	const keys = 2000
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "v")
	l, err := keyed.List(b, state.ListDescriptor[int64]{Name: "l", Codec: state.Int64()})
	ok(t, err)
	for k := range int64(keys) {
		set(t, b, num(k))
		ok(t, v.Update(k))
		ok(t, l.Add(k))
	}
	to := written(t, c, b, func() {
		for k := range int64(2 * keys) {
			set(t, b, num(k))
			switch k % 3 {
			case 0:
				ok(t, v.Update(-1))
				ok(t, l.Add(-1))
			case 1:
				ok(t, v.Clear())
				ok(t, l.Clear())
			default:
				list, err := l.Get()
				ok(t, err)
				if len(list) > 0 {
					list[0] = -1
				}
			}
		}
		b.Context().Clear()
	})
	v = longs(t, to, "v")
	l, err = keyed.List(to, state.ListDescriptor[int64]{Name: "l", Codec: state.Int64()})
	ok(t, err)
	if v.Entries() != keys || l.Entries() != keys {
		t.Errorf("%d values and %d lists, want %d", v.Entries(), l.Entries(), keys)
	}
	for k := range int64(keys) {
		set(t, to, num(k))
		got, err := v.Value()
		expect(t, fmt.Sprintf("key %d", k), k, got, err)
		list, err := l.Get()
		if err != nil || !slices.Equal(list, []int64{k}) {
			t.Fatalf("list of key %d: %v, %v", k, list, err)
		}
	}
}

func registrationWhileWriting(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "v")
	for k := range int64(100) {
		set(t, b, num(k))
		ok(t, v.Update(k))
	}
	n := 0
	to := written(t, c, b, func() {
		n++
		w := longs(t, b, fmt.Sprint("new", n))
		set(t, b, num(1))
		ok(t, w.Update(1))
		b.Context().Clear()
	})
	if s := to.Stats(); len(s.States) != 1 || s.Keys != 100 {
		t.Errorf("%+v", s)
	}
}

func applyToAll(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "v")
	for k := range int64(100) {
		set(t, b, num(k))
		ok(t, v.Update(k))
	}
	for round, f := range []func(k int64) error{
		func(k int64) error { return v.Update(k + 1) },
		func(int64) error { return v.Clear() },
	} {
		seen := map[int64]bool{}
		ok(t, v.ForEachKey(func(k serde.Key) error {
			seen[k.Num] = true
			got, err := v.Value()
			expect(t, "value", k.Num+int64(round), got, err)
			return f(got)
		}))
		if len(seen) != 100 {
			t.Errorf("round %d: %d keys, want 100", round, len(seen))
		}
	}
	if v.Entries() != 0 {
		t.Errorf("%d entries left", v.Entries())
	}
	if _, err := v.Value(); !errors.Is(err, state.ErrNoCurrentKey) {
		t.Errorf("behind it: %v", err)
	}
}

func timers(t *testing.T, c Config) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	b := c.New(t, all(serde.String))
	s, err := state.NewTimerService(b, "test", state.WindowNamespace)
	ok(t, err)
	want := map[state.Timer]bool{}
	random := func() state.Timer {
		return state.Timer{Time: rnd.Int64N(500) - 100, Key: serde.Key{Str: fmt.Sprint("k", rnd.IntN(40))}, Window: window(rnd.Int64N(2))}
	}
	if _, err := s.Event.Register(1, state.Window{}); !errors.Is(err, state.ErrNoCurrentKey) {
		t.Errorf("outside a record: %v", err)
	}
	for range 3000 {
		x := random()
		set(t, b, x.Key)
		if rnd.IntN(4) == 0 {
			had, err := s.Event.Delete(x.Time, x.Window)
			expect(t, "deleted", want[x], had, err)
			delete(want, x)
		} else {
			fresh, err := s.Event.Register(x.Time, x.Window)
			expect(t, "registered", !want[x], fresh, err)
			want[x] = true
		}
	}
	b.Context().Clear()
	byGroup := 0
	for g := range groups {
		s.Event.EachOf(g, func(x state.Timer) bool {
			byGroup++
			if !want[x] || keygroup.Assign(serde.HashKey(serde.String, x.Key), groups) != g {
				t.Errorf("group %d has %+v", g, x)
			}
			return true
		})
	}
	if byGroup != len(want) || s.Event.Len() != int64(len(want)) {
		t.Errorf("%d timers by group, %d in all, want %d", byGroup, s.Event.Len(), len(want))
	}
	saved := saved(t, b)
	fired := func(b state.Backend, s *state.TimerService, want map[state.Timer]bool) {
		t.Helper()
		last := int64(-1000)
		for wm := int64(-100); wm <= 500; wm += 50 {
			ok(t, s.AdvanceWatermark(wm, func(x state.Timer) error {
				if x.Time < last || x.Time > wm || !want[x] || b.Context().Key() != x.Key || b.Context().Check() != nil {
					t.Errorf("seed %d: %+v at watermark %d behind %d", seed, x, wm, last)
				}
				last = x.Time
				delete(want, x)
				return nil
			}))
			if next, has := s.Event.Next(); has && next <= wm {
				t.Errorf("%d is left at watermark %d", next, wm)
			}
		}
		if len(want) > 0 || s.Event.Len() != 0 {
			t.Errorf("seed %d: %d did not fire", seed, len(want))
		}
	}
	// At parallelism 3 each timer fires where its key is.
	for i := range 3 {
		e := subtask(t, serde.String, 3, i)
		b := c.New(t, e)
		ok(t, b.Restore(saved))
		s, err := state.NewTimerService(b, "test", state.WindowNamespace)
		ok(t, err)
		mine := map[state.Timer]bool{}
		for x := range want {
			if e.KeyGroups.Contains(keygroup.Assign(serde.HashKey(serde.String, x.Key), groups)) {
				mine[x] = true
			}
		}
		fired(b, s, mine)
	}
	fired(b, s, want)
	// One that is registered by a timer and due fires too.
	set(t, b, serde.Key{Str: "a"})
	_, err = s.Event.Register(600, state.Window{})
	ok(t, err)
	var times []int64
	ok(t, s.AdvanceWatermark(700, func(x state.Timer) error {
		times = append(times, x.Time)
		_, err := s.Event.Register(x.Time+60, state.Window{})
		return err
	}))
	if !slices.Equal(times, []int64{600, 660}) {
		t.Errorf("fired at %v", times)
	}
}

func wrongCodec(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "v")
	set(t, b, num(1))
	ok(t, v.Update(1))
	groups := saved(t, b)
	for what, open := range map[string]func(state.Backend) error{
		"codec": func(b state.Backend) error {
			_, err := keyed.Value(b, state.ValueDescriptor[string]{Name: "v", Codec: state.String()})
			return err
		},
		"kind": func(b state.Backend) error {
			_, err := keyed.List(b, state.ListDescriptor[int64]{Name: "v", Codec: state.Int64()})
			return err
		},
		"namespace": func(b state.Backend) error {
			_, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "v", Codec: state.Int64(), Namespace: state.WindowNamespace})
			return err
		},
		"time to live": func(b state.Backend) error {
			_, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "v", Codec: state.Int64(), TTL: state.TTL{After: time.Second}})
			return err
		},
	} {
		for _, restoreFirst := range []bool{true, false} {
			b := c.New(t, all(serde.Long))
			steps := []func() error{func() error { return b.Restore(groups) }, func() error { return open(b) }}
			if !restoreFirst {
				slices.Reverse(steps)
			}
			ok(t, steps[0]())
			if err := steps[1](); !errors.Is(err, state.ErrIncompatible) || !strings.Contains(err.Error(), `"v"`) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s, restored first %v: %v", what, restoreFirst, err)
			}
		}
	}
}

func badDescriptors(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	for what, open := range map[string]func() error{
		"codec": func() error {
			_, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "a"})
			return err
		},
		"key codec": func() error {
			_, err := keyed.Map(b, state.MapDescriptor[int64, int64]{Name: "a", Value: state.Int64()})
			return err
		},
		"name": func() error {
			_, err := keyed.List(b, state.ListDescriptor[int64]{Codec: state.Int64()})
			return err
		},
		"namespace": func() error {
			_, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "a", Codec: state.Int64(), Namespace: 9})
			return err
		},
		"timers' namespace": func() error { _, err := b.Timers("a", 9); return err },
		"reduce": func() error {
			_, err := keyed.Reducing(b, state.ReducingDescriptor[int64]{Name: "a", Codec: state.Int64()})
			return err
		},
		"create": func() error {
			_, err := keyed.Aggregating(b, state.AggregatingDescriptor[int64, int64, int64]{Name: "a", Codec: state.Int64()})
			return err
		},
		"time to live": func() error {
			_, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "a", Codec: state.Int64(), TTL: state.TTL{After: time.Microsecond}})
			return err
		},
	} {
		if open() == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	longs(t, b, "a")
	if _, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "a", Codec: state.Int64()}); err == nil {
		t.Error("a name twice: accepted")
	}
}

func safeToReuse(t *testing.T, c Config) {
	if got := c.New(t, all(serde.Long)).SafeToReuse(); got != c.SafeToReuse {
		t.Errorf("%v, want %v", got, c.SafeToReuse)
	}
}

func sortedKeys[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }
