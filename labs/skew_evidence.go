package labs

import (
	"math"

	"weir/engine/metric"
)

func skewEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"hot-full", Text{"One subpartition of a producer stands at its limit, another holds much less", "生产者的一个子分区到了上限，另一个却少得多"}, judgeHotFull},
		{"one-busy", Text{"One consumer is busy all the time, another is idle", "一个消费者一直忙，另一个却闲着"}, judgeOneBusy},
		{"all-pressed", Text{"The whole producer is back-pressured, not only its hot part", "整个生产者都被反压，不只是热点那一路"}, judgePressedBySkew},
		{"keys-do-not-help", Text{"More keys do not spread one hot key", "增加键的个数分不开一个热点键"}, judgeMoreKeys},
		{"groups-do-not-help", Text{"Another max parallelism moves a hot key, it does not split it", "换一个最大并行度只会移动热点键，不会拆开它"}, judgeOtherGroups},
		{"two-stages-help", Text{"Two-stage aggregation more than doubles the throughput", "两阶段聚合让吞吐量翻倍还多"}, judgeTwoStages},
		{"few-keys", Text{"With a few keys, more keys or another max parallelism do help", "键很少时，增加键或换最大并行度确实有用"}, judgeFewKeys},
	}
}

// hot tells whether a hot key is what slows the job down.
func (o *observed) hot() (bool, Message) {
	switch {
	case o.v.Float("hotKeyShare") < 0.5:
		return false, say("evidence.notHot")
	case o.v.Int("parallelism") < 2:
		return false, say("evidence.twoSubtasks")
	case o.s.State != "RUNNING" || o.settledMs < 0:
		return false, say("evidence.settling")
	}
	return true, Message{}
}

func judgeHotFull(o *observed) verdict {
	if ok, why := o.hot(); !ok {
		return verdict{reading: why}
	}
	if o.v.Bool("twoStage") {
		return verdict{reading: say("evidence.oneStage")}
	}
	limit, fullest, emptiest := o.v.Settings().MaxBuffersPerSubpartition, 0, math.MaxInt
	for i := range o.s.Pools {
		if per := o.s.Pools[i].PerSubpartition; len(per) > 1 {
			for _, n := range per {
				fullest, emptiest = max(fullest, n), min(emptiest, n)
			}
		}
	}
	if emptiest == math.MaxInt {
		return verdict{reading: say("evidence.settling")}
	}
	return verdict{true, fullest >= limit && 2*emptiest < fullest, say("evidence.subpartitions", fullest, limit, emptiest)}
}

func judgeOneBusy(o *observed) verdict {
	if ok, why := o.hot(); !ok {
		return verdict{reading: why}
	}
	if o.v.Bool("twoStage") {
		return verdict{reading: say("evidence.oneStage")}
	}
	subtasks := o.subtasksOf("slow-map")
	busy := greatest(subtasks, func(t *metric.Subtask) float64 { return t.Recent.Busy })
	idle := greatest(subtasks, func(t *metric.Subtask) float64 { return t.Recent.Idle })
	return verdict{true, busy >= saturated && idle >= saturated, say("evidence.busyIdle", round(busy), round(idle))}
}

func judgePressedBySkew(o *observed) verdict {
	if ok, why := o.hot(); !ok {
		return verdict{reading: why}
	}
	if o.v.Bool("twoStage") {
		return verdict{reading: say("evidence.oneStage")}
	}
	ms := least(o.subtasksOf("source"), func(t *metric.Subtask) float64 { return t.Recent.BackPressured })
	return verdict{true, ms >= saturated, say("evidence.pressed", round(ms))}
}

// cure compares the best row in which only the named knobs differ from the first row with that one.
func (o *observed) cure(names ...string) (gain float64, ok bool) {
	if len(o.rows) == 0 || o.rows[0].Seconds < 5 {
		return 0, false
	}
	base := o.rows[0]
	for _, r := range o.rows[1:] {
		if r.Seconds < 5 {
			continue
		}
		differs := false
		alone := true
		for name, value := range r.Knobs {
			if value == base.Knobs[name] {
				continue
			}
			named := false
			for _, n := range names {
				named = named || n == name
			}
			differs, alone = differs || named, alone && named
		}
		if differs && alone {
			gain, ok = math.Max(gain, r.Gain), true
		}
	}
	return gain, ok
}

func judgeMoreKeys(o *observed) verdict {
	if ok, why := o.hot(); !ok {
		return verdict{reading: why}
	}
	gain, ok := o.cure("keys")
	if !ok {
		return verdict{reading: say("evidence.tryKeys")}
	}
	return verdict{true, gain <= 1.15, say("evidence.gain", gain)}
}

func judgeOtherGroups(o *observed) verdict {
	if ok, why := o.hot(); !ok {
		return verdict{reading: why}
	}
	gain, ok := o.cure("maxParallelism")
	if !ok {
		return verdict{reading: say("evidence.tryGroups")}
	}
	return verdict{true, gain <= 1.15, say("evidence.gain", gain)}
}

func judgeTwoStages(o *observed) verdict {
	if ok, why := o.hot(); !ok {
		return verdict{reading: why}
	}
	gain, ok := o.cure("twoStage")
	if !ok {
		return verdict{reading: say("evidence.tryTwoStages")}
	}
	return verdict{true, gain >= 2, say("evidence.gain", gain)}
}

func judgeFewKeys(o *observed) verdict {
	if o.v.Float("hotKeyShare") > 0 || o.v.String("workOn") != "all" || len(o.rows) == 0 {
		return verdict{reading: say("evidence.fewKeysSetup")}
	}
	if keys, _ := o.rows[0].Knobs["keys"].(int64); keys > 4*int64(o.v.Int("parallelism")) {
		return verdict{reading: say("evidence.fewKeysSetup")}
	}
	gain, ok := o.cure("keys", "maxParallelism")
	if !ok {
		return verdict{reading: say("evidence.tryBoth")}
	}
	return verdict{true, gain >= 1.2, say("evidence.gain", gain)}
}
