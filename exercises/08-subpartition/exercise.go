// Package subpartition is the exercise of the queue between two subtasks: what may be read, and when the reader is told.
package subpartition

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
		ID: "subpartition", Kind: kit.Code, Lab: "buffer-timeout", Minutes: 60, Level: "deep",
		Title:   labs.Text{En: "What of a subpartition may be read", Zh: "子分区里什么可以读"},
		Summary: labs.Text{En: "Write the queue between two subtasks: finished or flushed, events, barriers that block, priority, backlog.", Zh: "写出两个子任务之间的队列：写完或刷出、事件、会阻塞的 barrier、优先级与积压。"},
		Hints: [3]labs.Text{
			{En: "Three questions decide about everything: is the queue blocked, how many entries are finished, was a flush asked for. Write Available first, then let the others ask it.", Zh: "三个问题决定一切：是否阻塞、有几个已写完、是否请求过刷出。先写 Available，让其他方法去问它。"},
			{En: "Add tells the reader when the number of finished entries is exactly 1 now (not flushed, not blocked). Of several entries count all but the last one as finished: the last one is announced by the next. A single one counts if it is finished.", Zh: "Add 恰好在已写完的条目数此刻为 1 时通知（未刷出、未阻塞）。多个条目时把最后一个以外的都算写完，最后一个由下一个来通知；只有一个时，写完了才算。"},
			{En: "Poll: nothing if blocked and no priority event is at the head. If one entry is left, forget the flush first. Take off what is finished; skip a finished data buffer without new bytes; an unfinished one without new bytes gives nothing. A Barrier blocks. Backlog and Next are worked out last.", Zh: "Poll：阻塞且队首没有优先事件，就没有。只剩一个条目时先清掉刷出标记。写完的出队；写完且没有新字节的数据跳过；没写完且没有新字节的返回没有。Barrier 置阻塞。最后再算 Backlog 与 Next。"},
		},
		Files: files, Checks: checks,
	}
}
