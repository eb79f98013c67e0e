// Package unalignedmatrix is the exercise "unaligned matrix": how long checkpoints take and what they store, for both modes
// with and without debloating, said before the run.
package unalignedmatrix

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// Exercise is this one.
func Exercise() *kit.Exercise {
	q := &kit.Question{Lab: "unaligned", Fields: []kit.Field{
		{Name: "alignedMs", Unit: labs.Text{En: "ms", Zh: "毫秒"}, Label: labs.Text{En: "An aligned checkpoint, without debloating, takes", Zh: "对齐、无消胀的检查点耗时"}},
		{Name: "debloatMs", Unit: labs.Text{En: "ms", Zh: "毫秒"}, Label: labs.Text{En: "An aligned checkpoint with debloating (target 1000 ms) takes", Zh: "对齐、有消胀（目标 1000 毫秒）的检查点耗时"}},
		{Name: "unaligned", Label: labs.Text{En: "An unaligned one, without debloating, takes", Zh: "非对齐、无消胀的检查点耗时"}, Choices: []kit.Choice{
			{Value: "quick", Label: labs.Text{En: "less than 150 ms", Zh: "不到 150 毫秒"}},
			{Value: "half", Label: labs.Text{En: "about half as long as the aligned one", Zh: "约为对齐的一半"}},
			{Value: "same", Label: labs.Text{En: "as long as the aligned one: the data must go somewhere", Zh: "和对齐的一样：数据总得有个去处"}},
		}},
		{Name: "storedKB", Unit: labs.Text{En: "KB", Zh: "KB"}, Label: labs.Text{En: "It stores this much data in flight", Zh: "它保存的在途数据"}},
		{Name: "storedDebloatKB", Unit: labs.Text{En: "KB", Zh: "KB"}, Label: labs.Text{En: "With debloating it stores", Zh: "有消胀时它保存"}},
		{Name: "alignedStores", Label: labs.Text{En: "An aligned one stores, of data in flight", Zh: "对齐的检查点保存的在途数据"}, Choices: []kit.Choice{
			{Value: "none", Label: labs.Text{En: "nothing", Zh: "没有"}},
			{Value: "less", Label: labs.Text{En: "less than the unaligned one", Zh: "比非对齐的少"}},
			{Value: "same", Label: labs.Text{En: "as much as the unaligned one", Zh: "和非对齐的一样多"}},
		}},
	}}
	return &kit.Exercise{
		ID: "unaligned-matrix", Kind: kit.Predict, Lab: "unaligned", Minutes: 12, Level: "core",
		Title:   labs.Text{En: "Four kinds of checkpoint", Zh: "四种检查点"},
		Summary: labs.Text{En: "Aligned or unaligned, with debloating or without: say how long a checkpoint takes and how many bytes in flight it stores.", Zh: "对齐或非对齐，有无消胀：先说出检查点要多久、保存多少在途数据。"},
		Hints: [3]labs.Text{
			{En: "Aligned, a barrier waits behind everything that is queued. Unaligned, what is queued is stored instead. It is the same data: count it.", Zh: "对齐时，barrier 排在所有排队数据后面；非对齐时，排队的数据被保存下来。是同一批数据：数一数。"},
			{En: "Between one source subtask and the two consumers lie about 20 buffers of 32 KiB at both ends together; there are two source subtasks. slow-map takes in 2,000 records of 270 bytes a second.", Zh: "一个 source 子任务与两个消费者之间，两端合计约有 20 个 32 KiB 的 buffer；source 有两个子任务。slow-map 每秒吃进两千条 270 字节的记录。"},
			{En: "1.3 MB in flight, at half a megabyte a second. Debloating aims at one second of data in flight.", Zh: "在途 1.3 MB，每秒消费约半兆。消胀的目标是一秒的在途数据。"},
		},
		Files: files, Checks: checks(q), Question: q,
	}
}
