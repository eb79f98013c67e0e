// Package ttl is the exercise "TTL": what hides a value that has expired, and what drops it, shown on a running job.
package ttl

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// knobs may move. Cleanup in passing is left out: on lsm there is none, and here it is the compaction that is to be seen.
var knobs = []string{"backend", "keys", "ttlMs", "ttlUpdate"}

// Exercise is this one.
func Exercise() *kit.Exercise {
	return &kit.Exercise{
		ID: "ttl", Kind: kit.Live, Lab: "ttl", Minutes: 15, Level: "core",
		Title: labs.Text{En: "Read or compaction", Zh: "读取还是合并"},
		Summary: labs.Text{
			En: "Let values expire that nobody reads, see that their bytes stay, have a compaction drop them, and then keep values alive by reading alone.",
			Zh: "让没人读的值过期，看到它们的字节还在；用合并把它们删掉；再只靠读取让值一直活着。"},
		Hints: [3]labs.Text{
			{En: "A read drops the expired value that it comes upon. To see what stays, leave keys alone: the knob keys decides which ones get records.", Zh: "读取会删掉它碰到的过期值。要看什么会留下，就让一些键没人理：旋钮 keys 决定哪些键有记录。"},
			{En: "On hashmap nothing comes by but cleanup, which may not move here. Which backend rewrites what it has stored? The page has a button for it: compact.", Zh: "在 hashmap 上，除了清理没有别的会经过，而清理在这里不许动。哪种后端会重写已存的内容？页面上有它的按钮：compact。"},
			{En: "backend lsm from the start; at 8 s keys 100; at 20 s the action compact; at 25 s ttlUpdate read, and let it run for fifteen seconds more.", Zh: "一开始就用 lsm；第 8 秒 keys 设为 100；第 20 秒执行 compact；第 25 秒把 ttlUpdate 设为 read，再跑十五秒。"},
		},
		Files: files, Knobs: knobs, Checks: checks(),
	}
}
