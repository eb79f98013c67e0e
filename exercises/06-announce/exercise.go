// Package announce is the exercise of the announcing rule: AddCredit only on the step from 0 to n.
package announce

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
		ID: "announce", Kind: kit.Code, Lab: "credit", Minutes: 15, Level: "intro",
		Title:   labs.Text{En: "Why AddCredit only at 0 → n", Zh: "为什么 AddCredit 只在 0 → n 时发送"},
		Summary: labs.Text{En: "Write the rule by which a receiver tells its sender of free buffers, with as few messages as can be.", Zh: "写出接收端把空闲 buffer 告诉发送端的规则，消息越少越好。"},
		Hints: [3]labs.Text{
			{En: "A message that is in the line was not written yet. What may still get on?", Zh: "排在队列里的消息还没有写出。还有什么能搭上它？"},
			{En: "One number is enough: the credit that the sender does not know of. Freed adds to it; Take empties it.", Zh: "一个数就够：发送端还不知道的 credit。Freed 加上去，Take 取空。"},
			{En: "Announce exactly when the number was 0 before the addition and n is above 0. Compare the old value, not the new one: n may be 3 at once.", Zh: "恰好在相加之前为 0 且 n 大于 0 时通知。比较的是旧值而不是新值：n 可能一次就是 3。"},
		},
		Files: files, Checks: checks,
	}
}
