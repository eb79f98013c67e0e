package job_test

import (
	"strings"
	"testing"

	"weir/engine/job"
	"weir/engine/task"
)

// A job whose records would go to a subtask that there is not does not start.
func TestOwnerOutOfRange(t *testing.T) {
	s := task.Defaults()
	s.Transport, s.CheckpointStorage = "memory", "memory"
	j, err := job.Start(counting(1), s, job.Options{Cores: job.Cores{Owner: func(_, parallelism, _ int) int { return parallelism }}})
	if err == nil {
		j.Close()
		t.Fatal("it started")
	}
	if want := "key group 0 goes to subtask 2, expected 0 to 1"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, expected %s", err, want)
	}
}
