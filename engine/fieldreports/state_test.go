package fieldreports_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
)

// lsmJob is the state of an operator on the LSM store, with its shared files and what its subtasks have in common.
type lsmJob struct {
	t       *testing.T
	fs      vfs.FS
	files   *checkpoint.MemoryShared
	memory  *lsm.Memory
	ids     *lsm.StateIDs
	attempt int
}

func newLSMJob(t *testing.T) *lsmJob {
	m, err := lsm.NewMemory(16<<20, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return &lsmJob{t: t, fs: vfs.NewMem(), files: checkpoint.NewMemoryShared(), memory: m, ids: lsm.NewStateIDs()}
}

// lsmSubtask counts keys, with a payload each.
type lsmSubtask struct {
	*lsm.Backend
	j       *lsmJob
	count   *state.ValueState[int64]
	payload *state.ValueState[string]
}

// open makes subtask index of so many, from states of a checkpoint.
func (j *lsmJob) open(parallelism, index int, from ...checkpoint.IncrementalState) *lsmSubtask {
	j.t.Helper()
	r, err := keygroup.RangeFor(128, parallelism, index)
	if err != nil {
		j.t.Fatal(err)
	}
	var mine []checkpoint.IncrementalState
	for _, s := range from {
		if s.KeyGroups.Intersect(r).Size() > 0 {
			mine = append(mine, s)
		}
	}
	j.attempt++
	b, err := lsm.Restore(lsm.Options{Dir: fmt.Sprint("attempt-", j.attempt), FS: j.fs, Key: serde.Long, MaxParallelism: 128, KeyGroups: r, Memory: j.memory, StateIDs: j.ids},
		lsm.Source{States: mine, Files: j.files, Claimed: true})
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { _ = b.Close() })
	s := &lsmSubtask{Backend: b, j: j}
	if s.count, err = keyed.Value(b, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()}); err == nil {
		s.payload, err = keyed.Value(b, state.ValueDescriptor[string]{Name: "payload", Codec: state.String()})
	}
	if err != nil {
		j.t.Fatal(err)
	}
	return s
}

// add counts a key, if it is the subtask's.
func (s *lsmSubtask) add(key int64, payload string) {
	s.j.t.Helper()
	k := serde.Key{Num: key}
	hash := serde.HashKey(serde.Long, k)
	if !s.Context().Groups().Contains(keygroup.Assign(hash, 128)) {
		return
	}
	err := s.Context().Set(k, hash)
	var n int64
	if err == nil {
		n, _, err = s.count.Get()
	}
	if err == nil {
		err = s.count.Update(n + 1)
	}
	if err == nil {
		err = s.payload.Update(payload)
	}
	if err != nil {
		s.j.t.Fatal(err)
	}
	s.Context().Clear()
}

func (s *lsmSubtask) counts() map[int64]int64 {
	s.j.t.Helper()
	m := map[int64]int64{}
	if err := s.count.Each(func(group int, key serde.Key, _ state.Window, v int64) bool {
		if !s.Context().Groups().Contains(group) {
			s.j.t.Errorf("a scan shows key %d of the foreign key group %d", key.Num, group)
		}
		m[key.Num] = v
		return true
	}); err != nil {
		s.j.t.Fatal(err)
	}
	return m
}

// store takes a checkpoint and stores it; complete tells the subtask that it is complete.
func (s *lsmSubtask) store(id int64, complete bool) *lsm.Upload {
	s.j.t.Helper()
	f, err := s.SnapshotFiles(id)
	if err != nil {
		s.j.t.Fatal(err)
	}
	defer f.Release()
	u, err := f.Upload(s.j.t.Context(), s.j.files, 0)
	if err != nil {
		s.j.t.Fatal(err)
	}
	if complete {
		s.CheckpointCompleted(id)
	}
	return u
}

// Report 14: what is uploaded now is not the size of the state. The whole stays about the same and is never less than what was
// uploaded; uploads are small, but for those after a compaction, which writes again what was there.
func TestReport14UploadedIsNotTheSizeOfTheState(t *testing.T) {
	s := newLSMJob(t).open(1, 0)
	payload := func(key, round int64) string { // that does not compress
		var b strings.Builder
		for x := uint64(key*1_000_003 + round + 1); b.Len() < 400; {
			x = x*6364136223846793005 + 1442695040888963407
			fmt.Fprintf(&b, "%016x", x)
		}
		return b.String()
	}
	const keys = 1000
	for k := range int64(keys) {
		s.add(k, payload(k, 0))
	}
	first := s.store(1, true)
	if files := first.FullBytes - int64(len(first.State.Meta)); first.UploadedBytes != files {
		t.Errorf("the first checkpoint uploads %d of %d bytes of files, expected all", first.UploadedBytes, files)
	}
	var least, most, spikes int64
	for id := int64(2); id <= 24; id++ {
		for k := id * 20; k < id*20+20; k++ { // a fiftieth of the keys
			s.add(k%keys, payload(k%keys, id))
		}
		u := s.store(id, true)
		if u.UploadedBytes > u.FullBytes {
			t.Errorf("checkpoint %d uploads %d bytes of %d", id, u.UploadedBytes, u.FullBytes)
		}
		if u.FullBytes < first.FullBytes*9/10 || u.FullBytes > first.FullBytes*2 {
			t.Errorf("checkpoint %d: %d bytes in all, the first had %d", id, u.FullBytes, first.FullBytes)
		}
		if least == 0 || u.UploadedBytes < least {
			least = u.UploadedBytes
		}
		most = max(most, u.UploadedBytes)
		if u.UploadedBytes > first.FullBytes/4 {
			spikes++
			if s.LSM().Compactions == 0 {
				t.Errorf("checkpoint %d uploads %d bytes, and nothing was compacted", id, u.UploadedBytes)
			}
		}
	}
	t.Logf("uploads of %d to %d bytes, %d large ones; the state has %d", least, most, spikes, first.FullBytes)
	if least > first.FullBytes/8 || spikes > 18 { // how often a compaction is done in time varies
		t.Errorf("uploads of %d to %d bytes, %d large ones, of a state of %d: expected small ones and some large", least, most, spikes, first.FullBytes)
	}
}

// Report 16: restored from checkpoint 1, the store uploads a table in checkpoint 2 and dies before that completes; restored from 1
// again, it gives another table the same name in checkpoint 3. That must not be taken for the first.
func TestReport16SameNameOtherContent(t *testing.T) {
	j := newLSMJob(t)
	s := j.open(1, 0)
	for k := range int64(100) {
		s.add(k, "one")
	}
	one := s.store(1, true).State
	registry := checkpoint.NewSharedRegistry()
	register := func(id int64, s checkpoint.IncrementalState) {
		t.Helper()
		st := &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{"count": {Incremental: []checkpoint.IncrementalState{s}}}}
		if err := registry.RegisterState(st, id); err != nil {
			t.Error(err)
		}
	}
	register(1, one)

	names := func(s checkpoint.IncrementalState) map[string]string {
		m := map[string]string{}
		for _, f := range s.Files {
			if f.Shared {
				m[f.Name] = f.File
			}
		}
		return m
	}
	// Each life but the last dies with a table stored that nobody heard of. A compaction may take a name away, so there may
	// be more than two.
	earlier := map[string]string{}
	var last checkpoint.IncrementalState
	same := 0
	for id := int64(2); same == 0; id++ {
		if id > 30 {
			t.Fatal("no name came twice")
		}
		s = j.open(1, 0, one)
		for k := int64(50) * (id % 2); k < 50+50*(id%2); k++ { // other keys than in the life before
			s.add(k, fmt.Sprint("life ", id))
		}
		last = s.store(id, false).State
		register(id, last)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for name, file := range names(last) {
			if before, ok := earlier[name]; ok && before != file {
				same++
			} else if ok && names(one)[name] != file {
				t.Errorf("checkpoint %d took table %s of an earlier life for its own", id, name)
			}
			earlier[name] = file
		}
		if same == 0 {
			for _, h := range registry.Aborted(id) {
				if err := j.files.Discard(h); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		want := map[int64]int64{}
		for k := range int64(100) {
			want[k] = 1
			if k/50 == id%2 {
				want[k] = 2
			}
		}
		if got := j.open(1, 0, last).counts(); !maps.Equal(got, want) {
			t.Errorf("restored from checkpoint %d: %v, expected %v", id, got, want)
		}
	}
	// Registered under a known name, another file is an error.
	h := checkpoint.SharedHandle{File: one.SharedFiles()[0].File, Bytes: 7}
	if _, err := registry.Register(h.File, &h, 4); err == nil || !strings.Contains(err.Error(), "must be equal") {
		t.Error(err)
	}
}

// Report 17: after a rescale from 2 to 3 each subtask has a third of the keys, and a third of the bytes at once, not after some
// compaction. No scan shows a foreign key group.
func TestReport17RescaledStoreKeepsTheOtherHalf(t *testing.T) {
	j := newLSMJob(t)
	const keys = 3000
	var from []checkpoint.IncrementalState
	var all int64
	for i := range 2 {
		s := j.open(2, i)
		for k := range int64(keys) {
			s.add(k, fmt.Sprintf("%0300d", k*7_919_317_777))
		}
		from = append(from, s.store(1, true).State)
		all += s.LSM().LiveBytes
	}
	total := map[int64]int64{}
	for i := range 3 {
		s := j.open(3, i, from...)
		t.Logf("%d of 3: %+v", i, s.Path())
		stats, tree := s.Stats(), s.LSM()
		if stats.KeysOutOfRange != 0 || stats.Keys != stats.RestoredKeys || stats.Keys < keys/4 || stats.Keys > keys*2/5 {
			t.Errorf("%d of 3: %d keys, %d restored, %d out of range", i, stats.Keys, stats.RestoredKeys, stats.KeysOutOfRange)
		}
		if share := float64(tree.LiveBytes) / float64(all); share < 0.2 || share > 0.45 {
			t.Errorf("%d of 3: %.0f %% of the bytes, expected a third", i, 100*share)
		}
		if tree.HeldBytes < tree.LiveBytes {
			t.Errorf("%d of 3: holds %d bytes, less than the %d that live", i, tree.HeldBytes, tree.LiveBytes)
		}
		counts := s.counts()
		if int64(len(counts)) != stats.Keys {
			t.Errorf("%d of 3: a scan finds %d keys of %d", i, len(counts), stats.Keys)
		}
		for k, n := range counts {
			total[k] += n
		}
		// Writing goes on: the range that was cut off does not come back.
		for k := range int64(keys) {
			s.add(k, "x")
		}
		if again := s.counts(); len(again) != len(counts) {
			t.Errorf("%d of 3: %d keys after a second round, %d before", i, len(again), len(counts))
		}
	}
	if len(total) != keys {
		t.Errorf("%d keys in all, expected %d", len(total), keys)
	}
}

// Report 18: a list that is read and appended to in place, without an update, is lost at once on the LSM store. The heap shows it
// live; a snapshot has what stood there at its sync phase, since the first read behind it gives a copy.
func TestReport18ChangeInPlace(t *testing.T) {
	groups := keygroup.Range{First: 0, Last: 127}
	onHeap, err := heap.New(heap.Options{Key: serde.Long, MaxParallelism: 128, KeyGroups: groups})
	if err != nil {
		t.Fatal(err)
	}
	j := newLSMJob(t)
	for _, c := range []struct {
		b    state.Backend
		live []string // lengths of the list
		kept []string
	}{
		{b: onHeap, live: []string{"[1]", "[1 2]", "[1 2 3]"}, kept: []string{"[1 2]", "[1 2 3]"}},
		{b: j.open(1, 0), live: []string{"[1]", "[1]", "[1]"}, kept: []string{"[1]", "[1]"}},
	} {
		list, err := keyed.Value(c.b, state.ValueDescriptor[*[]int64]{Name: "list", Codec: listCodec()})
		if err != nil {
			t.Fatal(err)
		}
		k := serde.Key{Num: 1}
		with := func(f func() error) {
			t.Helper()
			err := c.b.Context().Set(k, serde.HashKey(serde.Long, k))
			if err == nil {
				err = f()
			}
			if err != nil {
				t.Fatal(err)
			}
			c.b.Context().Clear()
		}
		var live []string
		show := func() {
			with(func() error {
				l, _, err := list.Get()
				live = append(live, fmt.Sprint(*l))
				return err
			})
		}
		inPlace := func(n int64) {
			with(func() error {
				l, _, err := list.Get()
				*l = append(*l, n)
				return err
			})
		}
		with(func() error { return list.Update(&[]int64{1}) })
		show()
		inPlace(2)
		show()
		first, err := c.b.Snapshot(1)
		if err != nil {
			t.Fatal(err)
		}
		inPlace(3) // behind the sync phase, before the state is written
		show()
		second, err := c.b.Snapshot(2)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, s := range []state.Snapshot{first, second} {
			var b strings.Builder
			offsets, err := s.Write(t.Context(), &b)
			if err != nil {
				t.Fatal(err)
			}
			s.Release()
			to, err := heap.New(heap.Options{Key: serde.Long, MaxParallelism: 128, KeyGroups: groups})
			if err != nil {
				t.Fatal(err)
			}
			restored, err := keyed.Value(to, state.ValueDescriptor[*[]int64]{Name: "list", Codec: listCodec()})
			if err == nil {
				err = to.Restore(state.SplitGroups([]byte(b.String()), offsets))
			}
			if err == nil {
				err = restored.Each(func(_ int, _ serde.Key, _ state.Window, l *[]int64) bool {
					kept = append(kept, fmt.Sprint(*l))
					return true
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(live, c.live) || !slices.Equal(kept, c.kept) {
			t.Errorf("%s: live %q, expected %q; in the snapshots %q, expected %q", c.b.Name(), live, c.live, kept, c.kept)
		}
	}
}

// listCodec writes a list that a value state holds by its pointer.
func listCodec() state.Codec[*[]int64] {
	elements := state.Elements(state.Int64())
	return state.Codec[*[]int64]{
		Name:   "list pointer",
		Append: func(b []byte, v *[]int64) []byte { return elements.Append(b, *v) },
		Read: func(b []byte) (*[]int64, []byte, error) {
			v, rest, err := elements.Read(b)
			return &v, rest, err
		},
		Size: func(v *[]int64) int { return elements.Bytes(*v) },
		Copy: func(v *[]int64) *[]int64 {
			c := slices.Clone(*v)
			return &c
		},
	}
}
