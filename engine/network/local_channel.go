package network

import (
	"fmt"
	"sync/atomic"

	"weir/engine/serde"
)

// LocalChannel reads a subpartition of the same task manager in place: no copy, no credit (Flink's LocalInputChannel).
type LocalChannel struct {
	index int
	gate  *Gate
	view  *View

	taken, events atomic.Int64
	released      atomic.Bool

	persist persister // of the consuming task's goroutine
}

// NewLocalChannel opens channel index of a gate on a subpartition.
func NewLocalChannel(gate *Gate, index int, provider PartitionProvider, id PartitionID, subpartition int) (*LocalChannel, error) {
	c := &LocalChannel{index: index, gate: gate, persist: newPersister()}
	v, err := provider.CreateView(id, subpartition, c)
	if err != nil {
		return nil, err
	}
	c.view = v
	return c, nil
}

// DataAvailable is called by the producer.
func (c *LocalChannel) DataAvailable() { c.gate.NotifyNonEmpty(c.index) }

// PriorityAvailable is called by the producer.
func (c *LocalChannel) PriorityAvailable(int32) { c.gate.NotifyPriority(c.index) }

// Index is the channel's place in its gate.
func (c *LocalChannel) Index() int { return c.index }

// Next takes the next buffer from the producer's queue.
func (c *LocalChannel) Next() (b Buffer, more, ok bool, err error) {
	p, ok, err := c.view.Next()
	if err != nil || !ok {
		if c.released.Load() {
			err = nil
		}
		return b, false, false, err
	}
	if p.IsData() {
		c.taken.Add(1)
		c.persist.data(p.Bytes)
	} else {
		c.events.Add(1)
		if b, ok := barrierIn(&p.Buffer); ok {
			c.persist.barrier(b.ID)
		}
	}
	if p.Next.HasPriority() {
		// Only the first of several priority events is announced by the producer.
		c.gate.NotifyPriority(c.index)
	}
	return p.Buffer, p.Next != serde.None, true, nil
}

// Resume ends the blocking by an aligned barrier.
func (c *LocalChannel) Resume() error {
	c.view.Resume()
	if ready, _ := c.view.Availability(true); ready {
		c.gate.NotifyNonEmpty(c.index)
	}
	return nil
}

// HasPriority tells if Next will take a priority event.
func (c *LocalChannel) HasPriority() bool { return c.view.hasPriority() }

// CheckpointStarted keeps what is read from now on until the barrier. What is queued is the producer's to keep.
func (c *LocalChannel) CheckpointStarted(checkpoint int64, store func(data []byte)) error {
	return c.persist.start(checkpoint, store)
}

// CheckpointStopped ends that.
func (c *LocalChannel) CheckpointStopped(checkpoint int64) { c.persist.stop(checkpoint) }

// Prioritize has no meaning here: the producer's queue is not announced ahead.
func (c *LocalChannel) Prioritize(seq int32) error {
	return fmt.Errorf("network: local channel %d has no announced event %d", c.index, seq)
}

// AnnounceBufferSize sets the size of the producer's next buffers; it fails when the channel is released.
func (c *LocalChannel) AnnounceBufferSize(n int) error {
	if c.released.Load() {
		return errChannelReleased
	}
	c.view.SetBufferSize(n)
	return nil
}

// BuffersInUse counts every queued entry of the producer, events and unfinished buffers included.
func (c *LocalChannel) BuffersInUse() int { return c.view.Queued() }

// Release ends the reading.
func (c *LocalChannel) Release() {
	if !c.released.Swap(true) {
		c.view.Release()
	}
}

// Taken is the number of data buffers and of events read.
func (c *LocalChannel) Taken() (buffers, events int64) { return c.taken.Load(), c.events.Load() }
