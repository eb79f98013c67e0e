package undertarget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"weir/engine/metric"
	"weir/exercises/kit"
	"weir/labs"
)

func checks() []kit.Def {
	return []kit.Def{
		kit.Fair("backpressure", knobs, nil),
		kit.Judge(kit.Def{ID: "five", Points: 4, Name: labs.Text{En: "Five checkpoints in a row under 1.2 s", Zh: "连续五次检查点低于 1.2 秒"}}, judgeFive),
		kit.Judge(kit.Def{ID: "pressed", Points: 2, Needs: []string{"five"}, Name: labs.Text{En: "The source stays back-pressured", Zh: "source 一直处于反压"}}, judgePressed),
		kit.Judge(kit.Def{ID: "pace", Points: 2, Needs: []string{"five"}, Name: labs.Text{En: "Records per second stay within 5 %", Zh: "每秒记录数变化在 5 % 以内"}}, judgePace),
	}
}

// stopMs is how soon after its last checkpoint a job that is stopped ends.
const stopMs = 300

// row is five checkpoints one after the other, of one start of the job.
type row struct {
	fromMs, toMs int64 // from the first trigger to the last completion
	beganMs      int64 // when the job started or restarted last
	samples      []*metric.Snapshot
	before       []*metric.Snapshot // of the settled job before it
}

// rows finds all of them. A restart begins anew.
func rows(r *labs.Record) (found []row, longest int) {
	ends := map[int64]int64{} // of each start of the job
	for _, s := range kit.Stretches(r) {
		ends[s.BeganMs] = max(ends[s.BeganMs], s.ToMs)
	}
	for _, began := range slices.Sorted(maps.Keys(ends)) {
		end := ends[began]
		var good []metric.Checkpoint
		for _, c := range r.Checkpoints {
			// The one that a job is stopped with does not count: its source emits no more.
			stopping := end <= r.Last().TimeMs && c.TriggerMs+c.EndToEndDurationMs >= end-stopMs
			if c.TriggerMs < began || c.TriggerMs >= end || c.Status == "IN_PROGRESS" || stopping {
				continue
			}
			if c.Status != "COMPLETED" || c.EndToEndDurationMs >= limitMs {
				good = nil
				continue
			}
			if c.TriggerMs < began+afterMs {
				continue
			}
			good = append(good, c)
			longest = max(longest, len(good))
			if n := len(good); n >= inARow {
				first, last := good[n-inARow], good[n-1]
				w := row{fromMs: first.TriggerMs, toMs: last.TriggerMs + last.EndToEndDurationMs, beganMs: began}
				for _, x := range r.Samples {
					switch {
					case x.TimeMs >= w.fromMs && x.TimeMs <= w.toMs:
						w.samples = append(w.samples, x)
					case x.TimeMs >= began+afterMs/2 && x.TimeMs < w.fromMs:
						w.before = append(w.before, x)
					}
				}
				found = append(found, w)
			}
		}
	}
	return found, longest
}

func judgeFive(r *labs.Record) *kit.Finding {
	found, longest := rows(r)
	if len(found) > 0 {
		return nil
	}
	var seen []string
	for _, c := range r.Checkpoints {
		what := fmt.Sprintf("%d ms", c.EndToEndDurationMs)
		if c.Status != "COMPLETED" {
			what = strings.ToLower(c.Status)
		}
		seen = append(seen, fmt.Sprintf("%.0f s: %s", float64(c.TriggerMs)/1000, what))
	}
	if n := len(seen); n > 12 {
		seen = seen[n-12:]
	}
	list := strings.Join(seen, ", ")
	f := &kit.Finding{
		Expected: kit.Textf("%d checkpoints in a row under %d ms, all triggered 20 s or more after the job's last start.", "连续 %d 次检查点低于 %d 毫秒，且都在作业最近一次启动 20 秒之后触发。", inARow, limitMs),
		Seen:     kit.Textf("At most %[1]d in a row. Checkpoints by their time: %[2]s.", "最多连续 %[1]d 次。各检查点按时间：%[2]s。", longest, list),
		Where:    labs.Text{En: "The checkpoints panel: the phases of the newest one.", Zh: "检查点面板：最新一次的各个阶段。"},
		Try:      labs.Text{En: "If they wait for barriers, shorten what the barriers wait behind: debloating.", Zh: "如果时间花在等 barrier 上，就缩短 barrier 前面的队列：消胀。"},
	}
	if longest > 0 {
		f.Try = labs.Text{En: "It works: leave the knobs alone and let the job run on until five are done. A checkpoint comes every 5 s.", Zh: "方法对了：别再动旋钮，让作业跑到五次完成。检查点每 5 秒一次。"}
	}
	return f
}

func judgePressed(r *labs.Record) *kit.Finding {
	found, _ := rows(r)
	worst := math.Inf(1)
	for _, w := range found {
		if ok, least := w.pressed(); ok {
			return nil
		} else {
			worst = math.Min(worst, least)
		}
	}
	return &kit.Finding{
		Expected: kit.Textf("Every subtask of the source back-pressured for at least %d ms/s during all five.", "五次检查点期间，source 的每个子任务每秒反压至少 %d 毫秒。", pressedMs),
		Seen:     kit.Textf("Once only %.0f ms/s.", "有一次只有每秒 %.0f 毫秒。", worst),
		Where:    labs.Text{En: "The source in the pipeline panel.", Zh: "流水线面板里的 source。"},
		Try:      labs.Text{En: "The pressure is what makes it hard: leave it on.", Zh: "难就难在反压之下：别把它去掉。"},
	}
}

func (w *row) pressed() (ok bool, least float64) {
	least = math.Inf(1)
	for _, x := range w.samples {
		least = math.Min(least, kit.Least(x, "source", kit.BackPressured))
	}
	return len(w.samples) >= 2 && least >= pressedMs, least
}

func judgePace(r *labs.Record) *kit.Finding {
	found, _ := rows(r)
	var was, is float64
	for _, w := range found {
		was, is = kit.Consumed(w.before, "slow-map"), kit.Consumed(w.samples, "slow-map")
		if was > 0 && math.Abs(is-was) <= rateShare*was {
			return nil
		}
	}
	return &kit.Finding{
		Expected: labs.Text{En: "Records/s during the five checkpoints within 5 % of those before, counted from 10 s after the start.", Zh: "五次检查点期间的每秒记录数，与之前（启动 10 秒后起算）相差不超过 5 %。"},
		Seen:     kit.Textf("%.0f records/s before, %.0f during them.", "之前每秒 %.0f 条，期间每秒 %.0f 条。", was, is),
		Where:    labs.Text{En: "The records-per-second chart.", Zh: "每秒记录数图表。"},
		Try:      labs.Text{En: "Run it once more on a quiet machine, with the knobs left alone.", Zh: "在空闲的机器上再跑一次，别动旋钮。"},
	}
}
