package state

import "container/heap"

// TimerAt is a timer with the key group that it is stored in.
type TimerAt struct {
	Timer
	KeyGroup int
}

// First are the n timers that fire first, in their order. It looks at little more than those.
func (t *Timers) First(n int) []TimerAt {
	out := make([]TimerAt, 0, min(int64(n), t.count))
	f := timerFrontier{t: t}
	if len(t.order) > 0 {
		f.at = append(f.at, timerPlace{order: 0})
	}
	for len(out) < n && len(f.at) > 0 {
		p := heap.Pop(&f).(timerPlace)
		group := t.order[p.order]
		out = append(out, TimerAt{f.of(p).Timer, int(group) + t.ctx.groups.First})
		for c := 2*p.queue + 1; c <= 2*p.queue+2 && c < len(t.groups[group].queue); c++ {
			heap.Push(&f, timerPlace{p.order, c})
		}
		if p.queue > 0 {
			continue
		}
		// The first timer of a group has the groups below it in the heap of groups.
		for c := 2*p.order + 1; c <= 2*p.order+2 && c < len(t.order); c++ {
			heap.Push(&f, timerPlace{order: c})
		}
	}
	return out
}

// timerFrontier is a heap of the timers of which the next one to fire is one.
type timerFrontier struct {
	t  *Timers
	at []timerPlace
}

// timerPlace is a place in the heap of groups, and one in the queue of the group there.
type timerPlace struct{ order, queue int }

func (f *timerFrontier) of(p timerPlace) *queuedTimer {
	return f.t.groups[f.t.order[p.order]].queue[p.queue]
}

// Len implements heap.Interface.
func (f *timerFrontier) Len() int { return len(f.at) }

// Less implements heap.Interface.
func (f *timerFrontier) Less(i, j int) bool { return before(f.of(f.at[i]), f.of(f.at[j])) }

// Swap implements heap.Interface.
func (f *timerFrontier) Swap(i, j int) { f.at[i], f.at[j] = f.at[j], f.at[i] }

// Push implements heap.Interface.
func (f *timerFrontier) Push(x any) { f.at = append(f.at, x.(timerPlace)) }

// Pop implements heap.Interface.
func (f *timerFrontier) Pop() any {
	last := len(f.at) - 1
	p := f.at[last]
	f.at = f.at[:last]
	return p
}
