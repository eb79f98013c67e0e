package maxparallelism

import (
	"slices"
	"strings"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/exercises/kit"
	"weir/labs"
)

func checks(q *kit.Question) []kit.Def {
	d := kit.NewDecider(q, labs.Script{Lab: "rescale", ForMs: 9000, Knobs: map[string]any{"checkpointIntervalMs": 1000},
		Steps: []labs.Step{{AtMs: 4000, Set: map[string]any{"maxParallelism": 256}, MayFail: true}}})
	return []kit.Def{
		d.Choose(kit.Def{ID: "outcome", Points: 3, Name: labs.Text{En: "What the change does", Zh: "改动会怎样"}}, "outcome", outcome,
			labs.Text{En: "A key's group is its hash modulo the max parallelism. By 256 half of the keys would be looked up in a group that never held them. Flink refuses the checkpoint; here the running job is not even stopped.",
				Zh: "键组是哈希对最大并行度取模。按 256 算，有一半的键会到从未存过它们的组里去找。Flink 会拒绝这个检查点；这里连运行中的作业都不会停。"}),
		d.Choose(kit.Def{ID: "message", Points: 2, Name: labs.Text{En: "What the message says", Zh: "提示说什么"}}, "message", message,
			labs.Text{En: "It names both numbers: the one asked for and the one that is in the state's checkpoint.", Zh: "它会写出两个数：要求的，和状态里记着的。"}),
		d.Choose(kit.Def{ID: "after", Points: 2, Name: labs.Text{En: "What becomes of the job", Zh: "作业怎么样"}}, "after", after,
			labs.Text{En: "What cannot be restored is refused before anything is stopped. To change the number of key groups a job must begin without its state, or have it read and written anew (the state processor API).",
				Zh: "无法恢复的改动在停下之前就被拒绝。要改键组数，作业只能丢掉状态重来，或者用 State Processor API 把状态读出重写。"}),
		d.Number(kit.Def{ID: "changed", Points: 2, Name: labs.Text{En: "Keys with another group", Zh: "换了组号的键"}}, "changed", "keys", 0.15,
			func([]*labs.Record) float64 { return changed() },
			labs.Text{En: "hash mod 256 differs from hash mod 128 when one more bit of the mixed hash is set: about half of the keys.", Zh: "混合后的哈希多看一位：那一位是 1 的键组号就不同，约占一半。"}),
	}
}

func refused(r *labs.Record) (text string, ok bool) {
	i := slices.IndexFunc(r.Marks, func(m labs.Mark) bool { return m.Kind == labs.MarkRefused })
	if i < 0 {
		return "", false
	}
	return r.Marks[i].Text, true
}

func has(r *labs.Record, kind string) bool {
	return slices.ContainsFunc(r.Marks, func(m labs.Mark) bool { return m.Kind == kind })
}

func outcome(rs []*labs.Record) (string, labs.Text) {
	r := rs[0]
	_, refusal := refused(r)
	seen := kit.Textf("The record has %d refusals, and the job is %s after %d restarts.", "记录中有 %d 次拒绝，作业状态为 %s，重启 %d 次。", count(r, labs.MarkRefused), r.Last().State, count(r, labs.MarkRestart))
	switch {
	case has(r, labs.MarkAnew):
		return "empty", seen
	case has(r, labs.MarkFailure):
		return "fails", seen
	case refusal && !has(r, labs.MarkRestart):
		return "refused", seen
	}
	return "moves", seen
}

func count(r *labs.Record, kind string) (n int) {
	for _, m := range r.Marks {
		if m.Kind == kind {
			n++
		}
	}
	return n
}

func message(rs []*labs.Record) (string, labs.Text) {
	text, ok := refused(rs[0])
	seen := labs.Text{En: text, Zh: text}
	switch {
	case !ok:
		return "none", labs.Text{En: "Nothing was refused.", Zh: "没有拒绝任何东西。"}
	case strings.Contains(text, "256") && strings.Contains(text, "128"):
		return "differs", seen
	case strings.Contains(text, "buffers"):
		return "buffers", seen
	}
	return "above", seen
}

func after(rs []*labs.Record) (string, labs.Text) {
	last := rs[0].Last()
	var keys, restored int64
	for _, t := range kit.Subtasks(last, "count") {
		if t.State != nil {
			keys, restored = keys+t.State.Keys, restored+t.State.RestoredKeys
		}
	}
	seen := kit.Textf("It is %s with %d keys.", "它的状态为 %s，有 %d 个键。", last.State, keys)
	switch {
	case last.State != "RUNNING":
		return "down", seen
	case has(rs[0], labs.MarkAnew):
		return "anew", seen
	}
	return "counts", seen
}

// changed counts the keys 0 to 999 whose group number differs.
func changed() float64 {
	n := 0
	for i := range int64(1000) {
		h := serde.HashKey(serde.Long, serde.Key{Num: i})
		if keygroup.Assign(h, 128) != keygroup.Assign(h, 256) {
			n++
		}
	}
	return float64(n)
}
