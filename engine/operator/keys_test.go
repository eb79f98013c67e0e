package operator

import (
	"math"
	"math/rand/v2"
	"testing"

	"weir/engine/serde"
	"weir/engine/task"
)

// The published experiment: 80 % to key 0, the rest to 1 + n % 127.
func TestHotKeyAsPublished(t *testing.T) {
	s := task.Defaults()
	s.HotKeyShare = 0.8
	k := newKeyer(&s, serde.Long)
	for _, from := range []int64{0, 1<<62 - 50000, math.MaxInt64 - 100001} {
		for n := from; n < from+100000; n++ {
			want := int64(0)
			if n%10 >= 8 {
				want = 1 + n%127
			}
			if got := k.number(n); got != want {
				t.Fatalf("record %d: key %d, want %d", n, got, want)
			}
		}
	}
	s.HotKeyShare = 0
	k = newKeyer(&s, serde.Long)
	for n := range int64(1000) {
		if got := k.number(n); got != n%128 {
			t.Fatalf("record %d: key %d, want %d", n, got, n%128)
		}
	}
}

// Any share and number of keys: the hot key gets its share also of short pieces, the others all occur, about equally.
func TestHotKeyShare(t *testing.T) {
	for _, share := range []float64{0.01, 0.25, 1.0 / 3, 0.5, 0.8, 0.805, 0.999, 1} {
		for _, keys := range []int64{1, 2, 3, 6, 11, 21, 111, 128} {
			s := task.Defaults()
			s.HotKeyShare, s.Keys = share, keys
			k := newKeyer(&s, serde.Long)
			counts := make([]int64, keys)
			const total = 1500000
			for n := range int64(total) {
				key := k.number(n)
				counts[key]++
				if n%1000 == 999 && keys > 1 {
					if want := share * float64(n+1); math.Abs(float64(counts[0])-want) > 10 {
						t.Fatalf("share %v of %d keys: %d hot of the first %d, want %.0f", share, keys, counts[0], n+1, want)
					}
				}
			}
			if keys == 1 || share == 1 {
				if counts[0] != total {
					t.Errorf("share %v of %d keys: %d hot", share, keys, counts[0])
				}
				continue
			}
			want := float64(total-counts[0]) / float64(keys-1)
			for key, n := range counts[1:] {
				if float64(n) < want*0.7-2 || float64(n) > want*1.3+2 {
					t.Errorf("share %v of %d keys: key %d has %d, want about %.0f", share, keys, key+1, n, want)
				}
			}
		}
	}
}

func TestDivisor(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	ends := []uint64{0, 1, 2, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	for i := range 2000000 {
		d := rnd.Uint64()>>rnd.IntN(64) | 1>>min(i%2, 1)
		if d == 0 {
			d = 1 << rnd.IntN(64)
		}
		n := rnd.Uint64() >> rnd.IntN(64)
		if i < len(ends)*1000 {
			n = ends[i%len(ends)]
		}
		if got := newDivisor(d).mod(n); got != n%d {
			t.Fatalf("%d %% %d: %d, want %d", n, d, got, n%d)
		}
	}
}

func TestKeyTypes(t *testing.T) {
	s := task.Defaults()
	for _, c := range []struct {
		t    serde.KeyType
		n    int64
		want string
	}{{serde.Long, 130, "2"}, {serde.Int, 127, "127"}, {serde.String, 42, "42"}, {serde.Bool, 3, "true"}, {serde.Double, 5, "5.0"}} {
		k := newKeyer(&s, c.t)
		var key serde.Key
		k.key(c.n, &key)
		if got := serde.FormatKey(c.t, key); got != c.want {
			t.Errorf("%v %d: %s, want %s", c.t, c.n, got, c.want)
		}
		if isHot(c.t, &key) {
			t.Errorf("%v %d is hot", c.t, c.n)
		}
		if k.key(0, &key); !isHot(c.t, &key) {
			t.Errorf("%v 0 is not hot", c.t)
		}
	}
}
