package lsm

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testMemory is a small budget, so that memtables are flushed and levels fill.
func testMemory(t testing.TB, budget int64, dbs int) *Memory {
	t.Helper()
	m, err := NewMemory(budget, dbs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// model is what a DB should hold, by key.
type model map[string]string

func (m model) part(g keygroup.Range, prefixBytes int) model {
	out := model{}
	for k, v := range m {
		if g.Contains(KeyGroupOf([]byte(k), prefixBytes)) {
			out[k] = v
		}
	}
	return out
}

func content(t testing.TB, d *db) model {
	t.Helper()
	m := model{}
	it, err := d.iter(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			t.Fatal(err)
		}
		m[string(it.Key())] = string(v)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}

func difference(have, want model) string {
	for k, v := range want {
		if h, ok := have[k]; !ok {
			return fmt.Sprintf("key %x is missing", k)
		} else if h != v {
			return fmt.Sprintf("key %x has %.40q, expected %.40q", k, h, v)
		}
	}
	for k := range have {
		if _, ok := want[k]; !ok {
			return fmt.Sprintf("key %x is too many", k)
		}
	}
	return ""
}

// churn writes a random history: overwrites, removals, merges, removals of ranges, flushes, compactions.
func churn(t *testing.T, rnd *rand.Rand, b *Backend, m model, ops int) {
	t.Helper()
	d, o := b.db, b.o
	key := func() []byte {
		g := o.KeyGroups.First + rnd.IntN(o.KeyGroups.Size())
		k := statePrefix(g, b.prefixBytes, uint16(rnd.IntN(3)))
		return binary.BigEndian.AppendUint32(k, uint32(rnd.IntN(60)))
	}
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for range ops {
		k := key()
		v := fmt.Sprintf("%d-%0*d", rnd.IntN(1000), 1+rnd.IntN(120), 0)
		switch n := rnd.IntN(1000); {
		case n < 700:
			check(d.set(k, []byte(v)))
			m[string(k)] = v
		case n < 850:
			check(d.remove(k))
			delete(m, string(k))
		case n < 980:
			check(d.merge(k, []byte(v)))
			m[string(k)] += v
		case n < 985:
			end := key()
			if string(k) >= string(end) {
				k, end = end, k
			}
			check(d.p.DeleteRange(k, end, pebble.NoSync))
			maps.DeleteFunc(m, func(x, _ string) bool { return x >= string(k) && x < string(end) })
		case n < 996:
			check(d.flush())
		default:
			r := pebble.KeyRange{Start: key(), End: key()}
			if string(r.Start) < string(r.End) {
				check(d.p.Compact(context.Background(), r.Start, r.End, false))
			}
		}
	}
}

func upload(t testing.TB, b *Backend, id int64, to checkpoint.SharedFiles, inlineBelow int64) *Upload {
	t.Helper()
	s, err := b.SnapshotFiles(id)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	u, err := s.Upload(context.Background(), to, inlineBelow)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Subtasks with random histories are checkpointed and restored at other parallelisms, again and again, so that tables are
// cut and taken in that were cut and taken in before. What each subtask then has must be its part of the model.
func TestImportRandomHistories(t *testing.T) {
	for n := range 20 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			seed := rand.Uint64()
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			randomHistory(t, rand.New(rand.NewPCG(seed, 0)), n%4 == 3)
		})
	}
}

func randomHistory(t *testing.T, rnd *rand.Rand, copying bool) {
	maxParallelism := []int{128, 300}[rnd.IntN(2)]
	memory := testMemory(t, 4<<20, 8)
	shared := checkpoint.NewMemoryShared()
	fs := vfs.NewMem()
	ids := NewStateIDs()
	all := model{}
	var handles []checkpoint.IncrementalState
	var id int64
	for generation := range 5 {
		p := 1 + rnd.IntN(4)
		var backends []*Backend
		for i := range p {
			r, err := keygroup.RangeFor(maxParallelism, p, i)
			if err != nil {
				t.Fatal(err)
			}
			var states []checkpoint.IncrementalState
			for _, h := range handles {
				if h.KeyGroups.Intersect(r).Size() > 0 {
					states = append(states, h)
				}
			}
			b, err := Restore(Options{
				Dir: fmt.Sprintf("/g%d/s%d", generation, i), FS: fs, Key: serde.Long, MaxParallelism: maxParallelism, KeyGroups: r, Memory: memory, StateIDs: ids,
				OverlapThreshold: []float64{0, 0.75}[rnd.IntN(2)],
			}, Source{States: states, Files: shared, Claimed: true, Copy: copying})
			if err != nil {
				t.Fatal(err)
			}
			backends = append(backends, b)
			if generation == 0 {
				for _, name := range []string{"a", "b", "c"} {
					if _, err := b.OpenStore(state.Meta{Name: name, Kind: state.KindValue, Codec: "bytes"}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if d := difference(content(t, b.db), all.part(r, b.prefixBytes)); d != "" {
				t.Fatalf("generation %d, subtask %d of %d, %+v: %s", generation, i, p, b.Path(), d)
			}
			if err := b.db.p.CheckLevels(nil); err != nil {
				t.Fatal(err)
			}
		}
		handles = nil
		for round := range 2 {
			id++
			for i, b := range backends {
				mine := all.part(b.o.KeyGroups, b.prefixBytes)
				maps.DeleteFunc(all, func(k, _ string) bool { _, ok := mine[k]; return ok })
				churn(t, rnd, b, mine, 1500)
				maps.Copy(all, mine)
				u := upload(t, b, id, shared, int64(rnd.IntN(3))*2000)
				b.CheckpointCompleted(id)
				if round == 1 {
					handles = append(handles, u.State)
				}
				if d := difference(content(t, b.db), mine); d != "" {
					t.Fatalf("generation %d, subtask %d before the restore: %s", generation, i, d)
				}
			}
		}
		for _, b := range backends {
			// After the compaction of everything the same is left.
			if rnd.IntN(2) == 0 {
				mine := all.part(b.o.KeyGroups, b.prefixBytes)
				r := (&restore{o: b.o}).keys(b.o.KeyGroups)
				if err := b.db.p.Compact(context.Background(), r.Start, r.End, false); err != nil {
					t.Fatal(err)
				}
				if d := difference(content(t, b.db), mine); d != "" {
					t.Fatalf("generation %d, compacted: %s", generation, d)
				}
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{"/g0", "/g4"} {
		if names, err := fs.List(dir); err == nil && len(names) > 0 {
			t.Errorf("%s still has %q", dir, names)
		}
	}
}
