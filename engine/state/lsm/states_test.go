package lsm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
)

var keyTypes = []serde.KeyType{serde.Long, serde.Int, serde.String, serde.Bool, serde.Double}

func makeKey(t serde.KeyType, n int64) serde.Key {
	switch t {
	case serde.String:
		return serde.Key{Str: strings.Repeat("é", int(n%20)) + fmt.Sprint(n)}
	case serde.Bool:
		return serde.Key{Num: n & 1}
	case serde.Double:
		return serde.Key{Num: int64(math.Float64bits(float64(n) / 7))}
	}
	return serde.Key{Num: n - 20}
}

// all is one state of each kind.
type all struct {
	b      state.Backend
	value  *state.ValueState[int64]
	text   *state.ValueState[string]
	list   *state.ListState[string]
	maps   *state.MapState[string, []byte]
	sum    *state.ReducingState[int64]
	timers *state.Timers
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func openAll(t testing.TB, b state.Backend) *all {
	t.Helper()
	return &all{
		b:      b,
		value:  must[*state.ValueState[int64]](t)(keyed.Value(b, state.ValueDescriptor[int64]{Name: "value", Codec: state.Int64()})),
		text:   must[*state.ValueState[string]](t)(keyed.Value(b, state.ValueDescriptor[string]{Name: "text", Codec: state.String(), Namespace: state.WindowNamespace})),
		list:   must[*state.ListState[string]](t)(keyed.List(b, state.ListDescriptor[string]{Name: "list", Codec: state.String(), Namespace: state.WindowNamespace})),
		maps:   must[*state.MapState[string, []byte]](t)(keyed.Map(b, state.MapDescriptor[string, []byte]{Name: "map", Key: state.String(), Value: state.ByteArray()})),
		sum:    must[*state.ReducingState[int64]](t)(keyed.Reducing(b, state.ReducingDescriptor[int64]{Name: "sum", Codec: state.Int64(), Reduce: func(a, b int64) int64 { return a + b }})),
		timers: must[*state.Timers](t)(b.Timers("timers", state.WindowNamespace)),
	}
}

// step does one random thing to the state; the same numbers do the same thing to any backend.
func (a *all) step(t testing.TB, kt serde.KeyType, key int64, n [4]int) {
	t.Helper()
	k := makeKey(kt, key)
	ctx := a.b.Context()
	if !ctx.Groups().Contains(keygroup.Assign(serde.HashKey(kt, k), ctx.MaxParallelism())) {
		return
	}
	if err := ctx.Set(k, serde.HashKey(kt, k)); err != nil {
		t.Fatal(err)
	}
	defer ctx.Clear()
	w := state.Window{Start: int64(n[1]%3) * 10, End: int64(n[1]%3)*10 + 10}
	a.text.SetNamespace(w)
	a.list.SetNamespace(w)
	text := strings.Repeat("ü", n[2]%200) + fmt.Sprint(n[3])
	var err error
	switch n[0] % 14 {
	case 0, 1:
		v, _, gerr := a.value.Get()
		err = errors.Join(gerr, a.value.Update(v+1))
	case 2:
		err = a.value.Update(int64(n[2]))
	case 3:
		err = a.value.Clear()
	case 4, 5:
		err = a.text.Update(text)
	case 6:
		err = a.text.Clear()
	case 7, 8:
		err = a.list.Add(text, "x")
	case 9:
		if n[2]%3 == 0 {
			err = a.list.Clear()
		} else {
			err = a.list.Update([]string{text})
		}
	case 10, 11:
		v := []byte(text)
		if n[3]%5 == 0 {
			v = nil
		}
		err = a.maps.Put(fmt.Sprint("k", n[1]%9), v)
	case 12:
		if n[2]%4 == 0 {
			err = a.maps.Clear()
		} else {
			err = a.maps.Remove(fmt.Sprint("k", n[1]%9))
		}
	case 13:
		_, err = a.timers.Register(int64(n[2]), w)
		err = errors.Join(err, a.sum.Add(int64(n[3]%7)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dump is all content, sorted.
func (a *all) dump(t testing.TB) []string {
	t.Helper()
	var out []string
	kt := a.b.Context().KeyType()
	line := func(name string, group int, key serde.Key, rest ...any) bool {
		out = append(out, fmt.Sprintf("%s %d %q %q", name, group, serde.FormatKey(kt, key), fmt.Sprint(rest...)))
		return true
	}
	err := errors.Join(
		a.value.Each(func(g int, k serde.Key, _ state.Window, v int64) bool { return line("value", g, k, v) }),
		a.text.Each(func(g int, k serde.Key, w state.Window, v string) bool { return line("text", g, k, w, v) }),
		a.list.Each(func(g int, k serde.Key, w state.Window, v []string) bool { return line("list", g, k, w, v) }),
		a.maps.Each(func(g int, k serde.Key, _ state.Window, u string, v []byte) bool {
			return line("map", g, k, u, v, v == nil)
		}),
		a.sum.Each(func(g int, k serde.Key, _ state.Window, v int64) bool { return line("sum", g, k, v) }))
	if err != nil {
		t.Fatal(err)
	}
	for g := range a.b.Context().Groups().All() {
		a.timers.EachOf(g, func(x state.Timer) bool { return line("timer", g, x.Key, x.Time, x.Window) })
	}
	slices.Sort(out)
	return out
}

func compare(t testing.TB, what string, have, want []string) {
	t.Helper()
	if slices.Equal(have, want) {
		return
	}
	for i := range max(len(have), len(want)) {
		h, w := "nothing", "nothing"
		if i < len(have) {
			h = have[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if h != w {
			t.Fatalf("%s: %s, expected %s", what, h, w)
		}
	}
}

func compareStats(t testing.TB, what string, have, want state.Stats) {
	t.Helper()
	for _, w := range want.States {
		i := slices.IndexFunc(have.States, func(h state.StateStats) bool { return h.Name == w.Name })
		if i < 0 {
			t.Fatalf("%s: no figures of %s", what, w.Name)
		}
		h := have.States[i]
		if w.Kind == state.KindList {
			h.Entries = w.Entries // the tree does not count a list's elements
		}
		if h != w {
			t.Fatalf("%s: %+v, expected %+v", what, h, w)
		}
	}
	if have.Keys != want.Keys || have.Bytes != want.Bytes {
		t.Fatalf("%s: %d keys and %d bytes, expected %d and %d", what, have.Keys, have.Bytes, want.Keys, want.Bytes)
	}
}

// checkBytes compares the figures with what stands in a savepoint.
func checkBytes(t testing.TB, what string, have state.Stats, kt serde.KeyType, groups []checkpoint.KeyGroupState) {
	t.Helper()
	bytes := map[string]int64{}
	for _, g := range groups {
		r := state.NewCanonicalReader(g.Data, kt)
		for r.NextState() {
			for r.NextEntry() {
				n := int64(state.KeyBytes(kt, r.Key) + len(r.UserKey) + len(r.Value))
				if r.Meta.Namespace == state.WindowNamespace {
					n += 16
				}
				bytes[r.Meta.Name] += n
			}
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	for _, s := range have.States {
		if s.Bytes != bytes[s.Name] {
			t.Fatalf("%s: state %s has %d bytes, the savepoint %d", what, s.Name, s.Bytes, bytes[s.Name])
		}
	}
}

func options(fs vfs.FS, dir string, kt serde.KeyType, m *lsm.Memory, r keygroup.Range, ids *lsm.StateIDs) lsm.Options {
	return lsm.Options{Dir: dir, FS: fs, Key: kt, MaxParallelism: 128, KeyGroups: r, Memory: m, StateIDs: ids}
}

func newMemory(t testing.TB, budget int64, dbs int) *lsm.Memory {
	t.Helper()
	m, err := lsm.NewMemory(budget, dbs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// The same random history on the heap and on the tree, with native checkpoints, savepoints and changes of the parallelism
// between: contents and figures agree all along.
func TestAgreesWithTheHeap(t *testing.T) {
	// The first seed has a handle with more keys in one state, and another with more in the other.
	for i, seed := range []uint64{602163259614662597, rand.Uint64()} {
		for _, kt := range keyTypes {
			if i == 0 && kt != serde.Bool {
				continue
			}
			agreesWithTheHeap(t, kt, seed)
		}
	}
}

func agreesWithTheHeap(t *testing.T, kt serde.KeyType, seed uint64) {
	t.Run(kt.String(), func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		defer func() {
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		}()
		fs := vfs.NewMem()
		memory := newMemory(t, 8<<20, 8)
		shared := checkpoint.NewMemoryShared()
		ids := lsm.NewStateIDs()
		whole := keygroup.Range{First: 0, Last: 127}
		reference := openAll(t, must[*heap.Backend](t)(heap.New(heap.Options{Key: kt, MaxParallelism: 128, KeyGroups: whole})))
		var trees []*all
		var handles []checkpoint.IncrementalState
		var groups []checkpoint.KeyGroupState
		for generation := range 5 {
			trees = nil
			p := 1 + rnd.IntN(3)
			var restored int64
			for i := range p {
				r, err := keygroup.RangeFor(128, p, i)
				if err != nil {
					t.Fatal(err)
				}
				o := options(fs, fmt.Sprintf("/g%d/s%d", generation, i), kt, memory, r, ids)
				var b *lsm.Backend
				if generation%2 == 0 {
					var states []checkpoint.IncrementalState
					for _, h := range handles {
						if h.KeyGroups.Intersect(r).Size() > 0 {
							states = append(states, h)
						}
					}
					b = must[*lsm.Backend](t)(lsm.Restore(o, lsm.Source{States: states, Files: shared, Claimed: true}))
				} else {
					b = must[*lsm.Backend](t)(lsm.Open(o))
					if err := b.Restore(groups); err != nil {
						t.Fatal(err)
					}
				}
				trees = append(trees, openAll(t, b))
				restored += b.Stats().RestoredKeys
			}
			if want := reference.b.Stats().Keys; p == 1 && generation%2 == 0 && restored != want {
				t.Fatalf("generation %d: %d keys restored, expected %d", generation, restored, want)
			}
			check := func(what string) {
				t.Helper()
				var have []string
				for _, tree := range trees {
					have = append(have, tree.dump(t)...)
				}
				slices.Sort(have)
				compare(t, fmt.Sprint("generation ", generation, " of ", p, ", ", what), have, reference.dump(t))
				if p == 1 {
					compareStats(t, what, trees[0].b.Stats(), reference.b.Stats())
				}
			}
			check("restored")
			for range 4000 {
				n := [4]int{rnd.IntN(1000), rnd.IntN(1000), rnd.IntN(1000), rnd.IntN(1000)}
				key := rnd.Int64N(60)
				reference.step(t, kt, key, n)
				for _, tree := range trees {
					tree.step(t, kt, key, n)
				}
			}
			check("written")
			handles, groups = nil, nil
			for _, tree := range trees {
				b := tree.b.(*lsm.Backend)
				s := must[*lsm.FilesSnapshot](t)(b.SnapshotFiles(int64(generation)))
				u := must[*lsm.Upload](t)(s.Upload(t.Context(), shared, 1000))
				s.Release()
				handles = append(handles, u.State)
				mine := must[[]checkpoint.KeyGroupState](t)(state.GroupBytes(b, 99))
				checkBytes(t, fmt.Sprint("generation ", generation), b.Stats(), kt, mine)
				groups = append(groups, mine...)
			}
			// What the tree writes the heap reads, and the other way round.
			other := openAll(t, must[*heap.Backend](t)(heap.New(heap.Options{Key: kt, MaxParallelism: 128, KeyGroups: whole})))
			if err := other.b.Restore(groups); err != nil {
				t.Fatal(err)
			}
			compare(t, "heap from a savepoint of the tree", other.dump(t), reference.dump(t))
			compareStats(t, "heap from a savepoint of the tree", other.b.Stats(), reference.b.Stats())
			if generation%2 == 0 {
				groups = must[[]checkpoint.KeyGroupState](t)(state.GroupBytes(reference.b, 99))
			}
			for _, tree := range trees {
				if err := tree.b.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// SBT-11: a snapshot whose backend is closed ends as cancelled, and the folder goes with it. SBT-12: what is written
// meanwhile is not in it.
func TestSnapshotWhileTheTaskGoesOn(t *testing.T) {
	fs := vfs.NewMem()
	b := must[*lsm.Backend](t)(lsm.Open(options(fs, "/d", serde.Long, newMemory(t, 8<<20, 1), keygroup.Range{First: 0, Last: 127}, nil)))
	a := openAll(t, b)
	write := func(v int64) {
		for k := range int64(1000) {
			a.step(t, serde.Long, k, [4]int{2, 0, int(v), 0})
		}
	}
	write(1)
	before := a.dump(t)
	s := must[state.Snapshot](t)(b.Snapshot(1))
	f := must[*lsm.FilesSnapshot](t)(b.SnapshotFiles(2))
	write(2)
	var buf bytes.Buffer
	offsets := must[[]state.GroupOffset](t)(s.Write(t.Context(), &buf))
	s.Release()
	s.Release()
	o := openAll(t, must[*heap.Backend](t)(heap.New(heap.Options{Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}})))
	if err := o.b.Restore(state.SplitGroups(buf.Bytes(), offsets)); err != nil {
		t.Fatal(err)
	}
	compare(t, "snapshot", o.dump(t), before)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	shared := checkpoint.NewMemoryShared()
	if _, err := f.Upload(context.Background(), shared, 0); !errors.Is(err, state.ErrClosed) {
		t.Error(err)
	}
	if _, err := f.Write(context.Background(), &buf); !errors.Is(err, state.ErrClosed) {
		t.Error(err)
	}
	if names, _ := shared.List(); len(names) > 0 {
		t.Errorf("%q", names)
	}
	f.Release()
	if _, err := fs.Stat("/d"); err == nil {
		t.Error("the folder is still there")
	}
	if _, err := b.SnapshotFiles(3); !errors.Is(err, state.ErrClosed) {
		t.Error(err)
	}
	if err := a.b.Context().Set(serde.Key{Num: 5}, serde.HashKey(serde.Long, serde.Key{Num: 5})); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.value.Get(); err == nil {
		t.Error("a closed backend answered")
	}
}

// TTL: hidden at the read, dropped by the rewriting, of a list and a map single elements; what lives stays.
func TestRewriteExpired(t *testing.T) {
	fs := vfs.NewMem()
	now := int64(1000)
	o := options(fs, "/d", serde.Long, newMemory(t, 8<<20, 1), keygroup.Range{First: 0, Last: 127}, nil)
	o.Clock = func() int64 { return now }
	b := must[*lsm.Backend](t)(lsm.Open(o))
	defer b.Close()
	ttl := state.TTL{After: time.Second}
	value := must[*state.ValueState[string]](t)(keyed.Value(b, state.ValueDescriptor[string]{Name: "v", Codec: state.String(), TTL: ttl}))
	list := must[*state.ListState[string]](t)(keyed.List(b, state.ListDescriptor[string]{Name: "l", Codec: state.String(), TTL: ttl}))
	m := must[*state.MapState[string, []byte]](t)(keyed.Map(b, state.MapDescriptor[string, []byte]{Name: "m", Key: state.String(), Value: state.ByteArray(), TTL: ttl}))
	plain := must[*state.ValueState[int64]](t)(keyed.Value(b, state.ValueDescriptor[int64]{Name: "p", Codec: state.Int64()}))
	with := func(k int64, f func() error) {
		t.Helper()
		key := serde.Key{Num: k}
		if err := b.Context().Set(key, serde.HashKey(serde.Long, key)); err != nil {
			t.Fatal(err)
		}
		defer b.Context().Clear()
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	write := func(from, to int64, what string) {
		for k := from; k < to; k++ {
			with(k, func() error {
				return errors.Join(value.Update(strings.Repeat(what, 100)), list.Add(what), m.Put(what, []byte(what)), plain.Update(k))
			})
		}
	}
	write(0, 1000, "old")
	now += 600
	write(500, 1500, "new")
	now += 600 // what was written first has expired, of the value where it was not written again
	if err := func() error { s, err := b.SnapshotFiles(1); s.Release(); return err }(); err != nil {
		t.Fatal(err)
	}
	before := b.LSM()
	if n := must[int64](t)(b.RewriteExpired()); n != 500+1000+1000 {
		t.Errorf("%d dropped", n)
	}
	if n := must[int64](t)(b.RewriteExpired()); n != 0 {
		t.Errorf("%d dropped again", n)
	}
	have := map[string]int64{}
	for _, s := range b.Stats().States {
		have[s.Name] = s.Keys*10000 + s.Entries
	}
	if fmt.Sprint(have) != "map[l:10001000 m:10001000 p:15001500 v:10001000]" || b.Stats().DroppedExpired != 2500 {
		t.Errorf("%v, %d", have, b.Stats().DroppedExpired)
	}
	for _, k := range []int64{3, 700, 1400} {
		with(k, func() error {
			v, ok, err := value.Get()
			l, lerr := list.Get()
			none, merr := m.Contains("old")
			some, nerr := m.Contains("new")
			p, _, perr := plain.Get()
			if ok != (k >= 500) || len(l) != map[bool]int{true: 1}[k >= 500] || none || some != (k >= 500) || p != k {
				t.Errorf("key %d: %.9q %v, %q, %v %v, %d", k, v, ok, l, none, some, p)
			}
			return errors.Join(err, lerr, merr, nerr, perr)
		})
	}
	if after := b.LSM(); after.LiveBytes >= before.LiveBytes {
		t.Errorf("%d bytes before, %d after", before.LiveBytes, after.LiveBytes)
	}
	now += 10000
	if n := must[int64](t)(b.RewriteExpired()); n != 3000 {
		t.Errorf("%d dropped at the end", n)
	}
	if s := b.Stats(); s.Keys != 1500 {
		t.Errorf("%+v", s)
	}
}
