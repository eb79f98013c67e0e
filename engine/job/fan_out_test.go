package job_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// fanOut is the flagship with a flatMap chained to the source.
func fanOut() job.Graph {
	g := flagship()
	g.Vertices[0].Name = "Source: source -> Flat Map"
	g.Vertices[0].Operators = []task.OperatorFactory{{Name: "flat-map", New: func() task.Operator { return operator.NewFlatMap(serde.Long) }}}
	return g
}

// TestHardBackpressure is the overdraft experiment: real Flink, at 1.08 ms a record, shows no hard back pressure at a
// fan-out of 1000 and 552 ms/s at 5000 with checkpoints of 5.4 s.
func TestHardBackpressure(t *testing.T) {
	for _, c := range []struct {
		fanOut, overdraft int
		hard              [2]float64 // ms/s over the measured time
		checkpoint        [2]int64   // ms
		usage             [2]float64
	}{
		{1000, 20, [2]float64{0, 0}, [2]int64{2000, 8000}, [2]float64{1.01, 2}},
		{1000, 0, [2]float64{1, 1000}, [2]int64{2000, 8000}, [2]float64{0.9, 1}},
		// 5432 ms and 552 ms/s at 1.08 ms of work.
		{5000, 20, [2]float64{552 * 0.8, 552 * 1.2}, [2]int64{5030 * 8 / 10, 5030 * 12 / 10}, [2]float64{2, 3}},
	} {
		t.Run(fmt.Sprintf("fanOut=%d overdraft=%d", c.fanOut, c.overdraft), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := flagshipSettings()
				s.Transport, s.FanOut, s.OverdraftBuffers = "memory", c.fanOut, c.overdraft
				j := start(t, fanOut(), s, job.Options{})
				time.Sleep(15 * time.Second)
				before := j.Snapshot()
				usage := 0.0
				for range 60 {
					time.Sleep(time.Second)
					for _, x := range j.Snapshot().Vertices[0].Subtasks {
						usage = max(usage, x.OutPoolUsageMax)
					}
				}
				snap := j.Snapshot()
				hard, pressed := 0.0, 0.0
				for i, x := range snap.Vertices[0].Subtasks {
					y := before.Vertices[0].Subtasks[i]
					hard = max(hard, x.HardBackPressured)
					pressed += float64(x.Accumulated.BackPressured-y.Accumulated.BackPressured) / 60 / 2
					if x.NumRecordsOut-y.NumRecordsOut < 50*1000 {
						t.Errorf("source %d sent %d records in 60 s", i, x.NumRecordsOut-y.NumRecordsOut)
					}
				}
				got := medianDuration(snap)
				records := rate(before, snap, func(x metric.Subtask) int64 { return x.NumRecordsIn })
				t.Logf("hard %.0f ms/s, back-pressured %.0f ms/s, usage %.2f, %.0f records/s, checkpoints %v", hard, pressed, usage, records, durations(snap))
				if hard < c.hard[0] || hard > c.hard[1] {
					t.Errorf("hard back pressure %.0f ms/s, want %.0f to %.0f", hard, c.hard[0], c.hard[1])
				}
				if got < c.checkpoint[0] || got > c.checkpoint[1] {
					t.Errorf("median checkpoint %d ms, want %d to %d", got, c.checkpoint[0], c.checkpoint[1])
				}
				if usage < c.usage[0] || usage > c.usage[1] {
					t.Errorf("outPoolUsageMax %.2f, want %.2f to %.2f", usage, c.usage[0], c.usage[1])
				}
				if pressed < 950 {
					t.Errorf("source back-pressured %.0f ms/s, want at least 950", pressed)
				}
				j.Close()
			})
		})
	}
}

func durations(s *metric.Snapshot) (d []int64) {
	for _, c := range s.Checkpoints {
		if c.Status == "COMPLETED" {
			d = append(d, c.EndToEndDurationMs)
		}
	}
	return d
}
