package job_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/task"
)

// badDisk is the machine's file system with faults: full, it takes what fits and then no more; stuck, it removes nothing;
// slow, each new file takes its time.
type badDisk struct {
	checkpoint.FileSystem
	full, stuck atomic.Bool
	slow        atomic.Int64 // ns at most

	mu     sync.Mutex
	random *rand.Rand
	denied int // operations that failed
}

func newBadDisk() *badDisk {
	return &badDisk{FileSystem: checkpoint.OS, random: rand.New(rand.NewPCG(1, 5))}
}

func (d *badDisk) fail(if_ *atomic.Bool, err error) error {
	if !if_.Load() {
		return nil
	}
	d.mu.Lock()
	d.denied++
	d.mu.Unlock()
	return err
}

func (d *badDisk) failures() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.denied
}

func (d *badDisk) MkdirAll(path string) error {
	if err := d.fail(&d.full, syscall.ENOSPC); err != nil {
		return err
	}
	return d.FileSystem.MkdirAll(path)
}

func (d *badDisk) Mkdir(path string) error {
	if err := d.fail(&d.full, syscall.ENOSPC); err != nil {
		return err
	}
	return d.FileSystem.Mkdir(path)
}

func (d *badDisk) RemoveAll(path string) error {
	if err := d.fail(&d.stuck, syscall.EIO); err != nil {
		return err
	}
	return d.FileSystem.RemoveAll(path)
}

func (d *badDisk) Create(path string) (checkpoint.File, error) {
	if most := d.slow.Load(); most > 0 {
		d.mu.Lock()
		n := d.random.Int64N(most)
		d.mu.Unlock()
		time.Sleep(time.Duration(n))
	}
	f, err := d.FileSystem.Create(path) // an empty file fits
	if err != nil {
		return nil, err
	}
	return badFile{f, d}, nil
}

type badFile struct {
	checkpoint.File
	d *badDisk
}

func (f badFile) Write(b []byte) (int, error) {
	if err := f.d.fail(&f.d.full, syscall.ENOSPC); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f badFile) Sync() error {
	if err := f.d.fail(&f.d.full, syscall.ENOSPC); err != nil {
		return err
	}
	return nil // no power is lost here
}

func (d *badDisk) SyncDir(string) error { return nil }

// TestIncrementalUnderFaults takes incremental checkpoints of a running job while every third upload fails, notifications
// are lost, checkpoints expire, the disk is full for a while, or nothing can be removed for a while. Then each retained
// checkpoint restores by itself, with the files that it refers to and no others, and the job goes on from it to the right
// counts; and the shared folder holds just the files that the retained ones refer to.
func TestIncrementalUnderFaults(t *testing.T) {
	const n, keys = 20_000, 700
	want := countsOf(n, keys)
	base := func() task.Settings {
		s := rescaleSettings(task.LSM)
		s.Keys, s.Rate, s.StateBytesPerKey, s.InlineThresholdBytes = keys, 10000, 60, 0
		s.CheckpointIntervalMs, s.CheckpointTimeoutMs, s.ToleratedFailures, s.RetainedCheckpoints = 40, 600_000, 1_000_000, 3
		return s
	}
	for _, c := range []struct {
		name  string
		spoil func(*task.Settings)
		// during is called each 100 ms while the job runs, with their number.
		during func(d *badDisk, i int)
		failed int64 // at least so many checkpoints
	}{
		{name: "every third upload", spoil: func(s *task.Settings) {
			// With what is short inlined, most checkpoints have one file or two to upload in each subtask.
			s.FailUploadEvery, s.InlineThresholdBytes = 3, 6<<10
		}, failed: 5},
		{name: "notifications lost", spoil: func(s *task.Settings) { s.LoseNotifications = true }},
		{name: "expiring", spoil: func(s *task.Settings) { s.CheckpointTimeoutMs = 30 },
			during: func(d *badDisk, i int) { d.slow.Store(int64(i%2) * int64(40*time.Millisecond)) }, failed: 2},
		{name: "disk full", during: func(d *badDisk, i int) { d.full.Store(i%8 >= 5) }, failed: 5},
		{name: "nothing removed", spoil: func(s *task.Settings) { s.FailUploadEvery, s.InlineThresholdBytes = 7, 6<<10 },
			during: func(d *badDisk, i int) { d.stuck.Store(i%8 >= 5) }, failed: 3},
		{name: "all", spoil: func(s *task.Settings) {
			s.FailUploadEvery, s.InlineThresholdBytes, s.LoseNotifications, s.CheckpointTimeoutMs = 3, 6<<10, true, 30
		}, during: func(d *badDisk, i int) {
			d.slow.Store(int64(i%3) * int64(10*time.Millisecond))
			d.full.Store(i%10 == 6)
			d.stuck.Store(i%10 == 8)
		}, failed: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, disk := t.TempDir(), newBadDisk()
				s := base()
				if c.spoil != nil {
					c.spoil(&s)
				}
				j := start(t, counting(n), s, job.OnDisk(job.Options{CheckpointDir: dir}, disk))
				for i := range 16 { // it would end after two seconds
					if c.during != nil {
						c.during(disk, i)
					}
					time.Sleep(100 * time.Millisecond)
				}
				disk.full.Store(false)
				disk.stuck.Store(false)
				disk.slow.Store(0)
				counts := *j.Snapshot().CheckpointCounts
				time.Sleep(100 * time.Millisecond)
				j.Close()
				t.Logf("%+v, %d operations of the disk failed", counts, disk.failures())
				if err := j.Err(); err != nil {
					t.Fatal(err)
				}
				if counts.Completed < 5 || counts.Failed < c.failed {
					t.Errorf("%+v, expected at least 5 completed and %d failed: the faults did not do what they should", counts, c.failed)
				}
				retained, referred := holdsWhatIsReferredTo(t, dir)
				if len(retained) == 0 || len(referred) == 0 {
					t.Fatalf("%d checkpoints and %d shared files are left", len(retained), len(referred))
				}
				for i, path := range retained {
					restoresAlone(t, path, func(s *task.Settings) { s.Keys, s.Parallelism, s.Backend = keys, 1+i%3, backends[1-i%2] }, n, want)
				}
			})
		})
	}
}

// holdsWhatIsReferredTo compares the files in a folder of checkpoints with what its checkpoints refer to, and gives these:
// the folders of the checkpoints and the names of the shared files.
func holdsWhatIsReferredTo(t *testing.T, dir string) (checkpoints, files []string) {
	t.Helper()
	retained, _ := filepath.Glob(filepath.Join(dir, "chk-*", checkpoint.MetadataName))
	folders, _ := filepath.Glob(filepath.Join(dir, "chk-*"))
	if len(folders) != len(retained) {
		t.Errorf("folders %q, of them complete %q", folders, retained)
	}
	referred := map[string]bool{}
	for _, path := range retained {
		checkpoints = append(checkpoints, filepath.Dir(path))
		for name := range filesOf(t, filepath.Dir(path)) {
			referred[name] = true
		}
	}
	names, err := checkpoint.SharedOf(filepath.Join(dir, "chk-1")).List()
	if err != nil {
		t.Fatal(err)
	}
	files = slices.Sorted(maps.Keys(referred))
	for _, name := range names {
		if !referred[name] {
			t.Errorf("shared file %s is left, and nobody refers to it", name)
		}
		delete(referred, name)
	}
	for name := range referred {
		t.Errorf("shared file %s is missing", name)
	}
	return checkpoints, files
}

// filesOf are the shared files that a checkpoint refers to.
func filesOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	c, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, v := range c.Vertices {
		for sub := range v.Parallelism {
			st, err := c.State(v.ID, sub)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range st.SharedFiles() {
				names[f.File] = true
			}
		}
	}
	return names
}

// restoresAlone copies one checkpoint with the shared files that it refers to, and nothing else, to a folder of its own, and
// starts a job from it that counts the rest of n records.
func restoresAlone(t *testing.T, path string, change func(*task.Settings), n int64, want map[string]int64) {
	t.Helper()
	dir := t.TempDir()
	alone := filepath.Join(dir, filepath.Base(path))
	if err := os.CopyFS(alone, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(dir, checkpoint.SharedFolder)
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range filesOf(t, path) {
		if err := os.Link(filepath.Join(checkpoint.SharedOf(path).Dir(), name), filepath.Join(shared, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := rescaleSettings(task.LSM)
	s.Rate, s.StateBytesPerKey = 200_000, 60
	change(&s)
	j := start(t, counting(n), s, job.Options{RestorePath: alone})
	<-j.Done()
	if snap := j.Snapshot(); snap.RestoredCheckpointID < 1 || snap.Totals.RecordsEmitted >= n {
		t.Errorf("%s: restored checkpoint %d, then %d records", path, snap.RestoredCheckpointID, snap.Totals.RecordsEmitted)
	}
	equalCounts(t, fmt.Sprintf("%s, parallelism %d on %s", filepath.Base(path), s.Parallelism, s.Backend), j, want)
	j.Close()
}
