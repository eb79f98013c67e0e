package task

import (
	"fmt"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/serde"
	"weir/engine/trace"
)

// TriggerCheckpoint starts a checkpoint at a source, as mail. stop suspends the task behind its barrier.
func (t *Task) TriggerCheckpoint(b serde.CheckpointBarrier, stop bool) bool {
	return t.Mailbox.Post(func() {
		delay := time.Since(time.UnixMilli(b.Timestamp))
		if err := t.snapshot(b, max(delay, 0), 0, 0); err != nil {
			t.failed = err
			return
		}
		t.suspended = t.suspended || stop
	})
}

// event handles what came between the records.
func (t *Task) event(b network.Buffer, channel int) error {
	e, err := serde.UnmarshalEvent(b.Bytes)
	if err != nil {
		return fmt.Errorf("channel %d: %w", channel, err)
	}
	switch e := e.(type) {
	case serde.CheckpointBarrier:
		return t.act(t.barriers.Barrier(channel, e, time.Now()))
	case serde.EventAnnouncement:
		return t.act(t.barriers.Announcement(channel, e.Barrier, e.SequenceNumber, time.Now()))
	case serde.CancelCheckpointMarker:
		return t.act(t.barriers.Cancel(channel, e.CheckpointID, time.Now()))
	case serde.EndOfDataEvent:
		_, err := t.Gate.ReceiveEndOfData(channel, e.Drain)
		return err
	case serde.EndOfPartitionEvent:
		t.openInputs--
		actions := t.barriers.EndOfPartition(channel, time.Now())
		t.Gate.Channel(channel).Release()
		return t.act(actions)
	}
	return fmt.Errorf("channel %d: event %T has no meaning here", channel, e)
}

// act does what the barrier handler asks for.
func (t *Task) act(actions []checkpoint.Action) error {
	for i, a := range actions {
		switch a.Kind {
		case checkpoint.StartPersisting:
			if err := t.startPersisting(a.ID); subsumed(err) {
				return t.giveUp(a.ID, actions[i+1:])
			} else if err != nil {
				return err
			}
		case checkpoint.StopPersisting:
			t.stopPersisting(a)
		case checkpoint.Prioritize:
			if err := t.Gate.Channel(a.Channel).Prioritize(a.Seq); err != nil {
				return err
			}
		case checkpoint.Block: // the subpartition blocked itself when its barrier was polled
		case checkpoint.Resume:
			if err := t.Gate.Channel(a.Channel).Resume(); err != nil {
				return err
			}
		case checkpoint.Trigger:
			if err := t.snapshot(a.Barrier, time.Duration(a.StartDelayNs), time.Duration(a.AlignmentNs), a.BytesDuringAlignment); err != nil {
				return err
			}
		case checkpoint.Abort:
			t.taken.Gone(a.ID)
			if err := t.cancelDownstream(a.ID); err != nil {
				return err
			}
			t.Listener.Declined(t.Vertex, t.Context.Index, a.ID, a.Reason, nil)
			t.dropInFlight(a.ID)
		}
	}
	t.armTimer()
	return nil
}

func (t *Task) cancelDownstream(id int64) error {
	if t.Writer == nil {
		return nil
	}
	return t.Writer.BroadcastEvent(serde.CancelCheckpointMarker{CheckpointID: id}, false)
}

// NotifyAborted tells the task that the coordinator gave a checkpoint up; one that was to stop the job lets it go on.
func (t *Task) NotifyAborted(id int64, stop bool) {
	t.Mailbox.Post(func() {
		t.taken.Aborted(id)
		t.eachKeyed(func(k *KeyedState) { k.Aborted(id) })
		t.dropInFlight(id)
		t.suspended = t.suspended && !stop
	})
}

// Final is the state that the task ended with, and the newest checkpoint that it dealt with. It is there once Run has
// returned nil.
func (t *Task) Final() (*checkpoint.TaskState, int64) { return t.final, t.taken.Last() }

// snapshot is the sync phase: the barrier goes on downstream first, then the state is taken. A state that cannot be taken
// declines the checkpoint.
func (t *Task) snapshot(b serde.CheckpointBarrier, startDelay, alignment time.Duration, bytes int64) error {
	switch t.taken.Start(b.ID) {
	case checkpoint.Ignore:
		return nil
	case checkpoint.SendCancel:
		t.dropInFlight(b.ID)
		return t.cancelDownstream(b.ID)
	}
	began := time.Now()
	if err := t.prepareSnapshot(b.ID); err != nil {
		return err
	}
	f, err := t.sendBarrier(b, alignment, bytes)
	if err != nil {
		return err
	}
	s, keyed, err := t.take(b.ID, b.Options.Type == serde.Savepoint)
	if err != nil { // the barrier is on its way: the task goes on, the checkpoint does not
		t.Listener.Declined(t.Vertex, t.Context.Index, b.ID, checkpoint.Declined, err)
		return nil
	}
	t.Counters.CheckpointStartDelayNs.Store(int64(startDelay))
	t.Counters.CheckpointAlignmentNs.Store(int64(alignment))
	t.Listener.Snapshotted(Snapshotted{Vertex: t.Vertex, Subtask: t.Context.Index, CheckpointID: b.ID, State: s, Keyed: keyed,
		StartDelay: startDelay, Alignment: alignment, Sync: time.Since(began), ProcessedBytes: bytes, InFlight: f})
	return nil
}

// state is that of all operators at the end, with all its bytes.
func (t *Task) state() *checkpoint.TaskState {
	s := &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{}}
	if t.source != nil {
		s.Operators[t.Config.Source.Name] = t.source.Snapshot()
	}
	for i, op := range t.operators {
		if st := op.Snapshot(); st != nil {
			s.Operators[t.Operators[i].Name] = st
		}
	}
	return s
}

// reportedState is what the task last told about its keyed state.
type reportedState struct {
	state  atomic.Pointer[metric.State]
	counts atomic.Pointer[map[string]int64]
}

// RequestReport asks the task to tell about its keyed state, as mail.
func (t *Task) RequestReport() { t.Mailbox.Post(t.report) }

func (t *Task) report() {
	t.reportWindows()
	for _, op := range t.operators {
		r, ok := op.(StateReporter)
		if !ok {
			continue
		}
		st := r.State()
		t.reported.state.Store(&st)
		counts := r.Counts()
		t.reported.counts.Store(&counts)
	}
}

// State is what the task last told about its keyed state; nil if it has none.
func (t *Task) State() *metric.State { return t.reported.state.Load() }

// CountsByKey is what the task last told; ok is false if it keeps no counts, counts is nil if there are too many.
func (t *Task) CountsByKey() (counts map[string]int64, ok bool) {
	p := t.reported.counts.Load()
	if p == nil {
		return nil, false
	}
	return *p, true
}

func (t *Task) traceSoft() {
	pool := t.Partition.Pool().Stats()
	why := "pool empty"
	for sub, n := range t.Partition.Pool().AppendSubpartitions(nil) {
		if n >= t.Context.Settings.MaxBuffersPerSubpartition {
			why = fmt.Sprintf("subpartition %d holds %d", sub, n)
		}
	}
	t.Tracer.Hit(trace.SoftBackPressureBegan, t.name, trace.Str("why", why), trace.Int("requested", pool.Requested), trace.Int("size", pool.Size))
}
