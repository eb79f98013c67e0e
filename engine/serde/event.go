package serde

import (
	"math"
	"strconv"
)

// Event is what travels between tasks beside records: one of the types of this file. They are plain values that can
// be compared with ==, named after Flink's classes.
type Event interface{ event() }

// SnapshotType says what a barrier asks for. The values are those on the wire.
type SnapshotType uint8

// Flink's snapshot types.
const (
	Checkpoint         SnapshotType = 0
	Savepoint          SnapshotType = 1
	SuspendSavepoint   SnapshotType = 2
	TerminateSavepoint SnapshotType = 3
	FullCheckpoint     SnapshotType = 4
)

var snapshotTypes = [...]string{"Checkpoint", "Savepoint", "Suspend Savepoint", "Terminate Savepoint", "Full Checkpoint"}

// IsSavepoint tells if t is one of the three sorts of savepoint.
func (t SnapshotType) IsSavepoint() bool { return t >= Savepoint && t <= TerminateSavepoint }

// String gives Flink's name of t.
func (t SnapshotType) String() string { return name(snapshotTypes[:], "SnapshotType", uint8(t)) }

// SavepointFormat is the format of a savepoint's state. The values are those on the wire.
type SavepointFormat uint8

// Flink's savepoint formats.
const (
	Canonical SavepointFormat = 0
	Native    SavepointFormat = 1
)

var savepointFormats = [...]string{"CANONICAL", "NATIVE"}

// String gives Flink's name of f.
func (f SavepointFormat) String() string {
	return name(savepointFormats[:], "SavepointFormat", uint8(f))
}

// Alignment says how a barrier treats data in flight. The values are the ordinals of CheckpointOptions.AlignmentType.
type Alignment uint8

// Flink's alignment types.
const (
	AtLeastOnce   Alignment = 0
	Aligned       Alignment = 1
	Unaligned     Alignment = 2
	ForcedAligned Alignment = 3
)

var alignments = [...]string{"AT_LEAST_ONCE", "ALIGNED", "UNALIGNED", "FORCED_ALIGNED"}

// String gives Flink's name of a.
func (a Alignment) String() string { return name(alignments[:], "Alignment", uint8(a)) }

func name(names []string, kind string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return kind + "(" + strconv.Itoa(int(v)) + ")"
}

// NoAlignedTimeout is the AlignedTimeoutMs of a barrier that stays aligned however long it takes.
const NoAlignedTimeout = math.MaxInt64

// CheckpointOptions is how a checkpoint is to be taken.
type CheckpointOptions struct {
	Type SnapshotType
	// Format counts for savepoints only.
	Format SavepointFormat
	// Location is the encoded reference of where the checkpoint goes; empty is the default location.
	Location  string
	Alignment Alignment
	// AlignedTimeoutMs is after how many ms an aligned barrier turns unaligned; NoAlignedTimeout is never.
	AlignedTimeoutMs int64
}

// AlignedOptions are the options of a plain aligned checkpoint at the default location.
func AlignedOptions() CheckpointOptions {
	return CheckpointOptions{Alignment: Aligned, AlignedTimeoutMs: NoAlignedTimeout}
}

// NeedsAlignment tells if channels are blocked until the barrier has come on all of them.
func (o CheckpointOptions) NeedsAlignment() bool {
	return o.Alignment != AtLeastOnce && (o.Type.IsSavepoint() || o.Alignment != Unaligned)
}

// IsTimeoutable tells if the barrier may turn unaligned later.
func (o CheckpointOptions) IsTimeoutable() bool {
	return o.Alignment != ForcedAligned && o.AlignedTimeoutMs != NoAlignedTimeout
}

// CheckpointBarrier separates the records before a checkpoint from those after it.
type CheckpointBarrier struct {
	ID int64
	// Timestamp is when the checkpoint was triggered, in ms since 1970.
	Timestamp int64
	Options   CheckpointOptions
}

// CancelCheckpointMarker tells that a checkpoint was given up.
type CancelCheckpointMarker struct{ CheckpointID int64 }

// EndOfDataEvent tells that no more records come; after it only checkpoints do. Drain tells that event time ends too.
type EndOfDataEvent struct{ Drain bool }

// EndOfPartitionEvent is the last thing in a subpartition.
type EndOfPartitionEvent struct{}

// EndOfSuperstepEvent ends an iteration step.
type EndOfSuperstepEvent struct{}

// EndOfSegmentEvent ends a segment of tiered storage.
type EndOfSegmentEvent struct{}

// EndOfOutputChannelStateEvent ends what a sender recovered of an unaligned checkpoint.
type EndOfOutputChannelStateEvent struct{}

// EndOfInputChannelStateEvent ends what a receiver recovered of an unaligned checkpoint.
type EndOfInputChannelStateEvent struct{}

// EventAnnouncement tells of a barrier that stands in the queue under a sequence number.
type EventAnnouncement struct {
	SequenceNumber int32
	Barrier        CheckpointBarrier
}

// SubtaskConnectionDescriptor says which old subtasks the recovered data behind it passed between.
type SubtaskConnectionDescriptor struct{ InputSubtask, OutputSubtask int32 }

// RecoveryMetadata tells at which buffer a recovered subpartition ended.
type RecoveryMetadata struct{ FinalBufferSubpartition int32 }

func (CheckpointBarrier) event()            {}
func (CancelCheckpointMarker) event()       {}
func (EndOfDataEvent) event()               {}
func (EndOfPartitionEvent) event()          {}
func (EndOfSuperstepEvent) event()          {}
func (EndOfSegmentEvent) event()            {}
func (EndOfOutputChannelStateEvent) event() {}
func (EndOfInputChannelStateEvent) event()  {}
func (EventAnnouncement) event()            {}
func (SubtaskConnectionDescriptor) event()  {}
func (RecoveryMetadata) event()             {}

// EventDataType is the data type of the buffer that holds e, as Flink's EventSerializer.toBuffer gives it. An event
// sent with priority overtakes whatever it is.
func EventDataType(e Event, priority bool) DataType {
	if priority {
		return PrioritizedEventBuffer
	}
	switch e := e.(type) {
	case EndOfPartitionEvent:
		return EndOfPartition
	case EndOfDataEvent:
		return EndOfData
	case EndOfOutputChannelStateEvent:
		return RecoveryCompletion
	case CheckpointBarrier:
		switch {
		case !e.Options.NeedsAlignment():
			return EventBuffer
		case e.Options.IsTimeoutable():
			return TimeoutableAlignedCheckpointBarrier
		default:
			return AlignedCheckpointBarrier
		}
	}
	return EventBuffer
}
