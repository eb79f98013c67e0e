// Package network moves buffers from the subpartitions of a producing task to the input gate of a consuming one: in
// place inside a task manager, and under credit-based flow control over one connection between two.
package network

import (
	"weir/engine/memory"
	"weir/engine/serde"
)

// Buffer is what a channel hands over: a stretch of a segment, or a serialized event (Flink's Buffer).
// It holds one reference to its segment, given back by Recycle.
type Buffer struct {
	Bytes []byte
	Type  serde.DataType
	// Seq is the number of the buffer in its subpartition, from 0.
	Seq int32
	// Seg is the segment that Bytes lies in; nil for an event.
	Seg *memory.Segment
}

// IsData tells data from events.
func (b *Buffer) IsData() bool { return b.Type == serde.DataBuffer }

// Recycle gives the buffer's reference back.
func (b *Buffer) Recycle() {
	if b.Seg != nil {
		b.Seg.Release()
		b.Seg = nil
	}
	b.Bytes = nil
}

// Polled is a buffer taken from a subpartition, with what is known of those behind it (Flink's BufferAndBacklog).
type Polled struct {
	Buffer
	// Backlog is the number of data buffers that can be read now, behind this one.
	Backlog int
	// Next is the type of the next readable buffer, serde.None if there is none yet.
	Next serde.DataType
}

// PartitionID names a result partition: the producing vertex and its subtask.
type PartitionID struct {
	Vertex  string
	Subtask int
	Attempt int
}

// AvailabilityListener hears of new data in a subpartition. The producer's task or its flusher calls it, with no lock held.
type AvailabilityListener interface {
	DataAvailable()
	PriorityAvailable(seq int32)
}

// PartitionProvider finds the subpartitions of a task manager (Flink's ResultPartitionManager).
type PartitionProvider interface {
	CreateView(id PartitionID, subpartition int, l AvailabilityListener) (*View, error)
}

// InputChannel is one input of a gate. The consuming task's goroutine calls Next, Resume and AnnounceBufferSize.
type InputChannel interface {
	Index() int
	// Next takes the next buffer; ok is false if there is none, more says that the channel should be queued again.
	Next() (b Buffer, more bool, ok bool, err error)
	// HasPriority tells if Next will take a priority event.
	HasPriority() bool
	// Resume ends the blocking by an aligned barrier.
	Resume() error
	// CheckpointStarted hands data that comes before the barrier of a checkpoint to store, until that barrier or
	// CheckpointStopped: what is queued in the channel, and what arrives. It wraps ErrSubsumed if a newer barrier has come.
	// store copies what it is given, and may be called by another goroutine.
	CheckpointStarted(checkpoint int64, store func(data []byte)) error
	CheckpointStopped(checkpoint int64)
	// Prioritize moves an announced barrier before the data.
	Prioritize(seq int32) error
	// AnnounceBufferSize tells the producer the size that its next buffers should have.
	AnnounceBufferSize(n int) error
	// BuffersInUse is the number that the debloater divides by.
	BuffersInUse() int
	// Release lets go of every buffer, and of the producer.
	Release()
}
