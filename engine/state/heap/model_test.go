package heap

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

var operations = flag.Int("operations", 300_000, "operations of the random history of TestCopyOnWriteMapEqualsAMap")

// COW-05: random operations on a map and on a built-in one, with a snapshot every 500 and several held. Values are
// objects that readers change in place. Keys come and go, so that the map grows, empties and uses slots again.
func TestCopyOnWriteMapEqualsAMap(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 5))
	m := NewCopyOnWriteMap[numberInWindow](func(p *int) *int { n := *p; return &n })
	want := map[numberInWindow]int{}
	type held struct {
		s    *MapSnapshot[numberInWindow, *int]
		want map[numberInWindow]int
	}
	var snapshots []held
	check := func(what string, each func(func(numberInWindow, *int) bool), size int, want map[numberInWindow]int) {
		t.Helper()
		n := 0
		each(func(k numberInWindow, v *int) bool {
			n++
			if w, ok := want[k]; !ok || w != *v {
				t.Fatalf("seed %d, %s: %v is %d, want %d, %v", seed, what, k, *v, w, ok)
			}
			return true
		})
		if n != len(want) || size != n {
			t.Fatalf("seed %d, %s: %d entries, size %d, want %d", seed, what, n, size, len(want))
		}
	}
	release := func(i int) {
		h := snapshots[i]
		check("snapshot", h.s.Each, h.s.Size(), h.want)
		m.Release(h.s)
		snapshots = slices.Delete(snapshots, i, i+1)
	}
	keys := int64(20)
	for op := range *operations {
		if op%5000 == 0 {
			keys = []int64{20, 20, 300, 3000}[rnd.IntN(4)]
		}
		h, k := numberInWindow{}.of2(rnd.Int64N(keys), rnd.Int64N(4))
		wantV, has := want[k]
		n := rnd.IntN(1000)
		switch rnd.IntN(8) {
		case 0, 1:
			v, had := m.Get(h, k)
			if had != has || had && *v != wantV {
				t.Fatalf("seed %d, operation %d: get %v, %v, want %d, %v", seed, op, v, had, wantV, has)
			}
			if had && n%2 == 0 {
				*v = n
				want[k] = n
			}
		case 2, 3:
			old, had := m.Put(h, k, &n)
			if had != has || had && *old != wantV {
				t.Fatalf("seed %d, operation %d: put found %v, %v, want %d, %v", seed, op, old, had, wantV, has)
			}
			want[k] = n
		case 4, 5:
			old, had := m.Remove(h, k)
			if had != has || had && *old != wantV {
				t.Fatalf("seed %d, operation %d: remove found %v, %v, want %d, %v", seed, op, old, had, wantV, has)
			}
			delete(want, k)
		case 6:
			m.Transform(h, k, func(v *int, had bool) *int {
				if had != has || had && *v != wantV {
					t.Fatalf("seed %d, operation %d: transform found %v, %v, want %d, %v", seed, op, v, had, wantV, has)
				}
				if had {
					*v += n
					return v
				}
				return &n
			})
			want[k] = wantV + n
		case 7:
			if op%50 != 0 {
				break
			}
			// Visit all and change, replace or remove some.
			var all []numberInWindow
			m.Each(func(k numberInWindow, _ *int) bool { all = append(all, k); return true })
			for _, k := range all {
				h, _ := numberInWindow{}.of2(k.k, k.ns.Start)
				switch n := rnd.IntN(4); n {
				case 0:
					m.Remove(h, k)
					delete(want, k)
				case 1:
					v, _ := m.Get(h, k)
					*v++
					want[k]++
				case 2:
					m.Put(h, k, &n)
					want[k] = n
				}
			}
		}
		if m.Size() != len(want) {
			t.Fatalf("seed %d, operation %d: size %d, want %d", seed, op, m.Size(), len(want))
		}
		if op%500 == 0 {
			check("map", m.Each, m.Size(), want)
			snapshots = append(snapshots, held{m.Snapshot(), maps.Clone(want)})
			for len(snapshots) > rnd.IntN(8) {
				release(rnd.IntN(len(snapshots)))
			}
		}
	}
	check("map at the end", m.Each, m.Size(), want)
	for len(snapshots) > 0 {
		release(rnd.IntN(len(snapshots)))
	}
	r := m.Readings()
	if r.Required != 0 || len(r.Open) > 0 || r.Retired != 0 || len(m.frees) != r.Slots-r.Entries {
		t.Errorf("seed %d, all released: %+v, %d free", seed, r, len(m.frees))
	}
	if *operations >= 300_000 && (r.EntryCopies == 0 || r.ValueCopies == 0) {
		t.Errorf("%+v", r)
	}
}

// The slab is larger than its first part, and a snapshot spans both.
func TestManyEntries(t *testing.T) {
	const n = 3*firstEntries + 17
	m := NewCopyOnWriteMap[number, int64](nil)
	for i := range int64(n) {
		m.Put(int32(i*31), number(i), i)
		if i == n/2 {
			s := m.Snapshot()
			defer func() {
				sum, size := int64(0), 0
				s.Each(func(_ number, v int64) bool { sum += v; size++; return true })
				if size != n/2+1 || sum != int64(n/2)*(n/2+1)/2 {
					t.Errorf("%d entries with sum %d", size, sum)
				}
			}()
		}
	}
	for i := range int64(n) {
		if v, ok := m.Get(int32(i*31), number(i)); !ok || v != i {
			t.Fatalf("%d: %d, %v", i, v, ok)
		}
		m.Put(int32(i*31), number(i), -1)
	}
	if r := m.Readings(); r.EntryCopies != n/2+1 || r.ValueCopies != 0 {
		t.Errorf("%+v", r)
	}
}

// A goroutine reads snapshots while the map goes on: run with -race.
func TestSnapshotIsReadBesideWrites(t *testing.T) {
	m := NewCopyOnWriteMap[text](func(v []int64) []int64 { return slices.Clone(v) })
	names := make([]text, 2000)
	for i := range names {
		names[i] = text(rune('a'+i%26)) + text(rune(0x4e00+i))
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	type read struct {
		s    *MapSnapshot[text, []int64]
		want map[text]int64
		bad  string
	}
	want := map[text]int64{}
	work, done := make(chan *read), make(chan *read, 1)
	go func() {
		defer close(done)
		for r := range work {
			n := 0
			r.s.Each(func(k text, v []int64) bool {
				n++
				if v[0] != r.want[k] {
					r.bad = string(k)
				}
				return true
			})
			if n != len(r.want) {
				r.bad = "size"
			}
			done <- r
		}
	}()
	open := 0
	for round := 0; round < 60 || open > 0; round++ {
		if round < 60 && open == 0 {
			work <- &read{s: m.Snapshot(), want: maps.Clone(want)}
			open++
		}
		for range 3000 {
			k := names[rnd.IntN(len(names))]
			h := int32(len(k))*7 + int32(k[0]) + int32(k[len(k)-1])<<8 + int32(k[len(k)-2])<<16
			switch rnd.IntN(4) {
			case 0:
				m.Remove(h, k)
				delete(want, k)
			case 1:
				if v, ok := m.Get(h, k); ok {
					v[0]++
					want[k]++
				}
			default:
				m.Put(h, k.clone(), []int64{int64(round), 0})
				want[k] = int64(round)
			}
		}
		select {
		case r := <-done:
			if r.bad != "" {
				t.Fatal(r.bad)
			}
			m.Release(r.s)
			open--
		default:
		}
	}
	close(work)
}
