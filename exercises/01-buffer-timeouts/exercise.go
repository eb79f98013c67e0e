// Package buffertimeouts is the exercise "buffer timeouts": how many buffers each setting sends, said before the run.
package buffertimeouts

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// timeouts are those of the runs that decide, in this order.
var timeouts = []int{100, 1, 0, -1}

// Exercise is this one.
func Exercise() *kit.Exercise {
	perSecond := func(name, en, zh string) kit.Field {
		return kit.Field{Name: name, Unit: labs.Text{En: "buffers/s", Zh: "个 buffer/秒"}, Label: labs.Text{En: en, Zh: zh}}
	}
	q := &kit.Question{Lab: "buffer-timeout", Fields: []kit.Field{
		perSecond("at100", "Buffers per second that the two consumers receive together, at 100 ms", "100 毫秒时，两个消费者每秒合计收到的 buffer 数"),
		perSecond("at1", "The same at 1 ms", "1 毫秒时"),
		perSecond("at0", "The same at 0: a flush after each record", "0：每条记录后刷出"),
		perSecond("onlyFull", "The same at -1: only full buffers", "-1：只发写满的 buffer"),
		{Name: "wait", Unit: labs.Text{En: "ms", Zh: "毫秒"}, Label: labs.Text{En: "The median wait of a record, at 100 ms", Zh: "100 毫秒时，记录等待时间的中位数"}},
		{Name: "records", Label: labs.Text{En: "Records per second, from 100 ms to 1 ms", Zh: "从 100 毫秒变为 1 毫秒，每秒记录数"}, Choices: []kit.Choice{
			{Value: "more", Label: labs.Text{En: "rise: they get there sooner", Zh: "上升：到得更早"}},
			{Value: "same", Label: labs.Text{En: "stay as they are", Zh: "不变"}},
			{Value: "fewer", Label: labs.Text{En: "fall: more buffers cost more", Zh: "下降：buffer 多了更费事"}},
		}},
	}}
	return &kit.Exercise{
		ID: "buffer-timeouts", Kind: kit.Predict, Lab: "buffer-timeout", Minutes: 10, Level: "intro",
		Title:   labs.Text{En: "How many buffers?", Zh: "会发多少个 buffer？"},
		Summary: labs.Text{En: "A thousand records a second, four buffer timeouts: say how many buffers each will send.", Zh: "每秒一千条记录，四种缓冲超时：先说出各会发多少个 buffer。"},
		Hints: [3]labs.Text{
			{En: "Count the channels: two sources, two consumers. A flush sends what a channel has, and nothing if it has nothing.", Zh: "数一数通道：两个 source，两个消费者。刷出时通道里有什么就发什么，没有就不发。"},
			{En: "At 100 ms each of the four channels is flushed ten times a second. At 1 ms, is there anything to send at each flush? A channel gets 250 records a second.", Zh: "100 毫秒时，四条通道每秒各刷出十次。1 毫秒时，每次刷出都有东西可发吗？一条通道每秒 250 条。"},
			{En: "40, and somewhat more, since flushes come at their own pace; about a thousand; a thousand; and 1,000 × 280 bytes over 32 KiB.", Zh: "四十个多一点，因为刷出有自己的节奏；约一千；一千；以及 1,000 × 280 字节除以 32 KiB。"},
		},
		Files: files, Checks: checks(q), Question: q,
	}
}
