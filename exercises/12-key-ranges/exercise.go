// Package keyranges is the exercise of the key groups that a subtask owns, and of those that move.
package keyranges

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
		ID: "key-ranges", Kind: kit.Code, Lab: "rescale", Minutes: 20, Level: "core",
		Title:   labs.Text{En: "Ranges, and what moves", Zh: "区间与移动"},
		Summary: labs.Text{En: "Deal key groups to subtasks in runs that meet without a gap, and list what a rescale moves.", Zh: "把键组成段分给子任务，首尾相接；再列出扩缩容要移动的部分。"},
		Hints: [3]labs.Text{
			{En: "Owner is one multiplication and one division. Range is its inverse: the smallest and the largest group for which Owner gives this subtask.", Zh: "Owner 是一次乘法和一次除法；Range 是它的逆：Owner 等于该子任务的最小和最大的组。"},
			{En: "The smallest g with g*p/max >= i is i*max/p rounded up. The range of i ends where that of i+1 begins.", Zh: "满足 g*p/max >= i 的最小 g 是 i*max/p 向上取整；i 的区间终于 i+1 的起点。"},
			{En: "first = (i*max + p - 1) / p, end = ((i+1)*max + p - 1) / p. For Moves walk over all groups and start a new run when the owner before or the owner after changes.", Zh: "first = (i*max + p - 1) / p，end = ((i+1)*max + p - 1) / p。Moves：遍历所有组，前或后的归属一变就开新的一段。"},
		},
		Files: files, Checks: checks,
	}
}
