// Package job runs a job: its graph placed on task managers, its tasks joined by the network stack, its checkpoints,
// its controls, and the Snapshot of it all.
package job

import (
	"fmt"

	"weir/engine/serde"
	"weir/engine/task"
)

// Graph is a job as its author wrote it, operators chained already (Flink's JobGraph).
type Graph struct {
	Name     string
	Vertices []Vertex // in topological order
	Edges    []Edge
}

// Vertex is a chain of operators that runs as one task per subtask. A vertex without an edge into it has a Source.
type Vertex struct {
	ID        string
	Name      string
	Source    *task.SourceFactory
	Operators []task.OperatorFactory
	// Parallelism is the number of subtasks; 0 is Settings.Parallelism.
	Parallelism int
	// TaskManager is where all subtasks run, counted from 1; 0 deals them to the task managers in turn.
	TaskManager int
}

// Edge joins two vertices. A vertex has at most one edge out. Several edges into one are a union of its inputs: their
// records are of one schema, and its channels are numbered over all of them, in the order of the edges.
type Edge struct {
	From, To string
	Exchange Exchange
	Schema   serde.Schema
}

// inputs are the edges into a vertex, in their order; none for a source.
func (g *Graph) inputs(id string) []*Edge {
	var in []*Edge
	for i := range g.Edges {
		if g.Edges[i].To == id {
			in = append(in, &g.Edges[i])
		}
	}
	return in
}

// output is the edge out of a vertex; nil without.
func (g *Graph) output(id string) *Edge {
	for i := range g.Edges {
		if g.Edges[i].From == id {
			return &g.Edges[i]
		}
	}
	return nil
}

// vertex finds a vertex that exists.
func (g *Graph) vertex(id string) *Vertex {
	for i := range g.Vertices {
		if g.Vertices[i].ID == id {
			return &g.Vertices[i]
		}
	}
	return nil
}

// validate refuses a graph that cannot run.
func (g *Graph) validate() error {
	place := map[string]int{}
	for i, v := range g.Vertices {
		if v.ID == "" {
			return fmt.Errorf("graph %q: vertex %d has no id", g.Name, i)
		}
		if _, twice := place[v.ID]; twice {
			return fmt.Errorf("graph %q: two vertices are called %q", g.Name, v.ID)
		}
		place[v.ID] = i
	}
	if len(g.Vertices) == 0 {
		return fmt.Errorf("graph %q has no vertex", g.Name)
	}
	in, out := map[string]*Edge{}, map[string]int{}
	for i := range g.Edges {
		e := &g.Edges[i]
		from, ok1 := place[e.From]
		to, ok2 := place[e.To]
		if !ok1 || !ok2 || from >= to {
			return fmt.Errorf("graph %q: the edge %s -> %s does not lead from a vertex to a later one", g.Name, e.From, e.To)
		}
		out[e.From]++
		first := in[e.To]
		switch {
		case first == nil:
			in[e.To] = e
		case first.Schema != e.Schema:
			return fmt.Errorf("graph %q: the inputs of vertex %s must have records of one kind: from %s they are %+v, from %s %+v", g.Name, e.To, first.From, first.Schema, e.From, e.Schema)
		}
	}
	for _, v := range g.Vertices {
		switch {
		case out[v.ID] > 1:
			return fmt.Errorf("graph %q: vertex %s has more than one edge out", g.Name, v.ID)
		case (v.Source == nil) != (in[v.ID] != nil):
			return fmt.Errorf("graph %q: vertex %s needs either a source or an edge into it", g.Name, v.ID)
		}
	}
	return nil
}
