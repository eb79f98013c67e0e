package labs

import (
	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// rescaleLab moves the keyed state of a running job to another number of subtasks.
func rescaleLab() *Lab {
	l := &Lab{
		ID: "rescale", Chapter: ChapterState, Minutes: 15, Level: "core",
		Title: Text{"Rescaling", "扩缩容"},
		Summary: Text{
			"From two subtasks to three, to one, and back, while a thousand keys keep their counts: which key groups move, and what becomes of the files.",
			"从两个子任务变成三个、一个，再变回来，一千个键的计数都不丢：哪些键组移动，文件又会怎样。"},
		Panels: []string{"pipeline", "key-groups", "restore", "shelf", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 5000), preset("recordBytes", 0), preset("keys", 1000), preset("keyType", "long"), preset("stateBytesPerKey", 1024), knob("hotKeyShare"), knob("seed"),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 2), preset("backend", task.HashMap), knob("memoryBudgetBytes"),
			knob("transport"), knob("bufferTimeoutMs"), knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), preset("toleratedFailures", 10),
			preset("retainedCheckpoints", 3), knob("checkpointStorage"), knob("incremental"), knob("inlineThresholdBytes"), knob("failUploadEvery"), knob("loseNotifications"), knob("claimMode"),
		),
		Evidence: rescaleEvidence(),
		build:    countsOfKeys("rescale"),
	}
	// Here a change is not taken as a wish to begin anew: it shows the refusal.
	k, _ := l.Knob("maxParallelism")
	k.StartsEmpty = false
	k.Help = Text{"The number of key groups. 0 takes that of the checkpoint, or derives it from the parallelism. Another one than the state was made with is refused.",
		"键组的总数。0 表示沿用检查点里的值，或由并行度推算。与状态生成时不同的值会被拒绝。"}
	return l
}

// countsOfKeys makes the job of the labs that keep a count for each key of the generator.
func countsOfKeys(name string) func(Values, *Input, *probes) (job.Graph, error) {
	return func(v Values, _ *Input, _ *probes) (job.Graph, error) {
		t, err := serde.ParseKeyType(v.String("keyType"))
		if err != nil {
			return job.Graph{}, err
		}
		count := task.OperatorFactory{Name: "count", New: func() task.Operator { return operator.NewKeyedCount(t, false) }}
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
