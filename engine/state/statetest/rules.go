package statetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"weir/engine/checkpoint"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
)

func outsideRecord(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "count")
	l, err := keyed.List(b, state.ListDescriptor[int64]{Name: "l", Codec: state.Int64()})
	ok(t, err)
	m, err := keyed.Map(b, state.MapDescriptor[int64, int64]{Name: "m", Key: state.Int64(), Value: state.Int64()})
	ok(t, err)
	refused := func(when string) {
		t.Helper()
		for what, f := range map[string]func() error{
			"value": func() error { _, err := v.Value(); return err }, "update": func() error { return v.Update(1) }, "clear": v.Clear,
			"list": func() error { _, err := l.Get(); return err }, "add": func() error { return l.Add(1) },
			"get": func() error { _, _, err := m.Get(1); return err }, "put": func() error { return m.Put(1, 1) },
			"remove": func() error { return m.Remove(1) }, "clear map": m.Clear,
			"each": func() error { return m.EachEntry(func(int64, int64) bool { return true }) },
		} {
			if err := f(); !errors.Is(err, state.ErrNoCurrentKey) || !strings.Contains(err.Error(), `state "`) {
				t.Errorf("%s, %s: %v", when, what, err)
			}
		}
	}
	refused("before the first record")
	set(t, b, num(1))
	ok(t, v.Update(1))
	b.Context().Clear()
	refused("behind a record")
	if v.Entries() != 1 || l.Entries() != 0 || m.Entries() != 0 {
		t.Error("something was written")
	}
	if state.OwnerChecked {
		set(t, b, num(1))
		done := make(chan error)
		go func() { _, err := v.Value(); done <- err }()
		if err := <-done; !errors.Is(err, state.ErrOtherGoroutine) {
			t.Errorf("another goroutine: %v", err)
		}
	}
}

// inPlace is the exercise: a count that is changed in place and never updated grows on the heap only.
func inPlace(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v, err := keyed.Value(b, state.ValueDescriptor[[]int64]{Name: "v", Codec: state.List(state.Int64())})
	ok(t, err)
	set(t, b, num(1))
	ok(t, v.Update([]int64{0}))
	for range 10 {
		set(t, b, num(1))
		n, err := v.Value()
		ok(t, err)
		n[0]++
	}
	set(t, b, num(1))
	n, err := v.Value()
	ok(t, err)
	if want := map[bool]int64{true: 10}[c.Live]; n[0] != want {
		t.Errorf("%d, want %d", n[0], want)
	}
}

func timeToLive(t *testing.T, c Config) {
	for _, onRead := range []bool{false, true} {
		now := int64(1_000_000)
		e := all(serde.Long)
		e.Clock = func() int64 { return now }
		ttl := state.TTL{After: 100 * time.Millisecond, OnRead: onRead}
		b := c.New(t, e)
		var v *state.ValueState[int64]
		var l *state.ListState[int64]
		var m *state.MapState[int64, *int64]
		open := func() {
			t.Helper()
			var err error
			v, err = keyed.Value(b, state.ValueDescriptor[int64]{Name: "v", Codec: state.Int64(), TTL: ttl})
			ok(t, err)
			l, err = keyed.List(b, state.ListDescriptor[int64]{Name: "l", Codec: state.Int64(), TTL: ttl})
			ok(t, err)
			m, err = keyed.Map(b, state.MapDescriptor[int64, *int64]{Name: "m", Key: state.Int64(), Value: state.Pointer(state.Int64()), TTL: ttl})
			ok(t, err)
		}
		open()
		is := func(value bool, list []int64, keys []int64) {
			t.Helper()
			set(t, b, num(1))
			_, had, err := v.Get()
			expect(t, "value", value, had, err)
			got, err := l.Get()
			if err != nil || !slices.Equal(got, list) {
				t.Errorf("list: %v, %v, want %v", got, err, list)
			}
			found := map[int64]bool{}
			ok(t, m.EachEntry(func(k int64, _ *int64) bool { found[k] = true; return true }))
			if !slices.Equal(sortedKeys(found), keys) {
				t.Errorf("map: %v, want %v", found, keys)
			}
			for _, k := range []int64{1, 2} {
				has, err := m.Contains(k)
				expect(t, "in the map", slices.Contains(keys, k), has, err)
			}
		}
		set(t, b, num(1))
		ok(t, v.Update(5))
		ok(t, l.Add(1))
		ok(t, m.Put(1, nil))
		now += 60
		ok(t, l.Add(2))
		ok(t, m.Put(2, new(int64)))
		// It goes on across a restore.
		groups := saved(t, b)
		b = c.New(t, e)
		ok(t, b.Restore(groups))
		open()
		now += 39 // 99 ms old, and 39
		is(true, []int64{1, 2}, []int64{1, 2})
		now++
		if onRead {
			is(true, []int64{1, 2}, []int64{1, 2})
			now += 99
			is(true, []int64{1, 2}, []int64{1, 2})
			now += 100
		} else {
			is(false, []int64{2}, []int64{2})
			now += 60
		}
		is(false, nil, nil)
		if v.Entries() != 0 || l.Entries() != 0 || m.Entries() != 0 {
			t.Errorf("%d, %d, %d left behind reads", v.Entries(), l.Entries(), m.Entries())
		}
		if s := b.Stats(); s.DroppedExpired != 5 || s.Bytes != 0 {
			t.Errorf("on read %v: %+v, want 5 dropped and no bytes", onRead, s)
		}
		ok(t, v.Update(6))
		is(true, nil, nil)
	}
}

func windows(t *testing.T, c Config) {
	for _, k := range []serde.KeyType{serde.Long, serde.String} {
		b := c.New(t, all(k))
		v, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "v", Codec: state.Int64(), Namespace: state.WindowNamespace})
		ok(t, err)
		m, err := keyed.Map(b, state.MapDescriptor[string, int64]{Name: "m", Key: state.String(), Value: state.Int64(), Namespace: state.WindowNamespace})
		ok(t, err)
		key := serde.Key{Num: 5}
		if k == serde.String {
			key = serde.Key{Str: "five"}
		}
		set(t, b, key)
		for i := range int64(10) {
			v.SetNamespace(window(i))
			m.SetNamespace(window(i))
			ok(t, v.Update(i))
			ok(t, m.Put("a", i))
			ok(t, m.Put("b", i))
		}
		groups := saved(t, b)
		if len(groups) != 1 {
			t.Errorf("%d key groups of one key", len(groups))
		}
		b = c.New(t, all(k))
		ok(t, b.Restore(groups))
		v, err = keyed.Value(b, state.ValueDescriptor[int64]{Name: "v", Codec: state.Int64(), Namespace: state.WindowNamespace})
		ok(t, err)
		m, err = keyed.Map(b, state.MapDescriptor[string, int64]{Name: "m", Key: state.String(), Value: state.Int64(), Namespace: state.WindowNamespace})
		ok(t, err)
		set(t, b, key)
		for i := range int64(10) {
			v.SetNamespace(window(i))
			m.SetNamespace(window(i))
			got, err := v.Value()
			expect(t, "value", i, got, err)
			got, _, err = m.Get("b")
			expect(t, "map", i, got, err)
		}
		if s := b.Stats(); s.RestoredKeys != 10 || v.Entries() != 10 || m.Entries() != 20 {
			t.Errorf("%+v", s)
		}
		v.SetNamespace(window(3))
		ok(t, v.ForEachKey(func(got serde.Key) error {
			if got != key {
				t.Errorf("%v", got)
			}
			return v.Clear()
		}))
		if v.Entries() != 9 {
			t.Errorf("%d entries", v.Entries())
		}
	}
}

func restoreRefuses(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v := longs(t, b, "count")
	set(t, b, num(0)) // of key group 94
	ok(t, v.Update(3))
	good := saved(t, b)[0]
	change := func(f func(*checkpoint.KeyGroupState)) checkpoint.KeyGroupState {
		g := checkpoint.KeyGroupState{KeyGroup: good.KeyGroup, Data: append([]byte(nil), good.Data...)}
		f(&g)
		return g
	}
	for _, x := range []struct {
		name, want string
		g          checkpoint.KeyGroupState
	}{
		{"empty", "0 bytes, expected at least 2", change(func(g *checkpoint.KeyGroupState) { g.Data = nil })},
		{"version", "format version 9, expected 2", change(func(g *checkpoint.KeyGroupState) { g.Data[0] = 9 })},
		{"key type", "keys of type string, expected long", change(func(g *checkpoint.KeyGroupState) { g.Data[1] = byte(serde.String) })},
		{"head cut", "the bytes end inside a value", change(func(g *checkpoint.KeyGroupState) { g.Data = g.Data[:6] })},
		{"kind", "kind 99", change(func(g *checkpoint.KeyGroupState) { g.Data[8] = 99 })},
		{"value cut", `state "count", entry 1: the bytes end inside a value`, change(func(g *checkpoint.KeyGroupState) { g.Data = g.Data[:len(g.Data)-4] })},
		{"end cut", `the bytes end inside a value`, change(func(g *checkpoint.KeyGroupState) { g.Data = g.Data[:len(g.Data)-1] })},
		{"wrong group", `key "0" belongs to key group 94 of 128`, change(func(g *checkpoint.KeyGroupState) { g.KeyGroup = 7 })},
	} {
		for _, open := range []bool{true, false} {
			to := c.New(t, all(serde.Long))
			if open {
				longs(t, to, "count")
			}
			if err := to.Restore([]checkpoint.KeyGroupState{x.g}); err == nil || !strings.Contains(err.Error(), x.want) || !strings.HasPrefix(err.Error(), "key group ") {
				t.Errorf("%s: %v, want %s", x.name, err, x.want)
			}
		}
	}
}

// A key may be a view of a buffer that is filled anew.
func keyIsCloned(t *testing.T, c Config) {
	b := c.New(t, all(serde.String))
	v := longs(t, b, "v")
	s := []byte("aaaa")
	for _, name := range []string{"aaaa", "bbbb", "aaaa"} {
		copy(s, name)
		set(t, b, serde.Key{Str: unsafe.String(&s[0], len(s))})
		n, err := v.Value()
		ok(t, err)
		ok(t, v.Update(n+1))
	}
	copy(s, "zzzz")
	got := map[string]int64{}
	ok(t, v.Each(func(_ int, k serde.Key, _ state.Window, n int64) bool { got[strings.Clone(k.Str)] = n; return true }))
	if len(got) != 2 || got["aaaa"] != 2 || got["bbbb"] != 1 {
		t.Errorf("%v", got)
	}
}

func foreignKey(t *testing.T, c Config) {
	b := c.New(t, subtask(t, serde.Long, 2, 0))
	if err := b.Context().Set(num(0), serde.HashKey(serde.Long, num(0))); err == nil || !strings.Contains(err.Error(), "key 0 has key group 94") {
		t.Errorf("%v", err)
	}
}

// Stats.Bytes is what a savepoint holds beside its headers.
func figures(t *testing.T, c Config) {
	b := c.New(t, all(serde.Long))
	v, err := keyed.Value(b, state.ValueDescriptor[string]{Name: "v", Codec: state.String()})
	ok(t, err)
	m, err := keyed.Map(b, state.MapDescriptor[int64, string]{Name: "m", Key: state.Int64(), Value: state.String()})
	ok(t, err)
	var bytes int64
	for k := range int64(50) {
		set(t, b, num(k))
		ok(t, v.Update("x"))
		ok(t, v.Update(strings.Repeat("y", int(k))))
		bytes += 8 + 1 + k
		for i := range k % 4 {
			ok(t, m.Put(i, "first"))
			ok(t, m.Put(i, "zz"))
			bytes += 8 + 8 + 1 + 3
		}
		ok(t, m.Put(99, "gone"))
		ok(t, m.Remove(99))
	}
	s := b.Stats()
	if s.Bytes != bytes || s.Keys != 50 || s.RestoredKeys != 0 {
		t.Errorf("%+v, want 50 keys and %d bytes", s, bytes)
	}
	to := c.New(t, all(serde.Long))
	ok(t, to.Restore(saved(t, b)))
	if r := to.Stats(); r.Bytes != bytes || r.Keys != 50 || r.RestoredKeys != 50 || r.KeysOutOfRange != 0 {
		t.Errorf("restored: %+v, want 50 keys and %d bytes", r, bytes)
	}
}
