// Package undertarget is the exercise "under target": checkpoints of a back-pressured job in about a second, without touching
// its load or its work.
package undertarget

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// The goal.
const (
	inARow    = 5
	afterMs   = 20_000
	limitMs   = 1200
	pressedMs = 950
	rateShare = 0.05
)

// knobs may move. The lab has no unaligned checkpoints: they would overtake the queue, not shorten it. The numbers of buffers
// are constants in Flink 2.3 and stay, too.
var knobs = []string{"debloat", "debloatTargetMs", "debloatPeriodMs", "debloatThresholdPercent"}

// Exercise is this one.
func Exercise() *kit.Exercise {
	return &kit.Exercise{
		ID: "under-target", Kind: kit.Live, Lab: "backpressure", Minutes: 15, Level: "core",
		Title: labs.Text{En: "Five checkpoints under 1.2 s", Zh: "连续五次检查点低于 1.2 秒"},
		Summary: labs.Text{
			En: "Bring the checkpoints of a back-pressured job under 1.2 s, five in a row, while it goes on doing the same work at the same pace.",
			Zh: "让一个反压中的作业连续五次检查点都低于 1.2 秒，而工作量和处理速度保持不变。"},
		Hints: [3]labs.Text{
			{En: "Look where a checkpoint's time goes: into state, or into waiting for barriers? And what do the barriers wait behind?",
				Zh: "看看检查点的时间花在哪里：写状态，还是等 barrier？barrier 又排在什么后面？"},
			{En: "slow-map needs so long for what is already in the buffers in front of it. The number of buffers is a constant, but not how full each one is.",
				Zh: "slow-map 处理完面前的 buffer 就要这么久。buffer 的个数是常数，但每个装多满不是。"},
			{En: "Switch debloating on. In a running job the size comes down from a full segment, and a new one is announced only when it differs by debloatThresholdPercent: it may come to rest a quarter above the target. Aim lower, 800 ms say, and leave the knobs alone for half a minute.",
				Zh: "打开消胀。在运行中的作业里，大小从整段往下降，而且只有相差达到 debloatThresholdPercent 才会通知：它可能停在比目标高四分之一的地方。把目标定低一点，比如 800 毫秒，然后半分钟内别再动旋钮。"},
		},
		Files: files, Knobs: knobs, Checks: checks(),
	}
}
