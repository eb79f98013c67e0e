package labs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// StateOptions say what to measure: records with a long key and a payload, counted by key in a state backend.
type StateOptions struct {
	Backend      string
	Records      int64 // of BenchState
	Keys         int64
	RecordBytes  int // of each record's payload; of BenchCheckpoint and BenchRescale the state of each key beside its count
	Parallelism  int
	TaskManagers int
	// BufferTimeoutMs is that of the exchange.
	BufferTimeoutMs int
	// Rate is records/s, of BenchCheckpoint and BenchRescale.
	Rate float64
	// Checkpoints is how many BenchCheckpoint takes.
	Checkpoints int
	// To is the parallelism that BenchRescale goes to.
	To          int
	MemoryBytes int64
	Transport   string
}

// StateResult is what BenchState measured.
type StateResult struct {
	Backend          string  `json:"backend"`
	RecordsPerSecond float64 `json:"recordsPerSecond"`
	Records          int64   `json:"records"`
	Keys             int64   `json:"keys"` // that have a count
	Seconds          float64 `json:"seconds"`
	StateBytes       int64   `json:"stateBytes"`
	Parallelism      int     `json:"parallelism"`
	TaskManagers     int     `json:"taskManagers"`
	BufferTimeoutMs  int     `json:"bufferTimeoutMs"`
}

func (o *StateOptions) settings() task.Settings {
	s := task.Defaults()
	s.Backend, s.Keys, s.Rate = o.Backend, o.Keys, o.Rate
	s.Parallelism, s.TaskManagers, s.BufferTimeoutMs = o.Parallelism, o.TaskManagers, o.BufferTimeoutMs
	s.MemoryBudgetBytes = o.MemoryBytes
	s.CheckpointIntervalMs, s.RestartStrategy = 0, job.NoRestart // a figure of two runs would be none
	if o.Transport != "" {
		s.Transport = o.Transport
	}
	return s
}

func (o *StateOptions) graph(source func() task.Source, payload bool) job.Graph {
	return job.Graph{
		Name: "bench state",
		Vertices: []job.Vertex{
			{ID: "source", Name: "Source: sequence", Source: &task.SourceFactory{Name: "source", New: source}},
			{ID: "count", Name: "count", Operators: []task.OperatorFactory{{Name: "count", New: func() task.Operator { return operator.NewKeyedCount(serde.Long, true) }}}},
		},
		Edges: []job.Edge{{From: "source", To: "count", Exchange: job.Hash, Schema: serde.Schema{Key: serde.Long, Payload: payload}}},
	}
}

// BenchState runs a whole job: a number sequence, keyBy, a count per key that is read, updated and emitted for each record.
func BenchState(ctx context.Context, o StateOptions) (StateResult, error) {
	r := StateResult{Backend: o.Backend, Parallelism: o.Parallelism, TaskManagers: o.TaskManagers, BufferTimeoutMs: o.BufferTimeoutMs}
	s := o.settings()
	s.Rate, s.RecordBytes, s.CheckpointStorage = 0, o.RecordBytes, "memory"
	begin := time.Now()
	j, err := job.Start(o.graph(func() task.Source { return operator.NewSequence(o.Records) }, true), s, job.Options{Lab: "bench"})
	if err != nil {
		return r, err
	}
	defer j.Close()
	select {
	case <-j.Done():
	case <-ctx.Done():
		return r, ctx.Err()
	}
	r.Seconds = time.Since(begin).Seconds()
	if err := j.Err(); err != nil {
		return r, err
	}
	snap := j.Snapshot()
	if n := snap.Totals.RecordsProcessed; n != o.Records {
		return r, fmt.Errorf("%d records were counted, %d were sent", n, o.Records)
	}
	r.Keys, r.StateBytes = keyedFigures(snap)
	r.Records = o.Records
	r.RecordsPerSecond = float64(o.Records) / r.Seconds
	return r, nil
}

// keyedFigures sums up what the last vertex keeps.
func keyedFigures(s *metric.Snapshot) (keys, bytes int64) {
	if len(s.Vertices) == 0 {
		return 0, 0
	}
	for _, t := range s.Vertices[len(s.Vertices)-1].Subtasks {
		if t.State != nil {
			keys += t.State.Keys
			bytes += t.State.Bytes
		}
	}
	return keys, bytes
}

// CheckpointResult is what BenchCheckpoint measured.
type CheckpointResult struct {
	Backend     string  `json:"backend"`
	StateBytes  int64   `json:"stateBytes"`
	DurationsMs []int64 `json:"durationsMs"`
	// SyncMs and AsyncMs are the longest of a subtask.
	SyncMs            float64 `json:"syncMs"`
	AsyncMs           float64 `json:"asyncMs"`
	CheckpointedBytes int64   `json:"checkpointedBytes"` // by the last one
	// RecordsPerSecond is the rate while the checkpoints were taken, Offered what was asked for.
	RecordsPerSecond float64 `json:"recordsPerSecond"`
	Offered          float64 `json:"offered"`
	RateKept         bool    `json:"rateKept"` // within 2 %
}

// filled runs a job until every key is in its state.
func (o *StateOptions) filled(ctx context.Context, dir string) (*job.Job, job.Graph, task.Settings, error) {
	g := o.graph(func() task.Source { return operator.NewGenerator(0) }, false)
	s := o.settings()
	s.StateBytesPerKey = o.RecordBytes
	j, err := job.Start(g, s, job.Options{Lab: "bench", CheckpointDir: dir})
	if err != nil {
		return nil, g, s, err
	}
	err = poll(ctx, j, func() bool { keys, _ := keyedFigures(j.Snapshot()); return keys >= o.Keys })
	if err != nil {
		j.Close()
	}
	return j, g, s, err
}

// poll waits for a condition of a job that runs.
func poll(ctx context.Context, j *job.Job, ok func() bool) error {
	t := time.NewTicker(2 * time.Millisecond)
	defer t.Stop()
	for !ok() {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-j.Done():
			return errors.Join(errors.New("the job ended"), j.Err())
		}
	}
	return nil
}

// BenchCheckpoint fills a state and takes checkpoints of it, one a second, while records come at the rate.
func BenchCheckpoint(ctx context.Context, o StateOptions) (CheckpointResult, error) {
	r := CheckpointResult{Backend: o.Backend, Offered: o.Rate}
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	j, _, _, err := o.filled(ctx, dir)
	if err != nil {
		return r, err
	}
	defer j.Close()
	processed := func() int64 { return j.Snapshot().Totals.RecordsEmitted }
	records, began := processed(), time.Now()
	for range o.Checkpoints {
		next := time.After(time.Second)
		id, err := j.TriggerCheckpoint()
		if err != nil {
			return r, err
		}
		var c metric.Checkpoint
		if err := poll(ctx, j, func() bool {
			c = checkpointOf(j.Snapshot(), id)
			return c.Status == "COMPLETED" || c.Status == "FAILED"
		}); err != nil {
			return r, err
		}
		if c.Status == "FAILED" {
			return r, fmt.Errorf("checkpoint %d failed: %s", id, c.Failure)
		}
		r.DurationsMs = append(r.DurationsMs, c.EndToEndDurationMs)
		r.StateBytes, r.CheckpointedBytes = c.StateBytes, c.CheckpointedBytes
		for _, t := range c.Subtasks {
			r.SyncMs, r.AsyncMs = max(r.SyncMs, t.SyncMs), max(r.AsyncMs, t.AsyncMs)
		}
		select {
		case <-next:
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	r.RecordsPerSecond = float64(processed()-records) / time.Since(began).Seconds()
	r.RateKept = o.Rate == 0 || r.RecordsPerSecond >= 0.98*o.Rate
	return r, nil
}

func checkpointOf(s *metric.Snapshot, id int64) metric.Checkpoint {
	for _, c := range s.Checkpoints {
		if c.ID == id {
			return c
		}
	}
	return metric.Checkpoint{}
}

// RescaleResult is what BenchRescale measured.
type RescaleResult struct {
	Backend    string `json:"backend"`
	From       int    `json:"from"`
	To         int    `json:"to"`
	StateBytes int64  `json:"stateBytes"` // keys and values, uncompressed
	// RunningAfterMs is from the call until every subtask has its state and runs, the last checkpoint included.
	RunningAfterMs float64  `json:"runningAfterMs"`
	CheckpointMs   int64    `json:"checkpointMs"` // of that, the checkpoint that the job stopped with
	RestoredKeys   []int64  `json:"restoredKeys"`
	Restores       []string `json:"restores"`
}

// BenchRescale fills a state and goes to another parallelism.
func BenchRescale(ctx context.Context, o StateOptions) (RescaleResult, error) {
	r := RescaleResult{Backend: o.Backend, From: o.Parallelism, To: o.To}
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	j, g, s, err := o.filled(ctx, dir)
	if err != nil {
		return r, err
	}
	defer j.Close()
	_, r.StateBytes = keyedFigures(j.Snapshot())
	s.Parallelism = o.To
	began := time.Now()
	if err := j.Restart(g, s); err != nil {
		return r, err
	}
	var snap *metric.Snapshot
	err = poll(ctx, j, func() bool {
		snap = j.Snapshot()
		for _, t := range snap.Vertices[len(snap.Vertices)-1].Subtasks {
			if t.State == nil {
				return false
			}
		}
		return true
	})
	if err != nil {
		return r, err
	}
	r.RunningAfterMs = float64(time.Since(began).Microseconds()) / 1000
	r.CheckpointMs = checkpointOf(snap, snap.RestoredCheckpointID).EndToEndDurationMs
	var total int64
	for _, t := range snap.Vertices[len(snap.Vertices)-1].Subtasks {
		r.RestoredKeys, r.Restores = append(r.RestoredKeys, t.State.RestoredKeys), append(r.Restores, t.State.Restore)
		total += t.State.RestoredKeys
	}
	if total != o.Keys {
		return r, fmt.Errorf("%d keys were restored, there were %d", total, o.Keys)
	}
	return r, nil
}
