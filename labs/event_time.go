package labs

import (
	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// eventTimeLab counts two inputs in windows of event time.
func eventTimeLab() *Lab {
	return &Lab{
		ID: "event-time", Chapter: ChapterState, Minutes: 20, Level: "core",
		Title: Text{"Event time", "事件时间"},
		Summary: Text{
			"Two inputs, a count per key and window: how watermarks meet at a gate, what a silent input does to all windows, and where timers lie.",
			"两个输入，按键和窗口计数：水位线怎样在 gate 汇合，一个沉默的输入怎样拖住所有窗口，定时器又放在哪里。"},
		Panels: []string{"event-time", "pipeline", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 400), preset("recordBytes", 0), preset("keys", 16), preset("keyType", "long"), knob("hotKeyShare"), knob("seed"),
			knob("idleInput"), knob("idleTimeoutMs"), preset("disorderMs", 500), preset("outOfOrdernessMs", 500), knob("watermarkIntervalMs"), preset("windowMs", 5000),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 2), preset("backend", task.HashMap),
			knob("transport"), knob("bufferTimeoutMs"), knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), preset("toleratedFailures", 10),
			knob("retainedCheckpoints"), knob("checkpointStorage"), knob("incremental"),
		),
		Evidence: eventTimeEvidence(),
		build:    buildEventTime,
	}
}

func buildEventTime(v Values, _ *Input, _ *probes) (job.Graph, error) {
	t, err := serde.ParseKeyType(v.String("keyType"))
	if err != nil {
		return job.Graph{}, err
	}
	source := func(id string) job.Vertex {
		return job.Vertex{ID: id, Name: "Source: " + id, Source: &task.SourceFactory{Name: id, New: func() task.Source { return operator.NewEventSource(id, 2, 0) }}}
	}
	windows := task.OperatorFactory{Name: "windows", New: func() task.Operator { return operator.NewWindowCount(t) }}
	sink := task.OperatorFactory{Name: "sink", New: func() task.Operator { return operator.NewSink() }}
	schema := serde.Schema{Key: t, Payload: v.Int("recordBytes") > 0}
	return job.Graph{
		Name: "event-time",
		Vertices: []job.Vertex{
			source(firstInput), source(secondInput),
			{ID: "count", Name: "TumblingEventTimeWindows -> Sink: Writer", Operators: []task.OperatorFactory{windows, sink}},
		},
		Edges: []job.Edge{{From: firstInput, To: "count", Exchange: job.Hash, Schema: schema}, {From: secondInput, To: "count", Exchange: job.Hash, Schema: schema}},
	}, nil
}
