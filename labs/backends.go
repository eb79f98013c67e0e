package labs

import "weir/engine/task"

// backendsLab runs one job on the backends and the checkpoint storages, and sets them side by side.
func backendsLab() *Lab {
	return &Lab{
		ID: "backends", Chapter: ChapterState, Minutes: 15, Level: "intro",
		Title: Text{"State backends", "状态后端"},
		Summary: Text{
			"One job, its state on the heap or in a tree of files, its checkpoints in memory or in files: what each costs, and a mistake that only one of them forgives.",
			"同一个作业，状态放在堆上或文件树里，检查点存在内存或文件里：各自的代价，以及只有一种会放过的错误。"},
		Panels: []string{"pipeline", "backends", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 10000), preset("recordBytes", 0), preset("keys", 1000), preset("keyType", "long"), knob("hotKeyShare"), knob("seed"),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 2),
			knob("transport"), knob("bufferTimeoutMs"), knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 2000), knob("checkpointTimeoutMs"), knob("minPauseMs"), preset("toleratedFailures", 10), preset("retainedCheckpoints", 3), knob("checkpointStorage"), knob("inlineThresholdBytes"),
			preset("backend", task.HashMap), knob("incremental"), preset("stateBytesPerKey", 1024), knob("memoryBudgetBytes"), knob("inPlaceUpdate"), knob("snapshotCompression"), knob("snapshotBytesPerSecond"),
		),
		Compares: []string{"backend", "checkpointStorage", "incremental"},
		Evidence: backendsEvidence(),
		build:    countsInArrays("backends", false),
	}
}
