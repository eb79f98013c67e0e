package job_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/task"
)

// countsOf is what a counting job of n records over keys must end with.
func countsOf(n, keys int64) map[string]int64 {
	want := map[string]int64{}
	for i := range n {
		want[fmt.Sprint(i%keys)]++
	}
	return want
}

// faultSettings take a checkpoint every 200 ms of a job that takes three seconds.
func faultSettings(transport string) task.Settings {
	s := task.Defaults()
	s.Transport, s.Keys, s.Rate, s.RecordBytes = transport, 50, 10000, 100
	s.CheckpointIntervalMs, s.BufferTimeoutMs = 200, 10
	s.RestartDelayMs = 100
	return s
}

const faultRecords = 30000

// until looks at the job each 5 ms until a snapshot is as wished.
func until(t *testing.T, j *job.Job, what string, wish func(*metric.Snapshot) bool) *metric.Snapshot {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 20000 {
		s := j.Snapshot()
		if wish(s) {
			return s
		}
		<-tick.C
	}
	t.Fatalf("never %s: %s, failure %q, %d restarts", what, j.State(), j.Snapshot().Failure, j.Snapshot().Restarts)
	return nil
}

func inState(state string) func(*metric.Snapshot) bool {
	return func(s *metric.Snapshot) bool { return s.State == state }
}

// overBoth runs a test in fake time over the in-memory transport, and over TCP.
func overBoth(t *testing.T, test func(t *testing.T, transport string)) {
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, "memory") })
	})
	t.Run("tcp", func(t *testing.T) { test(t, "tcp") })
}

// TestFaultRestarts: each fault ends the attempt with its name, and the job goes on from its last checkpoint with every
// record counted once. No more is replayed than was emitted since that checkpoint was triggered.
func TestFaultRestarts(t *testing.T) {
	for fault, says := range map[network.Fault]string{
		network.CutConnection: "was cut", network.DamageFrame: "broken frame: magic is", network.StopReading: "tm 1 does not read what tm 0 sends",
	} {
		t.Run(fault.String(), func(t *testing.T) {
			test := func(t *testing.T, transport string) {
				emitted := map[int64]int64{} // by the ms of the job
				s := faultSettings(transport)
				s.RetainedCheckpoints = 2
				j := start(t, counting(faultRecords), s, job.Options{})
				until(t, j, "past two checkpoints", func(s *metric.Snapshot) bool {
					emitted[s.TimeMs] = s.Totals.RecordsEmitted
					return len(s.Checkpoints) > 2
				})
				if err := j.Inject(fault, 0, 1); err != nil {
					t.Fatal(err)
				}
				failed := until(t, j, "restarting", inState("RESTARTING"))
				for _, part := range []string{"task ", "the connection from tm 0 to tm 1", says} {
					if !strings.Contains(failed.Failure, part) {
						t.Errorf("failure %q does not say %q", failed.Failure, part)
					}
				}
				t.Log(failed.Failure)
				newest := int64(0)
				for _, c := range failed.Checkpoints {
					switch c.Status {
					case "IN_PROGRESS":
						t.Errorf("checkpoint %d goes on without a job", c.ID)
					case "COMPLETED":
						newest = max(newest, c.ID)
					}
				}
				again := until(t, j, "running", inState("RUNNING"))
				if again.Restarts != 1 || newest < 2 || again.RestoredCheckpointID != newest || again.Failure != failed.Failure || len(again.Checkpoints) < 2 {
					t.Errorf("%d restarts, restored %d, failure %q, %d checkpoints", again.Restarts, again.RestoredCheckpointID, again.Failure, len(again.Checkpoints))
				}
				<-j.Done()
				equalCounts(t, "after the fault", j, countsOf(faultRecords, 50))
				end := j.Snapshot()
				if end.State != "FINISHED" || end.Restarts != 1 {
					t.Errorf("%s after %d restarts", end.State, end.Restarts)
				}
				before := int64(0) // emitted when the restored checkpoint was triggered
				for _, c := range end.Checkpoints {
					if c.ID != again.RestoredCheckpointID {
						continue
					}
					for at, n := range emitted {
						if at <= c.TriggerMs {
							before = max(before, n)
						}
					}
				}
				replayed := failed.Totals.RecordsEmitted + end.Totals.RecordsEmitted - faultRecords
				if replayed < 0 || replayed > failed.Totals.RecordsEmitted-before {
					t.Errorf("%d records replayed, %d had been emitted, %d of them before the checkpoint", replayed, failed.Totals.RecordsEmitted, before)
				}
			}
			if fault == network.StopReading { // over TCP it is the network's own test, with a peer that is given up sooner
				synctest.Test(t, func(t *testing.T) { test(t, "memory") })
				return
			}
			overBoth(t, test)
		})
	}
}

// TestRestartFromTheBeginning: without a checkpoint all is done again.
func TestRestartFromTheBeginning(t *testing.T) {
	overBoth(t, func(t *testing.T, transport string) {
		s := faultSettings(transport)
		s.CheckpointIntervalMs = 0
		j := start(t, counting(faultRecords), s, job.Options{})
		until(t, j, "under way", func(s *metric.Snapshot) bool { return s.Totals.RecordsEmitted > 2000 })
		if err := j.Inject(network.CutConnection, 1, 0); err != nil {
			t.Fatal(err)
		}
		<-j.Done()
		equalCounts(t, "from the beginning", j, countsOf(faultRecords, 50))
		if end := j.Snapshot(); end.Restarts != 1 || end.RestoredCheckpointID != 0 || end.Totals.RecordsEmitted != faultRecords {
			t.Errorf("%d restarts, restored %d, %d emitted", end.Restarts, end.RestoredCheckpointID, end.Totals.RecordsEmitted)
		}
	})
}

// TestRestartStrategies: how often, and after how long, a job comes back.
func TestRestartStrategies(t *testing.T) {
	fault := func(t *testing.T, j *job.Job) (down time.Duration, ended bool) {
		t.Helper()
		if err := j.Inject(network.CutConnection, 0, 1); err != nil {
			t.Fatal(err)
		}
		until(t, j, "failed", func(s *metric.Snapshot) bool { return s.State != "RUNNING" })
		begin := time.Now()
		s := until(t, j, "back", func(s *metric.Snapshot) bool { return s.State != "RESTARTING" })
		return time.Since(begin), s.State == "FAILED"
	}
	within := func(t *testing.T, got time.Duration, want float64) {
		t.Helper()
		if s := got.Seconds(); s < want*0.9-0.02 || s > want*1.1+0.02 {
			t.Errorf("down for %v, expected %.2f s, give or take a tenth", got, want)
		}
	}
	t.Run("none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := faultSettings("memory")
			s.RestartStrategy = job.NoRestart
			j := start(t, counting(faultRecords), s, job.Options{})
			time.Sleep(time.Second)
			if _, ended := fault(t, j); !ended || j.Err() == nil || !strings.Contains(j.Err().Error(), "was cut") {
				t.Errorf("ended %v, %v", ended, j.Err())
			}
		})
	})
	t.Run("fixed-delay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := faultSettings("memory")
			s.RestartStrategy, s.RestartAttempts, s.RestartDelayMs = job.FixedDelay, 2, 700
			j := start(t, counting(faultRecords), s, job.Options{})
			for range 2 {
				time.Sleep(500 * time.Millisecond)
				if down, ended := fault(t, j); ended || down < 690*time.Millisecond || down > 710*time.Millisecond {
					t.Errorf("down for %v, ended %v", down, ended)
				}
			}
			time.Sleep(500 * time.Millisecond)
			if _, ended := fault(t, j); !ended || j.Snapshot().Restarts != 2 {
				t.Errorf("ended %v after %d restarts", ended, j.Snapshot().Restarts)
			}
		})
	})
	t.Run("exponential-delay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := faultSettings("memory")
			s.RestartDelayMs, s.Rate, s.CheckpointIntervalMs = 1000, 10, 0
			j := start(t, counting(1_000_000), s, job.Options{})
			for _, want := range []float64{1, 1.5, 2.25, 3.375} {
				time.Sleep(time.Second)
				down, _ := fault(t, j)
				within(t, down, want)
			}
			for range 8 {
				time.Sleep(time.Second)
				if down, _ := fault(t, j); down > time.Minute+20*time.Millisecond {
					t.Errorf("down for %v, expected a minute at most", down)
				}
			}
			time.Sleep(62 * time.Minute) // an hour and the last delay without a failure
			down, _ := fault(t, j)
			within(t, down, 1)
		})
	})
}

// TestWhileRestarting: whoever acts on a job that waits to be restarted does not wait with it.
func TestWhileRestarting(t *testing.T) {
	down := func(t *testing.T) (*job.Job, task.Settings) {
		s := faultSettings("memory")
		s.RestartStrategy, s.RestartDelayMs, s.RestartAttempts = job.FixedDelay, 3_600_000, 5
		j := start(t, counting(faultRecords), s, job.Options{})
		time.Sleep(time.Second)
		if err := j.Inject(network.CutConnection, 0, 1); err != nil {
			t.Fatal(err)
		}
		until(t, j, "restarting", inState("RESTARTING"))
		return j, s
	}
	for name, act := range map[string]func(*testing.T, *job.Job, task.Settings){
		"cancel": func(t *testing.T, j *job.Job, _ task.Settings) {
			j.Cancel()
			<-j.Done()
			if s := j.Snapshot(); s.State != "CANCELED" || j.Err() != nil {
				t.Errorf("%s, %v", s.State, j.Err())
			}
		},
		"close": func(t *testing.T, j *job.Job, _ task.Settings) {
			j.Close()
		},
		"stop": func(t *testing.T, j *job.Job, s task.Settings) {
			path, err := j.Stop()
			if err != nil || j.State() != job.Stopped {
				t.Fatalf("%v, %s", err, j.State())
			}
			again := start(t, counting(faultRecords), s, job.Options{RestorePath: path})
			<-again.Done()
			equalCounts(t, "restored", again, countsOf(faultRecords, 50))
		},
		"restart": func(t *testing.T, j *job.Job, s task.Settings) {
			s.Parallelism = 3
			if err := j.Restart(counting(faultRecords), s); err != nil {
				t.Fatal(err)
			}
			if snap := j.Snapshot(); snap.State != "RUNNING" || snap.Vertices[1].Parallelism != 3 || snap.Restarts != 1 {
				t.Errorf("%s with parallelism %d after %d restarts", snap.State, snap.Vertices[1].Parallelism, snap.Restarts)
			}
			<-j.Done()
			equalCounts(t, "rescaled", j, countsOf(faultRecords, 50))
		},
		"refused restart": func(t *testing.T, j *job.Job, s task.Settings) {
			s.Transport = "pigeon"
			if err := j.Restart(counting(faultRecords), s); err == nil {
				t.Error("a job runs over pigeons")
			}
			<-j.Done() // it came back as it was
			equalCounts(t, "as before", j, countsOf(faultRecords, 50))
		},
		"apply": func(t *testing.T, j *job.Job, s task.Settings) {
			s.Rate = 20000
			if err := j.Apply(s); err != nil {
				t.Fatal(err)
			}
			if _, err := j.TriggerCheckpoint(); err == nil {
				t.Error("a checkpoint without a job")
			}
			if err := j.Inject(network.CutConnection, 0, 1); err == nil {
				t.Error("a fault without a connection")
			}
			if j.Settings().Rate != 20000 {
				t.Error("the knob did not move")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, s := down(t)
				begin := time.Now()
				act(t, j, s)
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				j.Close()
			})
		})
	}
	t.Run("stop without a checkpoint", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := faultSettings("memory")
			s.CheckpointIntervalMs, s.RestartDelayMs = 0, 60_000
			j := start(t, counting(faultRecords), s, job.Options{})
			time.Sleep(time.Second)
			if err := j.Inject(network.CutConnection, 0, 1); err != nil {
				t.Fatal(err)
			}
			until(t, j, "restarting", inState("RESTARTING"))
			if _, err := j.Stop(); err == nil || !strings.Contains(err.Error(), "no completed checkpoint") {
				t.Error(err)
			}
			<-j.Done()
			equalCounts(t, "it went on", j, countsOf(faultRecords, 50))
		})
	})
}

// TestFailureWhileStopping: the stop is told, and the job goes on.
func TestFailureWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faultSettings("memory")
		s.WireBytesPerSecond = 2000 // the last barrier takes a while
		j := start(t, counting(faultRecords), s, job.Options{})
		time.Sleep(time.Second)
		stopped := make(chan error)
		go func() {
			_, err := j.Stop()
			stopped <- err
		}()
		synctest.Wait()
		if err := j.Inject(network.CutConnection, 0, 1); err != nil {
			t.Fatal(err)
		}
		if err := <-stopped; err == nil || !strings.Contains(err.Error(), "was cut") {
			t.Errorf("stop: %v", err)
		}
		s.WireBytesPerSecond = 0
		if err := j.Apply(s); err != nil {
			t.Fatal(err)
		}
		<-j.Done()
		equalCounts(t, "it went on", j, countsOf(faultRecords, 50))
	})
}

// TestInjectRefuses names the connections that there are.
func TestInjectRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := start(t, counting(faultRecords), faultSettings("memory"), job.Options{})
		var none *network.NoConnectionError
		if err := j.Inject(network.CutConnection, 0, 7); !errors.As(err, &none) || !strings.Contains(err.Error(), "there are 0 to 1, 1 to 0") {
			t.Errorf("%v", err)
		}
		j.Cancel()
		<-j.Done()
		if err := j.Inject(network.CutConnection, 0, 1); err == nil {
			t.Error("a fault in a job that has ended")
		}
	})
}

// TestSlowWireInJob: the records that cross follow the knob, live.
func TestSlowWireInJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faultSettings("memory")
		s.Rate, s.WireBytesPerSecond = 100_000, 100_000
		j := start(t, counting(100_000_000), s, job.Options{})
		measure := func() float64 {
			time.Sleep(5 * time.Second)
			before := j.Snapshot()
			time.Sleep(10 * time.Second)
			after := j.Snapshot()
			bytes := int64(0)
			for i, sub := range after.Vertices[1].Subtasks {
				bytes += sub.NumBytesInRemote - before.Vertices[1].Subtasks[i].NumBytesInRemote
			}
			return float64(bytes) / 10
		}
		// Two connections, each with a rate of its own; frames have 47 bytes beside what counts. A window may begin or end
		// inside a buffer of 32 KiB on each: 6,554 bytes/s of its 10 s.
		if got := measure(); got < 170_000 || got > 207_000 {
			t.Errorf("%.0f bytes/s over two wires of 100,000", got)
		}
		s.WireBytesPerSecond = 500_000
		if err := j.Apply(s); err != nil {
			t.Fatal(err)
		}
		if got := measure(); got < 900_000 || got > 1_010_000 {
			t.Errorf("%.0f bytes/s over two wires of 500,000", got)
		}
	})
}

// TestWithoutCreditCountsExactly: over one socket without credit, with checkpoints, a fault and a restart, nothing is lost.
// Three vertices make exchanges in both directions, so that a wait of one must not hold the other up.
func TestWithoutCreditCountsExactly(t *testing.T) {
	overBoth(t, func(t *testing.T, transport string) {
		s := faultSettings(transport)
		s.FlowControl, s.Parallelism = "tcp", 4
		g := relayed(faultRecords, job.Rebalance, 4, 4)
		j := start(t, g, s, job.Options{})
		until(t, j, "past two checkpoints", func(s *metric.Snapshot) bool { return len(s.Checkpoints) > 2 })
		if err := j.Inject(network.CutConnection, 0, 1); err != nil {
			t.Fatal(err)
		}
		<-j.Done()
		equalCounts(t, "without credit", j, countsOf(faultRecords, 50))
		snap := j.Snapshot()
		if snap.Restarts != 1 || snap.RestoredCheckpointID < 1 {
			t.Errorf("%d restarts, restored %d", snap.Restarts, snap.RestoredCheckpointID)
		}
		for _, c := range snap.Channels {
			if c.SentAddCredit != 0 {
				t.Errorf("%v to %v announced credit", c.From, c.To)
			}
		}
	})
}
