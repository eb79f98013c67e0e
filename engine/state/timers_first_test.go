package state

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/engine/keygroup"
	"weir/engine/serde"
)

// The first timers are those that would fire first, in the same order, and each lies in its key's group.
func TestFirstTimers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		ctx, err := NewKeyContext(serde.Long, 128, keygroup.Range{First: 64, Last: 127})
		if err != nil {
			t.Fatal(err)
		}
		timers := newTimers(ctx, "t", NoNamespace)
		for range r.IntN(200) {
			k := serde.Key{Num: r.Int64N(500)}
			if ctx.Set(k, serde.HashKey(serde.Long, k)) != nil {
				continue // of another subtask
			}
			at := r.Int64N(40)
			if _, err := timers.Register(at, Window{}); err != nil {
				t.Fatal(err)
			}
			if r.IntN(4) == 0 {
				if _, err := timers.Delete(at, Window{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		ctx.Clear()
		n := r.IntN(250)
		first := timers.First(n)
		if want := min(int64(n), timers.Len()); int64(len(first)) != want {
			t.Fatalf("round %d: %d timers, want %d", round, len(first), want)
		}
		var fired []Timer
		if err := timers.Fire(1000, func(x Timer) error {
			fired = append(fired, x)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, f := range first {
			if f.Timer != fired[i] || f.KeyGroup != keygroup.Assign(serde.HashKey(serde.Long, f.Key), 128) {
				t.Fatalf("round %d: timer %d is %+v, %+v fires", round, i, f, fired[i])
			}
		}
		if !slices.IsSortedFunc(first, func(a, b TimerAt) int { return cmp.Compare(a.Time, b.Time) }) {
			t.Fatalf("round %d: not in the order of time", round)
		}
	}
}
