package labs

// keyGroupsLab counts per key: the learner's own keys, typed or from a column of a file.
func keyGroupsLab() *Lab {
	return &Lab{
		ID: "key-groups", Chapter: ChapterState, Minutes: 10, Level: "intro", AcceptsInput: true,
		Title: Text{"Key groups", "键组"},
		Summary: Text{
			"From a key to its hash, its group and the subtask that owns it. See what a few keys do to the load, and what moves when the parallelism changes.",
			"从键到哈希、键组，再到拥有它的子任务。看少数几个键怎样影响负载，以及修改并行度时什么会移动。"},
		Panels: []string{"pipeline", "key-groups", "channels", "checkpoints"},
		Knobs: pick(
			preset("rate", 1000), preset("recordBytes", 0), preset("keys", 16), preset("keyType", "long"), knob("hotKeyShare"), knob("seed"),
			preset("parallelism", 2), preset("maxParallelism", 128), preset("taskManagers", 2),
			knob("transport"), knob("bufferTimeoutMs"),
			knob("debloat"), knob("debloatTargetMs"), knob("debloatPeriodMs"), knob("debloatThresholdPercent"),
			knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), knob("toleratedFailures"),
			knob("retainedCheckpoints"), knob("checkpointStorage"),
		),
		// A file is read as fast as it can be counted, and its column is text unless told otherwise.
		inputKnobs: map[string]any{"rate": 0.0, "keyType": "string"},
		Evidence:   keyGroupsEvidence(),
		build:      buildKeyGroups,
	}
}
