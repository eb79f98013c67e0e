package labs

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// ShuffleOptions say what to measure: records with a long key and a payload through a keyed exchange.
type ShuffleOptions struct {
	Records         int64
	Keys            int64
	RecordBytes     int // of the payload
	Parallelism     int
	TaskManagers    int
	BufferTimeoutMs int
	Transport       string
}

// ShuffleResult is what was measured.
type ShuffleResult struct {
	RecordsPerSecond     float64 `json:"recordsPerSecond"`
	BytesPerSecond       float64 `json:"bytesPerSecond"` // of all producers, as Flink's numBytesOut counts them
	Records              int64   `json:"records"`
	Seconds              float64 `json:"seconds"`
	AllocationsPerRecord float64 `json:"allocationsPerRecord"`
	BuffersPerSecond     float64 `json:"buffersPerSecond"`
	RecordBytes          int     `json:"recordBytes"`
	Parallelism          int     `json:"parallelism"`
	TaskManagers         int     `json:"taskManagers"`
	BufferTimeoutMs      int     `json:"bufferTimeoutMs"`
}

// BenchShuffle runs the whole job graph: a number sequence, keyBy, a sink that keeps a checksum per key. It fails if a
// record was lost, doubled or changed.
func BenchShuffle(ctx context.Context, o ShuffleOptions) (ShuffleResult, error) {
	r := ShuffleResult{RecordBytes: o.RecordBytes, Parallelism: o.Parallelism, TaskManagers: o.TaskManagers, BufferTimeoutMs: o.BufferTimeoutMs}
	sums := operator.NewChecksums(o.Keys)
	g := job.Graph{
		Name: "bench shuffle",
		Vertices: []job.Vertex{
			{ID: "source", Name: "Source: sequence", Source: &task.SourceFactory{Name: "source", New: func() task.Source { return operator.NewSequence(o.Records) }}},
			{ID: "sink", Name: "Sink: checksum", Operators: []task.OperatorFactory{{Name: "sink", New: sums.New}}},
		},
		Edges: []job.Edge{{From: "source", To: "sink", Exchange: job.Hash, Schema: serde.Schema{Key: serde.Long, Payload: true}}},
	}
	s := task.Defaults()
	s.Rate, s.Keys, s.RecordBytes = 0, o.Keys, o.RecordBytes
	s.Parallelism, s.TaskManagers, s.BufferTimeoutMs = o.Parallelism, o.TaskManagers, o.BufferTimeoutMs
	s.CheckpointIntervalMs, s.CheckpointStorage = 0, "memory"
	s.RestartStrategy = job.NoRestart // a figure of two runs would be none
	if o.Transport != "" {
		s.Transport = o.Transport
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	j, err := job.Start(g, s, job.Options{Lab: "bench"})
	if err != nil {
		return r, err
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Cancel()
		<-j.Done()
		return r, ctx.Err()
	}
	r.Seconds = time.Since(begin).Seconds()
	runtime.ReadMemStats(&after)
	if err := j.Err(); err != nil {
		return r, err
	}
	snap := j.Snapshot()
	if n := snap.Totals.RecordsProcessed; n != o.Records {
		return r, fmt.Errorf("%d records arrived, %d were sent", n, o.Records)
	}
	if err := sums.Verify(o.Records, o.RecordBytes); err != nil {
		return r, err
	}
	for i := range snap.Vertices[0].Subtasks {
		t := &snap.Vertices[0].Subtasks[i]
		r.BytesPerSecond += float64(t.NumBytesOut) / r.Seconds
		r.BuffersPerSecond += float64(t.NumBuffersOut) / r.Seconds
	}
	r.Records = o.Records
	r.RecordsPerSecond = float64(o.Records) / r.Seconds
	r.AllocationsPerRecord = float64(after.Mallocs-before.Mallocs) / float64(o.Records)
	return r, nil
}
