package labs

import (
	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// sourceOf makes the source vertex: the generator, or the learner's file.
func sourceOf(in *Input, t serde.KeyType) job.Vertex {
	f := &task.SourceFactory{Name: "source", New: func() task.Source { return operator.NewGenerator(0) }}
	if in != nil {
		f.New = func() task.Source { return operator.NewFileSource(in.File, in.Key, t) }
	}
	return job.Vertex{ID: "source", Name: "Source: source", Source: f}
}

func buildBackpressure(v Values, _ *Input, _ *probes) (job.Graph, error) {
	t, err := serde.ParseKeyType(v.String("keyType"))
	if err != nil {
		return job.Graph{}, err
	}
	schema := serde.Schema{Key: t, Payload: true}
	slow := task.OperatorFactory{Name: "slow-map", New: func() task.Operator { return operator.NewSlow(t) }}
	sink := task.OperatorFactory{Name: "sink", New: func() task.Operator { return operator.NewSink() }}
	g := job.Graph{
		Name: "backpressure",
		Vertices: []job.Vertex{
			sourceOf(nil, t),
			{ID: "slow-map", Name: "slow-map -> Sink: Writer", Operators: []task.OperatorFactory{slow, sink}},
		},
		Edges: []job.Edge{{From: "source", To: "slow-map", Exchange: job.Hash, Schema: schema}},
	}
	if !v.Bool("chaining") {
		g.Vertices[1].Name, g.Vertices[1].Operators = "slow-map", []task.OperatorFactory{slow}
		g.Vertices = append(g.Vertices, job.Vertex{ID: "sink", Name: "Sink: Writer", Operators: []task.OperatorFactory{sink}})
		g.Edges = append(g.Edges, job.Edge{From: "slow-map", To: "sink", Exchange: job.Forward, Schema: schema})
	}
	return g, nil
}

func buildKeyGroups(v Values, in *Input, _ *probes) (job.Graph, error) {
	t, err := serde.ParseKeyType(v.String("keyType"))
	if err != nil {
		return job.Graph{}, err
	}
	if in != nil {
		if err := in.CheckKey(in.Key, t); err != nil {
			return job.Graph{}, err
		}
	}
	count := task.OperatorFactory{Name: "count", New: func() task.Operator { return operator.NewKeyedCount(t, false) }}
	return job.Graph{
		Name: "key-groups",
		Vertices: []job.Vertex{
			sourceOf(in, t),
			{ID: "count", Name: "count", Operators: []task.OperatorFactory{count}},
		},
		Edges: []job.Edge{{From: "source", To: "count", Exchange: job.Hash, Schema: serde.Schema{Key: t, Payload: in == nil && v.Int("recordBytes") > 0}}},
	}, nil
}
