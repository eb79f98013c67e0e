package labs

import (
	"slices"

	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// overdraftLab has a flatMap chained to the source: one record in, a thousand out, all within one call.
func overdraftLab() *Lab {
	return &Lab{
		ID: "overdraft", Chapter: ChapterNetwork, Minutes: 12, Level: "deep",
		Title: Text{"Overdraft and hard back-pressure", "透支与硬反压"},
		Summary: Text{
			"One record becomes a thousand. Half-way through, the buffers are used up: may the task borrow, or does it get stuck inside the record, with its mail waiting?",
			"一条记录变成一千条。写到一半，buffer 用完了：任务能借，还是卡在记录中间，连邮件都得等？"},
		Panels: []string{"overdraft", "pipeline", "channels", "checkpoints", "charts"},
		Knobs: pick(slices.Concat([]use{
			preset("rate", 20_000), preset("fanOut", 1000), preset("recordBytes", 256), preset("keys", 128), preset("keyType", "long"), knob("hotKeyShare"),
			preset("workMs", 1), knob("workKind"), knob("workOn"), knob("sinkWorkMs"), knob("seed"),
		}, jobUses(), []use{knob("transport"), knob("bufferTimeoutMs")}, debloatUses(), bufferUses(), checkpointUses())...),
		Compares: []string{"fanOut", "overdraftBuffers"},
		Evidence: overdraftEvidence(),
		build:    buildOverdraft,
	}
}

// buildOverdraft is the flagship with the flatMap at the end of the source's chain.
func buildOverdraft(v Values, in *Input, p *probes) (job.Graph, error) {
	g, err := buildBackpressure(v, in, p)
	if err != nil {
		return g, err
	}
	t, err := serde.ParseKeyType(v.String("keyType"))
	if err != nil {
		return g, err
	}
	g.Name, g.Vertices[0].Name = "overdraft", "Source: source -> Flat Map"
	g.Vertices[0].Operators = []task.OperatorFactory{{Name: "flat-map", New: func() task.Operator { return operator.NewFlatMap(t) }}}
	return g, nil
}
