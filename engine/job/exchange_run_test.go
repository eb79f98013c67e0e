package job_test

import (
	"fmt"
	"runtime"
	"testing"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// relayed is source -> (exchange) relay -> (hash) count, each with a parallelism of its own.
func relayed(n int64, e job.Exchange, p, q int) job.Graph {
	g := counting(n)
	relay := job.Vertex{ID: "relay", Name: "relay", Parallelism: q, Operators: []task.OperatorFactory{
		{Name: "relay", New: func() task.Operator { return operator.NewSlow(serde.Long) }}}}
	g.Vertices[0].Parallelism = p
	g.Vertices = []job.Vertex{g.Vertices[0], relay, g.Vertices[1]}
	schema := g.Edges[0].Schema
	g.Edges = []job.Edge{{From: "source", To: "relay", Exchange: e, Schema: schema}, {From: "relay", To: "count", Exchange: job.Hash, Schema: schema}}
	return g
}

// TestExchangesCountExactly runs every exchange between vertices of different parallelism, with checkpoints, and restarts
// from one on the way: each record is counted once, or once a subtask where it is broadcast.
func TestExchangesCountExactly(t *testing.T) {
	const n, keys = 20000, 61
	for _, e := range []job.Exchange{job.Rebalance, job.Rescale, job.Broadcast, job.Forward} {
		for i, c := range [][2]int{{2, 2}, {1, 3}, {3, 2}, {2, 3}} {
			p, q := c[0], c[1]
			if e == job.Forward && p != q {
				continue
			}
			t.Run(fmt.Sprintf("%s %d to %d", e, p, q), func(t *testing.T) {
				s := task.Defaults()
				s.Transport = []string{"tcp", "memory"}[i%2]
				s.Keys, s.Rate, s.RecordBytes = keys, 40000, 300
				s.CheckpointIntervalMs = 50
				s.SegmentBytes, s.NetworkMemoryBytes = 4096, 8<<20 // records that span buffers
				s.BufferTimeoutMs = []int{100, 0, -1, 1}[i]
				copies := int64(1)
				if e == job.Broadcast {
					copies = int64(q)
				}
				want := map[string]int64{}
				for k := range int64(n) {
					want[fmt.Sprint(k%keys)] += copies
				}
				j := start(t, relayed(n, e, p, q), s, job.Options{})
				for j.Snapshot().Totals.RecordsProcessed == 0 {
					runtime.Gosched()
				}
				if err := j.Restart(relayed(n, e, p, q), s); err != nil {
					t.Fatal(err)
				}
				<-j.Done()
				equalCounts(t, e.String(), j, want)
				snap := j.Snapshot()
				if snap.Vertices[0].Parallelism != p || snap.Vertices[1].Parallelism != q || len(snap.Vertices[1].Subtasks) != q {
					t.Errorf("parallelism %d and %d, want %d and %d", snap.Vertices[0].Parallelism, snap.Vertices[1].Parallelism, p, q)
				}
			})
		}
	}
}

// TestRebalanceIsEven: in turn means that no consumer gets more than one record more than another from one producer.
func TestRebalanceIsEven(t *testing.T) {
	for _, e := range []job.Exchange{job.Rebalance, job.Rescale} {
		s := task.Defaults()
		s.Rate, s.CheckpointIntervalMs = 0, 0
		j := start(t, relayed(9001, e, 1, 4), s, job.Options{})
		<-j.Done()
		snap := j.Snapshot()
		for _, x := range snap.Vertices[1].Subtasks {
			if x.NumRecordsIn != 2250 && x.NumRecordsIn != 2251 {
				t.Errorf("%s: subtask %d got %d records of 9001", e, x.Index, x.NumRecordsIn)
			}
		}
	}
}

// TestBroadcastCounts: a record counts once, its bytes once for each subpartition, though all read one buffer.
func TestBroadcastCounts(t *testing.T) {
	s := task.Defaults()
	s.Rate, s.CheckpointIntervalMs = 0, 0
	j := start(t, relayed(5000, job.Broadcast, 1, 3), s, job.Options{})
	<-j.Done()
	snap := j.Snapshot()
	source := snap.Vertices[0].Subtasks[0]
	in := func(f func(metric.Subtask) int64) (n int64) {
		for _, x := range snap.Vertices[1].Subtasks {
			n += f(x)
		}
		return n
	}
	if source.NumRecordsOut != 5000 || in(func(x metric.Subtask) int64 { return x.NumRecordsIn }) != 15000 {
		t.Errorf("%d records out, %d in", source.NumRecordsOut, in(func(x metric.Subtask) int64 { return x.NumRecordsIn }))
	}
	if source.NumBytesOut/3*3 != source.NumBytesOut || source.NumBytesOut > in(func(x metric.Subtask) int64 { return x.NumBytesIn }) {
		t.Errorf("%d bytes out, %d in", source.NumBytesOut, in(func(x metric.Subtask) int64 { return x.NumBytesIn }))
	}
}

// TestForwardKeepsParallelism refuses what Flink refuses.
func TestForwardKeepsParallelism(t *testing.T) {
	j, err := job.Start(relayed(10, job.Forward, 2, 3), task.Defaults(), job.Options{CheckpointDir: t.TempDir()})
	if err == nil {
		j.Close()
		t.Fatal("it started")
	}
	t.Log(err)
}
