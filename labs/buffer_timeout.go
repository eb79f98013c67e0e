package labs

import "slices"

// bufferTimeoutLab has no work to do, so that all that is seen comes from when buffers are sent.
func bufferTimeoutLab() *Lab {
	return &Lab{
		ID: "buffer-timeout", Chapter: ChapterNetwork, Minutes: 12, Level: "intro",
		Title: Text{"Buffer timeout", "缓冲超时"},
		Summary: Text{
			"When does a half-full buffer leave? Four settings side by side: how many buffers, how full, and how long a record waits in one.",
			"没写满的 buffer 什么时候发出？四种设置并排比较：发多少个、装多满、一条记录要在里面等多久。"},
		Panels: []string{"timeouts", "pipeline", "channels", "charts"},
		Knobs: pick(slices.Concat([]use{
			preset("rate", 1000), preset("recordBytes", 256), preset("keys", 128), preset("keyType", "long"), knob("hotKeyShare"),
			preset("workMs", 0), knob("workKind"), preset("measureLatency", true), knob("seed"),
		}, jobUses(), []use{knob("transport"), knob("bufferTimeoutMs")}, debloatUses(), bufferUses(), checkpointUses())...),
		Compares: []string{"bufferTimeoutMs"}, settleMs: 2000,
		Evidence: bufferTimeoutEvidence(),
		build:    buildBackpressure,
	}
}
