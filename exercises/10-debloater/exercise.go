// Package debloater is the exercise of sizing the buffers of a gate.
package debloater

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
		ID: "debloater", Kind: kit.Code, Lab: "backpressure", Minutes: 30, Level: "deep",
		Title: labs.Text{En: "The buffer debloater", Zh: "缓冲消胀器"},
		Summary: labs.Text{
			En: "Write what decides how large a buffer may be, so that the data in flight takes a second to work off, not ten.",
			Zh: "写出决定 buffer 大小的部件，让在途数据一秒就能处理完，而不是十秒。",
		},
		Hints: [3]labs.Text{
			{
				En: "Two numbers have to be remembered, and they are not the same: the average, which moves with every call, and the size that was announced last, which seldom does.",
				Zh: "需要记住两个数，而且它们不是一回事：每次调用都变化的平均值，以及很少变化的、上次通告的大小。",
			},
			{
				En: "Keep the average as a float64 and round only what you answer. Bound the wanted size before it enters the average, and the average after.",
				Zh: "平均值用 float64 保存，只对回答的值取整。期望大小在进入平均之前要先限制，平均之后再限制一次。",
			},
			{
				En: "wanted = min(throughput*target/1000 / buffers, 2*average); average += 2/(samples+1) * (wanted-average), held to Min…Max. Not announced: the same size, or one strictly between the limits whose distance to the last announced is below int(last*threshold/100).",
				Zh: "wanted = min(throughput*target/1000 / buffers, 2*average)；average += 2/(samples+1) * (wanted-average)，并限制在 Min…Max。不通告的情形：大小没变；或者严格处于两个限制之间，且与上次通告值的距离小于 int(last*threshold/100)。",
			},
		},
		Files: files, Checks: checks(),
	}
}
