package labs

// backpressureLab is the flagship: a fast source, a keyed exchange, a slow map with the sink chained to it.
func backpressureLab() *Lab {
	return &Lab{
		ID: "backpressure", Chapter: ChapterNetwork, Minutes: 15, Level: "core",
		Title: Text{"Credit flow and debloating", "Credit 流控与缓冲消胀"},
		Summary: Text{
			"A source that is ten times too fast for the map behind it. See where its records wait, and why a checkpoint waits with them.",
			"source 比后面的 map 快十倍。看记录在哪里排队，以及为什么检查点也跟着排队。"},
		Panels: []string{"pipeline", "channels", "checkpoints", "charts"},
		Knobs: pick(
			preset("rate", 20_000), preset("recordBytes", 256), preset("keys", 128), preset("keyType", "long"), knob("hotKeyShare"),
			preset("workMs", 1), knob("workKind"), knob("workOn"), knob("sinkWorkMs"), knob("seed"),
			preset("parallelism", 2), knob("maxParallelism"), preset("taskManagers", 2), knob("chaining"), knob("restartStrategy"),
			knob("transport"), knob("wireBytesPerSecond"), knob("bufferTimeoutMs"),
			knob("debloat"), knob("debloatTargetMs"), knob("debloatPeriodMs"), knob("debloatThresholdPercent"),
			knob("exclusiveBuffers"), knob("floatingBuffers"), knob("maxBuffersPerSubpartition"), knob("overdraftBuffers"),
			knob("segmentBytes"), knob("networkMemoryBytes"),
			preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), knob("toleratedFailures"),
			knob("retainedCheckpoints"), knob("checkpointStorage"),
		),
		Evidence: backpressureEvidence(),
		build:    buildBackpressure,
	}
}
