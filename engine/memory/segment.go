// Package memory holds the network memory of a task manager: segments, the global pool that carves them once,
// and the local pools that result partitions and input gates draw from.
//
// The pools are plain state machines: no goroutine runs inside, and only the blocking calls wait. Locks are taken in
// one order: the global pool's factory lock (registration and sizes), then a local pool's lock, then the lock of the
// list of free segments, which is the leaf. Listeners and hooks are called with none of them held.
package memory

import "sync/atomic"

// SegmentTail is the room in bytes kept behind each segment's payload, so that one read from a connection can take a
// buffer's payload and the 47 bytes of the next frame's headers without a copy.
const SegmentTail = 47

// finishedBit marks a position after which the writer writes no more.
const finishedBit = 1 << 32

// Recycler takes a segment back when its last reference is released (Flink's BufferRecycler).
type Recycler interface {
	Recycle(*Segment)
}

// Segment is one piece of network memory. It is written by one goroutine and read by another: the writer publishes
// how far it has written, the reader loads that position (Flink's BufferBuilder and BufferConsumer on one
// MemorySegment).
type Segment struct {
	data []byte // size + SegmentTail bytes
	size int
	id   int

	owner Recycler
	// subpartition that a local pool counts this segment for; -1 without one.
	subpartition int32
	refs         atomic.Int32
	//lint:ignore U1000 it marks something with the tag invariants only
	lent lentMark

	_ [128]byte // what is written per record has its own cache lines
	// position is the number of bytes written, plus finishedBit once finished.
	position atomic.Int64
	_        [120]byte
}

// Bytes returns the payload area, of the segment's full size whatever has been written.
func (s *Segment) Bytes() []byte { return s.data[:s.size:s.size] }

// Room returns the payload area and the SegmentTail bytes behind it.
func (s *Segment) Room() []byte { return s.data }

// Size returns the size of the payload area in bytes.
func (s *Segment) Size() int { return s.size }

// ID returns the segment's number within its global pool, from 0 in the order of carving.
func (s *Segment) ID() int { return s.id }

// Owner returns who gets the segment back when it is released.
func (s *Segment) Owner() Recycler { return s.owner }

// SetOwner changes who gets the segment back; only the goroutine that holds the sole reference may call it.
func (s *Segment) SetOwner(r Recycler) { s.owner = r }

// Subpartition returns the subpartition for which a local pool counts this segment, -1 without one.
func (s *Segment) Subpartition() int { return int(s.subpartition) }

// Refs returns the number of references held now.
func (s *Segment) Refs() int { return int(s.refs.Load()) }

// Retain adds a reference.
func (s *Segment) Retain() { s.refs.Add(1) }

// Release gives one reference back; the last one returns the segment to its owner. Releasing more often than was
// retained does nothing, and panics with the segment's id under the build tag invariants.
func (s *Segment) Release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		s.owner.Recycle(s)
	case n < 0:
		s.doubleRelease()
	}
}

// Publish makes the first n bytes visible to the reader.
func (s *Segment) Publish(n int) { s.position.Store(int64(n)) }

// Finish publishes n bytes for the last time: the writer is done with this segment.
func (s *Segment) Finish(n int) { s.position.Store(int64(n) | finishedBit) }

// Written returns how many bytes have been published and whether the writer has finished; one atomic load.
func (s *Segment) Written() (n int, finished bool) {
	v := s.position.Load()
	return int(v &^ finishedBit), v&finishedBit != 0
}

// Reset takes the position back to 0, unfinished.
func (s *Segment) Reset() { s.position.Store(0) }

// lend hands the segment out with one reference and nothing written.
func (s *Segment) lend(to Recycler, subpartition int) {
	s.markLent()
	s.owner = to
	s.subpartition = int32(subpartition)
	s.refs.Store(1)
	s.position.Store(0)
}
