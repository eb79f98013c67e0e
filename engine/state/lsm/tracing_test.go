package lsm_test

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
	"weir/engine/trace"
)

// field reads a field of an event as text; "-" if it has none of that name.
func field(e trace.Event, name string) string {
	if f, ok := e.Field(name); ok {
		return f.String()
	}
	return "-"
}

// TestTracepoints counts one key, takes two checkpoints and restores a part, and sees each tracepoint of the store.
func TestTracepoints(t *testing.T) {
	tracer := trace.New()
	v := tracer.Attach()
	defer v.Close()
	v.Watch(trace.CompositeKeyBuilt, trace.ValueRead, trace.NativeCheckpoint, trace.SSTUploaded, trace.SSTReused, trace.Clipped)
	seq := uint64(0)
	events := func(p trace.Point) (found []trace.Event) {
		t.Helper()
		for _, e := range v.Events(seq, -1) {
			if e.Point == p {
				found = append(found, e)
			}
		}
		return found
	}
	dir := t.TempDir()
	shared := checkpoint.NewFileShared(filepath.Join(dir, checkpoint.SharedFolder), nil)
	o := lsm.Options{Dir: filepath.Join(dir, "db"), Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}, Memory: newMemory(t, 16<<20, 2), Tracer: tracer, Thread: "count 0"}
	b := must[*lsm.Backend](t)(lsm.Open(o))
	count := must[*state.ValueState[int64]](t)(keyed.Value(b, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()}))
	key := serde.Key{Num: 7}
	if err := b.Context().Set(key, serde.HashKey(serde.Long, key)); err != nil {
		t.Fatal(err)
	}
	if _, err := count.Value(); err != nil {
		t.Fatal(err)
	}
	if err := count.Update(1); err != nil {
		t.Fatal(err)
	}
	built, read := events(trace.CompositeKeyBuilt), events(trace.ValueRead)
	if len(built) != 2 || field(built[0], "bytes") != "710000000000000000000700" || field(built[0], "keyGroup") != "113" || field(built[0], "key") != "7" || field(built[0], "state") != "count" || built[0].Thread != "count 0" {
		t.Errorf("keys: %+v", built)
	}
	if len(read) != 1 || field(read[0], "found") != "0" || field(read[0], "bytes") != field(built[0], "bytes") {
		t.Errorf("reads: %+v", read)
	}
	if a := b.LSM().Access; a != (lsm.Access{Gets: 1, Puts: 1, KeyBytes: 24, WrittenKeyBytes: 12, WriteBytes: 8, PrefixBuilt: 1}) {
		t.Errorf("accesses: %+v", a)
	}
	b.Context().Clear()
	var last checkpoint.IncrementalState
	for id := int64(1); id <= 2; id++ {
		f := must[*lsm.FilesSnapshot](t)(b.SnapshotFiles(id))
		u := must[*lsm.Upload](t)(f.Upload(t.Context(), shared, 0))
		f.Release()
		b.CheckpointCompleted(id)
		last = u.State
		native, up, re := events(trace.NativeCheckpoint), events(trace.SSTUploaded), events(trace.SSTReused)
		if len(native) != 1 || field(native[0], "checkpoint") != field(up[0], "checkpoint") || field(native[0], "tables") != "1" || native[0].Thread != "count 0" {
			t.Errorf("checkpoint %d: %+v", id, native)
		}
		if len(re) != int(id-1) || len(up)+len(re) != len(u.Files) {
			t.Errorf("checkpoint %d: %d uploaded, %d reused, of %d files", id, len(up), len(re), len(u.Files))
		}
		for _, e := range re {
			if field(e, "firstCheckpoint") != "1" || field(e, "file") == "" || e.Thread != "count 0 async 2" {
				t.Errorf("reused: %+v", e)
			}
		}
		seq = up[len(up)-1].Seq
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	o.Dir, o.KeyGroups = filepath.Join(dir, "other"), keygroup.Range{First: 0, Last: 42}
	b = must[*lsm.Backend](t)(lsm.Restore(o, lsm.Source{States: []checkpoint.IncrementalState{last}, Files: shared}))
	defer b.Close()
	if c := events(trace.Clipped); len(c) != 1 || field(c[0], "from") != "43" || field(c[0], "to") != "128" || field(c[0], "handleTo") != "128" {
		t.Errorf("clipped: %+v", c)
	}
}

// TestTracepointsCostNothing holds an access to what the store itself allocates, with a tracer that nobody looks at.
func TestTracepointsCostNothing(t *testing.T) {
	allocations := func(tracer *trace.Tracer) float64 {
		b := must[*lsm.Backend](t)(lsm.Open(lsm.Options{Dir: "/db", FS: vfs.NewMem(), Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}, Memory: newMemory(t, 16<<20, 1), Tracer: tracer}))
		defer b.Close()
		count := must[*state.ValueState[int64]](t)(keyed.Value(b, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()}))
		key := serde.Key{Num: 7}
		hash := serde.HashKey(serde.Long, key)
		return testing.AllocsPerRun(1000, func() {
			if err := b.Context().Set(key, hash); err != nil {
				t.Fatal(err)
			}
			if _, err := count.Value(); err != nil {
				t.Fatal(err)
			}
			b.Context().Clear()
		})
	}
	if without, with := allocations(nil), allocations(trace.New()); with != without {
		t.Errorf("a read allocates %v times with a tracer, %v without", with, without)
	}
}
