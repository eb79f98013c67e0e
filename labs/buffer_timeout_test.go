package labs

import (
	"testing"
	"time"
)

func TestBufferTimeoutsSideBySide(t *testing.T) {
	play(t, "buffer-timeout", nil, func(p *played) {
		// Flink's buffers in per second of both subtasks, and where they differ the latency's median in ms.
		for _, c := range []struct {
			timeout  int64
			buffers  float64
			p50, max float64
		}{{100, 49.6, 50, 105}, {1, 996, 0.75, 1.2}, {0, 998, 0, 0.1}, {-1, 9.8, 210, 600}} {
			p.set("bufferTimeoutMs", c.timeout)
			time.Sleep(3 * time.Second)
			a, b := p.measure(12 * time.Second)
			records, buffers := consumed(t, a, b)
			near(t, "buffers/s by the counters", buffers, c.buffers, 0.15)
			near(t, "records/s", records, 1000, 0.05)
			r := p.row("bufferTimeoutMs", c.timeout)
			near(t, "buffers/s in the table", r.BuffersPerSecond, c.buffers, 0.15)
			if !r.Current || r.Seconds < 10 || r.Latency == nil || len(r.LatencyBuckets) == 0 {
				t.Fatalf("%d ms: row %+v", c.timeout, r)
			}
			// At 1 ms a record comes just before a flush or just after it: in fake time that is always the same.
			if l := r.Latency; l.P50 > c.p50*1.4+0.1 || c.timeout != 1 && l.P50 < c.p50*0.6 || l.Max > c.max {
				t.Errorf("%d ms: latency %+v, want a median of about %v and at most %v", c.timeout, *l, c.p50, c.max)
			}
			t.Logf("%d ms: %.1f buffers/s, %.1f %% full, latency %+v, %d buckets", c.timeout, buffers, 100*r.MeanFill, *r.Latency, len(r.LatencyBuckets))
		}
		time.Sleep(time.Second)
		p.expectShown("waits-half", "more-buffers", "each-record", "only-full", "longest-wait", "same-records")
		if n := len(p.Comparisons()); n != 4 {
			t.Errorf("%d rows, want 4", n)
		}
		// Another load has rows of its own; the old ones come back with the old load.
		p.set("rate", 5000)
		time.Sleep(2 * time.Second)
		if n := len(p.Comparisons()); n != 1 {
			t.Errorf("%d rows under another load, want 1", n)
		}
		p.set("rate", 1000)
		time.Sleep(2 * time.Second)
		if n := len(p.Comparisons()); n != 4 {
			t.Errorf("%d rows with the first load again, want 4", n)
		}
	})
}

// At 1 ms and at 0 these are the numbers of threads that are never late; TestBufferTimeoutsWithThreadsInTime of engine/job
// has real Flink's beside them.
func TestBufferTimeoutsAtFullRate(t *testing.T) {
	// A record that crosses the end of a segment makes one buffer more.
	const rate, crossing, subpartitions, flushes = 20000.0, 20000 * 283.0 / 32768, 4, 1000
	play(t, "buffer-timeout", map[string]any{"rate": rate, "measureLatency": false}, func(p *played) {
		for _, c := range []struct {
			timeout         int64
			buffers, within float64
		}{{100, 209.7, 0.15}, {1, subpartitions*flushes + crossing, 0.02}, {0, rate + crossing, 0.01}, {-1, 171.2, 0.15}} {
			// The flusher comes by between the source's looks at the clock: a checkpoint, at a whole second, sets those anew.
			time.Sleep(300 * time.Microsecond)
			p.set("bufferTimeoutMs", c.timeout)
			time.Sleep(6 * time.Second)
			a, b := p.measure(8 * time.Second)
			records, buffers := consumed(t, a, b)
			near(t, "records/s", records, rate, 0.05)
			near(t, "buffers/s", buffers, c.buffers, c.within)
			t.Logf("%d ms: %.0f buffers/s", c.timeout, buffers)
		}
	})
}
