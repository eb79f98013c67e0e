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
	"weir/engine/network"
	"weir/engine/task"
)

var faultSeed = flag.Uint64("faultseed", 0, "run TestRandomFaults with this seed alone")

// TestRandomFaults puts random faults on a random job at random times: whatever the transport, the parallelism, the
// number of task managers, the flow control, the wire's rate and the exchange, it ends with every record counted once.
//
//	go test ./engine/job -run TestRandomFaults -faultseed N
func TestRandomFaults(t *testing.T) {
	first, last := uint64(1), uint64(60)
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
	s.Parallelism, s.TaskManagers = 1+r.IntN(3), 2+r.IntN(2)
	s.CheckpointIntervalMs, s.CheckpointStorage = pick(30, 100, 300), []string{"file", "memory"}[r.IntN(2)]
	s.BufferTimeoutMs, s.Debloat = pick(0, 5, 50), r.IntN(2) == 0
	s.SegmentBytes, s.NetworkMemoryBytes = pick(512, 4096, 32<<10), 8<<20
	s.FlowControl = []string{"credit", "credit", "tcp"}[r.IntN(3)]
	s.WireBytesPerSecond = int64(pick(0, 0, 300_000))
	s.RestartDelayMs = pick(0, 20, 200)
	g := counting(n)
	if r.IntN(2) == 0 {
		g = relayed(n, []job.Exchange{job.Rebalance, job.Rescale, job.Hash}[r.IntN(3)], 1+r.IntN(3), 1+r.IntN(3))
	}
	describe := fmt.Sprintf("seed %d: %s, parallelism %d, %d task managers, %s, segments %d, interval %d ms, wire %d, %d vertices",
		seed, transport, s.Parallelism, s.TaskManagers, s.FlowControl, s.SegmentBytes, s.CheckpointIntervalMs, s.WireBytesPerSecond, len(g.Vertices))
	j := start(t, g, s, job.Options{})
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
	<-j.Done()
	snap := j.Snapshot()
	equalCounts(t, describe, j, countsOf(n, s.Keys))
	if snap.Restarts > hit {
		t.Errorf("%s: %d restarts after %d faults", describe, snap.Restarts, hit)
	}
	if snap.Restarts > 0 && !strings.Contains(snap.Failure, "the connection from tm ") {
		t.Errorf("%s: the failure does not name a connection: %s", describe, snap.Failure)
	}
	t.Logf("%s: %d restarts, restored %d, failure %q", describe, snap.Restarts, snap.RestoredCheckpointID, snap.Failure)
}
