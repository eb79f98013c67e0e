package operator

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/task"
)

// WindowCount counts the records of each key in tumbling windows of event time, Settings.WindowMs long from the epoch on
// (Flink's WindowOperator with TumblingEventTimeWindows, a count, and no allowed lateness). The count lies in keyed state
// with the window as its namespace, beside a timer for the window's last ms. When the watermark comes to it the count is
// emitted and removed. A record whose window the watermark has passed is dropped.
//
// It emits the key with the payload "start,end,count", at the window's last ms. To show that nothing is lost it also keeps,
// by key, how many records were counted by windows that have fired, and how many were dropped; Flink does not.
type WindowCount struct {
	t   serde.KeyType
	ctx *task.Context
	out task.Output

	state  *task.KeyedState
	keys   *state.KeyContext
	count  *state.ValueState[int64] // by key and window
	fired  *state.ValueState[int64] // by key
	late   *state.ValueState[int64] // by key
	timers *state.TimerService
	open   openWindows

	records, firedSum, lateSum, dropped, results int64

	failed  error // of a snapshot, told with the next record
	restore []*checkpoint.OperatorState
	text    []byte
	record  serde.Record
}

// NewWindowCount counts keys of type t.
func NewWindowCount(t serde.KeyType) *WindowCount { return &WindowCount{t: t} }

// Open makes the state, and fills it if Restore was called before.
func (w *WindowCount) Open(ctx *task.Context, out task.Output) error {
	w.ctx, w.out = ctx, out
	s, err := ctx.OpenKeyed(w.t, w.restore)
	if err != nil {
		return err
	}
	w.restore = nil
	w.state, w.keys = s, s.Context()
	if err := w.openStates(); err != nil {
		w.state = nil
		return errors.Join(err, s.Close())
	}
	return nil
}

func (w *WindowCount) openStates() (err error) {
	b := w.state.Backend
	if w.count, err = keyed.Value(b, state.ValueDescriptor[int64]{Name: "window-count", Codec: state.Int64(), Namespace: state.WindowNamespace}); err != nil {
		return err
	}
	if w.fired, err = keyed.Value(b, state.ValueDescriptor[int64]{Name: "fired", Codec: state.Int64()}); err != nil {
		return err
	}
	if w.late, err = keyed.Value(b, state.ValueDescriptor[int64]{Name: "late", Codec: state.Int64()}); err != nil {
		return err
	}
	if w.timers, err = state.NewTimerService(b, "window-timers", state.WindowNamespace); err != nil {
		return err
	}
	return w.recount()
}

// recount finds what is in the restored state.
func (w *WindowCount) recount() error {
	w.open = openWindows{}
	w.firedSum, w.lateSum = 0, 0
	err := w.count.Each(func(_ int, _ serde.Key, ns state.Window, n int64) bool {
		o := w.open.of(ns)
		o.Keys++
		o.Records += n
		return true
	})
	add := func(to *int64) func(int, serde.Key, state.Window, int64) bool {
		return func(_ int, _ serde.Key, _ state.Window, n int64) bool {
			*to += n
			return true
		}
	}
	err = errors.Join(err, w.fired.Each(add(&w.firedSum)), w.late.Each(add(&w.lateSum)))
	w.records = w.firedSum + w.lateSum + w.open.records()
	return err
}

// Keyed implements task.KeyedOperator.
func (w *WindowCount) Keyed() *task.KeyedState { return w.state }

// windowOf is the tumbling window that a time is in (Flink's TimeWindow.getWindowStartWithOffset).
func windowOf(ms, size int64) state.Window {
	start := ms - ms%size
	if ms%size < 0 {
		start -= size
	}
	return state.Window{Start: start, End: start + size}
}

// Process counts a record in its window, or drops it.
func (w *WindowCount) Process(r *serde.Record) error {
	if w.failed != nil {
		return w.failed
	}
	if !r.HasTimestamp {
		return fmt.Errorf("a record of key %s has no event time, and a window needs one", serde.FormatKey(w.t, r.Key))
	}
	if err := w.keys.Set(r.Key, serde.HashKey(w.t, r.Key)); err != nil {
		return err
	}
	defer w.keys.Clear()
	w.records++
	win := windowOf(r.Timestamp, int64(max(w.ctx.Settings.WindowMs, 1)))
	if win.End-1 <= w.timers.Watermark() {
		w.dropped++
		w.lateSum++
		return increase(w.late, 1)
	}
	w.count.SetNamespace(win)
	n, err := w.count.Value()
	if err != nil {
		return err
	}
	o := w.open.of(win)
	o.Records++
	if n == 0 {
		o.Keys++
		if _, err := w.timers.Event.Register(win.End-1, win); err != nil {
			return err
		}
	}
	return w.count.Update(n + 1)
}

func increase(s *state.ValueState[int64], by int64) error {
	n, err := s.Value()
	if err != nil {
		return err
	}
	return s.Update(n + by)
}

// AdvanceWatermark fires the windows that end before the watermark.
func (w *WindowCount) AdvanceWatermark(ms int64) error {
	if w.failed != nil {
		return w.failed
	}
	return w.timers.AdvanceWatermark(ms, w.fire)
}

// fire emits the count of the timer's key and window, and forgets it.
func (w *WindowCount) fire(t state.Timer) error {
	w.count.SetNamespace(t.Window)
	n, err := w.count.Value()
	if err != nil {
		return err
	}
	if err := w.count.Clear(); err != nil {
		return err
	}
	if err := increase(w.fired, n); err != nil {
		return err
	}
	w.open.remove(t.Window, n)
	w.firedSum += n
	w.results++
	w.text = strconv.AppendInt(w.text[:0], t.Window.Start, 10)
	w.text = strconv.AppendInt(append(w.text, ','), t.Window.End, 10)
	w.text = strconv.AppendInt(append(w.text, ','), n, 10)
	w.record = serde.Record{Key: t.Key, Payload: unsafe.String(unsafe.SliceData(w.text), len(w.text)), Timestamp: t.Time, HasTimestamp: true}
	return w.out.Collect(&w.record)
}

// windowsListed and timersListed bound what Windows lists.
const (
	windowsListed = 16
	timersListed  = 24
)

// Windows is what the Snapshot tells of the windows. Only the task's goroutine may call it.
func (w *WindowCount) Windows() metric.Windows {
	m := metric.Windows{Records: w.records, Fired: w.firedSum, Late: w.lateSum, Held: w.open.records(), NumLateRecordsDropped: w.dropped, Results: w.results,
		OpenWindows: len(w.open.list), Open: append([]metric.OpenWindow{}, w.open.list[:min(windowsListed, len(w.open.list))]...), Timers: w.timers.Event.Len(), Next: []metric.EventTimer{}}
	if ms := w.timers.Watermark(); ms != task.NoWatermark {
		m.Watermark = &ms
	}
	for _, t := range w.timers.Event.First(timersListed) {
		m.Next = append(m.Next, metric.EventTimer{Time: t.Time, Key: serde.FormatKey(w.t, t.Key), KeyGroup: t.KeyGroup})
	}
	return m
}

// State is what the Snapshot tells of the state. Only the task's goroutine may call it.
func (w *WindowCount) State() metric.State {
	if w.state == nil {
		return metric.State{}
	}
	return w.state.Report()
}

// Counts are the records of each key so far, or nil if there are more than MaxCounts keys: those in open windows, in windows
// that have fired, and those that were dropped. Only the task's goroutine may call it.
func (w *WindowCount) Counts() map[string]int64 {
	if w.state == nil || max(w.fired.Entries(), w.late.Entries()) > MaxCounts {
		return nil
	}
	m := map[string]int64{}
	add := func(_ int, k serde.Key, _ state.Window, n int64) bool {
		m[serde.FormatKey(w.t, k)] += n
		return len(m) <= MaxCounts
	}
	if err := errors.Join(w.count.Each(add), w.fired.Each(add), w.late.Each(add)); err != nil || len(m) > MaxCounts {
		return nil
	}
	return m
}

// SettingsChanged does nothing: each record looks at the length of the windows anew, and those that are open keep theirs.
func (w *WindowCount) SettingsChanged() {}

// Finish does nothing: the last watermark has fired all windows.
func (w *WindowCount) Finish() error { return nil }

// Snapshot is the state by key group, all its bytes: that of a task that has ended. Others are taken by Keyed.
func (w *WindowCount) Snapshot() *checkpoint.OperatorState {
	groups, err := state.GroupBytes(w.state.Backend, 0)
	if err != nil {
		w.failed = err
	}
	return &checkpoint.OperatorState{Keyed: groups}
}

// Restore takes the state of this subtask's key groups, before Open.
func (w *WindowCount) Restore(s *checkpoint.OperatorState) error {
	if s == nil {
		return nil
	}
	if w.state != nil {
		return errors.New("windows were given after the operator was opened")
	}
	w.restore = append(w.restore, s)
	return nil
}

// Close gives the state up.
func (w *WindowCount) Close() error {
	if w.state == nil {
		return nil
	}
	return w.state.Close()
}
