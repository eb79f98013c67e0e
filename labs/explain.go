package labs

import "weir/engine/metric"

// Explanation says what a checkpoint spent its time on, and what that means.
type Explanation struct {
	// Phase that dominates: startDelay, alignment, sync or async; empty if there is nothing to say.
	Phase string `json:"phase"`
	// Share of that phase in the time of the slowest subtask, 0 to 1.
	Share   float64 `json:"share"`
	Vertex  string  `json:"vertex"`
	Subtask int     `json:"subtask"`
	Message Message `json:"message"`
}

// quickCheckpointMs is the time below which no phase is worth a remark.
const quickCheckpointMs = 20

// ExplainCheckpoint finds the subtask that took longest and the phase that took most of its time: a start delay that
// dominates tells of back-pressure, alignment of skewed or slow channels, the sync phase of access to state, the async
// phase of the storage.
func ExplainCheckpoint(c *metric.Checkpoint) Explanation {
	var e Explanation
	if c.Status == "FAILED" {
		e.Message = say("checkpoint.failed", c.ID, c.Failure)
		return e
	}
	var slowest *metric.SubtaskCheckpoint
	var most float64
	for i := range c.Subtasks {
		s := &c.Subtasks[i]
		if sum := s.StartDelayMs + s.AlignmentMs + s.SyncMs + s.AsyncMs; s.Acknowledged && (slowest == nil || sum > most) {
			slowest, most = s, sum
		}
	}
	if slowest == nil {
		e.Message = say("checkpoint.waiting", c.ID)
		return e
	}
	e.Vertex, e.Subtask = slowest.Vertex, slowest.Subtask
	if most < quickCheckpointMs {
		e.Message = say("checkpoint.quick", c.ID, slowest.Vertex, slowest.Subtask, round(most))
		return e
	}
	var ms float64
	for _, phase := range []struct {
		name string
		ms   float64
	}{{"startDelay", slowest.StartDelayMs}, {"alignment", slowest.AlignmentMs}, {"sync", slowest.SyncMs}, {"async", slowest.AsyncMs}} {
		if phase.ms > ms {
			e.Phase, ms = phase.name, phase.ms
		}
	}
	e.Share = ms / most
	e.Message = say("checkpoint."+e.Phase, c.ID, slowest.Vertex, slowest.Subtask, round(ms), round(100*e.Share))
	return e
}
