package labs

import (
	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// heapLab looks into the maps of the hashmap backend while a snapshot of them is written.
func heapLab() *Lab {
	return &Lab{
		ID: "heap", Chapter: ChapterState, Minutes: 12, Level: "core",
		Title: Text{"Copy on write", "写时复制"},
		Summary: Text{
			"A snapshot of a thousand live objects is written while they go on changing: versions, copies made by writes and by reads, and what that costs.",
			"一千个活的对象一边在变，一边被写进快照：版本号、写和读引起的复制，以及代价。"},
		Panels: []string{"pipeline", "microscope", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 500), preset("recordBytes", 0), preset("keys", 1000), preset("keyType", "long"), knob("hotKeyShare"), knob("seed"),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 2),
			knob("transport"), knob("bufferTimeoutMs"), knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), preset("toleratedFailures", 10), knob("retainedCheckpoints"), knob("checkpointStorage"),
			preset("stateBytesPerKey", 1024), preset("snapshotBytesPerSecond", 256<<10), knob("readOnlyShare"), knob("inPlaceUpdate"), knob("snapshotCompression"),
		),
		Evidence: heapEvidence(),
		build:    countsInArrays("heap", true),
	}
}

// countsInArrays makes the job of the labs whose counts are objects that can be changed in place. With last it also writes
// a state that it never reads.
func countsInArrays(name string, last bool) func(Values, *Input, *probes) (job.Graph, error) {
	return func(v Values, _ *Input, _ *probes) (job.Graph, error) {
		t, err := serde.ParseKeyType(v.String("keyType"))
		if err != nil {
			return job.Graph{}, err
		}
		count := task.OperatorFactory{Name: "count", New: func() task.Operator { return operator.NewStateCount(t, last) }}
		return job.Graph{
			Name: name,
			Vertices: []job.Vertex{
				sourceOf(nil, t),
				{ID: "count", Name: "count", Operators: []task.OperatorFactory{count}},
			},
			Edges: []job.Edge{{From: "source", To: "count", Exchange: job.Hash, Schema: serde.Schema{Key: t, Payload: v.Int("recordBytes") > 0}}},
		}, nil
	}
}
