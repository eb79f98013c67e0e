package job_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/serde"
	"weir/engine/task"
)

var (
	metamorphicSeed  = flag.Uint64("seed", 0, "run the metamorphic test with this seed alone")
	metamorphicSeeds = flag.Uint64("seeds", seedsOf(30, 8), "how many seeds the metamorphic test runs with")
)

// seedsOf is how many seeds a random test runs with by default.
func seedsOf(plain, whenSlowed uint64) uint64 {
	if slowed {
		return whenSlowed
	}
	return plain
}

// TestSameCountsUnderAnySettings runs one bounded job under random settings: state backend, incremental or not, mode of
// checkpoints, transport, parallelism, exchange of a middle stage, debloating, buffer timeout, buffers. Meanwhile uploads
// fail, notifications are lost, the disk is full, connections break, savepoints are taken, and the running job is rescaled
// and moved to another backend. It is cut off at random points, and goes on from a random retained checkpoint or savepoint
// under other settings. The counts are always those of a plain count, and no file is left that nobody refers to.
//
// A failing seed is run again with: go test ./engine/job -run TestSameCountsUnderAnySettings -seed N
func TestSameCountsUnderAnySettings(t *testing.T) {
	first, last := uint64(1), *metamorphicSeeds
	if *metamorphicSeed != 0 {
		first, last = *metamorphicSeed, *metamorphicSeed
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			if r.IntN(8) == 0 {
				metamorphicRun(t, seed, r, "tcp")
				return
			}
			synctest.Test(t, func(t *testing.T) { metamorphicRun(t, seed, r, "memory") })
		})
	}
}

// threeStages is slowCounting with a stage between, joined to the source by some exchange.
func threeStages(n int64, e job.Exchange) job.Graph {
	g := slowCounting(n)
	schema := g.Edges[0].Schema
	middle := job.Vertex{ID: "middle", Name: "middle", Operators: []task.OperatorFactory{{Name: "pass", New: func() task.Operator { return &pass{} }}}}
	g.Vertices = []job.Vertex{g.Vertices[0], middle, g.Vertices[1]}
	g.Edges = []job.Edge{{From: "source", To: "middle", Exchange: e, Schema: schema}, {From: "middle", To: "count", Exchange: job.Hash, Schema: schema}}
	return g
}

// pass hands records on.
type pass struct{ out task.Output }

func (p *pass) Open(_ *task.Context, out task.Output) error { p.out = out; return nil }
func (p *pass) Process(r *serde.Record) error               { return p.out.Collect(r) }
func (p *pass) Finish() error                               { return nil }
func (p *pass) SettingsChanged()                            {}
func (p *pass) Snapshot() *checkpoint.OperatorState         { return nil }
func (p *pass) Restore(*checkpoint.OperatorState) error     { return nil }
func (p *pass) Close() error                                { return nil }

func metamorphicRun(t *testing.T, seed uint64, r *rand.Rand, transport string) {
	n, keys := 2000+r.Int64N(6000), 1+r.Int64N(200)
	want := wantCounts(n, keys)
	exchange := []job.Exchange{job.Hash, job.Rebalance, job.Forward, job.Rescale}[r.IntN(4)]
	two := r.IntN(2) == 0
	graph := func() job.Graph {
		if two {
			return slowCounting(n)
		}
		return threeStages(n, exchange)
	}
	random := func() task.Settings {
		s := task.Defaults()
		s.Transport, s.Keys, s.Seed = transport, keys, 7
		s.Parallelism, s.TaskManagers = 1+r.IntN(4), 1+r.IntN(3)
		s.Rate = []float64{0, 5000, 20000, 50000}[r.IntN(4)]
		s.RecordBytes = []int{0, 20, 256, 3000}[r.IntN(4)]
		s.WorkMs = []float64{0, 0.02, 0.2}[r.IntN(3)]
		if transport == "tcp" {
			s.WorkKind = "cpu"
		} else if s.Rate == 0 && s.WorkMs == 0 {
			s.WorkMs = 0.02 // in fake time something must take time
		}
		s.Debloat, s.DebloatTargetMs = r.IntN(2) == 0, 100
		s.BufferTimeoutMs = []int{-1, 0, 5, 100}[r.IntN(4)]
		s.ExclusiveBuffers = r.IntN(3)
		s.SegmentBytes = []int{1 << 10, 4 << 10, 32 << 10}[r.IntN(3)]
		s.CheckpointIntervalMs, s.RetainedCheckpoints = 5+r.IntN(80), 5
		s.CheckpointTimeoutMs = []int{600000, 600000, 40}[r.IntN(3)]
		s.ToleratedFailures = 1000
		s.CheckpointMode = []string{"aligned", "unaligned", "unaligned", "unaligned"}[r.IntN(4)]
		s.Backend, s.Incremental = backends[r.IntN(2)], r.IntN(3) > 0
		s.StateBytesPerKey, s.InlineThresholdBytes = []int{0, 100}[r.IntN(2)], []int64{0, 20 << 10}[r.IntN(2)]
		s.FailUploadEvery, s.LoseNotifications = []int{0, 0, 0, 3, 11}[r.IntN(5)], r.IntN(4) == 0
		s.RestartStrategy, s.RestartDelayMs = job.FixedDelay, 10
		s.RestartAttempts = 1000
		if s.CheckpointMode == "unaligned" && r.IntN(2) == 0 {
			s.AlignedTimeoutMs = 1 + r.IntN(60)
		}
		return s
	}
	dir, disk := t.TempDir(), newBadDisk()
	restore, recordBytes := "", -1
	var trail []string
	note := func(format string, args ...any) { trail = append(trail, fmt.Sprintf(format, args...)) }
	draw := func() task.Settings {
		s := random()
		if recordBytes < 0 {
			recordBytes = s.RecordBytes
		}
		s.RecordBytes = recordBytes
		note("%s %s/%d p=%d tm=%d exclusive=%d %s incremental=%v fail=%d lose=%v restore=%s", s.Transport, s.CheckpointMode, s.AlignedTimeoutMs,
			s.Parallelism, s.TaskManagers, s.ExclusiveBuffers, s.Backend, s.Incremental, s.FailUploadEvery, s.LoseNotifications, filepath.Base(restore))
		return s
	}
	for attempt := 0; ; attempt++ {
		s := draw()
		j, err := job.Start(graph(), s, job.OnDisk(job.Options{CheckpointDir: dir, RestorePath: restore}, disk))
		if err != nil {
			t.Fatalf("seed %d, %q: %v", seed, trail, err)
		}
		if attempt < 3 {
			cut := time.After(time.Duration(r.IntN(400)) * time.Millisecond)
			for running := true; running; {
				select {
				case <-cut:
					running = false
				case <-j.Done():
					running = false
				case <-time.After(time.Duration(10+r.IntN(40)) * time.Millisecond):
					disk.full.Store(r.IntN(8) == 0)
					disk.stuck.Store(r.IntN(8) == 0)
					s = disturb(r, j, graph(), s, draw, note)
				}
			}
			disk.full.Store(false)
			disk.stuck.Store(false)
		} else {
			select {
			case <-j.Done():
			case <-time.After(time.Minute):
				t.Errorf("seed %d: %q is stuck in state %s:\n%s", seed, trail, j.State(), stuck(j.Snapshot()))
				j.Close()
				return
			}
		}
		finished := j.State() == job.Finished
		if finished {
			equalCounts(t, fmt.Sprintf("seed %d: %q", seed, trail), j, want)
		}
		if id := j.Snapshot().RestoredCheckpointID; restore != "" && id < 1 {
			t.Errorf("seed %d: restored checkpoint %d", seed, id)
		}
		j.Close()
		if err := j.Err(); err != nil {
			t.Fatalf("seed %d, %q: %v", seed, trail, err)
		}
		if finished || t.Failed() {
			holdsWhatIsReferredTo(t, dir)
			if t.Failed() {
				t.Logf("seed %d: %q", seed, trail)
			}
			return
		}
		if retained, _ := filepath.Glob(filepath.Join(dir, "chk-*", "_metadata")); len(retained) > 0 {
			restore = filepath.Dir(retained[r.IntN(len(retained))])
		}
	}
}

// disturb does one random thing to a running job, and gives its settings then. That it may refuse, or fail, is in order.
func disturb(r *rand.Rand, j *job.Job, g job.Graph, s task.Settings, draw func() task.Settings, note func(string, ...any)) task.Settings {
	switch r.IntN(10) {
	case 0:
		_, err := j.Savepoint()
		note("savepoint: %v", err)
	case 1, 2:
		next := draw()
		err := j.Restart(g, next)
		note("rescaled to that: %v", err)
		if err == nil {
			return next
		}
	case 3:
		j.FailNextCheckpoint()
	case 4:
		j.LoseNextNotification()
	case 5:
		from, to := r.IntN(s.TaskManagers), r.IntN(s.TaskManagers)
		if j.Inject(network.Fault(r.IntN(2)), from, to) == nil {
			note("connection from %d to %d broken", from, to)
		}
	default:
		s.Debloat, s.BufferTimeoutMs = r.IntN(2) == 0, []int{-1, 0, 5, 100}[r.IntN(4)]
		j.Apply(s)
	}
	return s
}

// stuck says where the buffers of a job are.
func stuck(s *metric.Snapshot) string {
	var b strings.Builder
	for _, c := range s.Channels {
		fmt.Fprintf(&b, "%s: %+v", c.Kind, c.Producer)
		if c.Consumer != nil {
			fmt.Fprintf(&b, ", %+v", *c.Consumer)
		}
		fmt.Fprintf(&b, ", from %v to %v, announced %d, sent %d buffers, %d events\n", c.From, c.To, c.AnnouncedCredit, c.SentBuffers, c.SentEvents)
	}
	for _, p := range s.Pools {
		fmt.Fprintf(&b, "%+v\n", p)
	}
	for _, c := range s.Checkpoints[:min(1, len(s.Checkpoints))] {
		for _, t := range c.Subtasks {
			fmt.Fprintf(&b, "checkpoint %d: %+v\n", c.ID, t)
		}
	}
	return b.String()
}
