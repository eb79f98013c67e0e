// Package inplace is the exercise "in place": what becomes of a value that is changed where it is and never put back, on the
// heap and in an LSM store, said before the run.
package inplace

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// Exercise is this one.
func Exercise() *kit.Exercise {
	q := &kit.Question{Lab: "backends", Knobs: map[string]any{"inPlaceUpdate": true, "keys": 8, "rate": 1000}, Fields: []kit.Field{
		{Name: "heapKept", Unit: labs.Text{En: "%", Zh: "%"}, Label: labs.Text{En: "Of the changes on hashmap, the next read of the key sees", Zh: "hashmap 上的改动，下一次读取能看到其中的"}},
		{Name: "lsmKept", Unit: labs.Text{En: "%", Zh: "%"}, Label: labs.Text{En: "Of the changes on lsm, the next read of the key sees", Zh: "lsm 上的改动，下一次读取能看到其中的"}},
		{Name: "carried", Unit: labs.Text{En: "records", Zh: "条记录"}, Label: labs.Text{En: "Moved to lsm after 4 s, the job begins there with counts of, in all", Zh: "4 秒后搬到 lsm，作业在那里开始时各计数之和为"}},
		{Name: "after", Label: labs.Text{En: "From then on the sum of the counts", Zh: "从那以后，计数之和"}, Choices: []kit.Choice{
			{Value: "grows", Label: labs.Text{En: "goes on growing", Zh: "继续增长"}},
			{Value: "stands", Label: labs.Text{En: "stands still", Zh: "不再变化"}},
			{Value: "falls", Label: labs.Text{En: "begins at zero again and again", Zh: "一再从零开始"}},
		}},
		{Name: "notice", Label: labs.Text{En: "On lsm the mistake is noticed by", Zh: "在 lsm 上，这个错误会被谁发现"}, Choices: []kit.Choice{
			{Value: "error", Label: labs.Text{En: "an exception at the change", Zh: "改动时抛出异常"}},
			{Value: "checkpoint", Label: labs.Text{En: "a failed checkpoint", Zh: "检查点失败"}},
			{Value: "nobody", Label: labs.Text{En: "nobody: the job runs on", Zh: "没有人：作业照常运行"}},
		}},
	}}
	return &kit.Exercise{
		ID: "in-place", Kind: kit.Predict, Lab: "backends", Minutes: 8, Level: "core",
		Title:   labs.Text{En: "Changed, but not put back", Zh: "改了，却没写回"},
		Summary: labs.Text{En: "A function reads its count, raises it where it is, and forgets to write it back: say what becomes of it on each backend.", Zh: "一个函数读出计数，原地加一，却忘了写回：先说出在两种后端上各会怎样。"},
		Hints: [3]labs.Text{
			{En: "What does a read give you: the value that is stored, or another one like it?", Zh: "读取给你的是存着的那个值，还是另一个一样的？"},
			{En: "hashmap keeps objects and hands them out. lsm keeps bytes, and makes an object of them at each read.", Zh: "hashmap 存的是对象，直接交出来。lsm 存的是字节，每次读取都用它们造一个对象。"},
			{En: "On the heap the change is in the map, and in the next checkpoint. On lsm it is in an object that nobody else has. Neither of them says a word.", Zh: "在堆上，改动就在表里，也会进下一次检查点。在 lsm 上，它在一个没有别人拿着的对象里。两边都不吭声。"},
		},
		Files: files, Checks: checks(q), Question: q,
	}
}
