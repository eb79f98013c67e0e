// Package sharedregistry is the exercise of the files that checkpoints share.
package sharedregistry

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md api/api.go starter/core.go
var files embed.FS

// Exercise is the exercise.
func Exercise() *kit.Exercise {
	return &kit.Exercise{
		ID: "shared-registry", Kind: kit.Code, Lab: "incremental", Minutes: 45, Level: "deep",
		Title:   labs.Text{En: "Whose file is it?", Zh: "这个文件归谁"},
		Summary: labs.Text{En: "Write both halves of incremental checkpoints: what a task may leave out, and what the coordinator may delete, though checkpoints fail.", Zh: "写出增量检查点的两半：任务可以不传什么，协调者可以删什么——即使检查点会失败。"},
		Hints: [3]labs.Text{
			{En: "The task cannot see what the coordinator deletes. So it may rely only on a checkpoint of which it was told that it is complete, and only on the newest of these.", Zh: "任务看不到协调者删了什么。所以它只能依赖被告知已完成的检查点，而且只能是其中最新的那个。"},
			{En: "Uploads: remember each plan under its checkpoint, and let Completed make it the one to rely on, unless a newer one already is. Registry: for each file, who brought it and who used it last.", Zh: "Uploads：把每次计划按检查点记下，Completed 时才让它成为依据，除非已有更新的。Registry：每个文件记下谁带来、谁最后使用。"},
			{En: "Register: first see that all reused files are known, then last = checkpoint for them, and created = last = checkpoint for the uploaded ones. Aborted: created == checkpoint && last == checkpoint. Subsumed: last < lowest.", Zh: "Register：先确认复用的文件都已知，再把它们的 last 设为该检查点；上传的文件 created = last = checkpoint。Aborted：created == checkpoint && last == checkpoint。Subsumed：last < lowest。"},
		},
		Files: files, Checks: checks,
	}
}
