package heap_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
)

func TestCountingAllocatesNothing(t *testing.T) {
	for _, k := range []serde.KeyType{serde.Long, serde.String} {
		c := newCounting(t, newBackend(t, k), 1000)
		// Finding out the goroutine, as invariants do, allocates.
		if n := testing.AllocsPerRun(1000, func() { c.next(t) }); n != 0 && !state.OwnerChecked {
			t.Errorf("%v: %v allocations", k, n)
		}
	}
}

// What a snapshot held is free once it is released, whoever releases it, and copies are told.
func TestReleaseFromAnotherGoroutine(t *testing.T) {
	copies := 0
	b, err := heap.New(heap.Options{
		Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127},
		Copied: func(c heap.Copy) {
			if copies++; c.State != "count" || !c.Entry || c.Value {
				t.Errorf("%+v", c)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newCounting(t, b, 1000)
	for round := range 3 {
		one, err := b.Snapshot(1)
		if err != nil {
			t.Fatal(err)
		}
		two, err := b.Snapshot(2)
		if err != nil {
			t.Fatal(err)
		}
		if b.SnapshotsOpen() != 2 {
			t.Errorf("%d snapshots open", b.SnapshotsOpen())
		}
		for i := range uint64(1000) {
			c.add(t, i)
			c.add(t, i)
		}
		if copies != 1000*(round+1) {
			t.Errorf("%d copies", copies)
		}
		retired := func() (n, slots int) {
			for g := range 128 {
				r, _ := b.Readings("count", g)
				n += r.Retired
				slots += r.Slots
			}
			return n, slots
		}
		if n, _ := retired(); n != 1000 {
			t.Errorf("%d retired, want 1000", n)
		}
		done := make(chan struct{})
		go func() { two.Release(); two.Release(); close(done) }()
		<-done
		if n, _ := retired(); n != 1000 || b.SnapshotsOpen() != 1 {
			t.Errorf("one open: %d retired, %d open", n, b.SnapshotsOpen())
		}
		one.Release()
		if n, slots := retired(); n != 0 || slots != 2000 || b.SnapshotsOpen() != 0 {
			t.Errorf("none open: %d retired, %d slots, %d open", n, slots, b.SnapshotsOpen())
		}
		if _, err := one.Write(context.Background(), &bytes.Buffer{}); !errors.Is(err, state.ErrReleased) {
			t.Errorf("a released one was written: %v", err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Snapshot(3); !errors.Is(err, state.ErrClosed) {
		t.Errorf("a closed one was snapshotted: %v", err)
	}
}
