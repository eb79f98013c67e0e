package labs

// The knobs that most labs of the network chapter have in common.

func jobUses() []use {
	return []use{preset("parallelism", 2), knob("maxParallelism"), preset("taskManagers", 2), knob("chaining")}
}

func debloatUses() []use {
	return []use{knob("debloat"), knob("debloatTargetMs"), knob("debloatPeriodMs"), knob("debloatThresholdPercent")}
}

func bufferUses() []use {
	return []use{knob("exclusiveBuffers"), knob("floatingBuffers"), knob("maxBuffersPerSubpartition"), knob("overdraftBuffers"), knob("segmentBytes"), knob("networkMemoryBytes")}
}

func checkpointUses() []use {
	return []use{preset("checkpointIntervalMs", 5000), knob("checkpointTimeoutMs"), knob("minPauseMs"), knob("toleratedFailures"), knob("retainedCheckpoints"), knob("checkpointStorage")}
}
