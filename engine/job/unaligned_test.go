package job_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

func unalignedSettings() task.Settings {
	s := flagshipSettings()
	s.Transport, s.CheckpointMode = "memory", "unaligned"
	return s
}

// TestUnalignedFlagship: checkpoints no longer wait for what is queued; what is queued goes into them.
func TestUnalignedFlagship(t *testing.T) {
	for _, debloat := range []bool{false, true} {
		t.Run(fmt.Sprintf("debloat=%v", debloat), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := unalignedSettings()
				s.Debloat = debloat
				s.WorkMs = 1.08 // what Flink's sleep of 1 ms took: debloating follows the throughput
				j := start(t, flagship(), s, job.Options{})
				time.Sleep(45 * time.Second)
				snap := j.Snapshot()
				j.Close()
				want := 1.30e6
				if debloat {
					want = 430e3
				}
				taken := 0
				for _, c := range snap.Checkpoints {
					if c.Status != "COMPLETED" || c.TriggerMs < 15000 {
						continue
					}
					taken++
					if c.EndToEndDurationMs >= 150 {
						t.Errorf("checkpoint %d took %d ms, want less than 150", c.ID, c.EndToEndDurationMs)
					}
					if got := float64(c.PersistedBytes); got < .85*want || got > 1.15*want {
						t.Errorf("checkpoint %d persisted %.0f bytes, want %.0f within 15 %%", c.ID, got, want)
					}
					if c.CheckpointedBytes < c.PersistedBytes {
						t.Errorf("checkpoint %d has %d bytes, %d of them persisted", c.ID, c.CheckpointedBytes, c.PersistedBytes)
					}
					t.Logf("checkpoint %d: %d ms, %d bytes persisted", c.ID, c.EndToEndDurationMs, c.PersistedBytes)
				}
				if taken < 5 {
					t.Errorf("%d checkpoints completed, want at least 5", taken)
				}
				if overtaken(snap) == 0 {
					t.Error("no buffer was overtaken")
				}
			})
		})
	}
}

func overtaken(s *metric.Snapshot) (n int64) {
	for _, c := range s.Channels {
		n += c.Overtaken
	}
	return n
}

func wantCounts(n, keys int64) map[string]int64 {
	want := map[string]int64{}
	for i := range n {
		want[fmt.Sprint(i%keys)]++
	}
	return want
}

// slowCounting is counting with work before the count.
func slowCounting(n int64) job.Graph {
	g := counting(n)
	g.Vertices[1].Operators = append([]task.OperatorFactory{{Name: "slow", New: func() task.Operator { return operator.NewSlow(serde.Long) }}}, g.Vertices[1].Operators...)
	return g
}

// TestUnalignedCountsExactly takes an unaligned checkpoint each 50 ms of a bounded job that cannot keep up, and restores
// each of them with the same and with other parallelisms.
func TestUnalignedCountsExactly(t *testing.T) {
	const n, keys = 12000, 97
	want := wantCounts(n, keys)
	for _, transport := range []string{"tcp", "memory"} {
		for p := 1; p <= 4; p++ {
			t.Run(fmt.Sprintf("%s p=%d", transport, p), func(t *testing.T) {
				run := func(t *testing.T) {
					s := task.Defaults()
					s.Transport, s.Parallelism, s.Keys, s.Rate = transport, p, keys, 40000
					s.CheckpointIntervalMs, s.RetainedCheckpoints, s.CheckpointMode = 50, 8, "unaligned"
					s.WorkMs = 0.05 * float64(p)
					if transport == "tcp" {
						s.WorkKind = "cpu" // a sleep this short takes 1 ms of real time
						s.RetainedCheckpoints = 3
					}
					dir := t.TempDir()
					j := start(t, slowCounting(n), s, job.Options{CheckpointDir: dir})
					<-j.Done()
					equalCounts(t, "run", j, want)
					persisted := int64(0)
					for _, c := range j.Snapshot().Checkpoints {
						persisted += c.PersistedBytes
					}
					j.Close()
					retained, err := filepath.Glob(filepath.Join(dir, "chk-*"))
					if err != nil || len(retained) == 0 {
						t.Fatalf("no checkpoint is retained (%v)", err)
					}
					if persisted == 0 {
						t.Error("no checkpoint had data in flight")
					}
					t.Logf("%d checkpoints, %d bytes of data in flight", len(retained), persisted)
					for _, path := range retained {
						for _, q := range []int{p, 1 + p%4, 1 + (p+1)%4} {
							s := s
							s.Parallelism, s.CheckpointIntervalMs, s.WorkMs = q, 0, 0
							again := start(t, slowCounting(n), s, job.Options{RestorePath: path})
							<-again.Done()
							equalCounts(t, fmt.Sprintf("%s with parallelism %d", filepath.Base(path), q), again, want)
							again.Close()
						}
					}
				}
				if transport == "memory" {
					synctest.Test(t, run)
				} else {
					run(t)
				}
			})
		}
	}
}

// TestUnalignedInTurn: what was in flight on a rebalance is dealt to other subtasks in turn, where every record counts,
// whatever its key group.
func TestUnalignedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, keys = 12000, 97
		want := wantCounts(n, keys)
		s := task.Defaults()
		s.Transport, s.Parallelism, s.Keys, s.Rate, s.WorkMs = "memory", 2, keys, 40000, 0.1
		s.CheckpointIntervalMs, s.RetainedCheckpoints, s.CheckpointMode = 50, 4, "unaligned"
		dir := t.TempDir()
		j := start(t, threeStages(n, job.Rebalance), s, job.Options{CheckpointDir: dir})
		<-j.Done()
		equalCounts(t, "run", j, want)
		onRebalance := int64(0)
		for _, c := range j.Snapshot().Checkpoints {
			for _, sub := range c.Subtasks {
				if sub.Vertex == "source" {
					onRebalance += sub.PersistedBytes
				}
			}
		}
		if onRebalance == 0 {
			t.Error("nothing was in flight between source and middle")
		}
		j.Close()
		retained, err := filepath.Glob(filepath.Join(dir, "chk-*"))
		if err != nil || len(retained) == 0 {
			t.Fatalf("no checkpoint is retained (%v)", err)
		}
		for _, path := range retained {
			for q := 1; q <= 3; q++ {
				s := s
				s.Parallelism, s.CheckpointIntervalMs, s.WorkMs = q, 0, 0
				again := start(t, threeStages(n, job.Rebalance), s, job.Options{RestorePath: path})
				<-again.Done()
				equalCounts(t, fmt.Sprintf("%s with parallelism %d", filepath.Base(path), q), again, want)
				again.Close()
			}
		}
	})
}

// TestBarrierStuckInTheOutputQueue is field report 13: a source before a sink that takes 64 KiB/s, with 640 KiB in flight: one barrier waits
// about 10 s in the queue. With a timeout of 1 s it does not: at that time it goes before the data, which is persisted.
// When the sink is quick all barriers are in time, and nothing is persisted.
func TestBarrierStuckInTheOutputQueue(t *testing.T) {
	for _, c := range []struct {
		name      string
		work      float64
		mode      string
		timeoutMs int
		minMs     int64 // of a checkpoint
		maxMs     int64
		persisted bool
	}{
		{"aligned", 4, "aligned", 0, 5000, 15000, false},
		{"timeout", 4, "unaligned", 1000, 1000, 1200, true},
		{"in time", 0.01, "unaligned", 1000, 0, 999, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := unalignedSettings()
				s.Parallelism, s.Rate, s.WorkMs = 1, 2000, c.work
				s.CheckpointMode, s.AlignedTimeoutMs, s.CheckpointIntervalMs = c.mode, c.timeoutMs, 15000
				g := flagship()
				g.Vertices[1].TaskManager = 2 // remote: 10 buffers in the queue, 10 with the receiver
				j := start(t, g, s, job.Options{})
				time.Sleep(62 * time.Second)
				snap := j.Snapshot()
				j.Close()
				if len(snap.Checkpoints) < 3 {
					t.Fatalf("%d checkpoints", len(snap.Checkpoints))
				}
				for _, cp := range snap.Checkpoints {
					if cp.Status != "COMPLETED" {
						continue
					}
					t.Logf("checkpoint %d: %d ms, %d bytes persisted, %+v", cp.ID, cp.EndToEndDurationMs, cp.PersistedBytes, cp.Subtasks)
					if d := cp.EndToEndDurationMs; d < c.minMs || d > c.maxMs {
						t.Errorf("checkpoint %d took %d ms, want %d to %d", cp.ID, d, c.minMs, c.maxMs)
					}
					if (cp.PersistedBytes > 0) != c.persisted || cp.PersistedBytes > 640<<10 {
						t.Errorf("checkpoint %d persisted %d bytes", cp.ID, cp.PersistedBytes)
					}
				}
			})
		})
	}
}

// TestPointwiseStaysAligned: behind a forward or a broadcast edge a vertex aligns, and from its own output on barriers
// overtake again.
func TestPointwiseStaysAligned(t *testing.T) {
	for _, e := range []job.Exchange{job.Forward, job.Rescale, job.Broadcast, job.Rebalance} {
		for _, timeoutMs := range []int{0, 300} {
			t.Run(fmt.Sprintf("%s timeout=%d", e, timeoutMs), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := unalignedSettings()
					s.Rate, s.WorkMs, s.CheckpointIntervalMs, s.AlignedTimeoutMs = 5000, 1, 20000, timeoutMs
					j := start(t, threeStages(1<<40, e), s, job.Options{})
					time.Sleep(45 * time.Second)
					snap := j.Snapshot()
					j.Close()
					c := snap.Checkpoints[len(snap.Checkpoints)-1]
					if c.Status != "COMPLETED" {
						t.Fatalf("checkpoint %d is %s: %s", c.ID, c.Status, c.Failure)
					}
					persisted := map[string]int64{}
					for _, sub := range c.Subtasks {
						persisted[sub.Vertex] += sub.PersistedBytes
					}
					t.Logf("%d ms, persisted %v", c.EndToEndDurationMs, persisted)
					// What is queued between source and middle is passed through before the barrier if that edge is aligned.
					if aligned := e != job.Rebalance; (persisted["source"] == 0) != aligned {
						t.Errorf("the source persisted %d bytes", persisted["source"])
					}
					if persisted["count"] == 0 || persisted["middle"] == 0 {
						t.Errorf("persisted %v, want data in flight between middle and count", persisted)
					}
				})
			})
		}
	}
}

// TestStopIsAligned: the checkpoint that a job stops with has no data in flight, so that it may go on in any shape.
func TestStopIsAligned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unalignedSettings()
		j := start(t, flagship(), s, job.Options{})
		time.Sleep(7 * time.Second)
		if _, err := j.Stop(); err != nil {
			t.Fatal(err)
		}
		snap := j.Snapshot()
		if snap.Checkpoints[0].PersistedBytes != 0 || snap.Checkpoints[1].PersistedBytes == 0 {
			t.Errorf("persisted %d by the last checkpoint and %d by the one before, want 0 and more", snap.Checkpoints[0].PersistedBytes, snap.Checkpoints[1].PersistedBytes)
		}
		j.Close()
	})
}

// TestBarriersWaitForRecovery: a checkpoint asked for while data in flight is still being read is taken when that is over,
// and a stop likewise.
func TestBarriersWaitForRecovery(t *testing.T) {
	for _, stop := range []bool{false, true} {
		t.Run(fmt.Sprintf("stop=%v", stop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := unalignedSettings()
				dir := t.TempDir()
				j := start(t, flagship(), s, job.Options{CheckpointDir: dir})
				time.Sleep(12 * time.Second)
				j.Close()
				path := j.Snapshot().Checkpoints[0].Path
				s.CheckpointIntervalMs, s.Parallelism = 0, 3
				j = start(t, flagship(), s, job.Options{CheckpointDir: dir, RestorePath: path})
				time.Sleep(100 * time.Millisecond)
				if stop {
					if _, err := j.Stop(); err != nil {
						t.Fatal(err)
					}
				} else if _, err := j.TriggerCheckpoint(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				c := j.Snapshot().Checkpoints[0]
				j.Close()
				if c.Status != "COMPLETED" || c.EndToEndDurationMs < 1000 {
					t.Errorf("checkpoint %s after %d ms (%s), want it completed when 1.3 MB had been read", c.Status, c.EndToEndDurationMs, c.Failure)
				}
			})
		})
	}
}

// TestModeChangesLive: the mode of checkpoints changes with the next one, without a restart.
func TestModeChangesLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unalignedSettings()
		s.CheckpointMode = "aligned"
		j := start(t, flagship(), s, job.Options{})
		time.Sleep(13 * time.Second)
		s.CheckpointMode = "unaligned"
		if err := j.Apply(s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		snap := j.Snapshot()
		j.Close()
		for _, c := range snap.Checkpoints {
			if late := c.TriggerMs > 13000; c.Status == "COMPLETED" && (c.PersistedBytes > 0) != late {
				t.Errorf("checkpoint %d, triggered at %d ms, persisted %d bytes", c.ID, c.TriggerMs, c.PersistedBytes)
			}
		}
	})
}
