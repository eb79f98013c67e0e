package lsm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
)

// Get and put through the whole backend, on the disk.
func BenchmarkGetPut(b *testing.B) {
	for _, c := range []struct {
		keys  int64
		bytes int
	}{{1000, 8}, {1000, 100}, {1000, 1024}, {100_000, 8}, {1_000_000, 100}} {
		b.Run(fmt.Sprintf("keys=%d/bytes=%d", c.keys, c.bytes), func(b *testing.B) {
			m := newMemory(b, 64<<20, 2)
			o := lsm.Options{Dir: b.TempDir() + "/db", Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}, Memory: m}
			back := must[*lsm.Backend](b)(lsm.Open(o))
			defer back.Close()
			count := must[*state.ValueState[int64]](b)(keyed.Value(back, state.ValueDescriptor[int64]{Name: "c", Codec: state.Int64()}))
			text := must[*state.ValueState[string]](b)(keyed.Value(back, state.ValueDescriptor[string]{Name: "t", Codec: state.String()}))
			payload := strings.Repeat("x", c.bytes)
			one := func(n int64) {
				k := serde.Key{Num: n}
				if err := back.Context().Set(k, serde.HashKey(serde.Long, k)); err != nil {
					b.Fatal(err)
				}
				var err error
				if c.bytes == 8 {
					var v int64
					if v, _, err = count.Get(); err == nil {
						err = count.Update(v + 1)
					}
				} else if _, _, err = text.Get(); err == nil {
					err = text.Update(payload)
				}
				if err != nil {
					b.Fatal(err)
				}
				back.Context().Clear()
			}
			for n := range c.keys {
				one(n)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				one(rnd.Int64N(c.keys))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1000, "k/s")
		})
	}
}

// The synchronous phase with 10,000 changed keys, over states of two sizes.
func BenchmarkSyncPhase(b *testing.B) {
	for _, keys := range []int64{20_000, 500_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			m := newMemory(b, 64<<20, 2)
			back := must[*lsm.Backend](b)(lsm.Open(lsm.Options{Dir: b.TempDir() + "/db", Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}, Memory: m}))
			defer back.Close()
			text := must[*state.ValueState[string]](b)(keyed.Value(back, state.ValueDescriptor[string]{Name: "t", Codec: state.String()}))
			put := func(n int64) {
				k := serde.Key{Num: n}
				back.Context().Set(k, serde.HashKey(serde.Long, k))
				if err := text.Update(strings.Repeat("x", 100)); err != nil {
					b.Fatal(err)
				}
				back.Context().Clear()
			}
			for n := range keys {
				put(n)
			}
			var id int64
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				for n := range int64(10_000) {
					put(n)
				}
				id++
				b.StartTimer()
				s, err := back.SnapshotFiles(id)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				s.Release()
				b.StartTimer()
			}
		})
	}
}

// Pebble alone with the same keys, in the same process: what the backend adds is the difference.
func BenchmarkPebbleAlone(b *testing.B) {
	for _, keys := range []int64{1000, 100_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			p, err := pebble.Open(b.TempDir(), &pebble.Options{DisableWAL: true, MemTableSize: 16 << 20, Logger: quiet{}})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			key := lsm.NewCompositeKey(128)
			var value [8]byte
			one := func(n int64) {
				k := serde.Key{Num: n}
				key.SetKey(keygroup.Assign(serde.HashKey(serde.Long, k), 128), serde.Long, k)
				kb := key.Namespace(0, lsm.VoidNamespace)
				if v, closer, err := p.Get(kb); err == nil {
					copy(value[:], v)
					closer.Close()
				}
				if err := p.Set(kb, value[:], pebble.NoSync); err != nil {
					b.Fatal(err)
				}
			}
			for n := range keys {
				one(n)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			b.ResetTimer()
			for range b.N {
				one(rnd.Int64N(keys))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1000, "k/s")
		})
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}
