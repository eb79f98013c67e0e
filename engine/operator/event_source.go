package operator

import (
	"fmt"
	"math"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/serde"
	"weir/engine/task"
)

// EventSource makes numbered records with event times. Event time begins at 0, and each record is as much later than the
// one before as the rate says, so that it goes on with the clock; then up to Settings.DisorderMs are taken off, by a rule
// that follows from the record's number. A split keeps its number and its event time, so that after a failure the same
// records come with the same times.
//
// Its watermarks stay Settings.OutOfOrdernessMs behind the newest event time of the split that is least far (Flink's
// BoundedOutOfOrdernessWatermarks, per split), and after Settings.IdleTimeoutMs of silence it is idle
// (WatermarksWithIdleness). While Settings.IdleInput names it, it sends nothing; its event time goes on meanwhile.
type EventSource struct {
	name   string
	inputs int
	count  int64

	ctx      *task.Context
	limit    limiter
	keyer    keyer
	text     string
	splits   []eventSplit
	restored bool
	turn     int
	stepNs   int64 // of event time, between two records of a split

	paused   bool
	pausedAt time.Time // up to when the splits have been brought

	sent   int64 // records, since the start
	asked  int64 // how many there were when Watermark was called last
	active time.Time
}

// NewEventSource makes the source called name, one of so many that share the rate; count is how many records it has, 0 for
// as many as there are longs.
func NewEventSource(name string, inputs int, count int64) *EventSource {
	if count <= 0 {
		count = math.MaxInt64
	}
	return &EventSource{name: name, inputs: max(inputs, 1), count: count}
}

// Open takes the subtask's split, unless Restore has.
func (e *EventSource) Open(ctx *task.Context) error {
	e.ctx = ctx
	if _, err := serde.ParseKeyType(ctx.Settings.KeyType); err != nil {
		return fmt.Errorf("event source: %w", err)
	}
	if !e.restored {
		e.splits = []eventSplit{newEventSplit(splitNumbers(e.count, ctx.Parallelism, ctx.Index), 0)}
	}
	e.active = time.Now()
	e.SettingsChanged()
	return nil
}

// SettingsChanged applies the knobs from the next record on.
func (e *EventSource) SettingsChanged() {
	s := e.ctx.Settings
	t, err := serde.ParseKeyType(s.KeyType)
	if err != nil {
		t = e.keyer.t
	}
	e.keyer = newKeyer(s, t)
	if len(e.text) != s.RecordBytes {
		e.text = payload(s.RecordBytes)
	}
	if paused := s.IdleInput == e.name; paused != e.paused {
		now := time.Now()
		if paused {
			e.pausedAt = now
		} else {
			e.settle(now)
			e.limit = limiter{} // what was not sent meanwhile is not sent at once now
		}
		e.paused = paused
	}
	e.share()
}

// settle lets event time go on where no record made it.
func (e *EventSource) settle(now time.Time) {
	for i := range e.splits {
		e.splits[i].timeNs += int64(now.Sub(e.pausedAt))
	}
	e.pausedAt = now
}

// share sets the rate of the subtask, which is that of its splits, and the step of event time that belongs to it.
func (e *EventSource) share() {
	live, of := 0, 1
	for i := range e.splits {
		of = e.splits[i].of
		if !e.splits[i].ended() {
			live++
		}
	}
	e.stepNs = int64(time.Millisecond)
	rate := e.ctx.Settings.Rate / float64(e.inputs*of) // of one split
	if rate > 0 {
		e.stepNs = int64(math.Round(second / rate))
	}
	if live > 0 {
		e.limit.follow(e.ctx.Settings, float64(live)/float64(e.inputs*of))
	}
}

// Next makes a record.
func (e *EventSource) Next(r *serde.Record) (task.Status, time.Duration) {
	if e.paused {
		return task.Wait, longestWait
	}
	if len(e.splits) == 0 || e.splits[e.turn].ended() && !e.advance() {
		if e.count == math.MaxInt64 {
			return task.Wait, longestWait
		}
		return task.End, 0
	}
	if wait, ok := e.limit.take(); !ok {
		return task.Wait, wait
	}
	p := &e.splits[e.turn]
	e.keyer.key(p.next, &r.Key)
	r.Payload = e.text
	r.Timestamp, r.HasTimestamp = p.emit(e.stepNs, int64(e.ctx.Settings.DisorderMs)), true
	e.sent++
	if p.ended() {
		e.share()
	}
	if len(e.splits) > 1 {
		e.advance()
	}
	return task.Ready, 0
}

// advance moves to the next split that is not at its end, and tells whether there is one.
func (e *EventSource) advance() bool {
	for range e.splits {
		if e.turn++; e.turn >= len(e.splits) {
			e.turn = 0
		}
		if !e.splits[e.turn].ended() {
			return true
		}
	}
	return false
}

// Watermark implements task.EventTimeSource. A subtask without splits has nothing to say, and is idle.
func (e *EventSource) Watermark(now time.Time, backPressured bool) (int64, serde.WatermarkStatus) {
	if len(e.splits) == 0 {
		return task.NoWatermark, serde.Idle
	}
	if e.sent != e.asked || backPressured {
		e.asked, e.active = e.sent, now
	}
	s := e.ctx.Settings
	newest := int64(math.MaxInt64)
	for i := range e.splits {
		if !e.splits[i].ended() {
			newest = min(newest, e.splits[i].newest)
		}
	}
	if idle := time.Duration(s.IdleTimeoutMs) * time.Millisecond; idle > 0 && now.Sub(e.active) >= idle {
		return task.NoWatermark, serde.Idle
	}
	if newest == task.NoWatermark || newest == math.MaxInt64 {
		return task.NoWatermark, serde.Active
	}
	return newest - int64(s.OutOfOrdernessMs) - 1, serde.Active
}

// Sent implements task.EventTimeSource: the numbers that the splits have come to.
func (e *EventSource) Sent() (n int64) {
	for i := range e.splits {
		p := &e.splits[i]
		n += p.next - splitNumbers(e.count, p.of, p.index).next
	}
	return n
}

// Err is always nil: nothing can fail.
func (e *EventSource) Err() error { return nil }

// Snapshot is the position and the event time of each split.
func (e *EventSource) Snapshot() *checkpoint.OperatorState {
	if e.paused {
		e.settle(time.Now())
	}
	s := &checkpoint.OperatorState{Splits: make([][]byte, 0, len(e.splits))}
	for i := range e.splits {
		s.Splits = append(s.Splits, e.splits[i].append(nil))
	}
	return s
}

// Restore takes the splits that this subtask was dealt, which may be none; it must be called before Open on every subtask of
// a restored job.
func (e *EventSource) Restore(s *checkpoint.OperatorState) error {
	e.splits, e.restored = nil, true
	if s == nil {
		return nil
	}
	for i, b := range s.Splits {
		p, err := parseEventSplit(b)
		if err != nil {
			return fmt.Errorf("split %d of the event source: %w", i, err)
		}
		e.splits = append(e.splits, p)
	}
	return nil
}

// Close does nothing.
func (e *EventSource) Close() error { return nil }
