// Package hardbackpressure is the exercise "hard backpressure": a task that blocks inside a record, and what sets it free.
package hardbackpressure

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// knobs may move.
var knobs = []string{"fanOut", "overdraftBuffers"}

// Exercise is this one.
func Exercise() *kit.Exercise {
	return &kit.Exercise{
		ID: "hard-backpressure", Kind: kit.Live, Lab: "overdraft", Minutes: 15, Level: "deep",
		Title: labs.Text{En: "Stuck inside a record", Zh: "卡在一条记录里"},
		Summary: labs.Text{
			En: "Bring the source to block half-way through a record. Then set it free with as large a record as before.",
			Zh: "让 source 卡在一条记录的中间。然后在记录不变小的前提下让它不再卡住。"},
		Hints: [3]labs.Text{
			{En: "With a fan-out of 1000 the record that is being written is finished on borrowed buffers. How many can be borrowed, and how many would a larger one need?",
				Zh: "扇出为 1000 时，正在写的记录靠借来的 buffer 写完。最多能借几个？更大的记录要几个？"},
			{En: "A record of 270 bytes, 5000 times, is about 41 segments of 32 KiB. The pool has a dozen, most of them full already, and lends twenty.",
				Zh: "270 字节的记录乘以 5000，约 41 个 32 KiB 的内存段。缓冲池只有十二个，大多已满，还能借二十个。"},
			{En: "Set fanOut to 5000 and wait fifteen seconds; then overdraftBuffers to 60, and wait until the job has restarted and run for half a minute. Look at what became of the checkpoints.",
				Zh: "把 fanOut 设为 5000，等十五秒；再把 overdraftBuffers 设为 60，等作业重启后再跑半分钟。看看检查点变成了什么样。"},
		},
		Files: files, Knobs: knobs, Checks: checks(),
	}
}
