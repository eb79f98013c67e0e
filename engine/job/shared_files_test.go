package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/task"
	"weir/engine/trace"
)

func fieldOf(e trace.Event, name string) string {
	f, _ := e.Field(name)
	return f.String()
}

// sharedNames are the files in the shared folder.
func sharedNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, checkpoint.SharedFolder))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names
}

// TestDeletedFiles follows shared files to their end: subsumed ones, and those of a checkpoint that was told to fail. The
// readings, the tracepoint and the folder agree.
func TestDeletedFiles(t *testing.T) {
	dir := t.TempDir()
	tracer := trace.New()
	v := tracer.Attach()
	defer v.Close()
	v.Watch(trace.SharedFileDeleted, trace.HandlesIntersected)
	s := rescaleSettings(task.LSM)
	s.InlineThresholdBytes, s.RetainedCheckpoints, s.ToleratedFailures = 0, 1, 10
	j := start(t, counting(0), s, job.Options{CheckpointDir: dir, Tracer: tracer})
	await(t, "all keys", func() bool { keys, _, _ := keysOf(j.Snapshot()); return sum(keys) == 1000 })
	awaitCheckpoint(t, j)
	second := awaitCheckpoint(t, j)
	j.FailNextCheckpoint()
	failed := awaitCheckpoint(t, j)
	if failed.Status != "FAILED" || !strings.Contains(failed.Failure, job.ErrInjected.Error()) {
		t.Fatalf("%+v", failed)
	}
	j.LoseNextNotification()
	fourth := awaitCheckpoint(t, j)
	if fourth.Status != "COMPLETED" || !fourth.NotificationLost || second.NotificationLost {
		t.Errorf("the notification of %d was to be lost: %+v", fourth.ID, fourth)
	}
	held := map[string]bool{}
	for _, f := range fourth.SharedFiles {
		held[f.File] = true
		if f.State == "reused" && f.FirstCheckpoint == failed.ID {
			t.Errorf("%s of the failed checkpoint is reused", f.Name)
		}
	}
	// All deletions run on the coordinator's goroutine or end before it hears of the failure.
	var deleted []metric.DeletedFile
	await(t, "the folder to hold what the kept checkpoint refers to", func() bool {
		deleted = j.Snapshot().DeletedFiles
		return len(sharedNames(t, dir)) == len(held)
	})
	because := map[string]int{}
	names := sharedNames(t, dir)
	for _, d := range deleted {
		because[d.Because]++
		if names[d.File] || held[d.File] {
			t.Errorf("%s counts as deleted, but is there", d.File)
		}
		if d.Because == "failed" && d.Checkpoint != failed.ID || d.Because == "subsumed" && d.Checkpoint != second.ID && d.Checkpoint != fourth.ID {
			t.Errorf("%+v", d)
		}
	}
	for name := range held {
		if !names[name] {
			t.Errorf("%s is referred to and not there", name)
		}
	}
	if because["subsumed"] == 0 || because["failed"]+because["late"] == 0 {
		t.Errorf("deleted: %v", because)
	}
	hits := map[string]string{}
	for _, e := range v.Events(0, -1) {
		if e.Point == trace.SharedFileDeleted {
			hits[fieldOf(e, "file")] = fieldOf(e, "because")
		}
	}
	for _, d := range deleted {
		if hits[d.File] != d.Because {
			t.Errorf("the tracepoint says %q of %s, the readings %q", hits[d.File], d.File, d.Because)
		}
	}

	s.Parallelism = 3
	if err := j.Restart(counting(0), s); err != nil {
		t.Fatal(err)
	}
	parts := map[string]bool{}
	for _, e := range v.Events(0, -1) {
		if e.Point == trace.HandlesIntersected {
			parts[fieldOf(e, "subtask")+" "+fieldOf(e, "old")+" ["+fieldOf(e, "from")+","+fieldOf(e, "to")+") "+fieldOf(e, "kind")] = true
		}
	}
	for _, want := range []string{"0 0 [0,43) files", "1 0 [43,64) files", "1 1 [64,86) files", "2 1 [86,128) files"} {
		if !parts[want] {
			t.Errorf("no handle %q among %v", want, parts)
		}
	}
}

// TestClaimAtStart starts from a given checkpoint in both modes. Not claimed, everything is stored anew and it stays; claimed,
// its files go on being used and it is deleted once it is subsumed. One in another folder cannot be claimed.
func TestClaimAtStart(t *testing.T) {
	for _, mode := range []string{task.NoClaim, task.Claim} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			s := rescaleSettings(task.LSM)
			s.InlineThresholdBytes, s.RetainedCheckpoints, s.ClaimMode = 0, 1, mode
			j := start(t, counting(0), s, job.Options{CheckpointDir: dir})
			await(t, "all keys", func() bool { keys, _, _ := keysOf(j.Snapshot()); return sum(keys) == 1000 })
			c := awaitCheckpoint(t, j)
			j.Close()
			before := sharedNames(t, dir)

			if mode == task.Claim {
				other, err := job.Start(counting(0), s, job.Options{CheckpointDir: t.TempDir(), RestorePath: c.Path})
				if err == nil {
					other.Close()
					t.Fatal("a checkpoint of another folder was claimed")
				}
				if !strings.Contains(err.Error(), c.Path) || strings.Contains(err.Error(), "\n") {
					t.Error(err)
				}
			}
			j = start(t, counting(0), s, job.Options{CheckpointDir: dir, RestorePath: c.Path})
			next := awaitCheckpoint(t, j)
			reused := 0
			for _, f := range next.SharedFiles {
				if f.State == "reused" {
					reused++
				}
			}
			if reused > 0 != (mode == task.Claim) {
				t.Errorf("%d files reused", reused)
			}
			kept := func() (n int) {
				after := sharedNames(t, dir)
				for name := range before {
					if after[name] {
						n++
					}
				}
				return n
			}
			if mode == task.Claim {
				await(t, "the old checkpoint to go, with what is not used any more", func() bool {
					_, err := os.Stat(c.Path)
					return os.IsNotExist(err) && kept() == reused
				})
				return
			}
			awaitCheckpoint(t, j)
			if _, err := os.Stat(c.Path); err != nil || kept() != len(before) {
				t.Errorf("the old checkpoint: %v, %d of its %d files are there", err, kept(), len(before))
			}
		})
	}
	s := rescaleSettings(task.LSM)
	s.ClaimMode = "legacy"
	if _, err := job.Start(counting(0), s, job.Options{CheckpointDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), `"legacy"`) {
		t.Error(err)
	}
}
