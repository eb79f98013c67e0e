package job

import (
	"fmt"

	"weir/engine/checkpoint"
	"weir/engine/network"
	"weir/engine/serde"
	"weir/engine/task"
)

// unaligned says whether barriers may overtake on an exchange, and how its data in flight is dealt to other subtasks. As in
// Flink it is not so where a channel's data cannot be told from another's under another parallelism: pointwise, or with a
// copy to each.
func (e Exchange) unaligned() (m checkpoint.Mapping, ok bool) {
	switch e {
	case Hash:
		return checkpoint.ByRange, true
	case Rebalance:
		return checkpoint.InTurn, true
	}
	return 0, false
}

// checkMode refuses a mode of checkpoints that there is not, or that the graph cannot have: data in flight is told apart by
// channel, and those of a vertex with several inputs are not of one kind.
func checkMode(s *task.Settings, g *Graph) error {
	switch s.CheckpointMode {
	case "", "aligned":
	case "unaligned":
		for i := range g.Vertices {
			if n := len(g.inputs(g.Vertices[i].ID)); n > 1 {
				return fmt.Errorf("checkpoint mode unaligned: vertex %q has %d inputs, and data in flight is restored for one input only: take aligned checkpoints", g.Vertices[i].ID, n)
			}
		}
	default:
		return fmt.Errorf("checkpoint mode %q, must be aligned or unaligned", s.CheckpointMode)
	}
	if s.AlignedTimeoutMs < 0 {
		return fmt.Errorf("aligned timeout %d ms, must be 0 or more", s.AlignedTimeoutMs)
	}
	return nil
}

// assignInFlight deals the data in flight of a checkpoint, for each edge that can have some.
func (a *attempt) assignInFlight(dealt map[string]*checkpoint.Assignment) error {
	a.inFlight = map[string]*checkpoint.Recovery{}
	placed := map[string]bool{} // vertex and end
	for _, e := range a.graph.Edges {
		m, ok := e.Exchange.unaligned()
		if !ok || len(a.graph.inputs(e.To)) > 1 {
			continue
		}
		r, err := checkpoint.AssignInFlight(dealt[e.From], dealt[e.To], m)
		if err != nil {
			return fmt.Errorf("checkpoint %d: edge %s -> %s: %w", a.restored.ID, e.From, e.To, err)
		}
		placed[e.From+" out"], placed[e.To+" in"] = true, true
		if r != nil {
			a.inFlight[e.From] = r
			a.recovering += len(r.Inputs)
		}
	}
	for id, d := range dealt {
		in, out := d.HasInFlight()
		if in && !placed[id+" in"] || out && !placed[id+" out"] {
			return fmt.Errorf("checkpoint %d has data in flight of vertex %q, expected one hash or rebalance edge there that it can go on over: take a savepoint, or an aligned checkpoint, before the graph changes", a.restored.ID, id)
		}
	}
	return nil
}

// recoverOutput queues what a producer had in its queues, before its consumers ask for it.
func (a *attempt) recoverOutput(p *network.ResultPartition, e *Edge, subtask, segmentBytes int) error {
	r := a.inFlight[e.From]
	if r == nil {
		return nil
	}
	for _, out := range r.Outputs[subtask] {
		var between *serde.SubtaskConnectionDescriptor
		if r.Rescaled {
			between = &serde.SubtaskConnectionDescriptor{InputSubtask: int32(out.Channel), OutputSubtask: int32(out.Subtask)}
		}
		if err := p.Recover(out.Subpartition, out.Buffers, between, segmentBytes); err != nil {
			return err
		}
	}
	return p.FinishRecovery()
}

// recoverInput is what a consumer reads before anything from its gate; nil if there is nothing on its edge, and on several
// edges there never is.
func (a *attempt) recoverInput(edges []*Edge, subtask int) *task.Recovery {
	r := a.inFlight[edges[0].From]
	if r == nil || len(edges) > 1 {
		return nil
	}
	return &task.Recovery{Inputs: r.Inputs[subtask], Rescaled: r.Rescaled, Filter: r.Filter}
}
