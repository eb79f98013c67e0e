// Package compositekey is the exercise of the bytes of a key in the LSM store.
package compositekey

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
		ID: "composite-key", Kind: kit.Code, Lab: "lsm", Minutes: 30, Level: "core",
		Title:   labs.Text{En: "One key for everything", Zh: "一个键装下一切"},
		Summary: labs.Text{En: "Write the bytes by which an LSM store finds a value, so that the keys of a key group lie side by side.", Zh: "写出 LSM 存储查找一个值所用的字节，让同一键组的键挨在一起。"},
		Hints: [3]labs.Text{
			{En: "The store sorts by unsigned bytes. Whatever must lie together has to come first, and numbers need their high byte first.", Zh: "存储按无符号字节排序。要挨在一起的东西放在最前面，数字的高位字节在前。"},
			{En: "\"ab\"+\"c\" and \"a\"+\"bc\" give the same bytes. When is that possible, and when is it not? Only then do lengths appear.", Zh: "\"ab\"+\"c\" 与 \"a\"+\"bc\" 的字节相同。什么时候会这样，什么时候不会？只有会的时候才写长度。"},
			{En: "binary.BigEndian.AppendUint16 writes group (above 128) and state. If key and namespace are both variable, append the key's length behind the key and the namespace's behind the namespace: low byte first, and on while n>>8 is above 0. Bounds are the prefixes of first and end. A timer is uint64(t)^1<<63, big-endian.", Zh: "binary.BigEndian.AppendUint16 写键组（超过 128 时）和状态编号。键与命名空间都不定长时，把键的长度写在键后面，命名空间的长度写在命名空间后面：低字节在前，n>>8 大于 0 就继续。Bounds 是 first 与 end 的前缀。定时器是 uint64(t)^1<<63，大端。"},
		},
		Files: files, Checks: checks,
	}
}
