package lsm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
)

// The sync phase writes what was changed since the last one, and makes hard links: how much it writes goes by the changes, not
// by the size of the state.
func TestSyncPhaseWritesChangesOnly(t *testing.T) {
	const changed = 500
	var flushed []int64
	for _, keys := range []int64{1000, 30_000} {
		dir := filepath.Join(t.TempDir(), "db")
		b := must[*lsm.Backend](t)(lsm.Open(lsm.Options{Dir: dir, Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127},
			Memory: newMemory(t, 64<<20, 1)}))
		defer b.Close()
		text := must[*state.ValueState[string]](t)(keyed.Value(b, state.ValueDescriptor[string]{Name: "t", Codec: state.String()}))
		put := func(n int64, round int) {
			k := serde.Key{Num: n}
			if err := b.Context().Set(k, serde.HashKey(serde.Long, k)); err != nil {
				t.Fatal(err)
			}
			if err := text.Update(fmt.Sprintf("%d %0100d", round, n*7_919_317)); err != nil {
				t.Fatal(err)
			}
			b.Context().Clear()
		}
		for n := range keys {
			put(n, 0)
		}
		must[*lsm.FilesSnapshot](t)(b.SnapshotFiles(1)).Release()
		for n := range int64(changed) {
			put(n, 1)
		}
		before := b.LSM().FlushedBytes
		s := must[*lsm.FilesSnapshot](t)(b.SnapshotFiles(2))
		flushed = append(flushed, b.LSM().FlushedBytes-before)
		tables := must[[]string](t)(filepath.Glob(filepath.Join(dir, "snapshot-2", "*.sst")))
		if len(tables) < 2 {
			t.Errorf("%d keys: tables %q", keys, tables)
		}
		for _, name := range tables {
			info := must[os.FileInfo](t)(os.Stat(name))
			if n := reflect.Indirect(reflect.ValueOf(info.Sys())).FieldByName("Nlink"); n.IsValid() && n.Uint() < 2 {
				t.Errorf("%d keys: %s is a copy, expected a hard link", keys, strings.TrimPrefix(name, dir))
			}
		}
		s.Release()
	}
	if flushed[1] > flushed[0]*5/4 || flushed[0] < changed*16 {
		t.Errorf("for %d changes %d bytes were written of a small state, %d of a large one: expected about as many", changed, flushed[0], flushed[1])
	}
}
