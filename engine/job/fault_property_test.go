package job_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/task"
)

var (
	faultSeed  = flag.Uint64("faultseed", 0, "run TestRandomFaults with this seed alone")
	faultSeeds = flag.Uint64("faultseeds", seedsOf(60, 16), "how many seeds TestRandomFaults runs")
)

// TestRandomFaults puts random faults on a random job at random times, the first of them behind a completed checkpoint:
// whatever the checkpoint mode, the transport, the parallelism, the number of task managers, the flow control, the wire's
// rate and the exchange, it is restored from a checkpoint and ends with every record counted once. No more is replayed than
// was emitted since the checkpoint was triggered that the job went on from.
//
//	go test ./engine/job -run TestRandomFaults -faultseed N
func TestRandomFaults(t *testing.T) {
	first, last := uint64(1), *faultSeeds
	if *faultSeed != 0 {
		first, last = *faultSeed, *faultSeed
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			if seed%15 == 0 {
				randomFaults(t, seed, "tcp")
				return
			}
			synctest.Test(t, func(t *testing.T) { randomFaults(t, seed, "memory") })
		})
	}
}

func randomFaults(t *testing.T, seed uint64, transport string) {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	s := task.Defaults()
	n := int64(5000 + r.IntN(10000))
	s.Transport, s.Rate, s.Keys, s.RecordBytes = transport, 10000, int64(1+r.IntN(80)), pick(0, 20, 300)
	s.Parallelism, s.TaskManagers = 1+r.IntN(4), 2+r.IntN(2)
	s.CheckpointIntervalMs, s.CheckpointStorage = pick(30, 100, 300), []string{"file", "memory"}[r.IntN(2)]
	s.BufferTimeoutMs, s.Debloat = pick(0, 5, 50), r.IntN(2) == 0
	s.SegmentBytes, s.NetworkMemoryBytes = pick(512, 4096, 32<<10), 8<<20
	s.FlowControl = []string{"credit", "credit", "tcp"}[r.IntN(3)]
	s.WireBytesPerSecond = int64(pick(0, 0, 300_000))
	s.RestartDelayMs = pick(0, 20, 200)
	s.CheckpointMode = []string{"aligned", "unaligned", "unaligned"}[r.IntN(3)]
	s.AlignedTimeoutMs = pick(0, 0, 5, 40)
	g := counting(n)
	if r.IntN(2) == 0 {
		g = relayed(n, []job.Exchange{job.Rebalance, job.Rescale, job.Hash}[r.IntN(3)], 1+r.IntN(3), 1+r.IntN(3))
	}
	describe := fmt.Sprintf("seed %d: %s, %s %d ms, parallelism %d, %d task managers, %s, segments %d, interval %d ms, wire %d, %d vertices",
		seed, transport, s.CheckpointMode, s.AlignedTimeoutMs, s.Parallelism, s.TaskManagers, s.FlowControl, s.SegmentBytes, s.CheckpointIntervalMs, s.WireBytesPerSecond, len(g.Vertices))
	j := start(t, g, s, job.Options{})
	log := keepLog(j)
	until(t, j, "behind a checkpoint, or at its end", func(s *metric.Snapshot) bool {
		return s.State == "FINISHED" || s.CheckpointCounts != nil && s.CheckpointCounts.Completed > 0
	})
	hit := 0
	for range 1 + r.IntN(3) {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		fault := network.Fault(r.IntN(3))
		if transport == "tcp" {
			fault = network.Fault(r.IntN(2)) // a peer that hangs is given up after ten seconds
		}
		from := r.IntN(s.TaskManagers)
		for range s.TaskManagers * s.TaskManagers { // until there is such a connection, if there is any
			if j.Inject(fault, from, r.IntN(s.TaskManagers)) == nil {
				hit++
				describe += fmt.Sprintf(", %s after %d ms", fault, j.Snapshot().TimeMs)
				break
			}
			from = (from + 1) % s.TaskManagers
		}
	}
	<-log.ended
	snap := j.Snapshot()
	equalCounts(t, describe, j, countsOf(n, s.Keys))
	if begun, least := n-snap.Totals.RecordsEmitted, log.begins[snap.Restarts]; begun < least {
		t.Errorf("%s: the last attempt began at record %d, but its checkpoint was triggered behind record %d", describe, begun, least)
	}
	if snap.Restarts > hit {
		t.Errorf("%s: %d restarts after %d faults", describe, snap.Restarts, hit)
	}
	if snap.Restarts > 0 && snap.RestoredCheckpointID < 1 {
		t.Errorf("%s: %d restarts, but not from a checkpoint", describe, snap.Restarts)
	}
	if snap.Restarts > 0 && !strings.Contains(snap.Failure, "the connection from tm ") {
		t.Errorf("%s: the failure does not name a connection: %s", describe, snap.Failure)
	}
	t.Logf("%s: %d restarts, restored %d, the last attempt began at record %d (behind %d by the log), failure %q", describe, snap.Restarts, snap.RestoredCheckpointID,
		n-snap.Totals.RecordsEmitted, log.begins[snap.Restarts], snap.Failure)
}

// emissionLog is what the sources of a job had emitted, attempt by attempt. Counters may lag, so each figure is a least one.
type emissionLog struct {
	begins map[int]int64 // by the number of restarts before it: the record at which an attempt began
	ended  chan struct{} // closed when the job has ended
}

// keepLog reads a job each 5 ms until it ends.
func keepLog(j *job.Job) *emissionLog {
	l := &emissionLog{begins: map[int]int64{0: 0}, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		behind := map[int64]int64{} // by checkpoint: the record behind which it was triggered
		last := int64(0)            // the record that the job is at
		for {
			s := j.Snapshot()
			if _, known := l.begins[s.Restarts]; !known {
				l.begins[s.Restarts] = behind[s.RestoredCheckpointID]
				last = l.begins[s.Restarts]
			}
			for _, c := range s.Checkpoints {
				if _, known := behind[c.ID]; !known {
					behind[c.ID] = last // of the reading before: the trigger came since
				}
			}
			last = max(last, l.begins[s.Restarts]+s.Totals.RecordsEmitted)
			select {
			case <-j.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return l
}
