package lsm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/lsm"
)

// faultyShared fails some puts, before the file is stored, halfway through it, or after.
type faultyShared struct {
	*checkpoint.FileShared
	puts  atomic.Int64
	every int64
}

var errUpload = errors.New("no space left on device")

func (f *faultyShared) Put(ctx context.Context, r io.Reader) (checkpoint.SharedHandle, error) {
	if n := f.puts.Add(1); f.every > 0 && n%f.every == 0 {
		if n%2 == 0 {
			return checkpoint.SharedHandle{}, errUpload
		}
		r = io.MultiReader(io.LimitReader(r, 100), failingReader{})
	}
	return f.FileShared.Put(ctx, r)
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errUpload }

// retained is a completed checkpoint and what the state was.
type retained struct {
	id     int64
	states []checkpoint.IncrementalState
	counts map[string]int64
}

// Field reports 15 and 16: uploads that fail, notifications that are lost, checkpoints that expire after the upload, crashes
// between the upload and the completion, restores at other parallelisms. After each completed checkpoint the shared folder
// holds exactly what the retained ones refer to, and each of them restores alone with the right counts.
func TestIncrementalUnderFaults(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	j := newJob(t)
	shared := &faultyShared{FileShared: j.shared}
	registry := checkpoint.NewSharedRegistry()
	var kept []retained
	counts := map[string]int64{}
	discard := func(list []checkpoint.SharedHandle) {
		for _, h := range list {
			if err := j.shared.Discard(h); err != nil {
				t.Fatal(err)
			}
		}
	}
	var id int64
	outcomes := map[string]int{}
	takeOne := func() {
		id++
		shared.every = 0
		if rnd.IntN(3) == 0 {
			shared.every = int64(2 + rnd.IntN(5))
		}
		st := &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{"op": {}}}
		failed := false
		for _, s := range j.subtasks {
			f := must[*lsm.FilesSnapshot](t)(s.SnapshotFiles(id))
			u, err := f.Upload(t.Context(), shared, 3000)
			f.Release()
			if err != nil {
				if !errors.Is(err, errUpload) {
					t.Fatal(err)
				}
				failed = true
				break
			}
			st.Operators["op"].Incremental = append(st.Operators["op"].Incremental, u.State)
		}
		if err := registry.RegisterState(st, id); err != nil {
			t.Fatal(err)
		}
		switch outcome := rnd.IntN(10); {
		case failed, outcome < 2: // declined, or expired after all had been stored
			outcomes["aborted"]++
			discard(registry.Aborted(id))
			for _, s := range j.subtasks {
				if rnd.IntN(2) == 0 {
					s.CheckpointAborted(id)
				}
			}
			return
		case outcome < 5:
			outcomes["notification lost"]++
		default:
			outcomes["completed"]++
			for _, s := range j.subtasks {
				s.CheckpointCompleted(id)
			}
		}
		now := map[string]int64{}
		for k, n := range counts {
			now[k] = n
		}
		kept = append(kept, retained{id, st.Operators["op"].Incremental, now})
		if len(kept) > 3 {
			kept = kept[1:]
		}
		list, _ := registry.Unused(kept[0].id)
		discard(list)
		want := map[string]bool{}
		for _, r := range kept {
			for _, s := range r.states {
				for _, h := range s.SharedFiles() {
					want[h.File] = true
				}
			}
		}
		names, err := j.shared.List()
		if err != nil {
			t.Fatal(err)
		}
		if len(names) != len(want) || len(registry.Orphans(names)) > 0 {
			t.Fatalf("checkpoint %d: %d files, %d referred to", id, len(names), len(want))
		}
		for _, name := range names {
			if !want[name] {
				t.Fatalf("checkpoint %d: file %s is left", id, name)
			}
		}
	}
	check := func(r retained) {
		t.Helper()
		have := map[string]int64{}
		for _, s := range j.subtasks {
			for k, n := range s.counts(t) {
				have[k] = n
			}
		}
		if fmt.Sprint(have) != fmt.Sprint(r.counts) {
			t.Fatalf("checkpoint %d restores %v, expected %v", r.id, have, r.counts)
		}
	}
	j.start(2, nil)
	for range 40 {
		for range 200 {
			k := serde.Key{Num: rnd.Int64N(150)}
			counts[fmt.Sprint(k.Num)]++
			for _, s := range j.subtasks {
				if s.owns(k) {
					s.add(t, k, strings.Repeat(fmt.Sprint(rnd.Uint64()), 20))
				}
			}
		}
		takeOne()
		if len(kept) > 0 && rnd.IntN(6) == 0 { // a crash: the newest goes on, others are tried
			for _, r := range kept {
				j.start(1+rnd.IntN(3), r.states)
				check(r)
			}
			outcomes["restored"]++
			counts = map[string]int64{}
			for k, n := range kept[len(kept)-1].counts {
				counts[k] = n
			}
		}
	}
	t.Logf("%v", outcomes)
	for _, r := range kept {
		for _, p := range []int{1, 2, 3} {
			j.start(p, r.states)
			check(r)
		}
	}
	j.stop()
}

// full is a disk that is full while on.
func full(fs vfs.FS, on *atomic.Bool) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpFileWrite) && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	}))
}

// A disk that is full for a while fails checkpoints at once, loses nothing, and is forgotten when there is room.
func TestDiskFull(t *testing.T) {
	var on atomic.Bool
	var failures atomic.Int64
	o := options(full(vfs.NewMem(), &on), "/d", serde.Long, newMemory(t, 8<<20, 1), keygroup.Range{First: 0, Last: 127}, nil)
	o.OnEvent = func(e lsm.Event) {
		if e.Kind == lsm.BackgroundFailed {
			failures.Add(1)
		}
	}
	c := newCounter(t, must[*lsm.Backend](t)(lsm.Open(o)))
	defer c.Close()
	for k := range int64(500) {
		c.add(t, serde.Key{Num: k}, "")
	}
	on.Store(true)
	if _, err := c.SnapshotFiles(1); err == nil || !strings.Contains(err.Error(), "checkpoint 1 of the state in /d: cannot flush the memtable") || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	for k := range int64(500) {
		c.add(t, serde.Key{Num: k}, "")
	}
	on.Store(false)
	s := must[*lsm.FilesSnapshot](t)(c.SnapshotFiles(2))
	u := must[*lsm.Upload](t)(s.Upload(t.Context(), checkpoint.NewMemoryShared(), 1<<30))
	s.Release()
	if failures.Load() == 0 || c.Err() != nil {
		t.Errorf("%d failures, %v", failures.Load(), c.Err())
	}
	o2 := o
	o2.Dir, o2.OnEvent = "/e", nil
	r := newCounter(t, must[*lsm.Backend](t)(lsm.Restore(o2, lsm.Source{States: []checkpoint.IncrementalState{u.State}})))
	defer r.Close()
	got := r.counts(t)
	if len(got) != 500 || got["77"] != 2 {
		t.Errorf("%d keys, %d", len(got), got["77"])
	}
}

// What ends Pebble, here a manifest that cannot be written, fails the task with one line; the process goes on.
func TestManifestFails(t *testing.T) {
	var on atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && strings.Contains(op.Path, "MANIFEST") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
			return syscall.EIO
		}
		return nil
	}))
	c := newCounter(t, must[*lsm.Backend](t)(lsm.Open(options(fs, "/d", serde.Long, newMemory(t, 8<<20, 1), keygroup.Range{First: 0, Last: 127}, nil))))
	c.add(t, serde.Key{Num: 1}, "")
	on.Store(true)
	_, err := c.SnapshotFiles(1)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if c.Err() == nil || !strings.Contains(c.Err().Error(), "MANIFEST") {
		t.Errorf("%v", c.Err())
	}
	k := serde.Key{Num: 1}
	if err := c.Context().Set(k, serde.HashKey(serde.Long, k)); err != nil {
		t.Fatal(err)
	}
	if err := c.count.Update(5); err == nil {
		t.Error("a store that failed took a value")
	}
	on.Store(false)
	c.Close()
}

// A table with damaged bytes, one that was cut off, and one that is gone: one clear error, and nothing of the checkpoint is
// changed.
func TestDamagedFiles(t *testing.T) {
	for _, c := range []struct {
		name, want string
		damage     func(path string) error
	}{
		{"damaged", "is damaged: ", func(path string) error {
			b, err := os.ReadFile(path)
			for i := 100; err == nil && i < len(b)/2; i += 64 {
				b[i] ^= 0x55
			}
			return errors.Join(err, os.WriteFile(path, b, 0o644))
		}},
		{"truncated", "bytes, expected ", func(path string) error { return os.Truncate(path, 1000) }},
		{"missing", "missing, expected a shared file of", os.Remove},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJob(t)
			j.start(1, nil)
			j.run(1000, 1000, "")
			f := must[*lsm.FilesSnapshot](t)(j.subtasks[0].SnapshotFiles(1))
			u := must[*lsm.Upload](t)(f.Upload(t.Context(), j.shared, 0))
			f.Release()
			for _, f := range u.State.Files {
				if strings.HasSuffix(f.Name, ".sst") {
					if err := c.damage(j.shared.Path(f.SharedHandle)); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := must[[]string](t)(j.shared.List())
			dir := filepath.Join(j.dir, "r")
			b, err := lsm.Restore(lsm.Options{Dir: dir, Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}, Memory: j.memory}, lsm.Source{States: []checkpoint.IncrementalState{u.State}, Files: j.shared})
			if err == nil {
				r := newCounter(t, b)
				err = r.count.Each(func(int, serde.Key, state.Window, int64) bool { return true })
				b.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the folder is left")
			}
			if after := must[[]string](t)(j.shared.List()); !slices.Equal(before, after) {
				t.Errorf("%v, %v", before, after)
			}
			j.stop()
		})
	}
}

func TestRestoreRefuses(t *testing.T) {
	m := newMemory(t, 8<<20, 1)
	o := options(vfs.NewMem(), "/d", serde.Long, m, keygroup.Range{First: 0, Last: 127}, nil)
	c := newCounter(t, must[*lsm.Backend](t)(lsm.Open(o)))
	c.add(t, serde.Key{Num: 1}, "")
	s := must[*lsm.FilesSnapshot](t)(c.SnapshotFiles(1))
	good := must[*lsm.Upload](t)(s.Upload(t.Context(), checkpoint.NewMemoryShared(), 1<<30)).State
	s.Release()
	c.Close()
	for _, x := range []struct {
		name, want string
		change     func(*checkpoint.IncrementalState, *lsm.Options)
	}{
		{"another backend", `the files are those of the state backend "forst", expected "lsm"`, func(s *checkpoint.IncrementalState, _ *lsm.Options) { s.Backend = "forst" }},
		{"max parallelism", "state with max parallelism 64, expected 128", func(s *checkpoint.IncrementalState, _ *lsm.Options) { s.MaxParallelism = 64 }},
		{"newer", "lsm state of version 9, expected 1", func(s *checkpoint.IncrementalState, _ *lsm.Options) { s.Meta = append([]byte{9}, s.Meta[1:]...) }},
		{"short", "the description of the state ends early", func(s *checkpoint.IncrementalState, _ *lsm.Options) { s.Meta = s.Meta[:len(s.Meta)-3] }},
		{"no shared folder", "lies in the shared folder, and none was given", func(s *checkpoint.IncrementalState, _ *lsm.Options) {
			s.Files = slices.Clone(s.Files)
			s.Files[0].File = "x"
		}},
		{"no manifest", "cannot open the state in /x", func(s *checkpoint.IncrementalState, _ *lsm.Options) {
			s.Files = slices.DeleteFunc(slices.Clone(s.Files), func(f checkpoint.StateFile) bool { return strings.HasPrefix(f.Name, "MANIFEST") })
		}},
		{"key groups", "key groups 100 to 128, must lie in 0 to 127", func(_ *checkpoint.IncrementalState, o *lsm.Options) {
			o.KeyGroups = keygroup.Range{First: 100, Last: 128}
		}},
		{"compression", `compression "lzma"`, func(_ *checkpoint.IncrementalState, o *lsm.Options) { o.Compression = "lzma" }},
		{"threshold", "overlap threshold 2, must be 0 to 1", func(_ *checkpoint.IncrementalState, o *lsm.Options) { o.OverlapThreshold = 2 }},
	} {
		st, o := good, o
		o.Dir = "/x"
		x.change(&st, &o)
		_, err := lsm.Restore(o, lsm.Source{States: []checkpoint.IncrementalState{st}})
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", x.name, err)
		}
		if _, err := o.FS.Stat("/x"); err == nil {
			t.Errorf("%s: the folder is left", x.name)
		}
	}
	if _, err := lsm.NewMemory(100, 1); err == nil {
		t.Error("a budget of 100 bytes was accepted")
	}
}
