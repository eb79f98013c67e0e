package job_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flagship is the back-pressured job: source -> keyBy -> slow-map with its sink.
func flagship() job.Graph {
	return job.Graph{
		Name: "flagship",
		Vertices: []job.Vertex{
			{ID: "source", Name: "Source: source", Source: &task.SourceFactory{Name: "source", New: func() task.Source { return operator.NewGenerator(0) }}},
			{ID: "slow-map", Name: "slow-map -> Sink: Writer", Operators: []task.OperatorFactory{
				{Name: "slow-map", New: func() task.Operator { return operator.NewSlow(serde.Long) }},
				{Name: "sink", New: func() task.Operator { return operator.NewSink() }}}},
		},
		Edges: []job.Edge{{From: "source", To: "slow-map", Exchange: job.Hash, Schema: serde.Schema{Key: serde.Long, Payload: true}}},
	}
}

// counting counts records per key: n of them, over keys.
func counting(n int64) job.Graph {
	return job.Graph{
		Name: "counting",
		Vertices: []job.Vertex{
			{ID: "source", Name: "Source: source", Source: &task.SourceFactory{Name: "source", New: func() task.Source { return operator.NewGenerator(n) }}},
			{ID: "count", Name: "count", Operators: []task.OperatorFactory{
				{Name: "count", New: func() task.Operator { return operator.NewKeyedCount(serde.Long, false) }}}},
		},
		Edges: []job.Edge{{From: "source", To: "count", Exchange: job.Hash, Schema: serde.Schema{Key: serde.Long, Payload: true}}},
	}
}

func flagshipSettings() task.Settings {
	s := task.Defaults()
	s.WorkMs = 1
	return s
}

func start(t *testing.T, g job.Graph, s task.Settings, o job.Options) *job.Job {
	t.Helper()
	if o.CheckpointDir == "" {
		o.CheckpointDir = t.TempDir()
	}
	j, err := job.Start(g, s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

// TestFlagshipInFakeTime runs the lesson's experiment for 45 s of fake time over the in-memory transport.
func TestFlagshipInFakeTime(t *testing.T) {
	for _, debloat := range []bool{false, true} {
		t.Run(fmt.Sprintf("debloat=%v", debloat), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := flagshipSettings()
				s.Transport, s.Debloat = "memory", debloat
				j := start(t, flagship(), s, job.Options{})
				time.Sleep(15 * time.Second)
				before := j.Snapshot()
				time.Sleep(30 * time.Second)
				snap := j.Snapshot()
				j.Close()

				for _, sub := range snap.Vertices[0].Subtasks {
					if sub.Recent.BackPressured < 950 {
						t.Errorf("source %d: back-pressured %.0f ms/s, want at least 950", sub.Index, sub.Recent.BackPressured)
					}
				}
				for _, sub := range snap.Vertices[1].Subtasks {
					if sub.Recent.Busy < 950 {
						t.Errorf("slow-map %d: busy %.0f ms/s, want at least 950", sub.Index, sub.Recent.Busy)
					}
				}
				got := medianDuration(snap)
				buffers := rate(before, snap, func(x metric.Subtask) int64 { return x.NumBuffersInLocal + x.NumBuffersInRemote })
				records := rate(before, snap, func(x metric.Subtask) int64 { return x.NumRecordsIn })
				t.Logf("median checkpoint %d ms, %.1f buffers/s, %.0f records/s, size %d, estimate %d ms", got, buffers, records,
					snap.Vertices[1].Subtasks[0].DebloatedBufferSize, snap.Vertices[1].Subtasks[0].EstimatedTimeToConsumeBuffers)
				// A work of exactly 1 ms takes 2,000 records/s; Flink's sleep of 1.06 to 1.1 ms gave 2,580 ms, and 950 to 1,140 ms
				// with debloating, whose size may stand still anywhere within its threshold of 25 %.
				lo, hi := int64(2000), int64(2700)
				if debloat {
					lo, hi = 800, 1250
				}
				if got < lo || got > hi {
					t.Errorf("median checkpoint %d ms, want %d to %d", got, lo, hi)
				}
				if records < 1990 || records > 2010 {
					t.Errorf("%.0f records/s, want 2000", records)
				}
			})
		})
	}
}

func medianDuration(s *metric.Snapshot) int64 {
	var d []int64
	for _, c := range s.Checkpoints {
		if c.Status == "COMPLETED" {
			d = append(d, c.EndToEndDurationMs)
		}
	}
	if len(d) == 0 {
		return -1
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// rate is a counter's rate of the last vertex between two snapshots, over all subtasks.
func rate(a, b *metric.Snapshot, count func(metric.Subtask) int64) float64 {
	sum := func(s *metric.Snapshot) (n int64) {
		for _, x := range s.Vertices[len(s.Vertices)-1].Subtasks {
			n += count(x)
		}
		return n
	}
	return float64(sum(b)-sum(a)) / (float64(b.TimeMs-a.TimeMs) / 1000)
}

// TestBoundedJobCountsExactly runs a bounded job over both transports while checkpoints are taken and debloating is
// switched, and then restores each retained checkpoint: the counts are always those of a plain count.
func TestBoundedJobCountsExactly(t *testing.T) {
	const n, keys = 40000, 97
	want := map[string]int64{}
	for i := range int64(n) {
		want[fmt.Sprint(i%keys)]++
	}
	for _, transport := range []string{"tcp", "memory"} {
		for _, p := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%s p=%d", transport, p), func(t *testing.T) {
				s := task.Defaults()
				s.Transport, s.Parallelism, s.Keys, s.Rate = transport, p, keys, 80000
				s.CheckpointIntervalMs, s.RetainedCheckpoints = 50, 20
				dir := t.TempDir()
				j := start(t, counting(n), s, job.Options{CheckpointDir: dir})
				r := rand.New(rand.NewPCG(1, uint64(p)))
				toggle := time.NewTicker(20 * time.Millisecond)
				defer toggle.Stop()
				for done := false; !done; {
					select {
					case <-j.Done():
						done = true
					case <-toggle.C:
						s.Debloat = !s.Debloat
						s.BufferTimeoutMs = []int{-1, 0, 1, 10}[r.IntN(4)]
						if err := j.Apply(s); err != nil && j.State() == job.Running {
							t.Fatal(err)
						}
					}
				}
				equalCounts(t, "run", j, want)
				retained, err := filepath.Glob(filepath.Join(dir, "chk-*"))
				if err != nil || len(retained) == 0 {
					t.Fatalf("no checkpoint is retained (%v)", err)
				}
				for _, path := range retained {
					s := s
					s.Parallelism, s.CheckpointIntervalMs, s.Rate = 1+(p+1)%3, 0, 0
					again := start(t, counting(n), s, job.Options{RestorePath: path})
					<-again.Done()
					equalCounts(t, path, again, want)
					if id := again.Snapshot().RestoredCheckpointID; id < 1 {
						t.Errorf("%s: restored checkpoint %d", path, id)
					}
				}
			})
		}
	}
}

func equalCounts(t *testing.T, what string, j *job.Job, want map[string]int64) {
	t.Helper()
	if err := j.Err(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got := j.Snapshot().Totals.CountsByKey
	if len(got) != len(want) {
		t.Errorf("%s: %d keys, want %d (state %s)", what, len(got), len(want), j.State())
	}
	wrong := 0
	for k, n := range want {
		if got[k] != n {
			wrong++
			if wrong < 4 {
				t.Errorf("%s: key %s counted %d times, want %d", what, k, got[k], n)
			}
		}
	}
}

// TestRescaleRunningJob moves a running job from parallelism 2 to 3 to 1: nothing is lost or counted twice.
func TestRescaleRunningJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, keys = 30000, 50
		want := map[string]int64{}
		for i := range int64(n) {
			want[fmt.Sprint(i%keys)]++
		}
		s := task.Defaults()
		s.Transport, s.Keys, s.Rate = "memory", keys, 10000
		j := start(t, counting(n), s, job.Options{})
		for _, p := range []int{3, 1} {
			time.Sleep(700 * time.Millisecond)
			s.Parallelism = p
			if err := j.Restart(counting(n), s); err != nil {
				t.Fatal(err)
			}
			if got := j.Snapshot().Vertices[1].Parallelism; got != p {
				t.Errorf("parallelism is %d, want %d", got, p)
			}
		}
		<-j.Done()
		equalCounts(t, "rescaled", j, want)
		if snap := j.Snapshot(); snap.Restarts != 2 || snap.State != "FINISHED" {
			t.Errorf("%d restarts, state %s", snap.Restarts, snap.State)
		}
	})
}

// TestStopAndCancel leaves nothing behind; goleak counts the goroutines, the task managers their segments.
func TestStopAndCancel(t *testing.T) {
	s := flagshipSettings()
	dir := t.TempDir()
	j := start(t, flagship(), s, job.Options{CheckpointDir: dir})
	path, err := j.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if snap := j.Snapshot(); snap.State != "STOPPED" || snap.Checkpoints[0].Path != path {
		t.Errorf("state %s, checkpoint %q, want STOPPED and %q", snap.State, snap.Checkpoints[0].Path, path)
	}
	j = start(t, flagship(), s, job.Options{CheckpointDir: dir, RestorePath: path})
	if id := j.Snapshot().RestoredCheckpointID; id != 1 {
		t.Errorf("restored from %d, want 1", id)
	}
	j.Cancel()
	<-j.Done()
	if snap := j.Snapshot(); snap.State != "CANCELED" {
		t.Errorf("state %s, want CANCELED", snap.State)
	}
}

// TestFailingOperator fails the job and names the task.
func TestFailingOperator(t *testing.T) {
	g := counting(1000)
	g.Vertices[1].Operators[0].New = func() task.Operator { return panics{operator.NewSink()} }
	s := task.Defaults()
	s.RestartStrategy = job.NoRestart
	j := start(t, g, s, job.Options{})
	<-j.Done()
	snap := j.Snapshot()
	if snap.State != "FAILED" || snap.Failure == "" {
		t.Fatalf("state %s, failure %q", snap.State, snap.Failure)
	}
	t.Log(snap.Failure)
}

type panics struct{ task.Operator }

func (panics) Process(*serde.Record) error { panic("boom") }

// TestRefused starts nothing.
func TestRefused(t *testing.T) {
	for name, change := range map[string]func(*task.Settings){
		"parallelism above max":    func(s *task.Settings) { s.Parallelism, s.MaxParallelism = 9, 8 },
		"too few network buffers":  func(s *task.Settings) { s.NetworkMemoryBytes = 4 << 15 },
		"unknown transport":        func(s *task.Settings) { s.Transport = "pigeon" },
		"unknown restart strategy": func(s *task.Settings) { s.RestartStrategy = "hope" },
		"unknown flow control":     func(s *task.Settings) { s.FlowControl = "none" },
	} {
		t.Run(name, func(t *testing.T) {
			s := task.Defaults()
			change(&s)
			j, err := job.Start(counting(10), s, job.Options{CheckpointDir: t.TempDir()})
			if err == nil {
				j.Close()
				t.Fatal("it started")
			}
			t.Log(err)
		})
	}
}
