package job

import (
	"maps"
	"slices"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/trace"
)

// oldRanges are the key groups of the subtasks that a vertex had in a checkpoint.
func oldRanges(c *checkpoint.Completed, vertex string) []keygroup.Range {
	v, ok := c.Vertex(vertex)
	if !ok {
		return nil
	}
	ranges := make([]keygroup.Range, v.Parallelism)
	for i := range ranges {
		ranges[i], _ = keygroup.RangeFor(v.MaxParallelism, v.Parallelism, i) // the metadata was checked
	}
	return ranges
}

// traceHandles tells, of each new subtask and each old one whose key groups meet its own, what it was given: files whole,
// with the part of them that is its own, or just the key groups that are.
func (a *attempt) traceHandles(t *trace.Tracer, states map[string][]*checkpoint.TaskState) {
	if a.restored == nil || !t.On(trace.HandlesIntersected) {
		return
	}
	for i := range a.graph.Vertices {
		vertex := a.graph.Vertices[i].ID
		old, size := oldRanges(a.restored, vertex), a.sizes[vertex]
		for sub, s := range states[vertex] {
			mine, err := keygroup.RangeFor(size.groups, size.parallelism, sub)
			if err != nil {
				continue
			}
			for _, operator := range slices.Sorted(maps.Keys(s.Operators)) {
				o := s.Operators[operator]
				for from, r := range old {
					if part := r.Intersect(mine); part.Size() > 0 && len(o.Keyed)+len(o.Incremental) > 0 {
						kind, bytes := partOf(o, r, part)
						t.Hit(trace.HandlesIntersected, coordinatorThread, trace.Str("vertex", vertex), trace.Int("subtask", sub), trace.Int("old", from),
							trace.Int("handleFrom", r.First), trace.Int("handleTo", r.Last+1), trace.Int("from", part.First), trace.Int("to", part.Last+1),
							trace.Str("kind", kind), trace.Int("bytes", bytes))
					}
				}
			}
		}
	}
}

// partOf is what a subtask gets of the handle with key groups r, of which part is its own.
func partOf(o *checkpoint.OperatorState, r, part keygroup.Range) (kind string, bytes int64) {
	for i := range o.Incremental {
		if o.Incremental[i].KeyGroups == r {
			return "files", o.Incremental[i].Bytes()
		}
	}
	for _, g := range o.Keyed {
		if part.Contains(g.KeyGroup) {
			bytes += int64(len(g.Data))
		}
	}
	return "key groups", bytes
}
