// Package copyonwrite is the exercise of the map that is snapshotted at once.
package copyonwrite

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
		ID: "copy-on-write", Kind: kit.Code, Lab: "heap", Minutes: 45, Level: "deep",
		Title:   labs.Text{En: "A snapshot that costs nothing yet", Zh: "先不付代价的快照"},
		Summary: labs.Text{En: "Write the map of the heap backend: a snapshot copies pointers only, and each later access copies what the snapshot still needs.", Zh: "写出堆后端的那张 map：快照只复制指针，之后每次访问再复制快照仍需要的东西。"},
		Hints: [3]labs.Text{
			{En: "Give the map a version that each snapshot raises, and each entry the version it was made at. An entry older than the newest open snapshot may be in it.", Zh: "给 map 一个版本号，每次快照加一；给每个 entry 记下它产生时的版本。比最新的打开快照更旧的 entry，就可能在快照里。"},
			{En: "An entry and its value age apart: keep two versions. Put needs an entry of its own and leaves the old value alone; Get needs an entry and a value of its own.", Zh: "entry 和值各自有年龄，要两个版本。Put 需要自己的 entry，旧值不动；Get 需要自己的 entry 和自己的值。"},
			{En: "Snapshot: version++, required = version, remember it as open, collect the *entry pointers. Before changing: if entry.entryVersion < required, copy the entry into the map with entryVersion = version. Get: if valueVersion < required, do that and copy the value. Release: take its version out; required is the newest one still open, or 0.", Zh: "Snapshot：version++，required = version，记为打开，收集 *entry 指针。修改前：若 entry.entryVersion < required，就复制一个 entry 放进 map，entryVersion = version。Get：若 valueVersion < required，先做这一步，再复制值。Release：去掉它的版本；required 取仍打开的最新版本，没有则为 0。"},
		},
		Files: files, Checks: checks,
	}
}
