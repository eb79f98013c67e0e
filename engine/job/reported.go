package job

import (
	"strings"
	"time"

	"weir/engine/memory"
	"weir/engine/metric"
)

// enter notes the state that the job goes to, and when; the lock is held.
func (j *Job) enter(s State) {
	if j.state != s || j.since.IsZero() {
		j.state, j.since = s, time.Now()
	}
}

// life is how the job fares; the lock is held.
func (j *Job) life() metric.Life {
	l := metric.Life{Rescales: j.rescales, RestoredAtMs: j.restoredAt}
	in := time.Since(j.since).Milliseconds()
	switch j.state {
	case Running:
		l.RunningMs, l.AllRunningMs = in, j.attempt.allRunningMs(nowNs())
	case Restarting:
		l.RestartingMs = in
	}
	return l
}

// allRunningMs is how long all tasks have been ready, those that have ended included; 0 if one is not yet.
func (a *attempt) allRunningMs(now int64) int64 {
	last := int64(0)
	for _, r := range a.runners {
		ready := r.Counters.Ready.Load()
		if ready == 0 {
			return 0
		}
		last = max(last, ready)
	}
	return max(0, now-last) / int64(time.Millisecond)
}

// taskManagers reads the memory of the task managers.
func (a *attempt) taskManagers() []metric.TaskManager {
	tms := make([]metric.TaskManager, len(a.tms))
	for i, tm := range a.tms {
		tms[i] = metric.TaskManager{ID: tm.id, SegmentBytes: tm.memory.SegmentBytes(), TotalSegments: int64(tm.memory.Total()),
			AvailableSegments: int64(tm.memory.Available()), ManagedBytes: a.settings.MemoryBudgetBytes, ManagedUsedBytes: tm.state.used.Load()}
	}
	for _, r := range a.runners {
		claimed := &tms[r.tm.id].ClaimedSegments
		if r.pool != nil {
			*claimed += claim(r.pool)
		}
		for _, in := range r.gates {
			*claimed += claim(in.pool)
		}
	}
	return tms
}

// claim is what Flink expects a pool to take: its largest size, or twice what it cannot do without if that has no bound.
func claim(p *memory.LocalPool) int64 {
	if p.Max() < memory.Unbounded {
		return int64(p.Max())
	}
	return 2 * int64(p.Required())
}

// operatorNames are those of the chain, the source first: as the vertex's name has them, if it names them all.
func (r *runner) operatorNames() []string {
	var names []string
	if r.vertex.Source != nil {
		names = append(names, r.vertex.Source.Name)
	}
	for _, o := range r.vertex.Operators {
		names = append(names, o.Name)
	}
	if parts := strings.Split(r.vertex.Name, " -> "); len(parts) == len(names) {
		return parts
	}
	return names
}

// passedAt is how many records have come to operator i, or behind the last one have left the task.
func (r *runner) passedAt(i int) int64 {
	c := &r.Counters
	switch {
	case i == 0 && r.vertex.Source != nil:
		return c.RecordsEmitted.Load()
	case i == 0:
		return c.RecordsIn.Load()
	case i == len(r.vertex.Operators):
		return c.RecordsOut.Load()
	}
	return r.Passed()[i-1].Load()
}

// reported reads what Flink's reporters tell of a task beside what pages show.
func (r *runner) reported(now int64) *metric.Reported {
	c, m := &r.Counters, r.readings
	t := &metric.Reported{
		NumBytesInLocal: m.bytesLocal.Rate(), NumBytesInRemote: m.bytesRemote.Rate(), NumMails: m.mails.Rate(),
		NumFiredTimers: c.FiredTimers.Load(), NumFiredTimersPerSecond: m.timers.Rate(), MailboxLatency: r.Mailbox.Waits().Summary(),
		Operators: make([]metric.OperatorRecords, 0, len(m.passed)),
	}
	if begun, ready := c.Begun.Load(), c.Ready.Load(); ready > 0 {
		t.InitializationMs = (ready - begun) / int64(time.Millisecond)
	} else if begun > 0 {
		t.InitializationMs = (now - begun) / int64(time.Millisecond)
	}
	if r.vertex.Source != nil {
		t.SourceIdleMs = r.Times.Idle.Gauge.Current(now) / int64(time.Millisecond)
		sent, rate := r.passedAt(0), m.passed[0].Rate()
		t.Operators = append(t.Operators, metric.OperatorRecords{In: sent, Out: sent, InPerSecond: rate, OutPerSecond: rate})
	}
	for i := range r.vertex.Operators {
		t.Operators = append(t.Operators, metric.OperatorRecords{In: r.passedAt(i), Out: r.passedAt(i + 1),
			InPerSecond: m.passed[i].Rate(), OutPerSecond: m.passed[i+1].Rate()})
	}
	return t
}
