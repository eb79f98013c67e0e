package heap_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
)

func newBackend(t testing.TB, k serde.KeyType) *heap.Backend {
	t.Helper()
	b, err := heap.New(heap.Options{Key: k, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newCount(t testing.TB, b state.Backend) *state.ValueState[int64] {
	t.Helper()
	v, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// counting counts the n-th of uniformly drawn keys.
type counting struct {
	ctx   *state.KeyContext
	count *state.ValueState[int64]
	t     serde.KeyType
	names []string
	keys  uint64
	n     uint64
}

func newCounting(t testing.TB, b state.Backend, keys int) *counting {
	c := &counting{ctx: b.Context(), count: newCount(t, b), t: b.Context().KeyType(), keys: uint64(keys), n: 1}
	if c.t == serde.String {
		for i := range keys {
			c.names = append(c.names, fmt.Sprintf("key-%07d", i))
		}
	}
	for i := range keys {
		c.add(t, uint64(i))
	}
	return c
}

func (c *counting) next(t testing.TB) {
	c.n = c.n*6364136223846793005 + 1442695040888963407
	c.add(t, (c.n>>33)%c.keys)
}

func (c *counting) add(t testing.TB, i uint64) {
	k := serde.Key{Num: int64(i)}
	if c.names != nil {
		k = serde.Key{Str: c.names[i]}
	}
	if err := c.ctx.Set(k, serde.HashKey(c.t, k)); err != nil {
		t.Fatal(err)
	}
	v, _, err := c.count.Get()
	if err == nil {
		err = c.count.Update(v + 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.ctx.Clear()
}

func BenchmarkGetPut(b *testing.B) {
	for _, keys := range []int{100, 1000, 100_000, 1_000_000} {
		for _, k := range []serde.KeyType{serde.Long, serde.String} {
			b.Run(fmt.Sprintf("%v/%d", k, keys), func(b *testing.B) {
				c := newCounting(b, newBackend(b, k), keys)
				b.ReportAllocs()
				for b.Loop() {
					c.next(b)
				}
			})
		}
	}
}

// One snapshot open, never released: each entry is copied once.
func BenchmarkGetPutUnderSnapshot(b *testing.B) {
	backend := newBackend(b, serde.Long)
	c := newCounting(b, backend, 1_000_000)
	s, err := backend.Snapshot(1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Release()
	b.ReportAllocs()
	for b.Loop() {
		c.next(b)
	}
}

func BenchmarkSnapshotSync(b *testing.B) {
	for _, k := range []serde.KeyType{serde.Long, serde.String} {
		b.Run(fmt.Sprintf("%v/1000000", k), func(b *testing.B) {
			backend := newBackend(b, k)
			c := newCounting(b, backend, 1_000_000)
			var first, worst time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				s, err := backend.Snapshot(1)
				worst = max(worst, time.Since(start))
				if first == 0 {
					first = time.Since(start)
				}
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				c.next(b)
				s.Release()
				b.StartTimer()
			}
			b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
		})
	}
}

func BenchmarkSnapshotWrite(b *testing.B) {
	backend := newBackend(b, serde.Long)
	newCounting(b, backend, 1_000_000)
	for b.Loop() {
		s, err := backend.Snapshot(1)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Write(context.Background(), io.Discard); err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}

func BenchmarkRestore(b *testing.B) {
	backend := newBackend(b, serde.Long)
	newCounting(b, backend, 1_000_000)
	groups, err := state.GroupBytes(backend, 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		to := newBackend(b, serde.Long)
		newCount(b, to)
		if err := to.Restore(groups); err != nil {
			b.Fatal(err)
		}
	}
}
