package history

import (
	"context"
	"sync/atomic"
	"time"

	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// Gate holds the sources of a job back, so that what happens between two restarts does not hang on the machine's speed: of
// each subtask's records only so many pass, until more are let through.
type Gate struct {
	n       int64
	allowed atomic.Int64 // in all, over all subtasks and attempts
	passed  atomic.Int64
}

// NewGate is for jobs of n numbered records, shut.
func NewGate(n int64) *Gate { return &Gate{n: n} }

// Source makes the source of one subtask.
func (g *Gate) Source() task.Source { return &gatedSource{Generator: operator.NewGenerator(g.n), g: g} }

// Let lets more records through.
func (g *Gate) Let(more int64) { g.allowed.Add(more) }

// Open lets all through.
func (g *Gate) Open() { g.allowed.Add(1 << 40) }

// Await waits until those that may pass have.
func (g *Gate) Await(ctx context.Context, j *job.Job, within time.Duration) error {
	return Await(ctx, j, within, func() bool { return g.passed.Load() >= min(g.allowed.Load(), g.n) })
}

type gatedSource struct {
	*operator.Generator
	g *Gate
}

// Next makes a record if one may pass.
func (s *gatedSource) Next(r *serde.Record) (task.Status, time.Duration) {
	if s.g.passed.Add(1) > s.g.allowed.Load() {
		s.g.passed.Add(-1)
		return task.Wait, time.Millisecond
	}
	status, d := s.Generator.Next(r)
	if status != task.Ready {
		s.g.passed.Add(-1)
		if status == task.End && s.g.passed.Load() < s.g.n {
			// The others go on: a subtask that ends early would take no further part in checkpoints.
			return task.Wait, time.Millisecond
		}
	}
	return status, d
}
