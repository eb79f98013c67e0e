package hardbackpressure

import (
	"weir/engine/metric"
	"weir/exercises/kit"
	"weir/labs"
)

// The goal. A large record takes seconds to write, so that hard time comes and goes: it is a mean over twelve seconds.
const (
	settleMs = 3000
	windowMs = 12_000
	hardMs   = 100
	softMs   = 950
)

func checks() []kit.Def {
	return []kit.Def{
		kit.Fair("overdraft", knobs, nil),
		kit.Judge(kit.Def{ID: "hard", Points: 3, Name: labs.Text{En: "The source blocks inside a record", Zh: "source 卡在记录中间"}}, judgeHard),
		kit.Judge(kit.Def{ID: "free", Points: 4, Needs: []string{"hard"}, Name: labs.Text{En: "The same record, and no hard time", Zh: "同样大的记录，不再有硬反压"}}, judgeFree),
		kit.Judge(kit.Def{ID: "borrowed", Points: 1, Needs: []string{"free"}, Name: labs.Text{En: "It is done with borrowed buffers", Zh: "靠借来的 buffer 做到"}}, judgeBorrowed),
	}
}

// meanHard is the hard back-pressure of the worst source subtask over the settled part of a stretch, 0 if that is too short.
func meanHard(s *kit.Stretch) float64 {
	held := s.Hold(settleMs, windowMs, func(*metric.Snapshot) bool { return true })
	sum := 0.0
	for _, x := range held {
		sum += kit.Most(x, "source", kit.HardPressed)
	}
	if len(held) == 0 {
		return 0
	}
	return sum / float64(len(held))
}

// hardest finds the stretches with hard back-pressure, and the worst of all.
func hardest(r *labs.Record) (list []kit.Stretch, worst float64) {
	for _, s := range kit.Stretches(r) {
		mean := meanHard(&s)
		worst = max(worst, mean)
		if mean >= hardMs {
			list = append(list, s)
		}
	}
	return list, worst
}

func judgeHard(r *labs.Record) *kit.Finding {
	list, worst := hardest(r)
	if len(list) > 0 {
		return nil
	}
	return &kit.Finding{
		Expected: kit.Textf("Over 12 s without a change, 3 s after the last one: %d ms/s of hard back-pressure on average.", "改动 3 秒之后、连续 12 秒不动旋钮：硬反压平均每秒至少 %d 毫秒。", hardMs),
		Seen:     kit.Textf("At most %.0f ms/s on average.", "平均最多每秒 %.0f 毫秒。", worst),
		Where:    labs.Text{En: "The overdraft panel: hard time of the source.", Zh: "透支面板：source 的硬反压时间。"},
		Try:      labs.Text{En: "Make one record larger than pool and overdraft together, or take the overdraft away.", Zh: "让一条记录比缓冲池加透支还大，或者去掉透支。"},
	}
}

// freed finds the stretches after a hard one, with no smaller record, in which nothing blocks under full pressure.
func freed(r *labs.Record) (held [][]*metric.Snapshot, least float64, tried bool) {
	list, _ := hardest(r)
	for _, hard := range list {
		for _, s := range kit.Stretches(r) {
			if s.FromMs <= hard.FromMs || s.Values.Int("fanOut") < hard.Values.Int("fanOut") {
				continue
			}
			if h := s.Hold(settleMs, windowMs, func(x *metric.Snapshot) bool {
				return kit.Most(x, "source", kit.HardPressed) < 1 && kit.Least(x, "source", kit.BackPressured) >= softMs
			}); h != nil {
				held = append(held, h)
			}
			if len(s.Samples) > 0 {
				if mean := meanHard(&s); !tried || mean < least {
					least = mean
				}
				tried = true
			}
		}
	}
	return held, least, tried
}

func judgeFree(r *labs.Record) *kit.Finding {
	held, least, tried := freed(r)
	if len(held) > 0 {
		return nil
	}
	f := &kit.Finding{
		Expected: kit.Textf("After it, with a fan-out no smaller: 12 s in a row without hard time, every source subtask back-pressured for %d ms/s.", "在那之后，扇出不变小：连续 12 秒没有硬反压，每个 source 子任务每秒反压至少 %d 毫秒。", softMs),
		Seen:     kit.Textf("At best %.0f ms/s of hard time on average, or less than 12 s without any.", "最好的一段平均每秒仍有 %.0f 毫秒硬反压，或者连续不到 12 秒。", least),
		Where:    labs.Text{En: "The overdraft panel: buffers lent, and hard time.", Zh: "透支面板：借出的 buffer 和硬反压时间。"},
		Try:      labs.Text{En: "Count the segments that one input record becomes, and lend at least so many. The change restarts the job, which must first finish its record.", Zh: "算一算一条输入变成多少个内存段，至少要能借这么多。改动会重启作业，它得先写完手头的记录。"},
	}
	if !tried {
		f.Seen = labs.Text{En: "After the hard time no record as large was tried.", Zh: "出现硬反压之后，没有再试过同样大的记录。"}
	}
	return f
}

func judgeBorrowed(r *labs.Record) *kit.Finding {
	held, _, _ := freed(r)
	most := 0
	for _, h := range held {
		for _, x := range h {
			for i := range x.Pools {
				most = max(most, x.Pools[i].OverdraftInUse)
			}
		}
	}
	usual := (labs.Values{}).Settings().OverdraftBuffers
	if most > usual {
		return nil
	}
	return &kit.Finding{
		Expected: kit.Textf("A pool that lends more than the %d buffers of Flink's constant.", "缓冲池借出的 buffer 超过 Flink 常数 %d。", usual),
		Seen:     kit.Textf("At most %d were lent at the moments of the samples.", "在采样时刻最多借出 %d 个。", most),
		Where:    labs.Text{En: "The overdraft panel.", Zh: "透支面板。"},
		Try:      labs.Text{En: "Keep the fan-out large and raise overdraftBuffers.", Zh: "保持扇出够大，提高 overdraftBuffers。"},
	}
}
