package network

import (
	"fmt"
	"math"

	"weir/engine/serde"
)

// noBarrier stands for no barrier seen yet.
const noBarrier = -1

// enqueue puts what came in its place: a priority event before the data, all else at the end; a barrier that may turn
// unaligned is announced ahead of the data besides. It reports if the first priority event came. Called with the lock held.
func (c *RemoteChannel) enqueue(b Buffer) (firstPriority bool, err error) {
	if b.IsData() {
		c.received.push(b)
		c.persist.data(b.Bytes)
		return false, nil
	}
	var barrier *serde.CheckpointBarrier
	if b.Type.HasPriority() || b.Type.RequiresAnnouncement() || b.Type.BlocksUpstream() {
		e, err := serde.UnmarshalEvent(b.Bytes)
		if err != nil {
			return false, fmt.Errorf("network: channel %d: event %d: %w", c.o.Index, b.Seq, err)
		}
		if cb, ok := e.(serde.CheckpointBarrier); ok {
			barrier = &cb
		}
	}
	switch {
	case b.Type.HasPriority():
		if barrier != nil {
			c.overtaken += int64(c.received.data(c.received.len()))
		}
		c.received.pushPriority(b)
		firstPriority = c.received.priority == 1
	case b.Type.RequiresAnnouncement() && barrier != nil:
		c.received.push(b)
		e := serde.EventAnnouncement{SequenceNumber: b.Seq, Barrier: *barrier}
		c.received.pushPriority(Buffer{Bytes: serde.MarshalEvent(e), Type: serde.EventDataType(e, true), Seq: b.Seq})
		firstPriority = c.received.priority == 1
	default:
		c.received.push(b)
	}
	if barrier != nil && c.persist.barrier(barrier.ID) && barrier.ID > c.lastBarrier {
		c.lastBarrier, c.lastBarrierSeq = barrier.ID, b.Seq
	}
	return firstPriority, nil
}

// Prioritize moves the announced barrier with a sequence number before the data, when its time to stay aligned is over
// (Flink's convertToPriorityEvent). Only its place changes.
func (c *RemoteChannel) Prioritize(seq int32) error {
	c.mu.Lock()
	before := c.received.find(seq)
	b, ok := c.received.remove(seq)
	if !ok || b.IsData() {
		if ok {
			c.received.push(b)
		}
		c.mu.Unlock()
		return fmt.Errorf("network: channel %d has no event %d in its queue", c.o.Index, seq)
	}
	c.overtaken += int64(c.received.data(before))
	c.received.pushPriority(b)
	first := c.received.priority == 1
	c.mu.Unlock()
	if first {
		c.o.Gate.NotifyPriority(c.o.Index)
	}
	return nil
}

// InFlight lists the queued data that stands before the barrier of a checkpoint, with one reference each: what an
// unaligned checkpoint persists. Without that barrier it is everything queued. A checkpoint older than the newest
// barrier is refused.
func (c *RemoteChannel) InFlight(checkpoint int64) ([]Buffer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight(checkpoint)
}

func (c *RemoteChannel) inFlight(checkpoint int64) ([]Buffer, error) {
	if checkpoint < c.lastBarrier {
		return nil, fmt.Errorf("network: checkpoint %d on channel %d: %w, %d", checkpoint, c.o.Index, ErrSubsumed, c.lastBarrier)
	}
	var bounded bool
	if checkpoint > c.lastBarrier {
		c.lastBarrier = noBarrier // an older barrier bounds nothing
	} else {
		bounded = true
	}
	var list []Buffer
	for i := c.received.priority; i < c.received.len(); i++ {
		b := c.received.at(i)
		if !b.IsData() {
			continue
		}
		if bounded && !before(b.Seq, c.lastBarrierSeq) {
			break
		}
		if b.Seg != nil {
			b.Seg.Retain()
		}
		list = append(list, *b)
	}
	return list, nil
}

// HasPriority tells if Next will take a priority event.
func (c *RemoteChannel) HasPriority() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received.priority > 0
}

// CheckpointStarted stores the data in flight of a checkpoint, and goes on with what arrives until its barrier.
func (c *RemoteChannel) CheckpointStarted(checkpoint int64, store func(data []byte)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, err := c.inFlight(checkpoint)
	if err != nil {
		return err
	}
	if err := c.persist.start(checkpoint, store); err != nil {
		recycle(list)
		return err
	}
	for i := range list {
		store(list[i].Bytes)
	}
	recycle(list)
	return nil
}

func recycle(list []Buffer) {
	for i := range list {
		list[i].Recycle()
	}
}

// CheckpointStopped ends the keeping of data for a checkpoint.
func (c *RemoteChannel) CheckpointStopped(checkpoint int64) {
	c.mu.Lock()
	c.persist.stop(checkpoint)
	c.mu.Unlock()
}

// before compares sequence numbers, which wrap around.
func before(seq, barrier int32) bool {
	if barrier > math.MaxInt32/2 {
		return seq < barrier && seq > 0
	}
	return seq < barrier
}
