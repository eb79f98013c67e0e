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
	// How each subtask came to its state, with the bounds of the lesson; 3 is reached from 2, 1 from 3.
	restores := map[string]map[int][]string{
		task.HashMap: {3: {"read 43 key groups", "read 43 key groups", "read 42 key groups"}, 1: {"read 128 key groups"}},
		task.LSM: {
			3: {"clipped: opened [0,64), cut off [43,64)",
				"merged: opened [64,128), cut off [86,128); took [43,64) of [0,64) in by reference",
				"clipped: opened [64,128), cut off [64,86)"},
			1: {"merged: opened [0,43); took [43,86) of [43,86) in by reference; took [86,128) of [86,128) in by reference"},
			5: {"clipped: opened [0,128), cut off [26,128)", "clipped: opened [0,128), cut off [0,26) [52,128)", "clipped: opened [0,128), cut off [0,52) [77,128)",
				"clipped: opened [0,128), cut off [0,77) [103,128)", "clipped: opened [0,128), cut off [0,103)"},
		},
	}
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
				var paths []string
				for _, x := range counts(snap).Subtasks {
					paths = append(paths, x.State.Restore)
				}
				if want := restores[backend][p]; want != nil && !slices.Equal(paths, want) {
					t.Errorf("at %d: restored %q, want %q", p, paths, want)
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
