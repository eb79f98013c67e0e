package task

import (
	"fmt"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/network"
	"weir/engine/serde"
)

// Recovery is the data in flight that a task reads before anything new: first what its old self, or those whose key groups
// it took over, had received; then what the producers had in their queues, which they send again.
type Recovery struct {
	Inputs []checkpoint.ChannelState
	// Rescaled: the data is of other subtasks. It goes through one deserializer for each pair of an old subtask and an old
	// channel, so that halves of a record meet again (Flink's DemultiplexingRecordDeserializer).
	Rescaled bool
	// Filter leaves out the records of key groups that are not the task's own: others read the same data.
	Filter bool
}

// recovery reads it. The task's goroutine alone uses it.
type recovery struct {
	Recovery
	channel, buffer int // of the next input
	waits           int // channels whose producers have recovered data to send
	virtual         map[between]*serde.Deserializer
	at              []*serde.Deserializer // by channel: that of the data which comes there
}

// between is an old consumer and an old producer.
type between struct{ consumer, producer int32 }

func newRecovery(r *Recovery, t *Task) *recovery {
	rc := &recovery{Recovery: *r, waits: t.Gate.Channels(), virtual: map[between]*serde.Deserializer{}, at: make([]*serde.Deserializer, t.Gate.Channels())}
	for i := range rc.at {
		rc.at[i] = &t.decoder[i]
	}
	return rc
}

func (rc *recovery) deserializer(b between, schema serde.Schema) *serde.Deserializer {
	d := rc.virtual[b]
	if d == nil {
		v := serde.NewDeserializer(schema)
		d = &v
		rc.virtual[b] = d
	}
	return d
}

// processRecovered is process until all recovered data has been read; done then says so. Mail runs meanwhile, and no
// barrier comes: the job triggers no checkpoint before every task is done.
func (t *Task) processRecovered() (got outcome, done bool, err error) {
	rc := t.recovery
	for {
		if t.current != nil {
			if interrupted, err := t.readRecovered(); interrupted || err != nil {
				return more, false, err
			}
		}
		if t.nextRecovered() {
			continue
		}
		if rc.waits == 0 {
			return more, true, t.endRecovery()
		}
		b, channel, ok, err := t.Gate.Poll()
		if err != nil {
			return more, false, err
		}
		if !ok {
			t.debloat.pause()
			return noInput, false, nil
		}
		t.count(b, channel)
		if b.IsData() {
			t.buffer = b
			t.current = rc.at[channel]
			t.current.SetBuffer(b.Bytes)
			t.Publish()
			continue
		}
		err = t.recoveryEvent(b, channel)
		b.Recycle()
		if err != nil {
			return more, false, err
		}
		if t.Mailbox.Pending() {
			return more, false, nil
		}
	}
}

// readRecovered reads the buffer to its end, unless it is interrupted.
func (t *Task) readRecovered() (interrupted bool, err error) {
	r := &t.record
	for {
		kind, ok, err := t.current.Next(r)
		if err != nil {
			return false, fmt.Errorf("recovered data in flight: %w", err)
		}
		if !ok {
			t.buffer.Recycle()
			t.current = nil
			return false, nil
		}
		if kind != serde.KindRecord || t.recovery.Filter && !t.owns(r) {
			continue
		}
		t.plain.recordsIn++
		if err := t.head.Collect(r); err != nil {
			return false, err
		}
		if t.Mailbox.Pending() || (t.Writer != nil && t.Writer.Pressed()) {
			return true, nil
		}
	}
}

// owns tells if a record's key group is one of the task's.
func (t *Task) owns(r *serde.Record) bool {
	return t.Context.KeyGroups.Contains(keygroup.Assign(serde.HashKey(t.Input.Key, r.Key), t.Context.MaxParallelism))
}

// nextRecovered takes the next buffer of the input's own recovered data.
func (t *Task) nextRecovered() bool {
	rc := t.recovery
	for rc.channel < len(rc.Inputs) {
		c := &rc.Inputs[rc.channel]
		if rc.buffer == len(c.Buffers) {
			c.Buffers = nil
			rc.channel, rc.buffer = rc.channel+1, 0
			continue
		}
		t.current = rc.at[min(c.Channel, len(rc.at)-1)]
		if rc.Rescaled {
			t.current = rc.deserializer(between{int32(c.Subtask), int32(c.Channel)}, t.Input)
		}
		t.current.SetBuffer(c.Buffers[rc.buffer])
		rc.buffer++
		return true
	}
	return false
}

// recoveryEvent handles what comes between the recovered data of the producers.
func (t *Task) recoveryEvent(b network.Buffer, channel int) error {
	rc := t.recovery
	e, err := serde.UnmarshalEvent(b.Bytes)
	if err != nil {
		return fmt.Errorf("channel %d: %w", channel, err)
	}
	switch e := e.(type) {
	case serde.SubtaskConnectionDescriptor:
		rc.at[channel] = rc.deserializer(between{e.InputSubtask, e.OutputSubtask}, t.Input)
		return nil
	case serde.EndOfOutputChannelStateEvent:
		rc.waits--
		rc.at[channel] = &t.decoder[channel]
		return nil
	}
	return t.event(b, channel)
}

// endRecovery opens the channels, which all have blocked behind their recovered data.
func (t *Task) endRecovery() error {
	for b, d := range t.recovery.virtual {
		if n := d.Unfinished(); n > 0 {
			return fmt.Errorf("recovered data in flight from old subtask %d to old subtask %d ends inside a record, after %d bytes of it", b.producer, b.consumer, n)
		}
	}
	for i := range t.decoder {
		if n := t.decoder[i].Unfinished(); n > 0 {
			return fmt.Errorf("recovered data in flight of channel %d ends inside a record, after %d bytes of it", i, n)
		}
	}
	t.recovery = nil
	t.Counters.Ready.Store(nowNs())
	for i := range t.Gate.Channels() {
		if err := t.Gate.Channel(i).Resume(); err != nil {
			return err
		}
	}
	t.Listener.Recovered()
	return nil
}
