package labs

import (
	"slices"

	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// creditLab has two pipelines side by side, source 0 to slow-map 0 and source 1 to slow-map 1, whose channels share one
// connection: all sources run in one task manager, all maps in the other. Only the first map works.
func creditLab() *Lab {
	return &Lab{
		ID: "credit", Chapter: ChapterNetwork, Minutes: 15, Level: "core",
		Title: Text{"Credits on the wire", "线路上的 credit"},
		Summary: Text{
			"Two channels share one connection. One consumer is slow. Read the frames between both ends, with the books that each end keeps, and see what the fast channel loses without credit.",
			"两条通道共用一个连接，其中一个消费者很慢。逐帧查看两端之间的消息和各自的账本，再看没有 credit 时快通道会失去什么。"},
		Panels: []string{"sequence", "pipeline", "channels", "checkpoints", "charts"},
		Knobs: pick(slices.Concat([]use{
			preset("rate", 20_000), preset("recordBytes", 256), preset("keys", 128), preset("keyType", "long"),
			preset("workMs", 1), knob("workKind"), knob("seed"),
			knob("transport"), knob("flowControl"), knob("wireBytesPerSecond"), knob("bufferTimeoutMs"),
		}, debloatUses(), bufferUses(), checkpointUses())...),
		Compares: []string{"flowControl", "exclusiveBuffers", "floatingBuffers"},
		Evidence: creditEvidence(),
		build:    buildCredit,
	}
}

func buildCredit(v Values, _ *Input, _ *probes) (job.Graph, error) {
	t, err := serde.ParseKeyType(v.String("keyType"))
	if err != nil {
		return job.Graph{}, err
	}
	source := sourceOf(nil, t)
	source.Parallelism, source.TaskManager = 2, 1
	return job.Graph{
		Name: "credit",
		Vertices: []job.Vertex{source, {ID: "slow-map", Name: "slow-map -> Sink: Writer", Parallelism: 2, TaskManager: 2, Operators: []task.OperatorFactory{
			{Name: "slow-map", New: func() task.Operator { return operator.NewSlowSubtask(t, 0) }},
			{Name: "sink", New: func() task.Operator { return operator.NewSink() }}}}},
		Edges: []job.Edge{{From: "source", To: "slow-map", Exchange: job.Forward, Schema: serde.Schema{Key: t, Payload: true}}},
	}, nil
}
