package task

import "time"

// PreBarrier is implemented by an operator that holds records back: it is called before the barrier goes out, and emits
// what must not be missing behind it (Flink's StreamOperator.prepareSnapshotPreBarrier).
type PreBarrier interface {
	PrepareSnapshotPreBarrier(checkpointID int64) error
}

// Ticking is implemented by an operator that wants to be called every Interval, as mail. An error fails the task.
type Ticking interface {
	Interval() time.Duration
	Tick() error
}

// prepareSnapshot goes through the chain from its head, so that what one operator emits reaches the next one in time.
func (t *Task) prepareSnapshot(id int64) error {
	for _, op := range t.operators {
		if p, ok := op.(PreBarrier); ok {
			if err := p.PrepareSnapshotPreBarrier(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// startTicks sets a timer for each operator that asks for one. The next interval begins when the mail has run, so that
// no mail piles up in a task that is blocked.
func (t *Task) startTicks() {
	for _, op := range t.operators {
		k, ok := op.(Ticking)
		if !ok {
			continue
		}
		var timer *time.Timer
		run := func() {
			// Behind the barrier that the job stops with nothing may be emitted.
			if !t.suspended && t.failed == nil {
				t.failed = k.Tick()
			}
			timer.Reset(k.Interval())
		}
		timer = time.AfterFunc(k.Interval(), func() { t.Mailbox.Post(run) })
		t.ticks = append(t.ticks, timer)
	}
}
