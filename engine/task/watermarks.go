package task

import (
	"fmt"
	"sync/atomic"
	"time"

	"weir/engine/metric"
	"weir/engine/serde"
)

// EventTimeSource is a source whose records carry event times: the task asks it every Settings.WatermarkIntervalMs what it
// knows of event time (Flink's WatermarkGenerator.onPeriodicEmit), and sends that to all its consumers.
type EventTimeSource interface {
	Source
	// Watermark is the newest watermark in ms, NoWatermark before the first record, and whether the source counts as idle. One
	// that is silent because it is back-pressured is not.
	Watermark(now time.Time, backPressured bool) (ms int64, status serde.WatermarkStatus)
	// Sent is how many records it has sent since the job began, those before a restore included.
	Sent() int64
}

// EventTimeOperator is an operator that acts when event time goes on (Flink's StreamOperator.processWatermark). What it
// emits reaches the next operator before the watermark does.
type EventTimeOperator interface {
	Operator
	AdvanceWatermark(ms int64) error
}

// WindowReporter is implemented by operators that keep windows.
type WindowReporter interface {
	// Windows tells about the windows of this subtask.
	Windows() metric.Windows
}

// WatermarkReadings are what the task last published of event time. Times are in ms.
type WatermarkReadings struct {
	Watermark int64 // the last one that went down the chain; NoWatermark before the first
	Status    serde.WatermarkStatus
	Channels  []ChannelReading // of all gates; none at a source
}

// ChannelReading is what the valve knows of a channel.
type ChannelReading struct {
	Watermark     int64
	Idle, Aligned bool
}

// watermarks is the task's part in event time. The task's goroutine alone uses it, but for the readings.
type watermarks struct {
	valve   *WatermarkValve // nil at a source
	source  EventTimeSource // nil where event times come from upstream, or do not come
	last    int64           // that went down the chain
	status  serde.WatermarkStatus
	used    bool // anything has come, or is going to
	changed bool // since the readings were published
	timer   *time.Timer
	element []byte

	sent     atomic.Int64 // by the source
	readings atomic.Pointer[WatermarkReadings]
	windows  atomic.Pointer[metric.Windows]
}

func (w *watermarks) init(channels int) {
	w.last = NoWatermark
	if channels > 0 {
		w.valve = NewWatermarkValve(channels)
	}
}

// startWatermarks begins to ask the source, if it knows of event time. Like a tick the next one is due when the mail has
// run.
func (t *Task) startWatermarks() {
	w := &t.watermarks
	if w.source == nil {
		return
	}
	run := func() {
		// Behind the barrier that the job stops with nothing may be emitted.
		if !t.suspended && t.failed == nil {
			t.failed = t.askSource()
		}
		w.timer.Reset(t.watermarkInterval())
	}
	w.timer = time.AfterFunc(t.watermarkInterval(), func() { t.Mailbox.Post(run) })
}

func (t *Task) watermarkInterval() time.Duration {
	return time.Duration(max(t.Context.Settings.WatermarkIntervalMs, 1)) * time.Millisecond
}

func (t *Task) stopWatermarks() {
	if t.watermarks.timer != nil {
		t.watermarks.timer.Stop()
	}
}

// askSource sends on what the source knows of event time. While it is idle no watermark goes out; the one with which it
// comes back goes behind its new status.
func (t *Task) askSource() error {
	w := &t.watermarks
	ms, status := w.source.Watermark(time.Now(), t.Writer != nil && !t.Writer.Available())
	if status != w.status {
		if err := t.sendStatus(status); err != nil {
			return err
		}
	}
	if status == serde.Idle || ms <= w.last {
		return nil
	}
	return t.advance(ms)
}

// endOfTime is what a source that has ended sends: no record will come that any window waits for.
func (t *Task) endOfTime() error {
	w := &t.watermarks
	if w.source == nil {
		return nil
	}
	if w.status == serde.Idle {
		if err := t.sendStatus(serde.Active); err != nil {
			return err
		}
	}
	return t.advance(MaxWatermark)
}

// element handles what came between the records in a channel and is no event.
func (t *Task) element(kind serde.Kind) error {
	w := &t.watermarks
	var out ValveOutput
	switch kind {
	case serde.KindWatermark:
		out = w.valve.Watermark(t.channel, t.current.Watermark)
	case serde.KindWatermarkStatus:
		out = w.valve.Status(t.channel, t.current.Status)
	default:
		return nil
	}
	w.used, w.changed = true, true
	if out.Advanced {
		if err := t.advance(out.Watermark); err != nil {
			return err
		}
	}
	if out.StatusChanged {
		return t.sendStatus(out.Status)
	}
	return nil
}

// advance takes a watermark down the chain and sends it on.
func (t *Task) advance(ms int64) error {
	w := &t.watermarks
	w.last, w.used, w.changed = ms, true, true
	for i, op := range t.operators {
		if e, ok := op.(EventTimeOperator); ok {
			if err := e.AdvanceWatermark(ms); err != nil {
				return fmt.Errorf("watermark %d at %s: %w", ms, t.Operators[i].Name, err)
			}
		}
	}
	t.reportWindows()
	if t.Writer == nil {
		return nil
	}
	w.element = serde.AppendWatermark(w.element[:0], ms)
	return t.Writer.BroadcastElement(w.element)
}

func (t *Task) sendStatus(s serde.WatermarkStatus) error {
	w := &t.watermarks
	w.status, w.used, w.changed = s, true, true
	if t.Writer == nil {
		return nil
	}
	w.element = serde.AppendWatermarkStatus(w.element[:0], s)
	return t.Writer.BroadcastElement(w.element)
}

// publishWatermarks stores the readings if they have changed.
func (t *Task) publishWatermarks() {
	w := &t.watermarks
	if w.source != nil {
		w.sent.Store(w.source.Sent())
	}
	if !w.changed {
		return
	}
	w.changed = false
	t.publishTimers()
	r := &WatermarkReadings{Watermark: w.last, Status: w.status}
	if w.valve != nil {
		r.Channels = make([]ChannelReading, w.valve.Channels())
		for i := range r.Channels {
			c := &r.Channels[i]
			c.Watermark, c.Idle, c.Aligned = w.valve.Channel(i)
		}
	}
	w.readings.Store(r)
}

// publishTimers stores how many timers have fired: only a watermark fires them.
func (t *Task) publishTimers() {
	fired := int64(0)
	for _, op := range t.operators {
		if k, ok := op.(KeyedOperator); ok && k.Keyed() != nil {
			fired += k.Keyed().Context().Fired()
		}
	}
	t.Counters.FiredTimers.Store(fired)
}

// reportWindows stores what the operators tell of their windows: with each watermark that may have fired some, and when the
// task is asked for it.
func (t *Task) reportWindows() {
	for _, op := range t.operators {
		if r, ok := op.(WindowReporter); ok {
			windows := r.Windows()
			t.watermarks.windows.Store(&windows)
		}
	}
}

// Watermarks are what the task last published of event time; nil where no watermark has come. Any goroutine may call it.
func (t *Task) Watermarks() *WatermarkReadings { return t.watermarks.readings.Load() }

// Sent is how many records the source had sent when the task last published, of all attempts; 0 without event times.
func (t *Task) Sent() int64 { return t.watermarks.sent.Load() }

// Windows are what the task last told about its windows; nil if it keeps none. Any goroutine may call it.
func (t *Task) Windows() *metric.Windows { return t.watermarks.windows.Load() }
