package labs

import (
	"math"
	"slices"

	"weir/engine/metric"
)

// full is the share of a pool from which it is called full: with debloating a buffer or two is always under way.
const full = 0.9

func backpressureEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"source-pressed", Text{"The source is back-pressured nearly all the time", "source 几乎一直处于反压"}, judgePressed},
		{"map-busy", Text{"slow-map has no time left, and nothing holds it up", "slow-map 忙到极限，而且没有什么挡着它"}, judgeBusy},
		{"pools-full", Text{"The buffer pools at both ends are full", "两端的缓冲池都是满的"}, judgePools},
		{"barrier-waits", Text{"A checkpoint waits for its barriers, not for state", "检查点等的是 barrier，不是状态"}, judgeBarrier},
		{"debloat-shortens", Text{"Debloating makes checkpoints shorter by a third or more", "消胀让检查点耗时至少缩短三分之一"}, judgeShorter},
		{"same-rate", Text{"Records per second stay within 5 %", "每秒记录数的变化在 5 % 以内"}, judgeSameRate},
		{"more-buffers", Text{"The same bytes travel in more, smaller buffers", "同样的字节装在更多、更小的 buffer 里"}, judgeMoreBuffers},
		{"size-fits", Text{"What is in flight can be consumed in about the target time", "在途数据大约在目标时间内就能消费完"}, judgeSizeFits},
	}
}

// pressing tells whether the load is clearly more than the slow map can do.
func (o *observed) pressing() (bool, Message) {
	work := o.v.Float("workMs") + o.v.Float("sinkWorkMs")
	if work <= 0 || o.v.String("workOn") == "hot" {
		return false, say("evidence.noWork")
	}
	capacity := float64(o.v.Int("parallelism")) * 1000 / work
	if rate := o.v.Float("rate"); rate != 0 && rate < 1.2*capacity {
		return false, say("evidence.lightLoad", round(rate), round(capacity))
	}
	if o.s.State != "RUNNING" || o.settledMs < 0 {
		return false, say("evidence.settling")
	}
	return true, Message{}
}

func judgePressed(o *observed) verdict {
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	ms := least(o.subtasksOf("source"), func(t *metric.Subtask) float64 { return t.Recent.BackPressured })
	return verdict{true, ms >= saturated, say("evidence.pressed", round(ms))}
}

func judgeBusy(o *observed) verdict {
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	ms := greatest(o.subtasksOf("slow-map"), func(t *metric.Subtask) float64 { return t.Recent.Busy })
	return verdict{true, ms >= saturated && o.diag.Bottleneck == "slow-map", say("evidence.busy", round(ms), orNone(o.diag.Bottleneck))}
}

func orNone(id string) string {
	if id == "" {
		return "-"
	}
	return id
}

func judgePools(o *observed) verdict {
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	out := least(o.subtasksOf("source"), func(t *metric.Subtask) float64 { return t.OutPoolUsage })
	in := least(o.subtasksOf("slow-map"), func(t *metric.Subtask) float64 { return t.InPoolUsage })
	return verdict{!o.v.Bool("debloat"), out >= full && in >= full, say("evidence.pools", round(100*out), round(100*in))}
}

func judgeBarrier(o *observed) verdict {
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	c := newestCompleted(o.s)
	if c == nil || len(o.off.checkpoints)+len(o.on.checkpoints) == 0 {
		return verdict{reading: say("evidence.noCheckpoint")}
	}
	var wait, all float64
	for i := range c.Subtasks {
		p := &c.Subtasks[i]
		if sum := p.StartDelayMs + p.AlignmentMs + p.SyncMs + p.AsyncMs; sum > all {
			wait, all = p.StartDelayMs+p.AlignmentMs, sum
		}
	}
	if all == 0 {
		return verdict{reading: say("evidence.noCheckpoint")}
	}
	return verdict{true, wait >= 0.9*all, say("evidence.barrier", c.ID, round(wait), round(all))}
}

func median(ms []int64) float64 {
	s := slices.Sorted(slices.Values(ms))
	if n := len(s); n > 0 {
		return float64(s[(n-1)/2]+s[n/2]) / 2
	}
	return 0
}

func judgeShorter(o *observed) verdict {
	off, on := o.off.checkpoints, o.on.checkpoints
	if len(off) == 0 || len(on) == 0 {
		return verdict{reading: say("evidence.bothCheckpoints", len(off), len(on))}
	}
	a, b := median(off), on[len(on)-1]
	// Switched on in a running job the size comes to rest up to a threshold, a quarter, above the target.
	holds := float64(b) < a*2/3
	// The size needs some steps to settle, and what was in flight before the last of them must drain.
	return verdict{holds || o.settledMs >= 2*settleMs, holds, say("evidence.shorter", round(a), b)}
}

// bothMeasured tells whether enough was counted with debloating off and with it on.
func (o *observed) bothMeasured() (bool, Message) {
	off, on := o.off.window.seconds(), o.on.window.seconds()
	if off < 5 || on < 5 {
		return false, say("evidence.bothWindows", round(off), round(on))
	}
	return true, Message{}
}

func judgeSameRate(o *observed) verdict {
	if ok, why := o.bothMeasured(); !ok {
		return verdict{reading: why}
	}
	a, b := o.off.window.recordsPerSecond(), o.on.window.recordsPerSecond()
	return verdict{true, math.Abs(b-a) <= 0.05*a, say("evidence.rates", round(a), round(b))}
}

func judgeMoreBuffers(o *observed) verdict {
	if ok, why := o.bothMeasured(); !ok {
		return verdict{reading: why}
	}
	a, b := o.off.window.buffersPerSecond(), o.on.window.buffersPerSecond()
	return verdict{true, b >= 1.5*a, say("evidence.buffers", a, b)}
}

func judgeSizeFits(o *observed) verdict {
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	subtasks := o.subtasksOf("slow-map")
	if !o.v.Bool("debloat") || len(subtasks) == 0 {
		return verdict{reading: say("evidence.switchOn")}
	}
	target := float64(o.v.Int("debloatTargetMs"))
	estimate := func(t *metric.Subtask) float64 { return float64(t.EstimatedTimeToConsumeBuffers) }
	lo, hi := least(subtasks, estimate), greatest(subtasks, estimate)
	holds := lo >= 0.7*target && hi <= 1.3*target
	return verdict{true, holds, say("evidence.estimate", round(lo), round(hi), round(target), subtasks[0].DebloatedBufferSize)}
}
