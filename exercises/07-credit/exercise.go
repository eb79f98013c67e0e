// Package credit is the exercise of credit-based flow control: both ends of one channel.
package credit

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
		ID: "credit", Kind: kit.Code, Lab: "credit", Minutes: 40, Level: "core",
		Title:   labs.Text{En: "Credit, at both ends", Zh: "Credit：两端的记账"},
		Summary: labs.Text{En: "Keep the numbers by which a sender never sends more than its receiver has room for, and a receiver with much to come gets more room.", Zh: "写出两端的记账：发送端从不超发，积压多的接收端能得到更多空间。"},
		Hints: [3]labs.Text{
			{En: "Begin with the sender, which is one number. On the other side every free buffer is a credit: whatever makes one free must make a credit, once.", Zh: "先写发送端，它只有一个数。接收端这边，每个空闲 buffer 就是一个 credit：凡是让 buffer 变空闲的，都要恰好产生一个 credit。"},
			{En: "The receiver needs: exclusive free, floating free, required, and credit that was not handed out yet. Required is set by Backlog (backlog + all exclusive ones) and falls by one with each Arrived.", Zh: "接收端需要：空闲独占数、空闲浮动数、所需数、尚未交出的 credit。所需数由 Backlog 设为 积压 + 独占总数，每次 Arrived 减一。"},
			{En: "Recycled: exclusive++; if floating > 0 and exclusive+floating > required, then floating-- and true, with no credit; else credit++ and false. WantsFloating is exclusive+floating < required.", Zh: "Recycled：exclusive++；若 floating > 0 且 exclusive+floating > required，则 floating-- 并返回 true，不产生 credit；否则 credit++ 返回 false。WantsFloating 即 exclusive+floating < required。"},
		},
		Files: files, Checks: checks,
	}
}
