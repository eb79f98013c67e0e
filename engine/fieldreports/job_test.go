package fieldreports_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// graph is source -> keyBy -> op.
func graph(key serde.KeyType, source func() task.Source, op func() task.Operator) job.Graph {
	return job.Graph{
		Name: "report",
		Vertices: []job.Vertex{
			{ID: "source", Name: "Source: source", Source: &task.SourceFactory{Name: "source", New: source}},
			{ID: "op", Name: "op", Operators: []task.OperatorFactory{{Name: "op", New: op}}},
		},
		Edges: []job.Edge{{From: "source", To: "op", Exchange: job.Hash, Schema: serde.Schema{Key: key, Payload: true}}},
	}
}

func generator(n int64) func() task.Source {
	return func() task.Source { return operator.NewGenerator(n) }
}

func counting(key serde.KeyType) func() task.Operator {
	return func() task.Operator { return operator.NewKeyedCount(key, false) }
}

func sink() task.Operator { return operator.NewSink() }

// settings are the defaults in one process, without checkpoints.
func settings() task.Settings {
	s := task.Defaults()
	s.Transport, s.CheckpointIntervalMs = "memory", 0
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

// perSecond are the records/s that came to each subtask of the second vertex between two snapshots.
func perSecond(before, after *metric.Snapshot) []float64 {
	var rates []float64
	seconds := float64(after.TimeMs-before.TimeMs) / 1000
	for i, sub := range after.Vertices[1].Subtasks {
		rates = append(rates, float64(sub.NumRecordsIn-before.Vertices[1].Subtasks[i].NumRecordsIn)/seconds)
	}
	return rates
}

// script is a source whose records are made by a function; subtask says which one asks.
type script struct {
	next    func(subtask int, r *serde.Record) (task.Status, time.Duration)
	subtask int
}

func scripted(next func(subtask int, r *serde.Record) (task.Status, time.Duration)) func() task.Source {
	return func() task.Source { return &script{next: next} }
}

func (s *script) Open(c *task.Context) error { s.subtask = c.Index; return nil }

func (s *script) Next(r *serde.Record) (task.Status, time.Duration) { return s.next(s.subtask, r) }

func (*script) Err() error                              { return nil }
func (*script) SettingsChanged()                        {}
func (*script) Snapshot() *checkpoint.OperatorState     { return nil }
func (*script) Restore(*checkpoint.OperatorState) error { return nil }
func (*script) Close() error                            { return nil }

// worker is a sink that calls a function for each record.
type worker struct {
	*operator.Sink
	work func()
}

func working(work func()) func() task.Operator {
	return func() task.Operator { return worker{operator.NewSink(), work} }
}

func (w worker) Process(*serde.Record) error { w.work(); return nil }
