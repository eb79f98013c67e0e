// Package maxparallelism is the exercise "max parallelism": what becomes of a job with state when the number of its key groups
// is to change, said before the run.
package maxparallelism

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// Exercise is this one.
func Exercise() *kit.Exercise {
	q := &kit.Question{Lab: "rescale", Fields: []kit.Field{
		{Name: "outcome", Label: labs.Text{En: "The change", Zh: "这次改动"}, Choices: []kit.Choice{
			{Value: "moves", Label: labs.Text{En: "restarts the job and splits each group in two", Zh: "重启作业，每个组一分为二"}},
			{Value: "empty", Label: labs.Text{En: "restarts the job with empty state", Zh: "以空状态重启作业"}},
			{Value: "fails", Label: labs.Text{En: "stops the job, which then fails to restore", Zh: "停下作业，然后恢复失败"}},
			{Value: "refused", Label: labs.Text{En: "is refused, and nothing is stopped", Zh: "被拒绝，什么都不停"}},
		}},
		{Name: "message", Label: labs.Text{En: "The message speaks of", Zh: "提示信息说的是"}, Choices: []kit.Choice{
			{Value: "buffers", Label: labs.Text{En: "an insufficient number of network buffers", Zh: "网络 buffer 不够"}},
			{Value: "differs", Label: labs.Text{En: "256, which is not the 128 that the state was made with", Zh: "256 与状态生成时的 128 不同"}},
			{Value: "above", Label: labs.Text{En: "a parallelism above the max parallelism", Zh: "并行度高于最大并行度"}},
			{Value: "none", Label: labs.Text{En: "nothing: there is none", Zh: "没有提示"}},
		}},
		{Name: "after", Label: labs.Text{En: "Five seconds later the job", Zh: "五秒之后作业"}, Choices: []kit.Choice{
			{Value: "counts", Label: labs.Text{En: "runs, with its thousand keys", Zh: "在运行，一千个键都在"}},
			{Value: "anew", Label: labs.Text{En: "runs, and counts from zero", Zh: "在运行，从零计数"}},
			{Value: "down", Label: labs.Text{En: "does not run", Zh: "没有运行"}},
		}},
		{Name: "changed", Unit: labs.Text{En: "keys", Zh: "个键"}, Label: labs.Text{En: "Of the keys 0 to 999, this many have another group number by 256 than by 128", Zh: "键 0 到 999 中，按 256 算与按 128 算组号不同的有多少个"}},
	}}
	return &kit.Exercise{
		ID: "max-parallelism", Kind: kit.Predict, Lab: "rescale", Minutes: 8, Level: "core",
		Title:   labs.Text{En: "From 128 key groups to 256", Zh: "从 128 个键组到 256 个"},
		Summary: labs.Text{En: "A running job keeps a thousand keys in 128 key groups. Say what happens when its max parallelism is set to 256.", Zh: "一个运行中的作业把一千个键分在 128 个键组里。先说出把最大并行度改成 256 会发生什么。"},
		Hints: [3]labs.Text{
			{En: "The key group is the remainder of the key's hash by the max parallelism. State lies in checkpoints by key group.", Zh: "键组是键的哈希除以最大并行度的余数。检查点里的状态按键组存放。"},
			{En: "Take a key of group 5 of 128: by 256 it is in group 5 or in 133. Where would it be looked up, and where does its count lie?", Zh: "看 128 个组里第 5 组的一个键：按 256 算，它在第 5 组或第 133 组。会去哪里找它？它的计数又在哪里？"},
			{En: "A job that looked in the wrong group would silently count from zero. So it is better to refuse, by name, before anything is stopped.", Zh: "到错误的组里找，就会悄悄从零开始计数。所以最好在停下任何东西之前就指名拒绝。"},
		},
		Files: files, Checks: checks(q), Question: q,
	}
}
