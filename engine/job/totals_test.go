package job_test

import (
	"testing"
	"testing/synctest"

	"weir/engine/job"
	"weir/engine/task"
)

// The totals count all subtasks, also when there are too many keys to list their counts.
func TestTotalsOfManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 9000
		s := task.Defaults()
		s.Transport, s.Keys, s.Rate, s.Parallelism, s.CheckpointIntervalMs = "memory", 4000, 100_000, 3, 0
		j := start(t, counting(n), s, job.Options{})
		<-j.Done()
		if totals := j.Snapshot().Totals; totals.RecordsProcessed != n || totals.RecordsEmitted != n || totals.CountsByKey != nil {
			t.Errorf("%d processed, %d emitted, %d counts listed, expected %d, %d and none", totals.RecordsProcessed, totals.RecordsEmitted, len(totals.CountsByKey), n, n)
		}
	})
}
