package lsm_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
)

// RIU-02 to RIU-05, at the threshold that Flink's test sets and at its default.
func TestChooseBase(t *testing.T) {
	handles := []keygroup.Range{{First: 0, Last: 3}, {First: 4, Last: 7}, {First: 8, Last: 12}}
	for _, c := range []struct {
		id        string
		target    keygroup.Range
		threshold float64
		want      int
	}{
		{"RIU-02", keygroup.Range{First: 3, Last: 5}, 0.75, -1},
		{"RIU-02", keygroup.Range{First: 3, Last: 5}, 0, 1},
		{"RIU-03", keygroup.Range{First: 3, Last: 6}, 0.75, 1},
		{"RIU-03", keygroup.Range{First: 3, Last: 6}, 0, 1},
		{"RIU-04", keygroup.Range{First: 5, Last: 12}, 0.75, 2},
		{"RIU-05", keygroup.Range{First: 3, Last: 12}, 0.75, 2},
		{"none", keygroup.Range{First: 20, Last: 30}, 0, -1},
	} {
		if got := lsm.ChooseBase(handles, c.target, c.threshold); got != c.want {
			t.Errorf("%s at %v: %d, expected %d", c.id, c.threshold, got, c.want)
		}
	}
}

// counter is a backend that counts per key.
type counter struct {
	*lsm.Backend
	kt    serde.KeyType
	count *state.ValueState[int64]
	text  *state.ValueState[string]
}

func newCounter(t testing.TB, b *lsm.Backend) *counter {
	t.Helper()
	return &counter{Backend: b, kt: b.Context().KeyType(),
		count: must[*state.ValueState[int64]](t)(keyed.Value(b, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})),
		text:  must[*state.ValueState[string]](t)(keyed.Value(b, state.ValueDescriptor[string]{Name: "payload", Codec: state.String()})),
	}
}

func (c *counter) owns(k serde.Key) bool {
	return c.Context().Groups().Contains(keygroup.Assign(serde.HashKey(c.kt, k), c.Context().MaxParallelism()))
}

func (c *counter) add(t testing.TB, k serde.Key, payload string) {
	t.Helper()
	if err := c.Context().Set(k, serde.HashKey(c.kt, k)); err != nil {
		t.Fatal(err)
	}
	defer c.Context().Clear()
	n, _, err := c.count.Get()
	if err = errors.Join(err, c.count.Update(n+1)); err != nil {
		t.Fatal(err)
	}
	if payload != "" {
		if err := c.text.Update(payload); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *counter) counts(t testing.TB) map[string]int64 {
	t.Helper()
	m := map[string]int64{}
	if err := c.count.Each(func(_ int, k serde.Key, _ state.Window, n int64) bool {
		m[serde.FormatKey(c.kt, k)] = n
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

// RIU-01: clipped to a part, at both widths of the prefix and at their ends, what is inside is intact and the rest gone.
func TestRIU01Clip(t *testing.T) {
	for _, c := range []struct {
		max          int
		held, wanted keygroup.Range
	}{
		{128, keygroup.Range{First: 0, Last: 127}, keygroup.Range{First: 0, Last: 63}},
		{128, keygroup.Range{First: 100, Last: 127}, keygroup.Range{First: 120, Last: 127}},
		{128, keygroup.Range{First: 3, Last: 9}, keygroup.Range{First: 5, Last: 6}},
		{32768, keygroup.Range{First: 250, Last: 260}, keygroup.Range{First: 254, Last: 257}},
		{32768, keygroup.Range{First: 32760, Last: 32767}, keygroup.Range{First: 32766, Last: 32767}},
		{32768, keygroup.Range{First: 120, Last: 140}, keygroup.Range{First: 127, Last: 128}},
	} {
		fs := vfs.NewMem()
		m := newMemory(t, 8<<20, 2)
		shared := checkpoint.NewMemoryShared()
		o := options(fs, "/a", serde.Long, m, c.held, nil)
		o.MaxParallelism = c.max
		o.StateIDs = lsm.NewStateIDs()
		a := newCounter(t, must[*lsm.Backend](t)(lsm.Open(o)))
		per := map[int]int{}
		for n := int64(0); len(per) < c.held.Size() || slices.Min(slices.Collect(func(y func(int) bool) {
			for _, v := range per {
				if !y(v) {
					return
				}
			}
		})) < 100; n++ {
			k := serde.Key{Num: n}
			if g := keygroup.Assign(serde.HashKey(serde.Long, k), c.max); c.held.Contains(g) && per[g] < 100 {
				per[g]++
				a.add(t, k, "")
			}
		}
		s := must[*lsm.FilesSnapshot](t)(a.SnapshotFiles(1))
		u := must[*lsm.Upload](t)(s.Upload(t.Context(), shared, 0))
		s.Release()
		a.Close()
		o.Dir, o.KeyGroups = "/b", c.wanted
		b := newCounter(t, must[*lsm.Backend](t)(lsm.Restore(o, lsm.Source{States: []checkpoint.IncrementalState{u.State}, Files: shared})))
		have := map[int]int{}
		b.count.Each(func(g int, k serde.Key, _ state.Window, n int64) bool {
			if keygroup.Assign(serde.HashKey(serde.Long, k), c.max) != g || n != 1 {
				t.Errorf("key %d in group %d has %d", k.Num, g, n)
			}
			have[g]++
			return true
		})
		if len(have) != c.wanted.Size() {
			t.Errorf("%v of %v: groups %v", c.wanted, c.held, have)
		}
		for g, n := range have {
			if n != 100 || !c.wanted.Contains(g) {
				t.Errorf("%v of %v: %d keys in group %d", c.wanted, c.held, n, g)
			}
		}
		if st := b.Stats(); st.RestoredKeys != int64(100*c.wanted.Size()) || st.Keys != st.RestoredKeys || st.KeysOutOfRange != 0 || b.Path().Path != lsm.PathClipped {
			t.Errorf("%+v, %+v", st, b.Path())
		}
		b.Close()
	}
}

// job is the subtasks of a counting operator with a checkpoint folder on the disk.
type job struct {
	t        *testing.T
	dir      string
	shared   *checkpoint.FileShared
	memory   *lsm.Memory
	ids      *lsm.StateIDs
	subtasks []*counter
	attempt  int
}

func newJob(t *testing.T) *job {
	dir := t.TempDir()
	return &job{t: t, dir: dir, shared: checkpoint.NewFileShared(filepath.Join(dir, "ckp", checkpoint.SharedFolder), nil), memory: newMemory(t, 16<<20, 8), ids: lsm.NewStateIDs()}
}

func (j *job) start(p int, from []checkpoint.IncrementalState) {
	j.t.Helper()
	for _, s := range j.subtasks {
		if err := s.Close(); err != nil {
			j.t.Fatal(err)
		}
	}
	j.subtasks = nil
	j.attempt++
	for i := range p {
		r, err := keygroup.RangeFor(128, p, i)
		if err != nil {
			j.t.Fatal(err)
		}
		o := lsm.Options{Dir: filepath.Join(j.dir, fmt.Sprintf("attempt-%d-%d", j.attempt, i)), Key: serde.Long, MaxParallelism: 128, KeyGroups: r, Memory: j.memory, StateIDs: j.ids}
		var mine []checkpoint.IncrementalState
		for _, s := range from {
			if s.KeyGroups.Intersect(r).Size() > 0 {
				mine = append(mine, s)
			}
		}
		j.subtasks = append(j.subtasks, newCounter(j.t, must[*lsm.Backend](j.t)(lsm.Restore(o, lsm.Source{States: mine, Files: j.shared, Claimed: true}))))
	}
}

func (j *job) stop() { j.start(0, nil) }

func (j *job) run(records int, keys int64, payload string) {
	j.t.Helper()
	for n := range int64(records) {
		k := serde.Key{Num: n % keys}
		for _, s := range j.subtasks {
			if s.owns(k) {
				s.add(j.t, k, payload)
			}
		}
	}
}

func (j *job) checkpoint(id int64) []checkpoint.IncrementalState {
	j.t.Helper()
	var out []checkpoint.IncrementalState
	for _, s := range j.subtasks {
		f := must[*lsm.FilesSnapshot](j.t)(s.SnapshotFiles(id))
		u := must[*lsm.Upload](j.t)(f.Upload(j.t.Context(), j.shared, 20<<10))
		f.Release()
		s.CheckpointCompleted(id)
		out = append(out, u.State)
	}
	return out
}

func (j *job) keys() (keys []int64) {
	for _, s := range j.subtasks {
		st := s.Stats()
		if st.Keys != st.RestoredKeys || st.KeysOutOfRange != 0 || int64(len(s.counts(j.t))) != st.Keys {
			j.t.Errorf("%+v with %d counts", st, len(s.counts(j.t)))
		}
		keys = append(keys, st.Keys)
	}
	return keys
}

// The lesson's rescaling: 1000 keys on 2 subtasks, restored at 3, at 1, at 5 and at 2, with the paths and bounds that the
// lesson shows.
func TestLessonRescale(t *testing.T) {
	j := newJob(t)
	j.start(2, nil)
	j.run(5000, 1000, strings.Repeat("x", 1024))
	var have []int64
	for _, s := range j.subtasks {
		have = append(have, s.Stats().Keys)
	}
	if fmt.Sprint(have) != "[510 490]" {
		t.Errorf("%v", have)
	}
	cp := j.checkpoint(1)
	j.start(3, cp)
	if got := fmt.Sprint(j.keys()); got != "[359 311 330]" {
		t.Error(got)
	}
	var paths []string
	for _, s := range j.subtasks {
		p := s.Path()
		paths = append(paths, fmt.Sprintf("%s %d %v", p.Path, p.Base, p.Clips))
	}
	if want := []string{"clipped 0 [[43 64]]", "merged 1 [[86 128]]", "clipped 0 [[64 86]]"}; !slices.Equal(paths, want) {
		t.Errorf("%q, expected %q", paths, want)
	}
	if s := j.subtasks[1].Path().Sources; s[0].How != lsm.HowIngested || s[0].Tables == 0 || s[1].How != lsm.HowBase {
		t.Errorf("%+v", s)
	}
	if st := j.subtasks[0].LSM(); st.HeldBytes <= st.LiveBytes {
		t.Errorf("%d bytes in range, %d held, expected more", st.LiveBytes, st.HeldBytes)
	}
	for id, p := range []int{1, 5, 2} {
		j.run(1000, 1000, "")
		j.start(p, j.checkpoint(int64(id+2)))
		var sum int64
		for _, k := range j.keys() {
			sum += k
		}
		if sum != 1000 {
			t.Errorf("parallelism %d: %d keys", p, sum)
		}
	}
	for _, s := range j.subtasks {
		for k, n := range s.counts(t) {
			if n != 8 {
				t.Errorf("key %s counts %d, expected 8", k, n)
			}
		}
	}
	j.stop()
	if left, _ := filepath.Glob(filepath.Join(j.dir, "attempt-*")); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// A checkpoint can be taken in every generation of stores, however often they were restored, merged and clipped before.
func TestManyGenerations(t *testing.T) {
	j := newJob(t)
	j.start(2, nil)
	for id, p := range []int{3, 1, 5, 2, 2, 2, 1, 4, 3, 3, 2} {
		j.run(1000, 1000, "")
		j.start(p, j.checkpoint(int64(id+1)))
		for i, s := range j.subtasks {
			for k, n := range s.counts(t) {
				if n != int64(id+1) {
					t.Fatalf("generation %d, subtask %d of %d: key %s counts %d", id+1, i, p, k, n)
				}
			}
		}
	}
	j.checkpoint(99)
	j.stop()
}

// The same key groups: the files are hard links of those in the shared folder, and what is checkpointed next stores only
// what is new.
func TestSamePathLinksAndReuses(t *testing.T) {
	j := newJob(t)
	j.start(1, nil)
	for k := range int64(100) { // 200 KB that do not compress, so few that they are flushed once and not compacted
		b := make([]byte, 0, 1024)
		for x := uint64(k); len(b) < 1000; x = x*6364136223846793005 + 1442695040888963407 {
			b = binary.AppendUvarint(b, x>>20)
		}
		j.subtasks[0].add(t, serde.Key{Num: k}, fmt.Sprintf("%x", b))
	}
	cp := j.checkpoint(1)
	if cp[0].Bytes() < 100<<10 {
		t.Fatalf("%d bytes", cp[0].Bytes())
	}
	first := cp
	for _, p := range []int{1, 2, 1} {
		if p == 2 {
			cp = first
		}
		j.start(p, cp)
		if links := j.links(); p == 1 && links == 0 {
			t.Errorf("parallelism %d: no file is a hard link", p)
		}
		j.run(100, 100, "")
		id := int64(2)
		cp = nil
		for _, s := range j.subtasks {
			f := must[*lsm.FilesSnapshot](t)(s.SnapshotFiles(id))
			u := must[*lsm.Upload](t)(f.Upload(t.Context(), j.shared, 20<<10))
			f.Release()
			if s.LSM().Compactions == 0 && u.UploadedBytes*4 > u.FullBytes {
				t.Errorf("parallelism %d: %d of %d bytes stored: %+v, %+v", p, u.UploadedBytes, u.FullBytes, u.Files, s.Path())
			}
			if i := slices.IndexFunc(u.Files, func(f lsm.UploadedFile) bool { return f.State == lsm.Reused && f.FirstCheckpoint == 1 }); i < 0 {
				t.Errorf("parallelism %d: nothing reused: %+v", p, u.Files)
			}
			cp = append(cp, u.State)
		}
	}
	// Not claimed: everything is stored anew.
	r := keygroup.Range{First: 0, Last: 127}
	b := newCounter(t, must[*lsm.Backend](t)(lsm.Restore(lsm.Options{Dir: filepath.Join(j.dir, "other"), Key: serde.Long, MaxParallelism: 128, KeyGroups: r, Memory: j.memory}, lsm.Source{States: cp, Files: j.shared})))
	f := must[*lsm.FilesSnapshot](t)(b.SnapshotFiles(9))
	if u := must[*lsm.Upload](t)(f.Upload(t.Context(), j.shared, 20<<10)); u.State.BytesSince(9) != u.State.Bytes() {
		t.Errorf("%d of %d bytes", u.State.BytesSince(9), u.State.Bytes())
	}
	f.Release()
	b.Close()
	j.stop()
}

// Subtasks that numbered their states otherwise cannot be taken in by reference: their keys are copied, with new numbers.
func TestOtherNumbersAreCopied(t *testing.T) {
	fs := vfs.NewMem()
	m := newMemory(t, 16<<20, 4)
	shared := checkpoint.NewMemoryShared()
	var cp []checkpoint.IncrementalState
	want := map[string]int64{}
	for i, r := range []keygroup.Range{{First: 0, Last: 63}, {First: 64, Last: 127}} {
		b := must[*lsm.Backend](t)(lsm.Open(options(fs, fmt.Sprint("/", i), serde.Long, m, r, nil)))
		if i == 1 { // takes the first number
			must[*state.ValueState[string]](t)(keyed.Value(b, state.ValueDescriptor[string]{Name: "zeta", Codec: state.String()}))
		}
		c := newCounter(t, b)
		for k := range int64(500) {
			if key := (serde.Key{Num: k}); c.owns(key) {
				c.add(t, key, fmt.Sprint("p", k))
				want[fmt.Sprint(k)] = 1
			}
		}
		s := must[*lsm.FilesSnapshot](t)(c.SnapshotFiles(1))
		cp = append(cp, must[*lsm.Upload](t)(s.Upload(t.Context(), shared, 0)).State)
		s.Release()
		c.Close()
	}
	b := newCounter(t, must[*lsm.Backend](t)(lsm.Restore(options(fs, "/c", serde.Long, m, keygroup.Range{First: 0, Last: 127}, nil), lsm.Source{States: cp, Files: shared})))
	defer b.Close()
	if got := b.counts(t); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if s := b.Path().Sources; s[0].How != lsm.HowBase || s[1].How != lsm.HowCopied {
		t.Errorf("%+v", s)
	}
	if err := b.text.Each(func(_ int, k serde.Key, _ state.Window, v string) bool {
		if v != fmt.Sprint("p", k.Num) {
			t.Errorf("key %d has %q", k.Num, v)
		}
		return true
	}); err != nil {
		t.Error(err)
	}
}

// links counts the files of the running DBs that have another name too.
func (j *job) links() (links int) {
	for i := range j.subtasks {
		filepath.Walk(filepath.Join(j.dir, fmt.Sprintf("attempt-%d-%d", j.attempt, i)), func(_ string, info os.FileInfo, err error) error {
			if err == nil && info.Mode().IsRegular() {
				if n := reflect.Indirect(reflect.ValueOf(info.Sys())).FieldByName("Nlink"); n.IsValid() && n.Uint() > 1 {
					links++
				}
			}
			return nil
		})
	}
	return links
}
