package labs

import "weir/engine/task"

// ttlLab has values that live for a while: when they are no longer read, and when they are no longer there.
func ttlLab() *Lab {
	return &Lab{
		ID: "ttl", Chapter: ChapterState, Minutes: 12, Level: "core",
		Title: Text{"Time to live", "存活时间"},
		Summary: Text{
			"A value that has expired is never read again, but it is still there: what hides it, what drops it, and when the bytes fall.",
			"过期的值再也读不到，但它还在：什么把它藏起来，什么把它删掉，字节何时下降。"},
		Panels: []string{"pipeline", "ttl", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 2000), preset("recordBytes", 0), preset("keys", 1000), preset("keyType", "long"), knob("seed"),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 2),
			knob("transport"), knob("bufferTimeoutMs"), knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), preset("toleratedFailures", 10), knob("retainedCheckpoints"), knob("checkpointStorage"),
			// A state with a time to live and one without cannot be restored from each other: here there is always one.
			use{name: "ttlMs", deflt: 5000, min: 100}, knob("ttlUpdate"), preset("ttlCleanupEntries", 0), preset("readOnlyShare", 0.5),
			preset("backend", task.HashMap), preset("stateBytesPerKey", 1024), knob("memoryBudgetBytes"), knob("incremental"), knob("inPlaceUpdate"), knob("snapshotCompression"), knob("inlineThresholdBytes"),
		),
		Evidence: ttlEvidence(),
		build:    countsInArrays("ttl", false),
	}
}
