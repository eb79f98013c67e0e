package checkpoint

import (
	"fmt"
	"time"

	"weir/engine/metric"
)

// maxHistory is how many checkpoints the history shows.
const maxHistory = 10

// fail gives the pending checkpoint up.
func (c *Coordinator) fail(why Reason, detail string, now time.Time) []Command {
	p := c.pending
	c.pending = nil
	c.counts.InProgress--
	c.counts.Failed++
	text := string(why)
	if detail != "" {
		text += ": " + detail
	}
	p.record.Status = "FAILED"
	p.record.Failure = text
	p.record.EndToEndDurationMs = now.Sub(p.triggered).Milliseconds()
	if p.stop {
		c.stopping = 0
	}
	cmds := []Command{
		{Kind: NotifyAborted, ID: p.id, Stop: p.stop, Reason: why, Detail: text},
		{Kind: Discard, ID: p.id},
	}
	// Flink: a savepoint counts only when a task failed it.
	if !why.Counts() || p.typ == TypeSavepoint && why != Declined && why != WriteFailed {
		return cmds
	}
	c.failures++
	if c.failures > c.cfg.ToleratedFailures {
		c.failures = 0
		c.ended = true
		return append(cmds, Command{Kind: FailJob, Detail: fmt.Sprintf(
			"more than %d checkpoints failed one after another, the last, %d: %s", c.cfg.ToleratedFailures, p.id, text)})
	}
	return cmds
}

// waitingFor names who has not acknowledged.
func (c *Coordinator) waitingFor() string {
	p := c.pending
	text := fmt.Sprintf("%d of %d subtasks had acknowledged", len(c.tasks)-p.left, len(c.tasks))
	named := 0
	for i := range c.tasks {
		if p.done[i] {
			continue
		}
		if named == 3 {
			return text + fmt.Sprintf(" and %d more", p.left-named)
		}
		if named == 0 {
			text += ", not "
		} else {
			text += ", "
		}
		text += c.tasks[i].String()
		named++
	}
	return text
}

// History is the last 10 checkpoints, newest first, as they stand in a Snapshot. It is a copy.
func (c *Coordinator) History(now time.Time) []metric.Checkpoint {
	out := make([]metric.Checkpoint, len(c.history))
	for i, h := range c.history {
		out[i] = *h
		if c.pending != nil && c.pending.record == h {
			out[i].EndToEndDurationMs = now.Sub(c.pending.triggered).Milliseconds()
			// The record of one that runs still changes; those that are over are shared.
			out[i].Subtasks = append([]metric.SubtaskCheckpoint(nil), h.Subtasks...)
		}
	}
	return out
}
