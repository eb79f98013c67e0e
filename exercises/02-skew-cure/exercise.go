// Package skewcure is the exercise "skew cure": find the share of a hot key at which one full subpartition stops the whole
// producer, then cure it.
package skewcure

import (
	"embed"

	"weir/exercises/kit"
	"weir/labs"
)

//go:embed task.en.md task.zh.md
var files embed.FS

// knobs may move.
var knobs = []string{"hotKeyShare", "keys", "maxParallelism", "twoStage"}

// fixed are what the run starts with, where the lab's own value is another.
var fixed = map[string]any{"hotKeyShare": 0}

// Exercise is this one.
func Exercise() *kit.Exercise {
	return &kit.Exercise{
		ID: "skew-cure", Kind: kit.Live, Lab: "skew", Minutes: 15, Level: "core",
		Title: labs.Text{En: "One key stops everything", Zh: "一个键拖住全部"},
		Summary: labs.Text{
			En: "Make a key just hot enough for one full subpartition to stop the whole producer. Then make it hotter, and cure it.",
			Zh: "让一个键刚好热到一个子分区满了就拖住整个生产者。再让它更热，然后治好它。"},
		Hints: [3]labs.Text{
			{En: "Each record of the hot key costs slow-map a millisecond, so that one subtask can do fewer than a thousand a second. The source sends 20,000. Which share is that?",
				Zh: "热点键的每条记录要花 slow-map 一毫秒，所以一个子任务每秒不到一千条。source 每秒发两万条。那是多大的占比？"},
			{En: "More keys, or other key groups, leave all records of the hot key together: they can only be sent elsewhere. What would let both subtasks work on one key?",
				Zh: "键更多或键组不同，热点键的记录仍在一起，只是换个地方。怎样才能让两个子任务一起处理同一个键？"},
			{En: "hotKeyShare 0.08 stops it, 0.8 makes it bad. Then switch twoStage on: a salted key spreads the records, and only partial counts go to the hot subtask.",
				Zh: "hotKeyShare 0.08 就会停，0.8 就很严重。然后打开 twoStage：加盐的键把记录分散开，只有部分计数才会到热点子任务。"},
		},
		Files: files, Knobs: knobs, Fixed: fixed, Checks: checks(),
	}
}
