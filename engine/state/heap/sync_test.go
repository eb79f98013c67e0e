package heap_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
)

// The sync phase copies one slot number of four bytes an entry, and what each of the maps is itself; no entry, no key and no
// value. Its time is that of these bytes: BenchmarkSnapshotSync has it for a million entries.
func TestSnapshotCopiesSlotsOnly(t *testing.T) {
	const entries = 40_000
	for _, c := range []struct {
		kind  string
		value string
	}{{"short", "x"}, {"long", strings.Repeat("x", 2000)}} {
		for _, k := range []serde.KeyType{serde.Long, serde.String} {
			b := newBackend(t, k)
			text, err := keyed.Value(b, state.ValueDescriptor[string]{Name: "text", Codec: state.String()})
			if err != nil {
				t.Fatal(err)
			}
			for i := range entries {
				key := serde.Key{Num: int64(i)}
				if k == serde.String {
					key = serde.Key{Str: fmt.Sprint("a key that has some length ", i)}
				}
				if err := b.Context().Set(key, serde.HashKey(k, key)); err != nil {
					t.Fatal(err)
				}
				if err := text.Update(c.value); err != nil {
					t.Fatal(err)
				}
				b.Context().Clear()
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := b.Snapshot(1)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			s.Release()
			const groups = 128
			bytes, objects := after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
			t.Logf("%v keys, %s values: %d bytes in %d objects", k, c.kind, bytes, objects)
			if most := uint64(4*entries + groups*512 + 16<<10); bytes > most || objects > 4*groups {
				t.Errorf("%v keys, %s values: a snapshot of %d entries allocates %d bytes in %d objects, expected at most %d in %d", k, c.kind, entries, bytes, objects, most, 4*groups)
			}
		}
	}
}
