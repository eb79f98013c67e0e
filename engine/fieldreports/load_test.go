package fieldreports_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/keygroup"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/task"
)

// subtaskOf is the subtask that a long belongs to.
func subtaskOf(key int64, parallelism int) int {
	const groups = 128
	return keygroup.OperatorIndex(groups, parallelism, keygroup.Assign(keygroup.HashLong(key), groups))
}

// Report 20: half of the time back-pressured can be two things. Behind a consumer that takes twice as long as the source,
// and behind one that stands still for every other second, the source has about the same average; the longest single wait
// tells them apart.
func TestReport20TwoSortsOfHalfLoad(t *testing.T) {
	var got [2]*metric.Subtask
	for i, shape := range []func(began time.Time){
		func(time.Time) { time.Sleep(2 * time.Millisecond) },
		func(began time.Time) {
			if at := time.Since(began) % (2 * time.Second); at < time.Second {
				time.Sleep(time.Second - at)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := settings()
			s.Parallelism, s.TaskManagers, s.SegmentBytes = 1, 1, 1<<10
			began := time.Now()
			payload := string(make([]byte, 200))
			source := scripted(func(_ int, r *serde.Record) (task.Status, time.Duration) {
				time.Sleep(time.Millisecond) // the source's own work
				r.Payload = payload
				return task.Ready, 0
			})
			j := start(t, graph(serde.Long, source, working(func() { shape(began) })), s, job.Options{})
			time.Sleep(90 * time.Second)
			got[i] = &j.Snapshot().Vertices[0].Subtasks[0]
			j.Close()
		})
		if b := got[i].BackPressured; b < 450 || b > 550 || got[i].Busy < 450 || got[i].Busy > 550 {
			t.Errorf("shape %d: back-pressured %.0f ms/s, busy %.0f", i, b, got[i].Busy)
		}
	}
	steady, bursts := got[0].Accumulated, got[1].Accumulated
	if longest := max(steady.MaxSoftMs, steady.MaxHardMs); longest > 50 {
		t.Errorf("steady: a single wait of %d ms", longest)
	}
	if longest := max(bursts.MaxSoftMs, bursts.MaxHardMs); longest < 900 || longest > 1000 {
		t.Errorf("bursts: the longest wait is %d ms, want about a second", longest)
	}
}

// Report 21: 10 records/s of 100 bytes across a keyBy are late by up to the buffer timeout: spread over 0 to 100 ms at the
// default, below 5 ms at 1 ms, at once at 0, and never there with -1, for no buffer gets full.
func TestReport21DelayBehindAKeyBy(t *testing.T) {
	for _, c := range []struct {
		timeoutMs           int
		p50From, p50To, max float64
		none                bool
	}{
		{100, 25, 75, 101, false},
		{1, 0, 1.1, 5, false},
		{0, 0, 0.1, 0.1, false},
		{-1, 0, 0, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := settings()
			// Not a divisor of the timeout: a record falls anywhere between two flushes.
			s.Rate, s.RecordBytes, s.BufferTimeoutMs, s.MeasureLatency = 9.7, 100, c.timeoutMs, true
			j := start(t, graph(serde.Long, generator(0), sink), s, job.Options{})
			time.Sleep(60 * time.Second)
			snap := j.Snapshot()
			j.Close()
			var records, buffers int64
			for _, sub := range snap.Vertices[1].Subtasks {
				records += sub.NumRecordsIn
				buffers += sub.NumBuffersInLocal + sub.NumBuffersInRemote
				l := sub.LatencyMs
				switch {
				case c.none && (sub.NumRecordsIn > 0 || l != nil):
					t.Errorf("timeout %d: %d records came", c.timeoutMs, sub.NumRecordsIn)
				case c.none:
				case l == nil:
					t.Errorf("timeout %d: no latency", c.timeoutMs)
				case l.P50 < c.p50From || l.P50 > c.p50To || l.Max > c.max:
					t.Errorf("timeout %d: %+v", c.timeoutMs, *l)
				case c.timeoutMs == 100 && l.Max < 80:
					t.Errorf("timeout %d: the spread ends at %.0f ms", c.timeoutMs, l.Max)
				}
			}
			if !c.none && (records < 570 || records > 590) {
				t.Errorf("timeout %d: %d records in 60 s", c.timeoutMs, records)
			}
			if c.timeoutMs == 0 && buffers != records {
				t.Errorf("timeout 0: %d buffers for %d records", buffers, records)
			}
		})
	}
}
