package task

import (
	"errors"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/network"
	"weir/engine/serde"
)

// inFlight is the task's part in the data in flight of its checkpoints. The task's goroutine alone uses it.
type inFlight struct {
	data    *checkpoint.InFlight // of the newest checkpoint that has any
	timer   *time.Timer          // calls the barrier handler
	timerAt time.Time            // what it is set to; zero is not set
	scratch []byte
}

// outputQueues is how many output queues tell of the data in flight of a checkpoint.
func (t *Task) outputQueues() int {
	if t.Writer == nil || !t.UnalignedOutput {
		return 0
	}
	return t.Partition.Subpartitions()
}

// beginInFlight starts to gather for a checkpoint. What was gathered for an older one, and is not complete, is void.
func (t *Task) beginInFlight(id int64) *checkpoint.InFlight {
	if f := t.inFlight.data; f != nil {
		f.Fail(checkpoint.ErrAborted)
	}
	t.inFlight.data = checkpoint.NewInFlight(id, t.outputQueues())
	return t.inFlight.data
}

// inFlightOf is what has been begun for a checkpoint; nil if nothing has.
func (t *Task) inFlightOf(id int64) *checkpoint.InFlight {
	if f := t.inFlight.data; f != nil && f.ID() == id {
		return f
	}
	return nil
}

// dropInFlight lets go of what was gathered for a checkpoint, and for older ones.
func (t *Task) dropInFlight(id int64) {
	if f := t.inFlight.data; f != nil && f.ID() <= id {
		f.Fail(checkpoint.ErrAborted)
		t.inFlight.data = nil
	}
	if t.Writer != nil {
		t.Partition.AbortBarrier(id)
	}
}

// startPersisting keeps what the deserializers have not used up, and has the channels keep what comes before their
// barriers.
func (t *Task) startPersisting(id int64) error {
	f := t.beginInFlight(id)
	for i := range t.decoder {
		t.inFlight.scratch = t.decoder[i].AppendUnconsumed(t.inFlight.scratch[:0])
		f.AddInput(i, t.inFlight.scratch)
		if err := t.Gate.Channel(i).CheckpointStarted(id, func(data []byte) { f.AddInput(i, data) }); err != nil {
			return err
		}
	}
	return nil
}

func (t *Task) stopPersisting(a checkpoint.Action) {
	for i := range t.decoder {
		t.Gate.Channel(i).CheckpointStopped(a.ID)
	}
	if f := t.inFlightOf(a.ID); f != nil && a.Complete {
		f.FinishInput(a.AlignmentNs, a.BytesDuringAlignment)
		t.Counters.CheckpointAlignmentNs.Store(a.AlignmentNs)
	}
}

// giveUp ends a checkpoint of which a channel has lost the data, since it has had a newer barrier. rest is what was still
// to be done: channels are resumed all the same.
func (t *Task) giveUp(id int64, rest []checkpoint.Action) error {
	for i := range t.decoder {
		t.Gate.Channel(i).CheckpointStopped(id)
	}
	for _, a := range rest {
		if a.Kind == checkpoint.Resume {
			if err := t.Gate.Channel(a.Channel).Resume(); err != nil {
				return err
			}
		}
	}
	return t.act(t.barriers.GiveUp(id, checkpoint.BySubsumption))
}

// armTimer sets the timer that the barrier handler asks for.
func (t *Task) armTimer() {
	at, ok := t.barriers.NextTimer()
	if at.Equal(t.inFlight.timerAt) {
		return
	}
	if t.inFlight.timer != nil {
		t.inFlight.timer.Stop()
	}
	t.inFlight.timerAt = at
	if !ok {
		return
	}
	t.inFlight.timer = time.AfterFunc(time.Until(at), func() {
		t.Mailbox.Post(func() { t.fail(t.act(t.barriers.Timeout(time.Now()))) })
	})
}

// sendBarrier sends a checkpoint's barrier on, and returns who gathers its data in flight; nil if there can be none. What
// the input side has to give is complete, unless startPersisting has begun it.
func (t *Task) sendBarrier(b serde.CheckpointBarrier, alignment time.Duration, bytes int64) (*checkpoint.InFlight, error) {
	// It may have been unaligned, and aligned only on the exchange it came by.
	b.Options = b.Options.WithUnalignedSupported()
	var f *checkpoint.InFlight
	if b.Options.IsUnaligned() || b.Options.IsTimeoutable() {
		if f = t.inFlightOf(b.ID); f == nil {
			f = t.beginInFlight(b.ID)
			f.FinishInput(int64(alignment), bytes)
		}
	}
	if t.Writer == nil {
		return f, nil
	}
	if !t.UnalignedOutput {
		b.Options = b.Options.WithUnalignedUnsupported()
		return f, t.Writer.BroadcastEvent(b, false)
	}
	if b.Options.IsTimeoutable() {
		t.timeoutOutput(b)
	}
	return f, t.Writer.BroadcastBarrier(b, f)
}

// timeoutOutput lets the barriers that still stand in the output queues overtake, when their time to stay aligned is over.
// The queues outlive the task.
func (t *Task) timeoutOutput(b serde.CheckpointBarrier) {
	over := time.UnixMilli(b.Timestamp + b.Options.AlignedTimeoutMs)
	run := func() { t.Partition.TimeoutBarrier(b.ID) }
	time.AfterFunc(time.Until(over), func() {
		if !t.Mailbox.Post(run) {
			run()
		}
	})
}

// processPriority takes the priority events that have come, between two records, and leaves the data where it is.
func (t *Task) processPriority() error {
	for {
		b, channel, ok, err := t.Gate.PollPriority()
		if err != nil || !ok {
			return err
		}
		err = t.event(b, channel)
		b.Recycle()
		if err != nil {
			return err
		}
	}
}

// fail keeps the first error of a mail.
func (t *Task) fail(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

func subsumed(err error) bool { return errors.Is(err, network.ErrSubsumed) }
