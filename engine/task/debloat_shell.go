package task

import (
	"time"

	"weir/engine/trace"
)

// DebloatCore decides on the sizes of a gate's buffers. The engine's is a Debloater; see that for the methods. They are
// called once each debloat period, on the task's goroutine.
type DebloatCore interface {
	Recalculate(throughput int64, buffersInUse int) (size int, announce bool)
	EstimatedTimeToConsumeMs() int64
	LastBufferSize() int
	Reconfigure(DebloatConfig) error
}

// newDebloatCore makes the core, by default the engine's own.
func (t *Task) newDebloatCore(c DebloatConfig) (DebloatCore, error) {
	if t.Config.Debloater != nil {
		return t.Config.Debloater(c)
	}
	return NewDebloater(c)
}

// debloatShell runs the debloater of a task's gate: it measures throughput on the task's goroutine and recalculates as
// mail at each period (StreamTask.scheduleBufferDebloater).
type debloatShell struct {
	t          *Task
	throughput *ThroughputCalculator
	core       DebloatCore // nil while debloating is off
	period     time.Duration
	timer      *time.Timer
}

func newDebloatShell(t *Task) *debloatShell {
	return &debloatShell{t: t, throughput: NewThroughputCalculator()}
}

func nowNs() int64 { return time.Now().UnixNano() }

// configure takes the knobs. At the start of a job the first size is Flink's starting size; switched on live, sizes
// start from the whole segment; switched off, the whole segment is announced.
func (d *debloatShell) configure(s *Settings, atStart bool) {
	d.period = time.Duration(s.DebloatPeriodMs) * time.Millisecond
	if !s.Debloat {
		if d.core != nil {
			d.stop()
			d.core = nil
			d.announce(s.SegmentBytes)
			d.t.Counters.DebloatedSize.Store(0)
			d.t.Counters.EstimatedTimeToConsume.Store(0)
		}
		return
	}
	c := DebloatConfigOf(s)
	if !atStart {
		c.Start = c.Max
	}
	if d.core != nil {
		if err := d.core.Reconfigure(c); err != nil {
			d.t.Logger.Warn("debloater keeps its configuration", "task", d.t.name, "err", err)
		}
		return
	}
	core, err := d.t.newDebloatCore(c)
	if err != nil {
		d.t.Logger.Warn("debloating stays off", "task", d.t.name, "err", err)
		return
	}
	d.core = core
	d.throughput = NewThroughputCalculator()
	if d.t.current != nil {
		d.throughput.Resume(nowNs()) // input is at hand
	}
	d.t.Counters.DebloatedSize.Store(int64(core.LastBufferSize()))
	d.schedule()
}

func (d *debloatShell) schedule() {
	core := d.core
	d.timer = time.AfterFunc(d.period, func() { d.t.Mailbox.Post(func() { d.recalculate(core) }) })
}

// stop ends the timer; a mail that is on its way finds another core, or none.
func (d *debloatShell) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (d *debloatShell) recalculate(core DebloatCore) {
	if d.core != core || core == nil {
		return
	}
	inUse := d.t.Gate.BuffersInUse()
	throughput := d.measure()
	size, announce := d.core.Recalculate(throughput, inUse)
	d.t.Counters.EstimatedTimeToConsume.Store(d.core.EstimatedTimeToConsumeMs())
	if announce {
		d.t.Counters.DebloatedSize.Store(int64(size))
		if d.t.Tracer.On(trace.Debloated) {
			d.t.Tracer.Hit(trace.Debloated, d.t.name, trace.Int("size", size), trace.Int("throughput", throughput), trace.Int("buffersInUse", inUse))
		}
		d.announce(size)
	}
	d.schedule()
}

// measure answers the throughput of the period that ends. A task that worked on what the period before had brought, and
// then waits, has measured time without bytes; Flink takes that for a throughput of 0, repeats it for as long as the
// silence lasts, and brings the size down to its minimum. Here the last throughput stands.
func (d *debloatShell) measure() int64 {
	if d.throughput.Starved() {
		return d.throughput.Skip()
	}
	return d.throughput.Calculate(nowNs())
}

func (d *debloatShell) announce(size int) {
	if err := d.t.Gate.AnnounceBufferSize(size); err != nil {
		d.t.Logger.Warn("announcing a buffer size", "task", d.t.name, "size", size, "err", err)
	}
}

// received counts a polled buffer.
func (d *debloatShell) received(bytes int) {
	if d.core != nil {
		d.throughput.IncomingData(nowNs(), int64(bytes))
	}
}

// pause says that there is no input.
func (d *debloatShell) pause() {
	if d.core != nil {
		d.throughput.Pause(nowNs())
	}
}
