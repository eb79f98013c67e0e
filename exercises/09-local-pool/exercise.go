// Package localpool is the exercise of the local pool of a result partition, with its limits and its overdraft.
package localpool

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
		ID: "local-pool", Kind: kit.Code, Lab: "overdraft", Minutes: 40, Level: "core",
		Title:   labs.Text{En: "A local pool with overdraft", Zh: "带透支的本地池"},
		Summary: labs.Text{En: "Write the pool that stops a producer in time: one segment ahead, a limit for each subpartition, overdraft, a size that changes.", Zh: "写出能及时让生产者停下的池：提前取一个、每个子分区的上限、透支、会变的大小。"},
		Hints: [3]labs.Text{
			{En: "Three numbers and one list are enough: size, requested, ready, and what each subpartition holds. Overdraft is no number of its own: it is requested − size when that is above 0.", Zh: "三个数加一个列表就够：size、requested、ready，以及每个子分区占用的数目。透支不必另记：requested − size 大于 0 时就是它。"},
			{En: "Write a helper that fetches one segment if none is ready, requested is below the size, and the global pool has one. Start, Request, SetSize and GlobalAvailable end with it; Recycle does not need it.", Zh: "写一个辅助函数：没有就绪的、requested 小于 size、全局池有空闲时取一个。Start、Request、SetSize、GlobalAvailable 最后都调用它；Recycle 不需要。"},
			{En: "Request: ready > 0 → ready--; else requested >= size && requested-size < MaxOverdraft && free > 0 → requested++; else refused. Recycle: requested > size → requested--, else ready++. Available: ready > 0 and nobody holds >= MaxPerSubpartition.", Zh: "Request：ready > 0 → ready--；否则 requested >= size 且 requested-size < MaxOverdraft 且 free > 0 → requested++；否则拒绝。Recycle：requested > size → requested--，否则 ready++。可用：ready > 0 且没有子分区占用 >= MaxPerSubpartition。"},
		},
		Files: files, Checks: checks,
	}
}
