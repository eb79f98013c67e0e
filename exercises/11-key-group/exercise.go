// Package keygroup is the exercise of the way from a key to its subtask.
package keygroup

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
		ID: "key-group", Kind: kit.Code, Lab: "key-groups", Minutes: 25, Level: "core",
		Title:   labs.Text{En: "From a key to its subtask", Zh: "从键到子任务"},
		Summary: labs.Text{En: "Write the hash codes, the mixing, and the assignment by which a record finds its subtask.", Zh: "写出哈希码、混合与分配：一条记录由此找到自己的子任务。"},
		Hints: [3]labs.Text{
			{En: "Work from the left: get HashLong and HashString right first, each against the values in the task. Every later function builds on them.", Zh: "从左到右做：先让 HashLong、HashString 与任务里的值一致，后面的函数都以它们为基础。"},
			{En: "Java's >>> is Go's >> on an unsigned number. utf16.Encode([]rune(s)) gives the code units of a string. In Murmur keep a uint32 to the end.", Zh: "Java 的 >>> 就是 Go 里对无符号数的 >>。utf16.Encode([]rune(s)) 给出字符串的编码单元。Murmur 全程用 uint32。"},
			{En: "HashLong is int32(uint64(v) ^ uint64(v)>>32). KeyGroup is Murmur(hash) % maxParallelism. Subtask is group * parallelism / maxParallelism, in integers.", Zh: "HashLong 是 int32(uint64(v) ^ uint64(v)>>32)；KeyGroup 是 Murmur(hash) % maxParallelism；Subtask 是整数运算 group * parallelism / maxParallelism。"},
		},
		Files: files, Checks: checks,
	}
}
