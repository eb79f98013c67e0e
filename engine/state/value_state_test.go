package state

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
)

const maxParallelism = 128

func open(t testing.TB, k serde.KeyType, p, index int) *Value[int64] {
	t.Helper()
	r, err := keygroup.RangeFor(maxParallelism, p, index)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewValue(Options{Name: "count", Key: k, MaxParallelism: maxParallelism, KeyGroups: r}, Int64())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func add(t testing.TB, v *Value[int64], k serde.Key) {
	t.Helper()
	if err := v.SetCurrentKey(k, serde.HashKey(v.o.Key, k)); err != nil {
		t.Fatal(err)
	}
	n, _ := v.Get()
	v.Put(n + 1)
}

func content(v *Value[int64]) map[serde.Key]int64 {
	m := map[serde.Key]int64{}
	v.Each(func(_ int, k serde.Key, n int64) bool { m[k] = n; return true })
	return m
}

func makeKey(t serde.KeyType, n int64) serde.Key {
	switch t {
	case serde.String:
		return serde.Key{Str: strings.Repeat("é", int(n%200)) + fmt.Sprint(n)}
	case serde.Bool:
		return serde.Key{Num: n & 1}
	}
	return serde.Key{Num: n}
}

var keyTypes = []serde.KeyType{serde.Long, serde.Int, serde.String, serde.Bool, serde.Double}

// Random counts against a built-in map, snapshot and restored at changing parallelism.
func TestCountsEqualAMap(t *testing.T) {
	for _, kt := range keyTypes {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		want := map[serde.Key]int64{}
		p := 1 + rnd.IntN(5)
		subtasks := make([]*Value[int64], p)
		for i := range subtasks {
			subtasks[i] = open(t, kt, p, i)
		}
		for round := range 6 {
			for range 3000 {
				k := makeKey(kt, rnd.Int64N(2000)-1000*int64(round%2)*boolToInt(kt != serde.String && kt != serde.Bool))
				want[k]++
				group := keygroup.Assign(serde.HashKey(kt, k), maxParallelism)
				add(t, subtasks[keygroup.OperatorIndex(maxParallelism, p, group)], k)
			}
			got, keys, bytes := map[serde.Key]int64{}, int64(0), int64(0)
			var groups []checkpoint.KeyGroupState
			for _, v := range subtasks {
				maps.Copy(got, content(v))
				keys += v.Stats().Keys
				snapshot := v.Snapshot()
				bytes += v.Stats().Bytes + int64(headerBytes*len(snapshot))
				groups = append(groups, snapshot...)
			}
			if !maps.Equal(got, want) || keys != int64(len(want)) {
				t.Fatalf("%v, seed %d, round %d: %d keys, want %d", kt, seed, round, keys, len(want))
			}
			if n := (&checkpoint.OperatorState{Keyed: groups}).Bytes(); n != bytes {
				t.Fatalf("%v, seed %d: %d bytes in the snapshot, %d by the figures", kt, seed, n, bytes)
			}
			p = 1 + rnd.IntN(5)
			subtasks = make([]*Value[int64], p)
			var restored, outside int64
			for i := range subtasks {
				subtasks[i] = open(t, kt, p, i)
				if err := subtasks[i].Restore(groups); err != nil {
					t.Fatal(err)
				}
				restored += subtasks[i].Stats().RestoredKeys
				outside += subtasks[i].Stats().KeysOutOfRange
			}
			if restored != int64(len(want)) || outside != int64(p-1)*restored {
				t.Fatalf("%v, seed %d: %d keys restored and %d left out, want %d and %d", kt, seed, restored, outside, len(want), (p-1)*len(want))
			}
		}
	}
}

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// A key may be a view of a buffer that is filled anew.
func TestKeyIsClonedOnInsert(t *testing.T) {
	v := open(t, serde.String, 1, 0)
	b := []byte("aaaa")
	add(t, v, serde.Key{Str: unsafe.String(&b[0], len(b))})
	copy(b, "bbbb")
	add(t, v, serde.Key{Str: unsafe.String(&b[0], len(b))})
	copy(b, "aaaa")
	add(t, v, serde.Key{Str: unsafe.String(&b[0], len(b))})
	copy(b, "zzzz")
	if got := content(v); len(got) != 2 || got[serde.Key{Str: "aaaa"}] != 2 || got[serde.Key{Str: "bbbb"}] != 1 {
		t.Errorf("%v", got)
	}
}

func TestRestoreRefuses(t *testing.T) {
	v := open(t, serde.Long, 1, 0)
	add(t, v, serde.Key{Num: 0})
	good := v.Snapshot()[0] // key 0 has group 94
	change := func(f func(*checkpoint.KeyGroupState)) checkpoint.KeyGroupState {
		g := checkpoint.KeyGroupState{KeyGroup: good.KeyGroup, Data: append([]byte(nil), good.Data...)}
		f(&g)
		return g
	}
	for _, c := range []struct {
		name, want string
		g          checkpoint.KeyGroupState
	}{
		{"empty", "0 bytes, expected at least 6", change(func(g *checkpoint.KeyGroupState) { g.Data = nil })},
		{"version", "format version 9, expected 1", change(func(g *checkpoint.KeyGroupState) { g.Data[0] = 9 })},
		{"key type", "keys of type string, expected long", change(func(g *checkpoint.KeyGroupState) { g.Data[1] = 2 })},
		{"too many", "entry 2 of 4294967295: the bytes end inside a value", change(func(g *checkpoint.KeyGroupState) { copy(g.Data[2:], "\xff\xff\xff\xff") })},
		{"too few", "16 bytes behind the last of 0 entries", change(func(g *checkpoint.KeyGroupState) { g.Data[5] = 0 })},
		{"short value", "entry 1 of 1: the bytes end inside a value", change(func(g *checkpoint.KeyGroupState) { g.Data = g.Data[:20] })},
		{"wrong group", "key \"0\" belongs to key group 94 of 128", change(func(g *checkpoint.KeyGroupState) { g.KeyGroup = 7 })},
		{"twice", "stands there twice", change(func(g *checkpoint.KeyGroupState) { g.Data[5] = 2; g.Data = append(g.Data, g.Data[6:]...) })},
	} {
		err := open(t, serde.Long, 1, 0).Restore([]checkpoint.KeyGroupState{c.g})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), `state "count", key group `) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestForeignKeyIsRefused(t *testing.T) {
	v := open(t, serde.Long, 2, 0)
	k := serde.Key{Num: 0}
	if err := v.SetCurrentKey(k, serde.HashKey(serde.Long, k)); err == nil || !strings.Contains(err.Error(), "key 0 has key group 94") {
		t.Errorf("%v", err)
	}
	for _, o := range []Options{{MaxParallelism: 0}, {MaxParallelism: 128, KeyGroups: keygroup.Range{First: 100, Last: 128}}} {
		if _, err := NewValue(o, Int64()); err == nil {
			t.Errorf("%+v accepted", o)
		}
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	for _, kt := range keyTypes {
		v := open(t, kt, 1, 0)
		keys := make([]serde.Key, 1000)
		for i := range keys {
			keys[i] = makeKey(kt, int64(i))
			add(t, v, keys[i])
		}
		i := 0
		if n := testing.AllocsPerRun(1000, func() { add(t, v, keys[i%len(keys)]); i++ }); n != 0 {
			t.Errorf("%v: %v allocations", kt, n)
		}
	}
}

func FuzzRestore(f *testing.F) {
	for _, kt := range keyTypes {
		v := open(f, kt, 1, 0)
		for i := range int64(20) {
			add(f, v, makeKey(kt, i))
		}
		for _, g := range v.Snapshot() {
			f.Add(byte(kt), g.KeyGroup, g.Data)
		}
	}
	f.Fuzz(func(t *testing.T, kt byte, group int, data []byte) {
		k := serde.KeyType(kt % 5)
		v := open(t, k, 1, 0)
		if v.Restore([]checkpoint.KeyGroupState{{KeyGroup: group, Data: data}}) != nil {
			return
		}
		w := open(t, k, 1, 0)
		if err := w.Restore(v.Snapshot()); err != nil || !maps.Equal(content(v), content(w)) {
			t.Fatalf("%v: %v, %v", err, content(v), content(w))
		}
	})
}

func BenchmarkCount(b *testing.B) {
	for _, keys := range []int64{1000, 100000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			v := open(b, serde.Long, 1, 0)
			n := uint64(1)
			for b.Loop() {
				n = n*6364136223846793005 + 1442695040888963407
				k := serde.Key{Num: int64(n>>33) % keys}
				if err := v.SetCurrentKey(k, serde.HashKey(serde.Long, k)); err != nil {
					b.Fatal(err)
				}
				c, _ := v.Get()
				v.Put(c + 1)
			}
		})
	}
}
