package unalignedmatrix

import (
	"slices"

	"weir/engine/metric"
	"weir/exercises/kit"
	"weir/labs"
)

// The four runs, and from when on their checkpoints count: the debloated size needs about ten seconds.
const (
	aligned = iota
	alignedDebloat
	unaligned
	unalignedDebloat
	runMs    = 28_500
	settleMs = 13_000
)

func checks(q *kit.Question) []kit.Def {
	var scripts []labs.Script
	for _, mode := range []string{"aligned", "unaligned"} {
		for _, debloat := range []bool{false, true} {
			scripts = append(scripts, labs.Script{Lab: "unaligned", ForMs: runMs,
				Knobs: map[string]any{"checkpointMode": mode, "debloat": debloat}})
		}
	}
	d := kit.NewDecider(q, scripts...)
	duration := func(i int) func([]*labs.Record) float64 {
		return func(r []*labs.Record) float64 {
			return median(r[i], func(c *metric.Checkpoint) int64 { return c.EndToEndDurationMs })
		}
	}
	stored := func(i int) func([]*labs.Record) float64 {
		return func(r []*labs.Record) float64 {
			return median(r[i], func(c *metric.Checkpoint) int64 { return c.PersistedBytes }) / 1000
		}
	}
	return []kit.Def{
		d.Number(kit.Def{ID: "aligned", Points: 2, Name: labs.Text{En: "Aligned", Zh: "对齐"}}, "alignedMs", "ms", 0.3, duration(aligned),
			labs.Text{En: "The barrier waits until slow-map has worked through all that is queued before it: about 1.3 MB, at some 530 KB a second.",
				Zh: "barrier 要等 slow-map 处理完排在它前面的一切：约 1.3 MB，每秒约 530 KB。"}),
		d.Number(kit.Def{ID: "debloat", Points: 2, Name: labs.Text{En: "Aligned, debloated", Zh: "对齐，有消胀"}}, "debloatMs", "ms", 0.3, duration(alignedDebloat),
			labs.Text{En: "Debloating keeps as much in flight as the consumer works through in its target time: a second. That is how long the barrier waits.",
				Zh: "消胀让在途数据保持在消费者目标时间内能处理的量：一秒。barrier 等的就是这一秒。"}),
		d.Choose(kit.Def{ID: "unaligned", Points: 2, Name: labs.Text{En: "Unaligned", Zh: "非对齐"}}, "unaligned",
			func(r []*labs.Record) (string, labs.Text) {
				a, u := duration(aligned)(r), duration(unaligned)(r)
				seen := kit.Textf("%.0f ms against %.0f aligned.", "非对齐 %.0f 毫秒，对齐 %.0f 毫秒。", u, a)
				switch {
				case u < 150:
					return "quick", seen
				case u < 0.75*a:
					return "half", seen
				}
				return "same", seen
			},
			labs.Text{En: "The barrier overtakes all that is queued. What it overtook is written by other threads, and half a megabyte each is nothing for a disk.",
				Zh: "barrier 越过所有排队的数据。被越过的由别的线程写出，每个子任务半兆字节对磁盘不算什么。"}),
		d.Number(kit.Def{ID: "stored", Points: 2, Name: labs.Text{En: "Data in flight that is stored", Zh: "保存的在途数据"}}, "storedKB", "KB", 0.35, stored(unaligned),
			labs.Text{En: "All that an aligned barrier would have waited for: some 40 buffers of 32 KiB, about 1.3 MB.", Zh: "正是对齐的 barrier 要等的那些：约 40 个 32 KiB 的 buffer，约 1.3 MB。"}),
		d.Number(kit.Def{ID: "storedDebloat", Points: 2, Name: labs.Text{En: "The same, debloated", Zh: "有消胀时"}}, "storedDebloatKB", "KB", 0.4, stored(unalignedDebloat),
			labs.Text{En: "A second's worth of data is in flight instead of two and a half: the number of buffers stays, each holds less.", Zh: "在途的是一秒的数据，而不是两秒半：buffer 个数不变，每个装得少。"}),
		d.Choose(kit.Def{ID: "alignedStores", Points: 1, Name: labs.Text{En: "Data in flight, aligned", Zh: "对齐时的在途数据"}}, "alignedStores",
			func(r []*labs.Record) (string, labs.Text) {
				a, u := stored(aligned)(r), stored(unaligned)(r)
				seen := kit.Textf("%.0f KB aligned, %.0f unaligned.", "对齐 %.0f KB，非对齐 %.0f KB。", a, u)
				switch {
				case a == 0:
					return "none", seen
				case a < 0.8*u:
					return "less", seen
				}
				return "same", seen
			},
			labs.Text{En: "When the last barrier has arrived, all data before the barriers has been worked through: it is in the state, not on the way.",
				Zh: "最后一个 barrier 到达时，barrier 之前的数据都处理完了：它们已在状态里，不在途中。"}),
	}
}

// median is that of the settled, completed checkpoints; 0 without any.
func median(r *labs.Record, read func(*metric.Checkpoint) int64) float64 {
	var list []int64
	for i := range r.Checkpoints {
		if c := &r.Checkpoints[i]; c.Status == "COMPLETED" && c.TriggerMs >= settleMs {
			list = append(list, read(c))
		}
	}
	slices.Sort(list)
	if n := len(list); n > 0 {
		return float64(list[(n-1)/2]+list[n/2]) / 2
	}
	return 0
}
