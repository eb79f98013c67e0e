package checkpoint

import (
	"slices"
	"time"

	"weir/engine/metric"
	"weir/engine/serde"
)

// pendingCheckpoint is the one that runs. Flink's PendingCheckpoint.
type pendingCheckpoint struct {
	request
	triggered  time.Time
	lastAck    time.Time
	acks       []SubtaskState
	done       []bool
	left       int
	finalizing bool
	completed  *Completed
	record     *metric.Checkpoint
}

func (c *Coordinator) trigger(r request, now time.Time) []Command {
	p := &pendingCheckpoint{
		request: r, triggered: now, lastAck: now,
		acks: make([]SubtaskState, len(c.tasks)), done: make([]bool, len(c.tasks)), left: len(c.tasks),
	}
	p.completed = &Completed{ID: r.id, TimestampMs: now.UnixMilli(), Type: r.typ}
	p.record = &metric.Checkpoint{
		ID: r.id, Status: "IN_PROGRESS", Type: r.typ, TriggerMs: now.Sub(c.jobStart).Milliseconds(),
		Subtasks: make([]metric.SubtaskCheckpoint, len(c.tasks)),
	}
	c.pending = p
	c.counts.Total++
	c.counts.InProgress++
	c.history = append([]*metric.Checkpoint{p.record}, c.history[:min(len(c.history), maxHistory-1)]...)

	first := Command{Kind: TriggerSources, ID: r.id, Stop: r.stop}
	first.Barrier = serde.CheckpointBarrier{ID: r.id, Timestamp: p.completed.TimestampMs, Options: c.options(r)}
	if r.typ == TypeSavepoint {
		first.Barrier.Options.Type = serde.Savepoint
	}
	cmds := []Command{{}}
	for i := range c.tasks {
		t := &c.tasks[i]
		p.record.Subtasks[i] = metric.SubtaskCheckpoint{Vertex: t.Vertex, Subtask: t.Subtask}
		switch {
		case t.finished:
			cmds = append(cmds, c.takeFinished(i, now)...)
		case t.source:
			first.Tasks = append(first.Tasks, t.TaskID)
		}
	}
	cmds[0] = first
	return cmds
}

// options are how the barriers of a checkpoint behave.
func (c *Coordinator) options(r request) serde.CheckpointOptions {
	switch {
	case !c.cfg.Unaligned || r.stop || r.typ == TypeSavepoint:
		return serde.AlignedOptions()
	case c.cfg.AlignedTimeout > 0:
		return serde.TimeoutableOptions(c.cfg.AlignedTimeout.Milliseconds())
	}
	return serde.UnalignedOptions()
}

// takeFinished lets a task that has ended have its part in the pending checkpoint.
func (c *Coordinator) takeFinished(i int, now time.Time) []Command {
	p, t := c.pending, &c.tasks[i]
	p.acks[i].Finished = true
	if t.state.empty() {
		c.acknowledge(i, Ack{}, now)
		return nil
	}
	return []Command{{Kind: WriteFinished, ID: p.id, Task: t.TaskID, State: t.state}}
}

// Finished tells that a task has ended, with its last state and the newest checkpoint that it dealt with (Subtask.Last): of
// that one its own acknowledgement is on the way, and of later ones its end is its part.
func (c *Coordinator) Finished(t TaskID, state *TaskState, last int64, now time.Time) []Command {
	i, ok := c.index[t]
	if !ok || c.tasks[i].finished {
		return nil
	}
	c.tasks[i].finished, c.tasks[i].state = true, state
	p := c.pending
	if p == nil || p.finalizing || p.done[i] || last >= p.id {
		return nil
	}
	cmds := c.takeFinished(i, now)
	return append(cmds, c.maybeFinalize()...)
}

// Accepts tells whether Ack would take an acknowledgement into its checkpoint. What one that comes too late has stored
// belongs to nobody.
func (c *Coordinator) Accepts(a Ack) bool {
	p := c.pending
	i, ok := c.index[a.Task]
	return ok && p != nil && p.id == a.Checkpoint && !p.finalizing && !p.done[i]
}

// Ack takes a subtask's acknowledgement. One that comes too late changes nothing, but what it stored is discarded.
func (c *Coordinator) Ack(a Ack, now time.Time) []Command {
	p := c.pending
	if p == nil || p.id != a.Checkpoint {
		if c.keeps(a.Checkpoint) {
			return nil
		}
		return []Command{{Kind: Discard, ID: a.Checkpoint}}
	}
	i, ok := c.index[a.Task]
	if !ok || p.finalizing || p.done[i] {
		return nil
	}
	c.acknowledge(i, a, now)
	return c.maybeFinalize()
}

func (c *Coordinator) keeps(id int64) bool {
	for _, r := range c.retained {
		if r.ID == id {
			return true
		}
	}
	for _, h := range c.history {
		// A completed savepoint is its owner's.
		if h.ID == id && h.Status == "COMPLETED" && h.Type == TypeSavepoint {
			return true
		}
	}
	return false
}

func ms(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

func (c *Coordinator) acknowledge(i int, a Ack, now time.Time) {
	p := c.pending
	p.acks[i].Handle = a.Handle
	p.done[i] = true
	p.left--
	p.lastAck = now
	s := &p.record.Subtasks[i]
	s.Acknowledged = true
	s.StartDelayMs, s.AlignmentMs, s.SyncMs, s.AsyncMs = ms(a.StartDelayNs), ms(a.AlignmentNs), ms(a.SyncNs), ms(a.AsyncNs)
	s.EndToEndMs = ms(int64(now.Sub(p.triggered)))
	s.CheckpointedBytes, s.ProcessedBytes, s.PersistedBytes = a.Handle.Bytes+a.UploadedBytes, a.ProcessedBytes, a.PersistedBytes
	p.record.CheckpointedBytes += a.Handle.Bytes + a.UploadedBytes
	p.record.StateBytes += a.Handle.Bytes + a.SharedBytes
	// A new list each time: who looks at the history has the old one.
	p.record.SharedFiles = slices.Concat(p.record.SharedFiles, a.SharedFiles)
	p.record.ProcessedBytes += a.ProcessedBytes
	p.record.PersistedBytes += a.PersistedBytes
}

// maybeFinalize asks for the metadata when all have acknowledged.
func (c *Coordinator) maybeFinalize() []Command {
	p := c.pending
	if p == nil || p.left > 0 || p.finalizing {
		return nil
	}
	p.finalizing = true
	i := 0
	for _, v := range c.vertices {
		p.completed.Vertices = append(p.completed.Vertices, VertexState{
			ID: v.ID, Parallelism: v.Parallelism, MaxParallelism: v.MaxParallelism,
			MaxParallelismDerived: v.MaxParallelismDerived, Subtasks: p.acks[i : i+v.Parallelism : i+v.Parallelism],
		})
		i += v.Parallelism
	}
	return []Command{{Kind: WriteMetadata, ID: p.id, Completed: p.completed}}
}
