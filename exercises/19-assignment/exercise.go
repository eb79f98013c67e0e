// Package assignment is the exercise of dealing state to new subtasks.
package assignment

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
		ID: "assignment", Kind: kit.Code, Lab: "rescale", Minutes: 40, Level: "deep",
		Title:   labs.Text{En: "Who gets which state", Zh: "谁得到哪些状态"},
		Summary: labs.Text{En: "Deal the state of a checkpoint to another number of subtasks: keyed state by range, operator state by its mode.", Zh: "把检查点的状态分给另一个数目的子任务：键控状态按区间，算子状态按模式。"},
		Hints: [3]labs.Text{
			{En: "Keyed state: think of one new subtask at a time, and ask each handle what it has for it. Operator state: write down first what must not move.", Zh: "键控状态：一次只想一个新子任务，问每个句柄有什么给它。算子状态：先写下什么不该动。"},
			{En: "The intersection of [a,b) and [c,d) is [max(a,c), min(b,d)), if that is not empty. Split state that must move is one list in the old order, cut into runs.", Zh: "[a,b) 与 [c,d) 的交是 [max(a,c), min(b,d))，非空才算。必须移动的 split 状态是按旧顺序连成的一个列表，再切成段。"},
			{En: "Split, parallelism changed: n entries; run i has n/p, one more if i < n%p, and goes to (start+i)%p; next is (start+n%p)%p. Union: all of it to each. Broadcast: the (i % reporters)-th reporter's copy if the parallelism changed; if not, one's own, and that one too if somebody did not report.", Zh: "Split 且并行度变化：n 个条目；第 i 段有 n/p 个，i < n%p 时多一个，给 (start+i)%p；next 为 (start+n%p)%p。Union：全部给每个人。Broadcast：并行度变化时取编号为 i % 报告者数 的报告者的副本；不变时保留自己的，若有人没报告，再加上那一份。"},
		},
		Files: files, Checks: checks,
	}
}
