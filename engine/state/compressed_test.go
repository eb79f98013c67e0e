package state_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
)

// TestCompressed writes a state both ways: the values come back from either, and damage is told.
func TestCompressed(t *testing.T) {
	open := func() (*heap.Backend, *state.ValueState[string]) {
		b, err := heap.New(heap.Options{Key: serde.String, MaxParallelism: 8, KeyGroups: keygroup.Range{First: 0, Last: 7}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := keyed.Value(b, state.ValueDescriptor[string]{Name: "v", Codec: state.String()})
		if err != nil {
			t.Fatal(err)
		}
		return b, v
	}
	b, v := open()
	value := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 200*i) }
	set := func(b *heap.Backend, i int) {
		k := serde.Key{Str: strings.Repeat("k", 1+i)}
		if err := b.Context().Set(k, serde.HashKey(serde.String, k)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 { // some key groups have more than one block
		set(b, i)
		if err := v.Update(value(i)); err != nil {
			t.Fatal(err)
		}
	}
	b.Context().Clear()
	s, err := b.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	var plain, packed bytes.Buffer
	if _, err := s.Write(context.Background(), &plain); err != nil {
		t.Fatal(err)
	}
	offsets, err := s.Write(state.Compressed(context.Background()), &packed)
	if err != nil {
		t.Fatal(err)
	}
	if packed.Len() > plain.Len()/5 || plain.Len() < 8<<20 {
		t.Errorf("%d bytes compressed to %d", plain.Len(), packed.Len())
	}
	groups := state.SplitGroups(packed.Bytes(), offsets)
	to, w := open()
	if err := to.Restore(groups); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		set(to, i)
		if got, err := w.Value(); err != nil || got != value(i) {
			t.Fatalf("value %d has %d characters, want %d; %v", i, len(got), len(value(i)), err)
		}
	}
	for at := range 60 {
		damaged := append([]byte(nil), groups[0].Data...)
		damaged[at] ^= 0x55
		to, _ := open()
		bad := groups[0]
		bad.Data = damaged
		if err := to.Restore(groups[:0:0]); err != nil {
			t.Fatal(err)
		}
		_ = to.Restore(append(groups[:0:0], bad)) // must not panic, nor take all memory
	}
	bad := groups[0]
	bad.Data = bad.Data[:len(bad.Data)-7]
	to, _ = open()
	if err := to.Restore(append(groups[:0:0], bad)); err == nil || !strings.Contains(err.Error(), "key group") {
		t.Errorf("truncated: %v", err)
	}
}
