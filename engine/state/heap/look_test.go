package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
)

// TestLook shows a map before, under and behind a snapshot, with what a read, a write, a new key and a removal do to it.
func TestLook(t *testing.T) {
	b, err := heap.New(heap.Options{Key: serde.Long, MaxParallelism: 1, KeyGroups: keygroup.Range{}})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := keyed.Value(b, state.ValueDescriptor[[]int64]{Name: "objects", Codec: state.List(state.Int64())})
	if err != nil {
		t.Fatal(err)
	}
	at := func(k int64, f func() error) {
		t.Helper()
		key := serde.Key{Num: k}
		if err := b.Context().Set(key, serde.HashKey(serde.Long, key)); err != nil {
			t.Fatal(err)
		}
		if err := f(); err != nil {
			t.Fatal(err)
		}
		b.Context().Clear()
	}
	put := func(k, v int64) { at(k, func() error { return objects.Update([]int64{v}) }) }
	for k := range int64(5) {
		put(k, k)
	}
	if v, ok := b.Look("objects", 0, 64); !ok || len(v.Live) != 5 || len(v.Old) != 0 || v.Version != 0 || !v.CopiesOnRead || v.NewWords != 8 {
		t.Errorf("before: %v %+v", ok, v)
	}
	s, err := b.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	at(0, func() error { _, _, err := objects.Get(); return err })
	put(1, 100)
	put(7, 7)
	at(2, objects.Clear)
	v, _ := b.Look("objects", 0, 64)
	type seen struct {
		entry, value uint32
		text         string
		in           int
	}
	read := func(list []heap.EntryView) map[string]seen {
		m := map[string]seen{}
		for _, e := range list {
			m[e.Key] = seen{e.EntryVersion, e.ValueVersion, e.Value, len(e.In)}
		}
		return m
	}
	live, old := read(v.Live), read(v.Old)
	for key, want := range map[string]seen{"0": {1, 1, "[0]", 0}, "1": {1, 1, "[100]", 0}, "3": {0, 0, "[3]", 1}, "4": {0, 0, "[4]", 1}, "7": {1, 1, "[7]", 0}} {
		if live[key] != want {
			t.Errorf("live %s: %+v, want %+v", key, live[key], want)
		}
	}
	for key, want := range map[string]seen{"0": {0, 0, "[0]", 1}, "1": {0, 0, "[1]", 1}, "2": {0, 0, "[2]", 1}} {
		if old[key] != want {
			t.Errorf("old %s: %+v, want %+v", key, old[key], want)
		}
	}
	if len(live) != 5 || len(old) != 3 || v.EntryCopies != 2 || v.ValueCopies != 1 || v.LeftOut != 0 {
		t.Errorf("under the snapshot: %+v", v)
	}
	if n, bytes := b.Held(); n != 3 || bytes <= 0 {
		t.Errorf("%d entries, %d bytes held", n, bytes)
	}
	if v, _ := b.Look("objects", 0, 2); len(v.Live) != 2 || len(v.Old) != 2 || v.LeftOut != 4 {
		t.Errorf("two at most: %+v", v)
	}
	s.Release()
	if v, _ := b.Look("objects", 0, 64); len(v.Old) != 0 || len(v.Open) != 0 {
		t.Errorf("released: %+v", v)
	}
	if _, ok := b.Look("nothing", 0, 64); ok {
		t.Error("a state that is not there was seen")
	}
	if _, ok := b.Look("objects", 1, 64); ok {
		t.Error("a key group that is not there was seen")
	}
}

// TestCleanup goes round through all key groups: what has expired goes though nobody reads it, also while maps grow and
// snapshots are open, and what lives stays.
func TestCleanup(t *testing.T) {
	now, each := int64(1000), 0
	b, err := heap.New(heap.Options{Key: serde.Long, MaxParallelism: 8, KeyGroups: keygroup.Range{First: 0, Last: 7}, Clock: func() int64 { return now },
		Cleanup: func() int { return each }})
	if err != nil {
		t.Fatal(err)
	}
	v, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "v", Codec: state.Int64(), TTL: state.TTL{After: 10e6}}) // 10 ms
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	written := map[int64]int64{} // by key, when
	at := func(k int64) {
		key := serde.Key{Num: k}
		if err := b.Context().Set(key, serde.HashKey(serde.Long, key)); err != nil {
			t.Fatal(err)
		}
	}
	var snapshots []state.Snapshot
	for step := range 20_000 {
		k := r.Int64N(600)
		at(k)
		if r.IntN(3) == 0 {
			if err := v.Update(k); err != nil {
				t.Fatal(err)
			}
			written[k] = now
		} else if got, ok, err := v.Get(); err != nil || ok != (written[k] > 0 && written[k]+10 > now) || ok && got != k {
			t.Fatalf("step %d, key %d written at %d, now %d: %d %v %v", step, k, written[k], now, got, ok, err)
		}
		b.Context().Clear()
		switch r.IntN(40) {
		case 0:
			now++
		case 1:
			each = r.IntN(8)
		case 2:
			s, err := b.Snapshot(int64(step))
			if err != nil {
				t.Fatal(err)
			}
			snapshots = append(snapshots, s)
		case 3:
			if n := len(snapshots); n > 0 {
				i := r.IntN(n)
				snapshots[i].Release()
				snapshots = slices.Delete(snapshots, i, i+1)
			}
		}
	}
	for _, s := range snapshots {
		s.Release()
	}
	now += 100
	each = 0
	for k := range int64(50) {
		at(1000 + k)
		if err := v.Update(k); err != nil {
			t.Fatal(err)
		}
		b.Context().Clear()
	}
	live, expired, err := v.Ages()
	if err != nil || live != 50 || expired == 0 {
		t.Fatalf("%d live, %d expired, %v", live, expired, err)
	}
	before := b.Stats()
	each = 7
	at(1000)
	for range 200 {
		if _, ok, err := v.Get(); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	b.Context().Clear()
	live, gone, err := v.Ages()
	s := b.Stats()
	if err != nil || live != 50 || gone != 0 || s.Keys != 50 || s.Bytes != 50*24 || s.DroppedInBackground-before.DroppedInBackground != expired {
		t.Errorf("cleaned up: %d live, %d expired of %d, %+v, %v", live, gone, expired, s, err)
	}
}
