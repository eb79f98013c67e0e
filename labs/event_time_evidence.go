package labs

import (
	"math"
	"slices"

	"weir/engine/metric"
	"weir/engine/task"
)

func eventTimeEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"least", Text{"A task's event time is the least watermark of its channels", "任务的事件时间是各通道水位线中最小的一个"}, judgeLeast},
		{"fires", Text{"A window fires when the watermark comes to its end, and not before", "水位线到达窗口末尾时窗口才触发，不会更早"}, judgeFires},
		{"timers", Text{"Each key of each open window has one timer; it fires by time, and lies in the key's group", "每个打开的窗口里每个键有一个定时器：按时间触发，按键组存放"}, judgeTimers},
		{"held-back", Text{"A silent input holds event time back, although the other goes on", "沉默的输入拖住事件时间，尽管另一个在前进"}, judgeHeldBack},
		{"goes-on", Text{"Once it counts as idle, event time goes on without it", "一旦它算作空闲，事件时间就不再等它"}, judgeGoesOn},
		{"late", Text{"A record that comes behind the watermark of its window is dropped, and counted", "窗口已被水位线越过的记录会被丢弃，并计数"}, judgeLate},
		{"exact", Text{"Windows that fired, open windows and late records add up to all records that were sent", "已触发的窗口、打开的窗口和迟到的记录，加起来正是发送的全部记录"}, judgeAllCounted},
		{"moved", Text{"After a change of parallelism each timer is where its key is", "修改并行度后，每个定时器都跟着它的键"}, judgeTimersMoved},
	}
}

// windowTasks are the subtasks that count windows, once they have told of their watermarks and windows.
func (o *observed) windowTasks() []metric.Subtask {
	subtasks := o.subtasksOf("count")
	for i := range subtasks {
		if e := subtasks[i].EventTime; e == nil || e.Windows == nil || len(e.Gates) == 0 {
			return nil
		}
	}
	return subtasks
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

func judgeLeast(o *observed) verdict {
	v := verdict{reading: say("evidence.noWatermark")}
	holds := true
	subtasks := o.windowTasks()
	for i := range subtasks {
		e := subtasks[i].EventTime
		least, n := int64(math.MaxInt64), 0
		var of metric.End
		for _, g := range e.Gates {
			for _, c := range g.Channels {
				if !c.Aligned {
					continue
				}
				at := int64(task.NoWatermark)
				if c.Watermark != nil {
					at = *c.Watermark
				}
				n++
				if at < least {
					least, of = at, c.From
				}
			}
		}
		if n == 0 || least == task.NoWatermark || e.Watermark == nil {
			continue
		}
		v.applies = true
		holds = holds && *e.Watermark == least
		v.reading = say("evidence.leastWatermark", subtasks[i].Index, seconds(*e.Watermark), n, seconds(least), of.Vertex, of.Subtask)
	}
	v.holds = holds
	return v
}

func judgeFires(o *observed) verdict {
	subtasks := o.windowTasks()
	var fired int64
	v := verdict{holds: true, reading: say("evidence.noWindow")}
	for i := range subtasks {
		w := subtasks[i].EventTime.Windows
		if fired += w.Results; w.Results == 0 || w.Watermark == nil || len(w.Open) == 0 {
			continue
		}
		v.applies = true
		first := slices.MinFunc(w.Open, func(a, b metric.OpenWindow) int { return int(min(max(a.End-b.End, -1), 1)) })
		v.holds = v.holds && first.End-1 > *w.Watermark
		v.reading = say("evidence.fired", fired, seconds(first.Start), seconds(first.End), seconds(*w.Watermark))
	}
	return v
}

func judgeTimers(o *observed) verdict {
	subtasks := o.windowTasks()
	v := verdict{holds: true, reading: say("evidence.noWindow")}
	var timers, keys int64
	for i := range subtasks {
		w := subtasks[i].EventTime.Windows
		if w.Timers == 0 || w.OpenWindows > len(w.Open) {
			continue
		}
		v.applies = true
		var mine int64
		for _, x := range w.Open {
			mine += x.Keys
		}
		timers, keys = timers+w.Timers, keys+mine
		v.holds = v.holds && mine == w.Timers && inOrder(w.Next) && outside(&subtasks[i]) == 0
	}
	if v.applies {
		v.reading = say("evidence.timers", timers, keys)
	}
	return v
}

func inOrder(timers []metric.EventTimer) bool {
	return slices.IsSortedFunc(timers, func(a, b metric.EventTimer) int { return int(min(max(a.Time-b.Time, -1), 1)) })
}

// outside counts the listed timers of a subtask that lie in key groups of others.
func outside(s *metric.Subtask) (n int) {
	for _, t := range s.EventTime.Windows.Next {
		if t.KeyGroup < s.KeyGroups[0] || t.KeyGroup > s.KeyGroups[1] {
			n++
		}
	}
	return n
}

// heldBy reads the subtask that counts: how far the silent input's channels are behind the newest, and whether they alone
// hold time back.
type heldBy struct {
	lagMs  int64
	newest int64 // of the channels that take part
	alone  bool  // every channel that holds back is the silent input's
	held   bool
	idle   bool // all its channels are idle
}

func heldBack(e *metric.EventTime, silent string) heldBy {
	h := heldBy{newest: task.NoWatermark, alone: true, idle: true}
	for _, g := range e.Gates {
		for _, c := range g.Channels {
			if c.Aligned && c.Watermark != nil {
				h.newest = max(h.newest, *c.Watermark)
			}
			if c.HoldsBack {
				h.held = true
				h.alone = h.alone && c.From.Vertex == silent
			}
			if c.From.Vertex == silent && c.Status != "IDLE" {
				h.idle = false
			}
		}
	}
	if h.newest != task.NoWatermark {
		h.lagMs = h.newest
		if e.Watermark != nil {
			h.lagMs = h.newest - *e.Watermark
		}
	}
	return h
}

// heldLagMs is from how far apart two watermarks are not merely the interval at which they are sent.
const heldLagMs = 2000

func judgeHeldBack(o *observed) verdict {
	silent := o.v.String("idleInput")
	switch {
	case silent == task.NoInput:
		return verdict{reading: say("evidence.silence")}
	case o.v.Int("idleTimeoutMs") > 0:
		return verdict{reading: say("evidence.noIdleTimeout")}
	case o.s.State != "RUNNING" || o.settledMs < 0:
		return verdict{reading: say("evidence.settling")}
	}
	v := verdict{holds: true, reading: say("evidence.noWatermark")}
	subtasks := o.windowTasks()
	for i := range subtasks {
		h := heldBack(subtasks[i].EventTime, silent)
		v.applies = true
		v.holds = v.holds && h.held && h.alone && h.lagMs >= heldLagMs
		v.reading = say("evidence.heldBack", subtasks[i].Index, silent, seconds(h.lagMs), subtasks[i].EventTime.Windows.OpenWindows)
	}
	return v
}

func judgeGoesOn(o *observed) verdict {
	silent, timeout := o.v.String("idleInput"), int64(o.v.Int("idleTimeoutMs"))
	switch {
	case silent == task.NoInput:
		return verdict{reading: say("evidence.silence")}
	case timeout == 0:
		return verdict{reading: say("evidence.setIdleTimeout")}
	case o.s.State != "RUNNING" || o.settledMs+settleMs < timeout+2*heldLagMs:
		return verdict{reading: say("evidence.settling")}
	}
	v := verdict{holds: true, reading: say("evidence.noWatermark")}
	subtasks := o.windowTasks()
	for i := range subtasks {
		h := heldBack(subtasks[i].EventTime, silent)
		if h.newest == task.NoWatermark {
			continue
		}
		v.applies = true
		v.holds = v.holds && h.idle && h.lagMs < heldLagMs
		v.reading = say("evidence.goesOn", silent, subtasks[i].Index, seconds(h.newest-h.lagMs), seconds(h.lagMs))
	}
	return v
}

func judgeLate(o *observed) verdict {
	disorder, bound := o.v.Int("disorderMs"), o.v.Int("outOfOrdernessMs")
	switch {
	case disorder <= bound:
		return verdict{reading: say("evidence.moreDisorder", disorder, bound)}
	case o.s.State != "RUNNING" || o.settledMs < int64(2*o.v.Int("windowMs")):
		return verdict{reading: say("evidence.settling")}
	}
	var late int64
	v := verdict{reading: say("evidence.noWindow")}
	subtasks := o.windowTasks()
	for i := range subtasks {
		v.applies = true
		late += subtasks[i].EventTime.Windows.Late
	}
	if v.applies {
		v.holds, v.reading = late > 0, say("evidence.late", late, disorder, bound)
	}
	return v
}

func judgeAllCounted(o *observed) verdict {
	subtasks := o.windowTasks()
	var sent, fired, held, late int64
	for _, id := range []string{firstInput, secondInput} {
		for _, s := range o.subtasksOf(id) {
			if s.EventTime != nil {
				sent += s.EventTime.Sent
			}
		}
	}
	for i := range subtasks {
		w := subtasks[i].EventTime.Windows
		fired, held, late = fired+w.Fired, held+w.Held, late+w.Late
	}
	if fired == 0 || o.settledMs < 0 {
		return verdict{reading: say("evidence.noWindow")}
	}
	// The readings are up to a second apart, and some records are on their way.
	room := int64(2*o.v.Float("rate")) + 100
	if o.v.Float("rate") == 0 {
		return verdict{reading: say("evidence.setRate")}
	}
	off := sent - fired - held - late
	return verdict{true, off <= room && off >= -room, say("evidence.allCounted", fired, held, late, sent)}
}

func judgeTimersMoved(o *observed) verdict {
	if !o.rescaled || o.s.RestoredCheckpointID == 0 {
		return verdict{reading: say("evidence.rescale")}
	}
	v := verdict{holds: true, reading: say("evidence.settling")}
	var timers, away int64
	subtasks := o.windowTasks()
	for i := range subtasks {
		s := &subtasks[i]
		timers += s.EventTime.Windows.Timers
		away += int64(outside(s))
		if s.State != nil {
			away += s.State.KeysOutOfRange
		}
	}
	if timers > 0 {
		v.applies, v.holds = true, away == 0
		v.reading = say("evidence.timersMoved", timers, len(subtasks), away)
	}
	return v
}
