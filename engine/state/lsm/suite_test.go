package lsm_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/state"
	"weir/engine/state/lsm"
	"weir/engine/state/statetest"
)

// The behaviours that every backend has (SBT). Timers lie on the heap here, so that values alone are copies.
func TestBehaviours(t *testing.T) {
	m := newMemory(t, 64<<20, 128)
	statetest.Run(t, statetest.Config{
		New: func(t testing.TB, e statetest.Env) state.Backend {
			b, err := lsm.Open(lsm.Options{Dir: "/db", FS: vfs.NewMem(), Key: e.Key, MaxParallelism: e.MaxParallelism, KeyGroups: e.KeyGroups, Memory: m, Clock: e.Clock})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
			return b
		},
		Ordered:     true,
		SafeToReuse: true,
	})
}
