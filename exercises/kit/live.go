package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weir/engine/metric"
	"weir/labs"
)

// Live exercises are judged from a record by stretches: parts of a run in which no knob moved and nothing restarted. What a
// learner must bring about is a reading that holds over a window inside one of them.

// free are the knobs that change nothing a live exercise looks at.
var free = []string{"transport", "checkpointStorage"}

// stallMs is the distance of two samples, which are taken one a second, from which the machine is said to have stalled.
const stallMs = 2500

// Textf fills figures into a text of both languages; they are named by place (%[1]d) where the order differs.
func Textf(en, zh string, args ...any) labs.Text {
	return labs.Text{En: fmt.Sprintf(en, args...), Zh: fmt.Sprintf(zh, args...)}
}

// Stretch is a part of a run during which the knobs stood still and the job ran on.
type Stretch struct {
	Record       *labs.Record
	FromMs, ToMs int64 // job time
	// BeganMs is when the job started or restarted last, at FromMs or before.
	BeganMs int64
	Values  labs.Values
	Samples []*metric.Snapshot // of a running job
}

// Stretches cuts a record at every change of a knob and every restart, oldest first.
func Stretches(r *labs.Record) []Stretch {
	last := r.Last()
	if last == nil {
		return nil
	}
	began := []int64{r.Samples[0].TimeMs}
	if began[0] <= stallMs {
		began[0] = 0 // the record reaches back to the start
	}
	cuts := []int64{began[0]}
	for _, m := range r.Marks {
		switch m.Kind {
		case labs.MarkRestart, labs.MarkAnew, labs.MarkFailure:
			began, cuts = append(began, m.AtMs), append(cuts, m.AtMs)
		}
	}
	for _, c := range r.Changes {
		cuts = append(cuts, c.AtMs)
	}
	slices.Sort(cuts)
	cuts = append(slices.Compact(cuts), last.TimeMs+1)
	var list []Stretch
	for i, from := range cuts[:len(cuts)-1] {
		s := Stretch{Record: r, FromMs: from, ToMs: cuts[i+1], Values: r.ValuesAt(from)}
		for _, b := range began {
			if b <= from {
				s.BeganMs = max(s.BeganMs, b)
			}
		}
		for _, x := range r.Samples {
			if x.TimeMs >= s.FromMs && x.TimeMs < s.ToMs && x.State == "RUNNING" {
				s.Samples = append(s.Samples, x)
			}
		}
		list = append(list, s)
	}
	return list
}

// Hold finds the first samples in a row, over at least a window, of which each is as wanted; nil if there are none. The
// first settleMs of the stretch do not count, and samples on both sides of a stall are not in a row.
func (s *Stretch) Hold(settleMs, windowMs int64, ok func(*metric.Snapshot) bool) []*metric.Snapshot {
	var run []*metric.Snapshot
	for _, x := range s.Samples {
		if x.TimeMs < s.FromMs+settleMs {
			continue
		}
		if n := len(run); n > 0 && x.TimeMs-run[n-1].TimeMs > stallMs {
			run = nil
		}
		if !ok(x) {
			run = nil
			continue
		}
		run = append(run, x)
		if x.TimeMs-run[0].TimeMs >= windowMs {
			return run
		}
	}
	return nil
}

// Subtasks are those of a vertex, none if the job has no such vertex.
func Subtasks(x *metric.Snapshot, vertex string) []metric.Subtask {
	for i := range x.Vertices {
		if x.Vertices[i].ID == vertex {
			return x.Vertices[i].Subtasks
		}
	}
	return nil
}

// Least is the smallest reading over the subtasks of a vertex; 0 without any.
func Least(x *metric.Snapshot, vertex string, read func(*metric.Subtask) float64) float64 {
	least := 0.0
	for i, t := range Subtasks(x, vertex) {
		if v := read(&t); i == 0 || v < least {
			least = v
		}
	}
	return least
}

// Most is the largest reading over the subtasks of a vertex; 0 without any.
func Most(x *metric.Snapshot, vertex string, read func(*metric.Subtask) float64) float64 {
	return -Least(x, vertex, func(t *metric.Subtask) float64 { return -read(t) })
}

// Readings for Least and Most, over the last second.
var (
	BackPressured = func(t *metric.Subtask) float64 { return t.Recent.BackPressured }
	HardPressed   = func(t *metric.Subtask) float64 { return t.Recent.HardBackPressured }
	Busy          = func(t *metric.Subtask) float64 { return t.Recent.Busy }
	Idle          = func(t *metric.Subtask) float64 { return t.Recent.Idle }
)

// Emitted is how many records a second all sources emitted between the first and the last sample, by their counters.
func Emitted(samples []*metric.Snapshot) float64 {
	return perSecond(samples, func(x *metric.Snapshot) int64 { return x.Totals.RecordsEmitted })
}

// Consumed is how many records a second a vertex took in.
func Consumed(samples []*metric.Snapshot, vertex string) float64 {
	return perSecond(samples, func(x *metric.Snapshot) int64 {
		var n int64
		for _, t := range Subtasks(x, vertex) {
			n += t.NumRecordsIn
		}
		return n
	})
}

func perSecond(samples []*metric.Snapshot, count func(*metric.Snapshot) int64) float64 {
	if len(samples) < 2 {
		return 0
	}
	a, b := samples[0], samples[len(samples)-1]
	if b.TimeMs <= a.TimeMs {
		return 0
	}
	return float64(count(b)-count(a)) * 1000 / float64(b.TimeMs-a.TimeMs)
}

// NoRecord is the finding when a live exercise has no record.
func noRecord() *Finding {
	return &Finding{
		Expected: labs.Text{En: "A record of a run.", Zh: "一份运行记录。"},
		Seen:     labs.Text{En: "There is none yet.", Zh: "还没有记录。"},
		Try: labs.Text{En: "Run the lab and download its record, or use `labserver run … --record run.weir`.",
			Zh: "运行实验并下载记录，或者用 `labserver run … --record run.weir`。"},
	}
}

// Fair is the first check of a live exercise: the record is of its lab, and nothing moved but its knobs. It gives no points;
// the others need it.
func Fair(lab string, knobs []string, fixed map[string]any) Def {
	return Def{
		ID: "fair", Name: labs.Text{En: "Only the exercise's own knobs moved", Zh: "只动了练习允许的旋钮"},
		Run: func(_ context.Context, w *Work, _ uint64) *Finding {
			if w.Record == nil {
				return noRecord()
			}
			return fair(w.Record, lab, knobs, fixed)
		},
	}
}

func fair(r *labs.Record, lab string, knobs []string, fixed map[string]any) *Finding {
	l, ok := labs.Get(lab)
	if !ok {
		return &Finding{Seen: Textf("there is no lab %s", "没有实验 %s", lab), NotJudged: true}
	}
	expected := Textf("A run of %[1]s from its start, in which no other knob moves than %[2]s.", "从头开始的一次 %[1]s 运行，只动这些旋钮：%[2]s。", lab, strings.Join(knobs, ", "))
	refuse := func(en, zh string, args ...any) *Finding {
		return &Finding{Expected: expected, Seen: Textf(en, zh, args...),
			Where: labs.Text{En: "The knobs on the left of the lab's page; a moved one has a mark.", Zh: "实验页左侧的旋钮；动过的会有标记。"},
			Try:   labs.Text{En: "Start the lab anew and leave the others as they are: the load and the work are what you are given.", Zh: "重新开始，其他旋钮保持原样：负载和工作量是题目给定的。"}}
	}
	switch {
	case r.Lab != lab:
		return refuse("The record is of the lab %s.", "记录属于实验 %s。", r.Lab)
	case r.Input != "":
		return refuse("The records came from a file, %s.", "记录来自文件 %s。", r.Input)
	case r.Restored:
		return refuse("The job began with the state of an earlier one.", "作业带着先前的状态开始。")
	case len(r.Samples) < 2 || r.Samples[0].TimeMs > stallMs || r.Forgotten > 0:
		return refuse("The record does not reach back to the start: it keeps the last ten minutes.", "记录没有回溯到开始：它只保留最近十分钟。")
	}
	want := l.Defaults()
	for name, v := range fixed {
		k, ok := l.Knob(name)
		if !ok {
			continue
		}
		if parsed, err := k.Parse(v); err == nil {
			want[name] = parsed
		}
	}
	moves := func(name string) bool { return slices.Contains(knobs, name) || slices.Contains(free, name) }
	for _, k := range l.Knobs {
		got, ok := r.Knobs[k.Name]
		_, pinned := fixed[k.Name]
		if !ok || got != want[k.Name] && (!moves(k.Name) || pinned) {
			return refuse("%[1]s was %[2]v at the start, %[3]v is given.", "开始时 %[1]s 是 %[2]v，题目给的是 %[3]v。", k.Name, got, want[k.Name])
		}
	}
	for _, c := range r.Changes {
		if !moves(c.Name) {
			return refuse("At %.1[4]f s %[1]s went from %[2]v to %[3]v.", "第 %.1[4]f 秒 %[1]s 从 %[2]v 改为 %[3]v。", c.Name, c.From, c.To, float64(c.AtMs)/1000)
		}
	}
	return impossible(r)
}

// impossible refuses readings that no run with these knobs could have: a record that was put together by hand.
func impossible(r *labs.Record) *Finding {
	for _, s := range Stretches(r) {
		limit, ok := capacity(s.Values)
		if !ok || s.ToMs-s.FromMs < 10_000 {
			continue
		}
		if got := Consumed(s.Samples, "slow-map"); got > 1.15*limit {
			return &Finding{
				Expected: Textf("At most %.0f records/s through slow-map: each costs it work.", "slow-map 每秒最多 %.0f 条：每条都要花工夫。", limit),
				Seen:     Textf("%.0f records/s from %.1f s on. No run of this engine reads so.", "从第 %.1[2]f 秒起每秒 %.0[1]f 条。这个引擎跑不出这样的读数。", got, float64(s.FromMs)/1000),
				Where:    labs.Text{En: "The record itself.", Zh: "记录本身。"},
				Try:      labs.Text{En: "Hand in the record of a run as it was written.", Zh: "请交原样写出的运行记录。"},
			}
		}
	}
	return nil
}

// capacity is how many records a second slow-map can do, where each of them costs work.
func capacity(v labs.Values) (perSecond float64, ok bool) {
	work := v.Float("workMs") + v.Float("sinkWorkMs")
	if work <= 0 || v.String("workOn") != "all" || v.Bool("twoStage") {
		return 0, false
	}
	return float64(v.Int("parallelism")) * 1000 / work, true
}

// Stalled tells whether the machine, not the learner, kept the readings from being what they should: samples that are far
// apart, sleeps that took much too long, a source that could not keep to its rate though nothing held it up. It answers the
// finding "not judged", or nil.
func Stalled(r *labs.Record) *Finding {
	for i := 1; i < len(r.Samples); i++ {
		a, b := r.Samples[i-1], r.Samples[i]
		if d := b.TimeMs - a.TimeMs; d > stallMs && !anewBetween(r, a.TimeMs, b.TimeMs) {
			return notJudged("Between %.1[1]f and %.1[2]f s there is no reading at all.", "第 %.1[1]f 秒到第 %.1[2]f 秒之间没有任何读数。", float64(a.TimeMs)/1000, float64(b.TimeMs)/1000)
		}
	}
	for _, s := range Stretches(r) {
		if f := s.starved(); f != nil {
			return f
		}
	}
	return nil
}

// starvedSamples in a row are what it takes: one slow second happens anywhere.
const starvedSamples = 3

func (s *Stretch) starved() *Finding {
	limit, limited := capacity(s.Values)
	rate := s.Values.Float("rate")
	slow, late := 0, 0
	for i := 1; i < len(s.Samples); i++ {
		x, pair := s.Samples[i], s.Samples[i-1:i+1]
		at := float64(x.TimeMs) / 1000
		if got := Consumed(pair, "slow-map"); limited && Least(x, "slow-map", Busy) >= 950 && got < 0.6*limit {
			slow++
		} else {
			slow = 0
		}
		if slow >= starvedSamples {
			return notJudged("At %.1[1]f s slow-map was busy all the time, and yet did %.0[2]f records/s of %.0[3]f: its sleeps took too long.", "第 %.1[1]f 秒 slow-map 一直在忙，却只处理了每秒 %.0[2]f 条（应为 %.0[3]f 条）：睡眠时间被拖长了。", at, Consumed(pair, "slow-map"), limit)
		}
		if got := Emitted(pair); rate > 0 && s.Values.Int("fanOut") <= 1 && Most(x, "source", BackPressured) < 100 && x.TimeMs > s.FromMs+2000 && got < 0.7*rate {
			late++
		} else {
			late = 0
		}
		if late >= starvedSamples {
			return notJudged("At %.1[1]f s the source emitted %.0[2]f records/s of %.0[3]f though nothing held it up.", "第 %.1[1]f 秒没有什么挡着 source，它却只发出每秒 %.0[2]f 条（应为 %.0[3]f 条）。", at, Emitted(pair), rate)
		}
	}
	return nil
}

func anewBetween(r *labs.Record, from, to int64) bool {
	return slices.ContainsFunc(r.Marks, func(m labs.Mark) bool {
		return (m.Kind == labs.MarkAnew || m.Kind == labs.MarkRestart) && m.AtMs >= from && m.AtMs <= to+stallMs
	})
}

func notJudged(en, zh string, args ...any) *Finding {
	return &Finding{
		NotJudged: true, Seen: Textf(en, zh, args...),
		Where: labs.Text{En: "The machine: something else took its time.", Zh: "机器本身：别的程序占用了它。"},
		Try:   labs.Text{En: "Close what is heavy and run again. This does not count against you.", Zh: "关掉占资源的程序再跑一次。这次不算你的。"},
	}
}

// Judge makes a check of a live exercise out of what looks at its record. When the goal was not reached in a run that the
// machine stalled, the check is not judged.
func Judge(d Def, look func(r *labs.Record) *Finding) Def {
	if d.ID != "fair" && !slices.Contains(d.Needs, "fair") {
		d.Needs = append([]string{"fair"}, d.Needs...)
	}
	d.Run = func(_ context.Context, w *Work, _ uint64) *Finding {
		if w.Record == nil {
			return noRecord()
		}
		f := look(w.Record)
		if f == nil {
			return nil
		}
		if stalled := Stalled(w.Record); stalled != nil {
			stalled.Expected = f.Expected
			return stalled
		}
		return f
	}
	return d
}
