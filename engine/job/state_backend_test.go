package job_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/keygroup"
	"weir/engine/metric"
	"weir/engine/task"
)

var backends = []string{task.HashMap, task.LSM}

// rescaleSettings are those of the published experiment, faster: 1000 keys with 1 KB each.
func rescaleSettings(backend string) task.Settings {
	s := task.Defaults()
	s.Backend, s.Transport, s.RecordBytes = backend, "memory", 0
	s.Keys, s.Rate, s.StateBytesPerKey = 1000, 20000, 1024
	s.Parallelism, s.MaxParallelism = 2, 128
	s.CheckpointIntervalMs, s.RetainedCheckpoints, s.RestartStrategy = 0, 3, job.NoRestart
	return s
}

// await polls until a condition holds; jobs with files run in real time.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not in 30 s: " + what)
		}
	}
}

func counts(s *metric.Snapshot) *metric.Vertex { return &s.Vertices[len(s.Vertices)-1] }

// keysOf are the keys in the state of each counting subtask, with those that were restored and are out of range.
func keysOf(s *metric.Snapshot) (keys, restored []int64, out int64) {
	for _, x := range counts(s).Subtasks {
		if x.State == nil {
			return nil, nil, 0
		}
		keys, restored = append(keys, x.State.Keys), append(restored, x.State.RestoredKeys)
		out += x.State.KeysOutOfRange
	}
	return keys, restored, out
}

// awaitCheckpoint takes one and waits for its end.
func awaitCheckpoint(t *testing.T, j *job.Job) metric.Checkpoint {
	t.Helper()
	id, err := j.TriggerCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	return awaitID(t, j, id)
}

func awaitID(t *testing.T, j *job.Job, id int64) (found metric.Checkpoint) {
	t.Helper()
	await(t, fmt.Sprintf("checkpoint %d", id), func() bool {
		for _, c := range j.Snapshot().Checkpoints {
			if c.ID == id && c.Status != "IN_PROGRESS" {
				found = c
				return true
			}
		}
		return false
	})
	return found
}

// TestRescaleMovesKeyGroups takes the published experiment from 2 subtasks to 3, 1, 5 and back, on each backend: the keys
// of each subtask are those of real Flink.
func TestRescaleMovesKeyGroups(t *testing.T) {
	want := map[int][]int64{2: {510, 490}, 3: {359, 311, 330}, 1: {1000}}
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			s := rescaleSettings(backend)
			j := start(t, counting(0), s, job.Options{})
			await(t, "all keys", func() bool { keys, _, _ := keysOf(j.Snapshot()); return slices.Equal(keys, want[2]) })
			last := awaitCheckpoint(t, j).ID
			for _, p := range []int{3, 1, 5, 2, 3} {
				s.Parallelism = p
				if err := j.Restart(counting(0), s); err != nil {
					t.Fatal(err)
				}
				var snap *metric.Snapshot
				await(t, "state", func() bool {
					snap = j.Snapshot()
					_, restored, _ := keysOf(snap)
					return len(restored) == p
				})
				keys, restored, out := keysOf(snap)
				if !slices.Equal(keys, restored) || out != 0 || sum(keys) != 1000 || want[p] != nil && !slices.Equal(keys, want[p]) {
					t.Errorf("at %d: keys %v, restored %v, %d out of range, want %v", p, keys, restored, out, want[p])
				}
				for _, x := range counts(snap).Subtasks {
					t.Logf("%d of %d: %s", x.Index, p, x.State.Restore)
				}
				if snap.RestoredCheckpointID <= last {
					t.Errorf("restored checkpoint %d after %d", snap.RestoredCheckpointID, last)
				}
				last = snap.RestoredCheckpointID
			}
			s.MaxParallelism = 256
			if err := j.Restart(counting(0), s); err == nil || !strings.Contains(err.Error(), "128") || !strings.Contains(err.Error(), "256") {
				t.Errorf("another max parallelism: %v", err)
			}
		})
	}
}

func sum(n []int64) (total int64) {
	for _, x := range n {
		total += x
	}
	return total
}

// TestCheckpointsGoBetweenBackends restores savepoints and checkpoints of one backend in the other.
func TestCheckpointsGoBetweenBackends(t *testing.T) {
	for _, from := range backends {
		for _, savepoint := range []bool{true, false} {
			for _, storage := range []string{"file", "memory"} {
				if savepoint && storage == "memory" { // nothing is left of it when its job has ended
					continue
				}
				t.Run(fmt.Sprintf("%s/savepoint=%v/%s", from, savepoint, storage), func(t *testing.T) {
					s := rescaleSettings(from)
					s.CheckpointStorage = storage
					j := start(t, counting(0), s, job.Options{})
					await(t, "all keys", func() bool { keys, _, _ := keysOf(j.Snapshot()); return sum(keys) == 1000 })
					next := s
					next.Backend, next.Parallelism = backends[1], 3
					if from == backends[1] {
						next.Backend = backends[0]
					}
					if savepoint {
						path, err := j.Savepoint()
						if err != nil {
							t.Fatal(err)
						}
						j.Close()
						j = start(t, counting(0), next, job.Options{RestorePath: path})
					} else if err := j.Restart(counting(0), next); err != nil {
						t.Fatal(err)
					}
					var snap *metric.Snapshot
					await(t, "state", func() bool { snap = j.Snapshot(); _, restored, _ := keysOf(snap); return len(restored) == 3 })
					if _, restored, out := keysOf(snap); out != 0 || !slices.Equal(restored, []int64{359, 311, 330}) {
						t.Errorf("restored %v, %d out of range", restored, out)
					}
					if b := counts(snap).Subtasks[0].State.Backend; b != next.Backend {
						t.Errorf("backend %s", b)
					}
				})
			}
		}
	}
}

// TestSizesOfCheckpoints holds the sizes of checkpoints to those of real Flink (golden experiments.json, state).
func TestSizesOfCheckpoints(t *testing.T) {
	const flink = 1058746
	for _, backend := range backends {
		s := rescaleSettings(backend)
		j := start(t, counting(0), s, job.Options{})
		await(t, "all keys", func() bool { keys, _, _ := keysOf(j.Snapshot()); return sum(keys) == 1000 })
		var all []metric.Checkpoint
		for range 6 {
			all = append(all, awaitCheckpoint(t, j))
		}
		if backend == task.HashMap {
			for _, c := range all {
				if c.StateBytes < flink*9/10 || c.StateBytes > flink*11/10 || c.CheckpointedBytes != c.StateBytes || len(c.SharedFiles) > 0 {
					t.Errorf("hashmap: state %d, checkpointed %d, want both within 10 %% of %d", c.StateBytes, c.CheckpointedBytes, flink)
				}
			}
			continue
		}
		var full, uploaded int64
		reused := 0
		for i, c := range all {
			t.Logf("lsm: state %d, checkpointed %d", c.StateBytes, c.CheckpointedBytes)
			if i > 0 {
				full, uploaded = full+c.StateBytes, uploaded+c.CheckpointedBytes
			}
			for _, f := range c.SharedFiles {
				if f.State == "reused" && f.FirstCheckpoint < c.ID {
					reused++
				}
			}
		}
		if first := all[0]; uploaded >= full*9/10 || first.CheckpointedBytes != first.StateBytes || reused == 0 {
			t.Errorf("lsm: %d of %d bytes uploaded, %d files reused, the first %+v", uploaded, full, reused, first)
		}
	}
}

// TestSharedFolderHoldsWhatIsReferredTo takes incremental checkpoints while every third upload fails, notifications are
// lost, and some expire. Each retained checkpoint restores alone with its counts, and the shared folder holds just what
// they refer to.
func TestSharedFolderHoldsWhatIsReferredTo(t *testing.T) {
	for name, spoil := range map[string]func(*task.Settings){
		"none":          func(*task.Settings) {},
		"uploads":       func(s *task.Settings) { s.FailUploadEvery = 31 },
		"notifications": func(s *task.Settings) { s.LoseNotifications = true },
		"expiring":      func(s *task.Settings) { s.CheckpointTimeoutMs = 8 },
		"all":           func(s *task.Settings) { s.FailUploadEvery, s.LoseNotifications, s.CheckpointTimeoutMs = 31, true, 8 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := rescaleSettings(task.LSM)
			s.Rate, s.StateBytesPerKey, s.InlineThresholdBytes = 4000, 200, 0
			s.CheckpointIntervalMs, s.ToleratedFailures = 30, 1_000_000
			spoil(&s)
			j := start(t, counting(0), s, job.Options{CheckpointDir: dir})
			seen := int64(0)
			await(t, "checkpoints", func() bool {
				c := j.Snapshot().CheckpointCounts
				if c.Total/2 != seen && s.CheckpointTimeoutMs < 100 { // the short timeout counts for every other pair
					seen = c.Total / 2
					now := s
					if seen%2 == 0 {
						now.CheckpointTimeoutMs = 600000
					}
					if err := j.Apply(now); err != nil {
						t.Fatal(err)
					}
				}
				return c.Completed > 8 && c.Total > 25
			})
			t.Logf("%+v", *j.Snapshot().CheckpointCounts)
			j.Close()
			retained, _ := filepath.Glob(filepath.Join(dir, "chk-*", "_metadata"))
			folders, _ := filepath.Glob(filepath.Join(dir, "chk-*"))
			if len(folders) != len(retained) {
				t.Errorf("folders %q, of them complete %q", folders, retained)
			}
			referred := map[string]bool{}
			for _, path := range retained {
				path = filepath.Dir(path)
				c, err := checkpoint.Load(path)
				if err != nil {
					t.Fatal(err)
				}
				for sub := range 2 {
					st, err := c.State("count", sub)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range st.SharedFiles() {
						referred[f.File] = true
					}
				}
			}
			names, err := checkpoint.SharedOf(filepath.Join(dir, "chk-1")).List()
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range names {
				if !referred[n] {
					t.Errorf("shared file %s is left", n)
				}
				delete(referred, n)
			}
			for n := range referred {
				t.Errorf("shared file %s is missing", n)
			}
			for _, path := range retained {
				restoresAlone(t, filepath.Dir(path), s)
			}
		})
	}
}

// restoresAlone starts a job from a copy of one checkpoint, with what it refers to, and compares its counts with the
// positions of its sources.
func restoresAlone(t *testing.T, path string, s task.Settings) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, filepath.Base(path)), os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, checkpoint.SharedFolder), os.DirFS(checkpoint.SharedOf(path).Dir())); err != nil {
		t.Fatal(err)
	}
	s.Rate, s.Parallelism, s.CheckpointIntervalMs = 0.001, 3, 0
	j := start(t, counting(0), s, job.Options{RestorePath: filepath.Join(dir, filepath.Base(path)), CheckpointDir: t.TempDir()})
	var snap *metric.Snapshot
	await(t, "state", func() bool { snap = j.Snapshot(); keys, _, _ := keysOf(snap); return len(keys) == 3 })
	if _, _, out := keysOf(snap); out != 0 {
		t.Errorf("%s: %d keys out of range", path, out)
	}
	// Each key comes once a round: the counts of two keys differ by the number of sources at most.
	var low, high, total int64 = 1 << 62, 0, 0
	for _, n := range snap.Totals.CountsByKey {
		low, high, total = min(low, n), max(high, n), total+n
	}
	if len(snap.Totals.CountsByKey) > 0 && high-low > 2 {
		t.Errorf("%s: counts from %d to %d, %d in all", path, low, high, total)
	}
	j.Close()
}

// TestMissingSharedFileIsRefused takes one of the files away that a checkpoint refers to.
func TestMissingSharedFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := rescaleSettings(task.LSM)
	j := start(t, counting(0), s, job.Options{CheckpointDir: dir})
	await(t, "all keys", func() bool { keys, _, _ := keysOf(j.Snapshot()); return sum(keys) == 1000 })
	c := awaitCheckpoint(t, j)
	j.Close()
	i := slices.IndexFunc(c.SharedFiles, func(f metric.SharedFile) bool { return f.State == "uploaded" })
	if i < 0 {
		t.Fatalf("nothing uploaded: %+v", c.SharedFiles)
	}
	file := filepath.Join(dir, checkpoint.SharedFolder, c.SharedFiles[i].File)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.Parallelism = 3
	j, err := job.Start(counting(0), s, job.Options{CheckpointDir: dir, RestorePath: c.Path})
	if err == nil {
		j.Close()
		t.Fatal("it was restored")
	}
	if text := err.Error(); !strings.Contains(text, file) || !strings.Contains(text, "missing") || strings.Contains(text, "\n") {
		t.Errorf("%v", err)
	}
}

func TestRangesOfTheLesson(t *testing.T) {
	for i, want := range []keygroup.Range{{First: 0, Last: 42}, {First: 43, Last: 85}, {First: 86, Last: 127}} {
		if r, err := keygroup.RangeFor(128, 3, i); err != nil || r != want {
			t.Errorf("%d of 3: %v %v, want %v", i, r, err, want)
		}
	}
}
