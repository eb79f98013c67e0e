package heap_test

import (
	"testing"

	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/statetest"
)

func TestBackend(t *testing.T) {
	statetest.Run(t, statetest.Config{
		New: func(t testing.TB, e statetest.Env) state.Backend {
			b, err := heap.New(heap.Options{Key: e.Key, MaxParallelism: e.MaxParallelism, KeyGroups: e.KeyGroups, Clock: e.Clock})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		Live: true,
	})
}
