package inplace

import (
	"slices"

	"weir/engine/metric"
	"weir/exercises/kit"
	"weir/labs"
)

func checks(q *kit.Question) []kit.Def {
	d := kit.NewDecider(q, labs.Script{Lab: "backends", ForMs: 8500,
		Knobs: map[string]any{"backend": "hashmap", "inPlaceUpdate": true, "keys": 8, "rate": 1000, "checkpointIntervalMs": 1500},
		Steps: []labs.Step{{AtMs: 4000, Set: map[string]any{"backend": "lsm"}}}})
	return []kit.Def{
		d.Number(kit.Def{ID: "heap", Points: 2, Name: labs.Text{En: "On hashmap", Zh: "hashmap 上"}}, "heapKept", "%", 0.05, kept("hashmap"),
			labs.Text{En: "The heap hands out the very object that is in its map: whoever changes it changes the state. (While a snapshot is being written a read gets a copy, and that copy is what is in the map from then on.)",
				Zh: "堆后端交出的就是表里的那个对象：改它就是改状态。（快照正在写出时，读取会得到一份副本，而从那时起表里的就是这份副本。）"}),
		d.Number(kit.Def{ID: "lsm", Points: 2, Name: labs.Text{En: "On lsm", Zh: "lsm 上"}}, "lsmKept", "%", 0.05, kept("lsm"),
			labs.Text{En: "Each read makes a new object of the stored bytes. The change dies with it, unless it is put back.", Zh: "每次读取都用存着的字节造一个新对象。不写回，改动就随它消失。"}),
		d.Number(kit.Def{ID: "carried", Points: 1, Name: labs.Text{En: "What is carried over", Zh: "带过去多少"}}, "carried", "records", 0.2,
			func(r []*labs.Record) float64 {
				first, _ := sums(r[0])
				return float64(first)
			},
			labs.Text{En: "A checkpoint of the heap writes its objects as they are then, with the changes in them: a thousand records a second for four seconds.", Zh: "堆后端的检查点按对象当时的样子写出，改动也在里面：每秒一千条，共四秒。"}),
		d.Choose(kit.Def{ID: "after", Points: 2, Name: labs.Text{En: "The counts after it", Zh: "之后的计数"}}, "after",
			func(r []*labs.Record) (string, labs.Text) {
				first, last := sums(r[0])
				seen := kit.Textf("%d at the first look on lsm, %d at the last.", "到 lsm 后第一次看是 %d，最后一次是 %d。", first, last)
				switch {
				case last > first+first/20:
					return "grows", seen
				case last < first-first/20:
					return "falls", seen
				}
				return "stands", seen
			},
			labs.Text{En: "Each record reads the same stored count, raises its own copy of it, and drops that.", Zh: "每条记录读到的都是同一个存着的计数，把自己的副本加一，然后丢掉。"}),
		d.Choose(kit.Def{ID: "notice", Points: 1, Name: labs.Text{En: "Who notices", Zh: "谁会发现"}}, "notice",
			func(r []*labs.Record) (string, labs.Text) {
				last := r[0].Last()
				// One that was under way when the job was stopped fails, too: it was on hashmap.
				failed := slices.ContainsFunc(r[0].Checkpoints, func(c metric.Checkpoint) bool { return c.Status == "FAILED" && c.ID > last.RestoredCheckpointID })
				seen := kit.Textf("The job is %s, with %d checkpoints.", "作业状态为 %s，有 %d 次检查点。", last.State, len(r[0].Checkpoints))
				switch {
				case last.State != "RUNNING" || slices.ContainsFunc(r[0].Marks, func(m labs.Mark) bool { return m.Kind == labs.MarkFailure || m.Text != "" }):
					return "error", seen
				case failed:
					return "checkpoint", seen
				}
				return "nobody", seen
			},
			labs.Text{En: "A store cannot see what is done to an object that it gave away. A test on the heap passes, and the job counts wrongly on the day it is moved.", Zh: "存储看不到交出去的对象被做了什么。在堆上测试能通过，搬家那天就数错了。"}),
	}
}

// kept is the share of changes, in percent, that the next read saw on a backend.
func kept(backend string) func([]*labs.Record) float64 {
	return func(r []*labs.Record) float64 {
		for _, x := range slices.Backward(r[0].Samples) {
			var tried, seen int64
			for _, t := range kit.Subtasks(x, "count") {
				if t.State != nil && t.State.Backend == backend && t.State.InPlace != nil {
					tried, seen = tried+t.State.InPlace.Tried, seen+t.State.InPlace.Kept
				}
			}
			if tried > 0 {
				return 100 * float64(seen) / float64(tried)
			}
		}
		return 0
	}
}

// sums are those of the counts at the first and the last look on lsm.
func sums(r *labs.Record) (first, last int64) {
	for _, x := range r.Samples {
		t := kit.Subtasks(x, "count")
		if len(t) == 0 || t[0].State == nil || t[0].State.Backend != "lsm" || len(x.Totals.CountsByKey) == 0 {
			continue
		}
		last = 0
		for _, n := range x.Totals.CountsByKey {
			last += n
		}
		if first == 0 {
			first = last
		}
	}
	return first, last
}
