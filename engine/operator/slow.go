package operator

import (
	"time"

	"weir/engine/checkpoint"
	"weir/engine/serde"
	"weir/engine/task"
)

// Slow works on each record for Settings.WorkMs and passes it on: it really sleeps, or keeps a processor busy for that
// long (WorkKind). With WorkOn "hot" it works on the hot key's records only.
type Slow struct {
	stateless
	work
	t   serde.KeyType
	hot bool
	ctx *task.Context
	out task.Output
}

// NewSlow makes the operator for keys of type t.
func NewSlow(t serde.KeyType) *Slow { return &Slow{t: t} }

// Open keeps where to emit.
func (s *Slow) Open(ctx *task.Context, out task.Output) error {
	s.ctx, s.out = ctx, out
	s.SettingsChanged()
	return nil
}

// SettingsChanged applies the work from the next record on.
func (s *Slow) SettingsChanged() {
	s.set(s.ctx.Settings.WorkMs, s.ctx.Settings.WorkKind)
	s.hot = s.ctx.Settings.WorkOn == "hot"
}

// Process works and emits.
func (s *Slow) Process(r *serde.Record) error {
	if s.d > 0 && (!s.hot || isHot(s.t, &r.Key)) {
		s.do()
	}
	return s.out.Collect(r)
}

// work is what is done for one record.
type work struct {
	d   time.Duration
	cpu bool
	// owed is what remains to be slept of the records so far; below 0 the sleeps were too long.
	owed time.Duration
}

const (
	// wakeLate is how late a thread wakes on a machine that has nothing else to do: Linux lets timers slip by 50 µs, and
	// then it must get a processor. Thread.sleep has it too, so that a map of 1 ms does some 930 records a second in Flink;
	// it is not made good.
	wakeLate = 75 * time.Microsecond
	// mostOverslept is how much of sleeping longer than that is made good. What is beyond, such as a stop at a breakpoint,
	// is not followed by a rush.
	mostOverslept = 250 * time.Millisecond
)

func (w *work) set(ms float64, kind string) {
	w.d, w.cpu = time.Duration(ms*float64(time.Millisecond)), kind == "cpu"
}

func (w *work) do() {
	if !w.cpu {
		w.sleep()
		return
	}
	for start := time.Now(); time.Since(start) < w.d; {
	}
}

// sleep sleeps for one record. A busy system wakes a thread late, the later the busier it is; the next records make that
// good, so that many jobs on one machine keep the pace of one.
func (w *work) sleep() {
	w.owed += w.d
	if w.owed <= 0 {
		return
	}
	start := time.Now()
	time.Sleep(w.owed)
	late := time.Since(start) - w.owed
	w.owed = max(min(wakeLate-late, 0), -mostOverslept)
}

// stateless is what operators without state have in common.
type stateless struct{}

// Finish does nothing.
func (stateless) Finish() error { return nil }

// Snapshot is nil: there is no state.
func (stateless) Snapshot() *checkpoint.OperatorState { return nil }

// Restore has nothing to take.
func (stateless) Restore(*checkpoint.OperatorState) error { return nil }

// Close does nothing.
func (stateless) Close() error { return nil }
