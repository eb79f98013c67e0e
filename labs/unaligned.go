package labs

import "slices"

// unalignedLab is the flagship once more, with another way to take checkpoints.
func unalignedLab() *Lab {
	return &Lab{
		ID: "unaligned", Chapter: ChapterNetwork, Minutes: 15, Level: "core",
		Title: Text{"Unaligned checkpoints", "非对齐检查点"},
		Summary: Text{
			"A barrier that overtakes the data in front of it, and what that costs. Fill a table of three modes, each with and without debloating, from your own runs.",
			"barrier 越过排在它前面的数据，代价是什么？用你自己的运行填满一张表：三种方式，各分有无消胀。"},
		Panels: []string{"matrix", "pipeline", "channels", "checkpoints", "charts"},
		Knobs: pick(slices.Concat([]use{
			preset("rate", 20_000), preset("recordBytes", 256), preset("keys", 128), preset("keyType", "long"), knob("hotKeyShare"),
			preset("workMs", 1), knob("workKind"), knob("workOn"), knob("sinkWorkMs"), knob("seed"),
		}, jobUses(), []use{knob("transport"), knob("bufferTimeoutMs"), knob("checkpointMode"), knob("alignedTimeoutMs")}, debloatUses(), bufferUses(), checkpointUses())...),
		Compares: []string{"checkpointMode", "alignedTimeoutMs", "debloat"},
		Evidence: unalignedEvidence(),
		build:    buildBackpressure,
	}
}
