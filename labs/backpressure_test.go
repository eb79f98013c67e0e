package labs

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/metric"
)

// playFlagship runs the flagship in fake time over the in-memory transport. It returns the snapshot at the time of
// halfway, after which meanwhile is done, and the last one. A record's work is what a real sleep of 1 ms takes.
func playFlagship(t *testing.T, knobs map[string]any, halfway, length time.Duration, meanwhile func(*Run)) (before, last *metric.Snapshot) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		all := map[string]any{"transport": "memory", "checkpointStorage": "memory", "workMs": 1.06}
		for name, v := range knobs {
			all[name] = v
		}
		r, err := Start(StartOptions{Lab: "backpressure", Knobs: all})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.Sleep(halfway)
		before = r.Snapshot()
		if meanwhile != nil {
			meanwhile(r)
		}
		time.Sleep(length - halfway)
		last = r.Snapshot()
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Evidence() {
			t.Logf("%s %s: %s", e.ID, e.State, e.Reading.En)
			if e.State == Contradicted {
				t.Errorf("%s is contradicted: %s", e.ID, e.Reading.En)
			}
		}
	})
	return before, last
}

func vertexOf(t *testing.T, s *metric.Snapshot, id string) *metric.Vertex {
	t.Helper()
	for i := range s.Vertices {
		if s.Vertices[i].ID == id {
			return &s.Vertices[i]
		}
	}
	t.Fatalf("no vertex %s", id)
	return nil
}

// consumed are the rates of the slow map between two snapshots, by its counters.
func consumed(t *testing.T, a, b *metric.Snapshot) (records, buffers float64) {
	t.Helper()
	seconds := float64(b.TimeMs-a.TimeMs) / 1000
	sum := func(s *metric.Snapshot, sign float64) {
		for _, x := range vertexOf(t, s, "slow-map").Subtasks {
			records += sign * float64(x.NumRecordsIn) / seconds
			buffers += sign * float64(x.NumBuffersInLocal+x.NumBuffersInRemote) / seconds
		}
	}
	sum(a, -1)
	sum(b, 1)
	return records, buffers
}

// medianCheckpoint is that of the last six completed ones, as peer comparisons take it.
func medianCheckpoint(t *testing.T, s *metric.Snapshot) float64 {
	t.Helper()
	var ms []int64
	for _, c := range s.Checkpoints {
		if c.Status == "COMPLETED" && len(ms) < 6 {
			ms = append(ms, c.EndToEndDurationMs)
		}
	}
	if len(ms) < 3 {
		t.Fatalf("only %d checkpoints completed", len(ms))
	}
	return median(ms)
}

func expectPressed(t *testing.T, s *metric.Snapshot) {
	t.Helper()
	for _, x := range vertexOf(t, s, "source").Subtasks {
		if x.Recent.BackPressured < 950 {
			t.Errorf("source %d is back-pressured for %.0f ms/s, want 950 at least", x.Index, x.Recent.BackPressured)
		}
	}
	for _, x := range vertexOf(t, s, "slow-map").Subtasks {
		if x.Recent.Busy < 950 {
			t.Errorf("slow-map %d is busy for %.0f ms/s, want 950 at least", x.Index, x.Recent.Busy)
		}
	}
	if s.Diagnosis.Bottleneck != "slow-map" || vertexOf(t, s, "slow-map").Role != RoleCause || vertexOf(t, s, "source").Role != RoleVictim {
		t.Errorf("diagnosis %+v", s.Diagnosis)
	}
}

func TestFlagshipWithAndWithoutDebloating(t *testing.T) {
	// At 49 s no checkpoint is under way: while one is, channels are blocked and their buffers drain.
	offBefore, off := playFlagship(t, nil, 20*time.Second, 49*time.Second, nil)
	onBefore, on := playFlagship(t, map[string]any{"debloat": true}, 20*time.Second, 49*time.Second, nil)
	expectPressed(t, off)
	expectPressed(t, on)
	a, b := medianCheckpoint(t, off), medianCheckpoint(t, on)
	if b >= a/2 {
		t.Errorf("median checkpoint %.0f ms off, %.0f ms on: want less than half", a, b)
	}
	recordsOff, _ := consumed(t, offBefore, off)
	recordsOn, _ := consumed(t, onBefore, on)
	if math.Abs(recordsOn-recordsOff) > 0.05*recordsOff {
		t.Errorf("%.0f records/s off, %.0f on: want within 5 %%", recordsOff, recordsOn)
	}
	// Over the whole run, as the published experiment counts: debloating starts at 1 KiB, so that the mean is above what
	// the settled size gives.
	start := &metric.Snapshot{Vertices: []metric.Vertex{{ID: "slow-map"}}}
	_, buffersOff := consumed(t, start, off)
	_, buffersOn := consumed(t, start, on)
	if ratio := buffersOn / buffersOff; ratio < 2.5 || ratio > 6 {
		t.Errorf("%.1f buffers/s off, %.1f on: want about 4 times", buffersOff, buffersOn)
	}
	for _, x := range vertexOf(t, on, "slow-map").Subtasks {
		if x.DebloatedBufferSize < 9000 || x.DebloatedBufferSize > 18000 {
			t.Errorf("slow-map %d: buffers of %d bytes, want 12 to 14 KB", x.Index, x.DebloatedBufferSize)
		}
		// The size rests where the next step would be less than a quarter: up to a third above its aim.
		if ms := x.EstimatedTimeToConsumeBuffers; ms < 700 || ms > 1400 {
			t.Errorf("slow-map %d: %d ms to consume what is in flight, want about 1000", x.Index, ms)
		}
	}
	for _, x := range vertexOf(t, off, "slow-map").Subtasks {
		if x.InPoolUsage < full {
			t.Errorf("slow-map %d: input pool %.2f used, want it full", x.Index, x.InPoolUsage)
		}
	}
	if c := newestCompleted(off); !strings.Contains("startDelay alignment", ExplainCheckpoint(c).Phase) {
		t.Errorf("the checkpoint's time went to %+v", ExplainCheckpoint(c))
	}
	t.Logf("checkpoint %.0f -> %.0f ms, %.0f -> %.0f records/s, %.1f -> %.1f buffers/s", a, b, recordsOff, recordsOn, buffersOff, buffersOn)
}

// TestDebloatingStartsAsInFlink: a job with debloating begins with buffers of 1 KiB, and so with many of them. Flink's
// numbers are the medians of five runs of 2.3 on 2 cores, timed from the first record of slow-map.
func TestDebloatingStartsAsInFlink(t *testing.T) {
	after := func(s *metric.Snapshot) (buffers float64) {
		for _, x := range vertexOf(t, s, "slow-map").Subtasks {
			buffers += float64(x.NumBuffersInLocal)
		}
		return buffers
	}
	early, last := playFlagship(t, map[string]any{"debloat": true}, 3100*time.Millisecond, 24500*time.Millisecond, func(r *Run) {
		time.Sleep(5500 * time.Millisecond)
		near(t, "local buffers after 8.6 s", after(r.Snapshot()), 678, 0.15)
	})
	near(t, "local buffers after 3.1 s", after(early), 461, 0.15)
	near(t, "local buffers after 30 s", after(last), 1095, 0.15)
}

// TestDebloatingIsSwitchedOnInTheRunningFlagship: sizes start from the segment's, and what is wanted is 13 KB. The average of
// 20 samples, a fifth of a second each, comes down to two steps of a quarter in 3 s, or later by as much as a checkpoint is
// under way, during which fewer buffers are in use. A third step would lead to what is wanted: it comes after 7 s or more,
// or, where the second led to less than 4/3 of that, not at all. What lies in the queues was written before each step.
func TestDebloatingIsSwitchedOnInTheRunningFlagship(t *testing.T) {
	const segment, wanted = 32768, 13200
	_, s := playFlagship(t, nil, 31*time.Second, 61*time.Second, func(r *Run) {
		if _, err := r.Set(map[string]any{"debloat": true}); err != nil {
			t.Error(err)
		}
		time.Sleep(8 * time.Second)
		for _, x := range vertexOf(t, r.Snapshot(), "slow-map").Subtasks {
			if x.DebloatedBufferSize > segment*9/16 {
				t.Errorf("slow-map %d: buffers of %d bytes after 8 s, want two steps of a quarter", x.Index, x.DebloatedBufferSize)
			}
		}
	})
	expectPressed(t, s)
	for _, x := range vertexOf(t, s, "slow-map").Subtasks {
		if x.DebloatedBufferSize > wanted*4/3 {
			t.Errorf("slow-map %d: buffers of %d bytes at the end, want %d or a threshold more", x.Index, x.DebloatedBufferSize, wanted)
		}
	}
	var off, soon, on []int64
	for _, c := range s.Checkpoints {
		switch ms := c.EndToEndDurationMs; {
		case c.Status != "COMPLETED":
		case c.TriggerMs < 31_000:
			off = append(off, ms)
		case c.TriggerMs > 48_000:
			on = append(on, ms)
		case c.TriggerMs > 39_000:
			soon = append(soon, ms)
		}
	}
	if len(off) < 2 || len(soon) < 2 || len(on) < 2 || median(soon) >= median(off)*2/3 || median(on) >= median(off)/2 {
		t.Errorf("checkpoints before the switch %v ms, from 8 s after it on %v, from 17 s on %v: want less than two thirds, then less than half", off, soon, on)
	}
	t.Logf("checkpoints %v, %v, %v ms", off, soon, on)
}
