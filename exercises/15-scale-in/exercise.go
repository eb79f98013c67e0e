// Package scalein is the exercise "scale in": what becomes of the files of two subtasks when one is to have it all, said before
// the run.
package scalein

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// Exercise is this one.
func Exercise() *kit.Exercise {
	q := &kit.Question{Lab: "rescale", Knobs: map[string]any{"backend": "lsm"}, Fields: []kit.Field{
		{Name: "path", Label: labs.Text{En: "The one subtask comes by the state of both", Zh: "唯一的子任务怎样得到两份状态"}, Choices: []kit.Choice{
			{Value: "reference", Label: labs.Text{En: "opens the files of one and takes those of the other in as they are", Zh: "打开其中一份的文件，把另一份的文件原样并入"}},
			{Value: "copied", Label: labs.Text{En: "opens the files of one and copies the other in key by key", Zh: "打开其中一份的文件，逐键复制另一份"}},
			{Value: "read", Label: labs.Text{En: "reads both key by key into an empty store", Zh: "把两份都逐键读入空的存储"}},
		}},
		{Name: "base", Label: labs.Text{En: "The files that are opened are those of key groups", Zh: "被打开的文件属于键组"}, Choices: []kit.Choice{
			{Value: "[0,64)", Label: labs.Text{En: "[0,64)", Zh: "[0,64)"}},
			{Value: "[64,128)", Label: labs.Text{En: "[64,128)", Zh: "[64,128)"}},
			{Value: "none", Label: labs.Text{En: "neither", Zh: "都不是"}},
		}},
		{Name: "why", Label: labs.Text{En: "Which one is opened is decided by", Zh: "打开哪一份，取决于"}, Choices: []kit.Choice{
			{Value: "groups", Label: labs.Text{En: "how many of its key groups are wanted; of equals the first", Zh: "其中有多少键组是需要的；一样多时取第一份"}},
			{Value: "bytes", Label: labs.Text{En: "which is the larger one in bytes", Zh: "哪份字节数更大"}},
			{Value: "last", Label: labs.Text{En: "which was written last", Zh: "哪份是最后写的"}},
		}},
		{Name: "restored", Unit: labs.Text{En: "keys", Zh: "个键"}, Label: labs.Text{En: "Keys that it has after that", Zh: "之后它有多少个键"}},
		{Name: "next", Label: labs.Text{En: "The next checkpoint, with claim mode NO_CLAIM", Zh: "认领方式为 NO_CLAIM 时，下一次检查点"}, Choices: []kit.Choice{
			{Value: "reused", Label: labs.Text{En: "refers to files that are stored already, of both", Zh: "引用两份里已经存好的文件"}},
			{Value: "half", Label: labs.Text{En: "refers to those of the opened one and uploads the rest", Zh: "引用被打开那份的文件，其余重新上传"}},
			{Value: "anew", Label: labs.Text{En: "uploads everything anew", Zh: "全部重新上传"}},
		}},
	}}
	return &kit.Exercise{
		ID: "scale-in", Kind: kit.Predict, Lab: "rescale", Minutes: 10, Level: "deep",
		Title:   labs.Text{En: "Two stores become one", Zh: "两个存储合成一个"},
		Summary: labs.Text{En: "From two subtasks to one, on lsm: say by which path the state gets there, and what the next checkpoint uploads.", Zh: "在 lsm 上从两个子任务变为一个：先说出状态走哪条路，以及下一次检查点上传什么。"},
		Hints: [3]labs.Text{
			{En: "Keys of different key groups lie in different ranges: the two trees have no key in common, and both are wanted whole.", Zh: "不同键组的键在不同的区间：两棵树没有共同的键，而且都整份需要。"},
			{En: "Nothing has to be cut off, nothing overlaps. Is there a reason to look at a single key?", Zh: "什么都不用剪掉，也没有重叠。有理由去看任何一个键吗？"},
			{En: "One is the base, since a store can be opened only once: the one with the most wanted groups, of equals the first. The tables of the other are added to it by reference, as they lie in the checkpoint.", Zh: "存储只能打开一次，所以一份作基础：需要的键组最多的那份，一样多取第一份。另一份的表按引用加进来，就是检查点里的那些文件。"},
		},
		Files: files, Checks: checks(q), Question: q,
	}
}
