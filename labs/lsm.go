package labs

// lsmLab looks into the LSM store that keeps the counts of a thousand keys.
func lsmLab() *Lab {
	return &Lab{
		ID: "lsm", Chapter: ChapterState, Minutes: 15, Level: "core",
		Title: Text{"Inside the LSM store", "LSM 存储的内部"},
		Summary: Text{
			"State as bytes: how a key is put together, what each access serializes, how writes sink from the memtable through the levels, and the memory that the stores of a task manager share.",
			"把状态看作字节：键怎样拼成，每次访问要序列化什么，写入怎样从 memtable 沉到各层，以及同一个 TaskManager 上各个存储共用的内存。"},
		Panels: []string{"pipeline", "lsm", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 5000), preset("recordBytes", 0), preset("keys", 1000), preset("keyType", "long"), preset("stateBytesPerKey", 1024), knob("hotKeyShare"), knob("seed"),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 1), preset("backend", "lsm"), preset("memoryBudgetBytes", 4<<20),
			knob("transport"), knob("bufferTimeoutMs"), knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), preset("toleratedFailures", 10),
			knob("retainedCheckpoints"), knob("checkpointStorage"), knob("incremental"), knob("inlineThresholdBytes"),
		),
		Evidence: lsmEvidence(),
		build:    countsOfKeys("lsm"),
	}
}
