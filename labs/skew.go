package labs

import (
	"slices"

	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// skewLab sends most records to one key and works on those only.
func skewLab() *Lab {
	return &Lab{
		ID: "skew", Chapter: ChapterNetwork, Minutes: 15, Level: "core", AcceptsInput: true,
		Title: Text{"A hot key", "热点键"},
		Summary: Text{
			"One key gets most of the records. One subpartition fills up, the whole producer stops, and the other consumer has nothing to do. Three cures to try, each for another disease.",
			"一个键占了大部分记录。一个子分区满了，整个生产者就停下，而另一个消费者无事可做。有三种办法可试，各治各的病。"},
		Panels: []string{"keyload", "pipeline", "channels", "checkpoints", "charts"},
		Knobs: pick(slices.Concat([]use{
			preset("rate", 20_000), preset("recordBytes", 256), preset("keys", 128), preset("keyType", "long"), preset("hotKeyShare", 0.8),
			preset("workMs", 1), knob("workKind"), preset("workOn", "hot"), knob("sinkWorkMs"), knob("twoStage"), knob("seed"),
		}, jobUses(), []use{knob("transport"), knob("bufferTimeoutMs")}, debloatUses(), bufferUses(), checkpointUses())...),
		// A file has keys of its own: work on all of them, as fast as it goes.
		inputKnobs: map[string]any{"rate": 0.0, "keyType": "string", "workOn": "all", "hotKeyShare": 0.0},
		Compares:   []string{"keys", "twoStage", "maxParallelism", "parallelism"},
		Evidence:   skewEvidence(),
		build:      buildSkew,
	}
}

func buildSkew(v Values, in *Input, p *probes) (job.Graph, error) {
	t, err := serde.ParseKeyType(v.String("keyType"))
	if err != nil {
		return job.Graph{}, err
	}
	if in != nil {
		if err := in.CheckKey(in.Key, t); err != nil {
			return job.Graph{}, err
		}
	}
	factory := func(name string, make func() task.Operator) task.OperatorFactory {
		return task.OperatorFactory{Name: name, New: make}
	}
	counted := func(vertex string, s serde.Schema) task.OperatorFactory {
		l := operator.NewGroupLoads(s)
		p.loads = append(p.loads, vertexLoad{vertex, l})
		return factory("load", l.New)
	}
	source, schema := sourceOf(in, t), serde.Schema{Key: t, Payload: in == nil && v.Int("recordBytes") > 0}
	g := job.Graph{Name: "skew"}
	from := job.Edge{From: source.ID, To: "slow-map", Exchange: job.Hash, Schema: schema}
	if v.Bool("twoStage") {
		source.Name = "Source: source -> salt"
		source.Operators = []task.OperatorFactory{factory("salt", func() task.Operator { return operator.NewSalt(t) })}
		salted := serde.Schema{Key: serde.String, Payload: schema.Payload}
		partial := serde.Schema{Key: t, Payload: true}
		g.Vertices = []job.Vertex{source, {ID: "pre-count", Name: "pre-count", Operators: []task.OperatorFactory{
			counted("pre-count", salted), factory("pre-count", func() task.Operator { return operator.NewPreCount(t) })}}}
		g.Edges = []job.Edge{{From: source.ID, To: "pre-count", Exchange: job.Hash, Schema: salted}}
		from = job.Edge{From: "pre-count", To: "slow-map", Exchange: job.Hash, Schema: partial}
		schema = partial
	} else {
		g.Vertices = []job.Vertex{source}
	}
	slow := factory("slow-map", func() task.Operator { return operator.NewSlow(t) })
	sink := factory("sink", func() task.Operator { return operator.NewSink() })
	load := counted("slow-map", schema)
	g.Edges = append(g.Edges, from)
	if v.Bool("chaining") {
		g.Vertices = append(g.Vertices, job.Vertex{ID: "slow-map", Name: "slow-map -> Sink: Writer", Operators: []task.OperatorFactory{load, slow, sink}})
		return g, nil
	}
	g.Vertices = append(g.Vertices, job.Vertex{ID: "slow-map", Name: "slow-map", Operators: []task.OperatorFactory{load, slow}},
		job.Vertex{ID: "sink", Name: "Sink: Writer", Operators: []task.OperatorFactory{sink}})
	g.Edges = append(g.Edges, job.Edge{From: "slow-map", To: "sink", Exchange: job.Forward, Schema: schema})
	return g, nil
}
