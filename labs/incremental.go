package labs

// incrementalLab follows the files of a job's checkpoints from their upload to the last reference.
func incrementalLab() *Lab {
	return &Lab{
		ID: "incremental", Chapter: ChapterState, Minutes: 15, Level: "core",
		Title: Text{"Incremental checkpoints", "增量检查点"},
		Summary: Text{
			"A shelf of files and checkpoints: what is uploaded once and used again, what lies in the checkpoint itself, and when a file may go. Then lose a notification or fail a checkpoint, and see what may no longer be reused.",
			"一个文件与检查点的书架：哪些只上传一次、之后一直复用，哪些直接放进检查点，文件什么时候可以删除。再丢一次通知，或让一次检查点失败，看看哪些不能再复用。"},
		Panels: []string{"pipeline", "shelf", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 5000), preset("recordBytes", 0), preset("keys", 1000), preset("keyType", "long"), preset("stateBytesPerKey", 1024), knob("hotKeyShare"), knob("seed"),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 2), preset("backend", "lsm"), knob("memoryBudgetBytes"),
			knob("transport"), knob("bufferTimeoutMs"), knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), preset("toleratedFailures", 10),
			preset("retainedCheckpoints", 3), knob("checkpointStorage"), knob("incremental"), knob("inlineThresholdBytes"), knob("failUploadEvery"), knob("loseNotifications"), knob("claimMode"),
		),
		Evidence: incrementalEvidence(),
		build:    countsOfKeys("incremental"),
	}
}
