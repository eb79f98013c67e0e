package skewcure

import (
	"strings"

	"weir/engine/metric"
	"weir/exercises/kit"
	"weir/labs"
)

// The goal.
const (
	smallShare = 0.1 // the threshold is to be found at no more
	largeShare = 0.5 // what is to be cured is at least so hot
	gain       = 2
	settleMs   = 2000
	stoppedMs  = 5000
	curedMs    = 8000
)

func checks() []kit.Def {
	return []kit.Def{
		kit.Fair("skew", knobs, fixed),
		kit.Judge(kit.Def{ID: "threshold", Points: 3, Name: labs.Text{En: "A tenth of the records stops the producer", Zh: "十分之一的记录就拖住生产者"}}, judgeThreshold),
		kit.Judge(kit.Def{ID: "hot", Points: 1, Needs: []string{"threshold"}, Name: labs.Text{En: "A key that gets half of the records or more", Zh: "一个键占一半以上的记录"}}, judgeHot),
		kit.Judge(kit.Def{ID: "cure", Points: 4, Needs: []string{"hot"}, Name: labs.Text{En: "Twice the records per second, as hot as before", Zh: "热度不变，每秒记录数翻倍"}}, judgeCure),
	}
}

// stopped tells whether one full subpartition holds the whole producer up while another consumer has nothing to do.
func stopped(s *kit.Stretch) func(*metric.Snapshot) bool {
	limit := s.Values.Settings().MaxBuffersPerSubpartition
	return func(x *metric.Snapshot) bool {
		return kit.Least(x, "source", kit.BackPressured) >= 950 && kit.Most(x, "slow-map", kit.Idle) >= 900 && oneFull(x, limit)
	}
}

// oneFull tells whether a subpartition of a source stands at its limit, or a buffer below it: one may just have left, and
// another subpartition of it has less than half.
func oneFull(x *metric.Snapshot, limit int) bool {
	for i := range x.Pools {
		p := &x.Pools[i]
		if !strings.HasPrefix(p.Owner, "source ") {
			continue
		}
		most, least := 0, limit
		for _, n := range p.PerSubpartition {
			most, least = max(most, n), min(least, n)
		}
		if most >= limit-1 && 2*least < most {
			return true
		}
	}
	return false
}

// stops finds the stretches in which the producer stood, with a share of the hot key in a range.
func stops(r *labs.Record, from, to float64) (list []kit.Stretch, rates []float64) {
	for _, s := range kit.Stretches(r) {
		if share := s.Values.Float("hotKeyShare"); share < from || share > to || s.Values.Bool("twoStage") {
			continue
		}
		if held := s.Hold(settleMs, stoppedMs, stopped(&s)); held != nil {
			list, rates = append(list, s), append(rates, kit.Emitted(held))
		}
	}
	return list, rates
}

func judgeThreshold(r *labs.Record) *kit.Finding {
	if list, _ := stops(r, 0.001, smallShare); len(list) > 0 {
		return nil
	}
	pressed, share := 0.0, 0.0
	for _, s := range kit.Stretches(r) {
		if v := s.Values.Float("hotKeyShare"); v <= smallShare {
			for _, x := range s.Samples {
				if p := kit.Least(x, "source", kit.BackPressured); p >= pressed {
					pressed, share = p, v
				}
			}
		}
	}
	return &kit.Finding{
		Expected: kit.Textf("With hotKeyShare above 0 and at most %.1f, for 5 s in a row: every source subtask back-pressured for 950 ms/s, one subpartition at its limit, and a slow-map subtask idle.",
			"hotKeyShare 大于 0 且不超过 %.1f，连续 5 秒：每个 source 子任务每秒反压 950 毫秒，一个子分区到了上限，而有一个 slow-map 子任务闲着。", smallShare),
		Seen:  kit.Textf("In that range the least pressed source subtask reached %.0f ms/s, at a share of %.3g.", "在这个范围里，反压最轻的 source 子任务最多每秒 %.0f 毫秒，占比为 %.3g。", pressed, share),
		Where: labs.Text{En: "The pipeline panel: the boxes of each subpartition.", Zh: "流水线面板：每个子分区的格子。"},
		Try:   labs.Text{En: "Raise hotKeyShare in small steps from 0 and wait five seconds at each.", Zh: "从 0 起小步提高 hotKeyShare，每一步等五秒。"},
	}
}

func judgeHot(r *labs.Record) *kit.Finding {
	if list, _ := stops(r, largeShare, 1); len(list) > 0 {
		return nil
	}
	most := 0.0
	for _, s := range kit.Stretches(r) {
		most = max(most, s.Values.Float("hotKeyShare"))
	}
	return &kit.Finding{
		Expected: kit.Textf("5 s in a row with hotKeyShare at %.1f or more, one stage, and the producer stopped: this is what is to be cured.", "连续 5 秒 hotKeyShare 在 %.1f 以上、单阶段、生产者停住：要治的就是它。", largeShare),
		Seen:     kit.Textf("The largest share was %.2g.", "最大的占比是 %.2g。", most),
		Where:    labs.Text{En: "The pipeline panel.", Zh: "流水线面板。"},
		Try:      labs.Text{En: "Raise hotKeyShare to 0.8 and leave it there for ten seconds.", Zh: "把 hotKeyShare 提到 0.8，停十秒。"},
	}
}

func judgeCure(r *labs.Record) *kit.Finding {
	list, rates := stops(r, largeShare, 1)
	best, base, pressed := 0.0, 0.0, 0.0
	for i, ill := range list {
		for _, s := range kit.Stretches(r) {
			if s.FromMs <= ill.FromMs || s.Values.Float("hotKeyShare") < ill.Values.Float("hotKeyShare") {
				continue
			}
			if held := s.Hold(settleMs, curedMs, func(x *metric.Snapshot) bool { return kit.Most(x, "source", kit.BackPressured) < 500 }); held != nil && kit.Emitted(held) >= gain*rates[i] {
				return nil
			}
			if got := kit.Emitted(s.Samples); got >= best {
				best, base = got, rates[i]
				pressed = 0
				for _, x := range s.Samples {
					pressed = max(pressed, kit.Most(x, "source", kit.BackPressured))
				}
			}
		}
	}
	f := &kit.Finding{
		Expected: kit.Textf("After it, with a share no smaller: for 8 s the source not back-pressured (under 500 ms/s) and at least %d times the records/s.", "在那之后，占比不降：连续 8 秒 source 不再反压（每秒不到 500 毫秒），每秒记录数至少 %d 倍。", gain),
		Seen:     kit.Textf("The best was %.0f records/s against %.0f, with the source back-pressured for up to %.0f ms/s.", "最好是每秒 %.0f 条，之前是 %.0f 条，source 每秒反压最多 %.0f 毫秒。", best, base, pressed),
		Where:    labs.Text{En: "The key-load panel: what each key group gets, and the gain of each setting.", Zh: "键负载面板：每个键组得到多少，以及每种设置的增益。"},
		Try:      labs.Text{En: "The records of one key must reach more than one subtask before they are counted under the key itself.", Zh: "同一个键的记录必须先到多个子任务，再按键本身计数。"},
	}
	if best == 0 {
		f.Seen = labs.Text{En: "The share was lowered, or nothing else was tried after it.", Zh: "占比被调低了，或者之后没有再试别的。"}
	}
	return f
}
