package network

import (
	"fmt"

	"weir/engine/serde"
)

// OutputState keeps the data that barriers overtake in the queues of one producer (Flink's ChannelStateWriter). It is
// called with the queue's lock held and copies what it keeps.
type OutputState interface {
	AddOutput(subpartition int, data []byte)
	// OutputDone tells, once for each subpartition, that nothing more comes from it.
	OutputDone(subpartition int)
	// Fail tells that the data of the checkpoint cannot be complete.
	Fail(err error)
}

// waitingBarrier is a barrier that is to be sent, and who keeps what it overtakes.
type waitingBarrier struct {
	barrier serde.CheckpointBarrier
	state   OutputState
}

// unread is what can be read of an entry now.
func (e *entry) unread() []byte {
	if e.seg == nil {
		return e.event
	}
	n, _ := e.seg.Written()
	return e.seg.Bytes()[e.read:n]
}

// keepInFlight is called with the lock held, after the barrier was queued. A priority one has overtaken all data in the
// queue, which belongs to the checkpoint, the unfinished buffer as far as it is written. An aligned one that may turn
// unaligned waits to be read.
func (s *Subpartition) keepInFlight(typ serde.DataType, b *waitingBarrier) {
	if typ.HasPriority() {
		s.keep(s.priority, s.queue.len(), b.state)
		return
	}
	if old := s.waiting; old != nil {
		old.state.Fail(fmt.Errorf("network: subpartition %d got the barrier of checkpoint %d while that of %d still waits", s.index, b.barrier.ID, old.barrier.ID))
	}
	s.waiting = b
}

// keep hands over the data of the entries first to end-1.
func (s *Subpartition) keep(first, end int, state OutputState) {
	for i := first; i < end; i++ {
		e := s.queue.at(i)
		if e.typ != serde.DataBuffer {
			continue
		}
		if data := e.unread(); len(data) > 0 {
			s.overtaken++
			state.AddOutput(s.index, data)
		}
	}
	state.OutputDone(s.index)
}

// isWaiting tells if an entry is the barrier of a checkpoint that may turn unaligned. Those of older checkpoints, which
// were given up, may stand in the queue still.
func (e *entry) isWaiting(checkpoint int64) bool {
	if e.typ != serde.TimeoutableAlignedCheckpointBarrier {
		return false
	}
	event, err := serde.UnmarshalEvent(e.event)
	b, ok := event.(serde.CheckpointBarrier)
	return err == nil && ok && b.ID == checkpoint
}

// leftInTime is called with the lock held when a barrier that may turn unaligned is read: it has overtaken nothing.
func (s *Subpartition) leftInTime(e entry) {
	if w := s.waiting; w != nil && e.isWaiting(w.barrier.ID) {
		s.waiting = nil
		w.state.OutputDone(s.index)
	}
}

// timeoutBarrier turns the waiting barrier of a checkpoint into an unaligned one, that goes before the data (Flink's
// alignedBarrierTimeout). If it was read in time, or was given up, nothing happens.
func (s *Subpartition) timeoutBarrier(checkpoint int64) {
	s.mu.Lock()
	w := s.waiting
	if w == nil || w.barrier.ID != checkpoint {
		s.mu.Unlock()
		return
	}
	s.waiting = nil
	at := s.priority
	for at < s.queue.len() && !s.queue.at(at).isWaiting(checkpoint) {
		at++
	}
	if at == s.queue.len() {
		s.mu.Unlock()
		return
	}
	s.keep(s.priority, at, w.state)
	s.queue.remove(at)
	s.queue.insert(s.priority, entry{event: serde.MarshalEvent(w.barrier.AsUnaligned()), typ: serde.PrioritizedEventBuffer})
	s.priority++
	first, seq, v := s.priority == 1, s.seq, s.view
	s.mu.Unlock()
	if first && v != nil {
		v.listener.PriorityAvailable(seq)
	}
}

// abortBarrier forgets that the barrier of a checkpoint may turn unaligned.
func (s *Subpartition) abortBarrier(checkpoint int64) {
	s.mu.Lock()
	if s.waiting != nil && s.waiting.barrier.ID <= checkpoint {
		s.waiting.state.Fail(errGivenUp)
		s.waiting = nil
	}
	s.mu.Unlock()
}

var errGivenUp = fmt.Errorf("network: the checkpoint was given up")

// TimeoutBarrier lets the barriers of a checkpoint that still stand in the queues go before the data: their time to stay
// aligned is over.
func (p *ResultPartition) TimeoutBarrier(checkpoint int64) {
	for _, s := range p.subs {
		s.timeoutBarrier(checkpoint)
	}
}

// AbortBarrier forgets about the data in flight of a checkpoint that was given up.
func (p *ResultPartition) AbortBarrier(checkpoint int64) {
	for _, s := range p.subs {
		s.abortBarrier(checkpoint)
	}
}

// Recover queues data in flight of a checkpoint, before anything else is written. The bytes belong to the queue from then
// on; they take no segments of the pool. between, if not nil, says which old subtasks the data passed between.
// No buffer is longer than segmentBytes: the receiver's may be smaller than those of old.
func (p *ResultPartition) Recover(sub int, data [][]byte, between *serde.SubtaskConnectionDescriptor, segmentBytes int) error {
	s := p.subs[sub]
	if between != nil {
		if err := s.addEvent(serde.MarshalEvent(*between), serde.EventBuffer, false); err != nil {
			return err
		}
	}
	for _, b := range data {
		for len(b) > 0 {
			n := min(segmentBytes, len(b))
			if err := s.addRecovered(b[:n:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return nil
}

// FinishRecovery ends, in every subpartition, what Recover queued. The reader then waits for a resume, so that nothing
// new is read while others still have recovered data to read.
func (p *ResultPartition) FinishRecovery() error {
	e := serde.EndOfOutputChannelStateEvent{}
	for _, s := range p.subs {
		if err := s.addEvent(serde.MarshalEvent(e), serde.EventDataType(e, false), false); err != nil {
			return err
		}
	}
	return nil
}

// addRecovered queues bytes that lie in no segment as a finished data buffer.
func (s *Subpartition) addRecovered(b []byte) error {
	s.mu.Lock()
	if s.finished || s.released {
		s.mu.Unlock()
		return errFinished
	}
	s.queue.pushBack(entry{event: b, typ: serde.DataBuffer})
	s.totalBuffers++
	s.backlog++
	v := s.view
	notify := v != nil && s.shouldNotify()
	s.mu.Unlock()
	if notify {
		v.listener.DataAvailable()
	}
	return nil
}

// BroadcastBarrier finishes the open buffers and queues a barrier in every subpartition. state keeps the data in flight:
// that before an unaligned barrier at once, that before one with a timeout if TimeoutBarrier finds it still queued. With a
// barrier that is neither there is nothing to keep, and state may be nil.
func (w *RecordWriter) BroadcastBarrier(b serde.CheckpointBarrier, state OutputState) error {
	if !b.Options.IsUnaligned() && !b.Options.IsTimeoutable() {
		return w.BroadcastEvent(b, false)
	}
	typ := serde.EventDataType(b, b.Options.IsUnaligned())
	return w.toAll(func(i int) error {
		return w.part.subs[i].addBarrier(serde.MarshalEvent(b), typ, false, &waitingBarrier{b, state})
	})
}

// hasPriority tells if the next thing to be read is a priority event.
func (v *View) hasPriority() bool {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	return v.s.priority > 0
}
