package task

import (
	"sync/atomic"
	"time"

	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/serde"
	"weir/engine/trace"
)

// outcome is what a stretch of the default action ended with.
type outcome uint8

const (
	more    outcome = iota // mail waits, or the writer is pressed
	noInput                // ask again when woken, or after a while
	ended                  // all input has ended
)

// loop is the mailbox loop: mail first, then records until there is mail, no input, or no buffer to write into.
func (t *Task) loop() error {
	for {
		if t.Mailbox.Pending() {
			t.publishIfAsked()
			t.Mailbox.Run()
			if t.quitting {
				return ErrCanceled
			}
			if t.failed != nil {
				return t.failed
			}
			if t.Mailbox.priority.Swap(false) {
				if err := t.processPriority(); err != nil {
					return err
				}
			}
		}
		if t.suspended {
			t.park(0, nil)
			continue
		}
		if t.Writer != nil && !t.Writer.Available() {
			if t.Tracer.On(trace.SoftBackPressureBegan) {
				t.traceSoft()
			}
			t.park(0, &t.Times.SoftBackPressured)
			continue
		}
		var (
			got  outcome
			wait time.Duration
			err  error
		)
		if t.source != nil {
			got, wait, err = t.emit()
		} else {
			got, err = t.process()
		}
		switch {
		case err != nil:
			return err
		case got == ended:
			return t.finish()
		case got == noInput:
			t.park(wait, &t.Times.Idle)
		}
	}
}

// park sleeps until woken, on account of one of the time gauges.
func (t *Task) park(d time.Duration, timer *metric.Timer) {
	t.Publish()
	if timer == nil {
		t.Mailbox.Park(d)
		return
	}
	timer.MarkStart(nowNs())
	t.Mailbox.Park(d)
	timer.MarkEnd(nowNs())
}

// emit takes records from the source until something else is to be done.
func (t *Task) emit() (outcome, time.Duration, error) {
	r := &t.record
	for {
		status, wait := t.source.Next(r)
		switch status {
		case Ready:
			if (t.latency.on || r.HasTimestamp) && t.watermarks.source == nil {
				t.latency.stamp(r)
			}
			if err := t.head.Collect(r); err != nil {
				return more, 0, err
			}
			t.plain.recordsEmitted++
		case Wait:
			if wait <= 0 { // it only lets the mail through
				return more, 0, nil
			}
			return noInput, wait, nil
		case End:
			return ended, 0, t.source.Err()
		}
		if t.Mailbox.Pending() || (t.Writer != nil && t.Writer.Pressed()) {
			return more, 0, nil
		}
	}
}

// process takes records from the gate until something else is to be done.
func (t *Task) process() (outcome, error) {
	if t.recovery != nil {
		if got, done, err := t.processRecovered(); !done || err != nil {
			return got, err
		}
	}
	r := &t.record
	for {
		if c := t.current; c != nil {
			for {
				kind, ok, err := c.Next(r)
				if err != nil {
					return more, err
				}
				if !ok {
					break
				}
				if kind != serde.KindRecord {
					if err := t.element(kind); err != nil {
						return more, err
					}
					continue
				}
				t.plain.recordsIn++
				if t.latency.on {
					t.latency.observe(r)
				}
				if err := t.head.Collect(r); err != nil {
					return more, err
				}
				if t.Mailbox.Pending() || (t.Writer != nil && t.Writer.Pressed()) {
					return more, nil
				}
			}
			t.buffer.Recycle()
			t.current = nil
		}
		b, channel, ok, err := t.Gate.Poll()
		if err != nil {
			return more, err
		}
		if !ok {
			t.debloat.pause()
			return noInput, nil
		}
		t.count(b, channel)
		if b.IsData() {
			t.barriers.Processed(len(b.Bytes))
			t.buffer = b
			t.current, t.channel = &t.decoder[channel], channel
			t.current.SetBuffer(b.Bytes)
			t.Publish()
			continue
		}
		err = t.event(b, channel)
		b.Recycle()
		if err != nil {
			return more, err
		}
		if t.openInputs == 0 {
			return ended, nil
		}
		if t.Mailbox.Pending() || t.suspended {
			return more, nil
		}
	}
}

// count counts a buffer that was taken from the gate.
func (t *Task) count(b network.Buffer, channel int) {
	t.debloat.received(len(b.Bytes))
	if t.Local[channel] {
		t.plain.buffersInLocal++
		t.plain.bytesInLocal += int64(len(b.Bytes))
	} else {
		t.plain.buffersInRemote++
		t.plain.bytesInRemote += int64(len(b.Bytes))
	}
}

// finish ends event time, the operators, and then the output. Behind a gate one of whose producers was only stopped, what
// comes after the task learns that too.
func (t *Task) finish() error {
	drained := t.Gate == nil || t.Gate.EndOfData() != network.Stopped
	if err := t.endOfTime(); err != nil {
		return err
	}
	for _, op := range t.operators {
		if err := op.Finish(); err != nil {
			return err
		}
	}
	t.final = t.state()
	if t.Writer == nil {
		return t.awaitWrites()
	}
	if err := t.Writer.BroadcastEvent(serde.EndOfDataEvent{Drain: drained}, false); err != nil {
		return err
	}
	if err := t.Writer.Finish(); err != nil {
		return err
	}
	return t.awaitWrites()
}

// chained hands records to the next operator of the chain.
type chained struct{ op Operator }

func (c chained) Collect(r *serde.Record) error { return c.op.Process(r) }

// inChain does so too, and counts them. What reaches the first operator the task has counted already.
type inChain struct {
	op      Operator
	records int64
}

func (c *inChain) Collect(r *serde.Record) error {
	c.records++
	return c.op.Process(r)
}

// Passed is how many records each operator behind the first had taken when the task last published, without a first entry.
func (t *Task) Passed() []atomic.Int64 { return t.passed }

// discard is the output of a chain that ends in a sink.
type discard struct{}

func (discard) Collect(*serde.Record) error { return nil }

// Apply gives the task new settings, between two records.
func (t *Task) Apply(s *Settings) bool {
	return t.Mailbox.Post(func() {
		t.Context.Settings = s
		t.latency.configure(s)
		if t.source != nil {
			t.source.SettingsChanged()
		}
		for _, op := range t.operators {
			op.SettingsChanged()
		}
		if t.flusher != nil {
			t.Writer.SetFlushAlways(s.BufferTimeoutMs == 0)
			t.flusher.setTimeout(s.BufferTimeoutMs)
			t.Writer.FlushAll() // what the old timeout left lying
		}
		if t.debloat != nil {
			t.debloat.configure(s, false)
		}
	})
}
