package job_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// results are the counts that the windows of a job have emitted, by key and window.
type results struct {
	mu     sync.Mutex
	counts map[string]int64 // "key start,end"
	twice  []string         // emitted again with another count
}

// collect is the operator behind the windows.
type collect struct {
	pass
	r *results
}

func (c *collect) Process(r *serde.Record) error {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	var start, end, n int64
	if _, err := fmt.Sscanf(r.Payload, "%d,%d,%d", &start, &end, &n); err != nil {
		return err
	}
	at := fmt.Sprintf("%d %d,%d", r.Key.Num, start, end)
	// After a failure what was emitted since the checkpoint is emitted again.
	if old, ok := c.r.counts[at]; ok && old != n {
		c.r.twice = append(c.r.twice, fmt.Sprintf("%s: %d and %d", at, old, n))
	}
	c.r.counts[at] = n
	return nil
}

// perKey sums the counts of all windows.
func (c *results) perKey() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	sums := map[string]int64{}
	for at, n := range c.counts {
		key, _, _ := strings.Cut(at, " ")
		sums[key] += n
	}
	return sums
}

// twoInputs counts two sources of n records each in windows.
func twoInputs(n int64, r *results) job.Graph {
	source := func(id string) job.Vertex {
		return job.Vertex{ID: id, Name: id, Source: &task.SourceFactory{Name: id, New: func() task.Source { return operator.NewEventSource(id, 2, n) }}}
	}
	schema := serde.Schema{Key: serde.Long}
	return job.Graph{
		Name: "windows",
		Vertices: []job.Vertex{source("source"), source("source-2"), {ID: "count", Name: "count", Operators: []task.OperatorFactory{
			{Name: "windows", New: func() task.Operator { return operator.NewWindowCount(serde.Long) }},
			{Name: "collect", New: func() task.Operator { return &collect{r: r} }},
		}}},
		Edges: []job.Edge{{From: "source", To: "count", Exchange: job.Hash, Schema: schema}, {From: "source-2", To: "count", Exchange: job.Hash, Schema: schema}},
	}
}

func windowSettings() task.Settings {
	s := task.Defaults()
	s.Transport, s.Keys, s.Rate, s.RecordBytes, s.BufferTimeoutMs = "memory", 40, 2000, 0, 10
	s.WindowMs, s.DisorderMs, s.OutOfOrdernessMs, s.WatermarkIntervalMs = 500, 200, 200, 50
	s.CheckpointIntervalMs, s.RestartDelayMs = 200, 100
	s.Parallelism, s.MaxParallelism = 2, 128
	return s
}

const windowRecords = 6000 // of each source: six seconds of event time

func runWindows(t *testing.T, s task.Settings, script func(j *job.Job, r *results)) *results {
	t.Helper()
	r := &results{counts: map[string]int64{}}
	j, err := job.Start(twoInputs(windowRecords, r), s, job.Options{CheckpointDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	script(j, r)
	select {
	case <-j.Done():
	case <-time.After(time.Minute):
		t.Fatalf("stuck in state %s, failure %q:\n%s", j.State(), j.Snapshot().Failure, stuck(j.Snapshot()))
	}
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for k, n := range countsOf(windowRecords, s.Keys) {
		want[k] = 2 * n
	}
	equalCounts(t, "fired, late and held by key", j, want)
	if got := r.perKey(); !maps.Equal(got, want) {
		t.Errorf("the windows sum up to %v, expected %v", got, want)
	}
	if len(r.twice) > 0 {
		t.Errorf("windows that were emitted again with another count: %v", r.twice)
	}
	for _, x := range counts(j.Snapshot()).Subtasks {
		if w := x.EventTime.Windows; w == nil || w.Late != 0 || w.OpenWindows != 0 || w.Timers != 0 || w.Fired != w.Records {
			t.Errorf("subtask %d ends with %+v", x.Index, w)
		}
	}
	return r
}

// The windows of two inputs hold the same counts whether the job runs through, fails, or changes its parallelism on the way,
// on each backend.
func TestWindowsSurvive(t *testing.T) {
	var plain map[string]int64
	for _, c := range []struct {
		name   string
		script func(t *testing.T, j *job.Job, s task.Settings, r *results)
	}{
		{"plain", func(*testing.T, *job.Job, task.Settings, *results) {}},
		{"failures", func(t *testing.T, j *job.Job, _ task.Settings, _ *results) {
			for i, f := range []network.Fault{network.CutConnection, network.DamageFrame, network.CutConnection} {
				time.Sleep(900 * time.Millisecond)
				if err := j.Inject(f, i%2, 1-i%2); err != nil {
					t.Error(err)
				}
				until(t, j, "running again", func(s *metric.Snapshot) bool { return s.Restarts == i+1 && s.State == "RUNNING" })
			}
		}},
		{"rescaled", func(t *testing.T, j *job.Job, s task.Settings, r *results) {
			for _, p := range []int{3, 1, 4, 2} {
				time.Sleep(700 * time.Millisecond)
				s.Parallelism = p
				if err := j.Restart(twoInputs(windowRecords, r), s); err != nil {
					t.Error(err)
				}
			}
		}},
	} {
		for _, backend := range backends {
			t.Run(c.name+"/"+backend, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := windowSettings()
					s.Backend = backend
					r := runWindows(t, s, func(j *job.Job, r *results) { c.script(t, j, s, r) })
					if plain == nil {
						plain = r.counts
					}
					if !maps.Equal(r.counts, plain) {
						t.Errorf("%d windows, %d in the plain run, or other counts", len(r.counts), len(plain))
					}
				})
			})
		}
	}
}

// What a vertex with several inputs cannot have is refused before anything runs.
func TestRefusedInputs(t *testing.T) {
	for says, change := range map[string]func(*job.Graph, *task.Settings){
		`checkpoint mode unaligned: vertex "count" has 2 inputs`: func(_ *job.Graph, s *task.Settings) { s.CheckpointMode = "unaligned" },
		"the inputs of vertex count must have records of one kind": func(g *job.Graph, _ *task.Settings) {
			g.Edges[1].Schema.Payload = true
		},
	} {
		g, s := twoInputs(10, &results{counts: map[string]int64{}}), windowSettings()
		change(&g, &s)
		j, err := job.Start(g, s, job.Options{CheckpointDir: t.TempDir()})
		if err == nil {
			j.Close()
			t.Fatalf("it started, expected %q", says)
		}
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v, expected %q", err, says)
		}
	}
}

// Two inputs are two gates: pools of their own, channels numbered over both, watermarks for each.
func TestTwoGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := windowSettings()
		s.IdleInput = "source-2"
		j, err := job.Start(twoInputs(0, &results{counts: map[string]int64{}}), s, job.Options{CheckpointDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		time.Sleep(2500 * time.Millisecond)
		snap := j.Snapshot()
		if len(snap.Gates) != 4 || snap.Gates[1].Index != 1 || snap.Gates[1].FloatingTotal == 0 || len(snap.Channels) != 8 {
			t.Errorf("gates %+v, %d channels", snap.Gates, len(snap.Channels))
		}
		for _, x := range counts(snap).Subtasks {
			e := x.EventTime
			if e == nil || len(e.Gates) != 2 || e.Gates[0].Vertex != "source" || e.Gates[1].Vertex != "source-2" {
				t.Fatalf("subtask %d: %+v", x.Index, e)
			}
			if e.Watermark != nil || e.Gates[1].Watermark != nil || e.Gates[0].Watermark == nil || *e.Gates[0].Watermark < 1000 {
				t.Errorf("subtask %d: %+v", x.Index, e)
			}
			for _, c := range e.Gates[1].Channels {
				if !c.HoldsBack || c.Status != "ACTIVE" {
					t.Errorf("%+v", c)
				}
			}
			if w := e.Windows; w == nil || w.Fired != 0 || w.OpenWindows < 3 || w.Timers < 3*s.Keys/2-20 {
				t.Errorf("%+v", w)
			}
		}
		s.IdleTimeoutMs = 500
		if err := j.Apply(s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		for _, x := range counts(j.Snapshot()).Subtasks {
			e := x.EventTime
			if e.Watermark == nil || *e.Watermark != *e.Gates[0].Watermark || x.CurrentInputWatermark != *e.Watermark || e.Gates[1].Channels[0].Status != "IDLE" || e.Windows.Fired == 0 {
				t.Errorf("%+v, gates %+v", e, e.Gates)
			}
		}
	})
}
