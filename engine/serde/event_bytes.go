package serde

import (
	"encoding/binary"
	"fmt"
)

// The tags of Flink's EventSerializer. 3, an event by its Java class name, and 11, a generalized watermark, are known
// to Flink alone.
const (
	tagEndOfPartition              = 0
	tagCheckpointBarrier           = 1
	tagEndOfSuperstep              = 2
	tagOtherEvent                  = 3
	tagCancelCheckpointMarker      = 4
	tagEndOfOutputChannelState     = 5
	tagAnnouncement                = 6
	tagSubtaskConnectionDescriptor = 7
	tagEndOfData                   = 8
	tagEndOfSegment                = 9
	tagRecoveryMetadata            = 10
	tagGeneralizedWatermark        = 11
	tagEndOfInputChannelState      = 12
)

// MarshalEvent gives the bytes of e, as Flink's EventSerializer.toSerializedEvent.
func MarshalEvent(e Event) []byte {
	b := make([]byte, 0, 48)
	tag := func(t uint32) []byte { return binary.BigEndian.AppendUint32(b, t) }
	switch e := e.(type) {
	case EndOfPartitionEvent:
		return tag(tagEndOfPartition)
	case CheckpointBarrier:
		return appendBarrier(tag(tagCheckpointBarrier), e)
	case EndOfSuperstepEvent:
		return tag(tagEndOfSuperstep)
	case CancelCheckpointMarker:
		return binary.BigEndian.AppendUint64(tag(tagCancelCheckpointMarker), uint64(e.CheckpointID))
	case EndOfOutputChannelStateEvent:
		return tag(tagEndOfOutputChannelState)
	case EventAnnouncement:
		b = binary.BigEndian.AppendUint32(tag(tagAnnouncement), uint32(e.SequenceNumber))
		return appendBarrier(binary.BigEndian.AppendUint32(b, tagCheckpointBarrier), e.Barrier)
	case SubtaskConnectionDescriptor:
		b = binary.BigEndian.AppendUint32(tag(tagSubtaskConnectionDescriptor), uint32(e.InputSubtask))
		return binary.BigEndian.AppendUint32(b, uint32(e.OutputSubtask))
	case EndOfDataEvent:
		if e.Drain {
			return append(tag(tagEndOfData), 0)
		}
		return append(tag(tagEndOfData), 1)
	case EndOfSegmentEvent:
		return tag(tagEndOfSegment)
	case RecoveryMetadata:
		return binary.BigEndian.AppendUint32(tag(tagRecoveryMetadata), uint32(e.FinalBufferSubpartition))
	case EndOfInputChannelStateEvent:
		return tag(tagEndOfInputChannelState)
	}
	// Event is sealed: only nil comes here, and an empty buffer is no event to any reader.
	return nil
}

func appendBarrier(b []byte, c CheckpointBarrier) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(c.ID))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
	b = append(b, byte(c.Options.Type))
	if c.Options.Type.IsSavepoint() {
		b = append(b, byte(c.Options.Format))
	}
	if c.Options.Location == "" {
		b = binary.BigEndian.AppendUint32(b, 0xffffffff)
	} else {
		b = binary.BigEndian.AppendUint32(b, uint32(len(c.Options.Location)))
		b = append(b, c.Options.Location...)
	}
	b = append(b, byte(c.Options.Alignment))
	return binary.BigEndian.AppendUint64(b, uint64(c.Options.AlignedTimeoutMs))
}

// UnmarshalEvent reads the bytes of one event, all of them. Bytes that no event has are an error.
func UnmarshalEvent(b []byte) (Event, error) {
	r := eventReader{b: b, size: len(b)}
	e := r.event(true)
	if r.err == nil && len(r.b) != 0 {
		r.fail("%d bytes left behind a %T", len(r.b), e)
	}
	if r.err != nil {
		return nil, r.err
	}
	return e, nil
}

// eventReader reads fields and keeps the first error; after it all fields read as 0.
type eventReader struct {
	b    []byte
	size int
	err  error
}

func (r *eventReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("event of %d bytes, at byte %d: %s", r.size, r.size-len(r.b), fmt.Sprintf(format, args...))
	}
}

// take gives the next n bytes, or nil with an error. The bytes are a view.
func (r *eventReader) take(n int, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.b) {
		r.fail("%s needs %d bytes, but only %d are left", what, n, len(r.b))
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *eventReader) uint8(what string) byte {
	if b := r.take(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (r *eventReader) int32(what string) int32 {
	if b := r.take(4, what); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *eventReader) int64(what string) int64 {
	if b := r.take(8, what); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// oneOf reads a byte that must be below n.
func (r *eventReader) oneOf(n int, what string) byte {
	v := r.uint8(what)
	if r.err == nil && int(v) >= n {
		r.fail("%s is %d, must be 0 to %d", what, v, n-1)
	}
	return v
}

func (r *eventReader) event(announcements bool) Event {
	tag := r.int32("the event type")
	if r.err != nil {
		return nil
	}
	switch tag {
	case tagEndOfPartition:
		return EndOfPartitionEvent{}
	case tagCheckpointBarrier:
		return r.barrier()
	case tagEndOfSuperstep:
		return EndOfSuperstepEvent{}
	case tagCancelCheckpointMarker:
		return CancelCheckpointMarker{CheckpointID: r.int64("the checkpoint id")}
	case tagEndOfOutputChannelState:
		return EndOfOutputChannelStateEvent{}
	case tagAnnouncement:
		if announcements {
			return r.announcement()
		}
		r.fail("an announcement cannot announce an announcement")
		return nil
	case tagSubtaskConnectionDescriptor:
		return SubtaskConnectionDescriptor{InputSubtask: r.int32("the input subtask"), OutputSubtask: r.int32("the output subtask")}
	case tagEndOfData:
		return EndOfDataEvent{Drain: r.oneOf(2, "the stop mode") == 0}
	case tagEndOfSegment:
		return EndOfSegmentEvent{}
	case tagRecoveryMetadata:
		return RecoveryMetadata{FinalBufferSubpartition: r.int32("the final buffer's subpartition")}
	case tagEndOfInputChannelState:
		return EndOfInputChannelStateEvent{}
	case tagOtherEvent:
		r.fail("event type 3, an event by its Java class, is not supported")
	case tagGeneralizedWatermark:
		r.fail("event type 11, a generalized watermark, is not supported")
	default:
		r.fail("event type %d, must be 0 to 12", tag)
	}
	return nil
}

func (r *eventReader) announcement() Event {
	seq := r.int32("the sequence number")
	e := r.event(false)
	if r.err != nil {
		return nil
	}
	b, ok := e.(CheckpointBarrier)
	if !ok {
		r.fail("a %T is announced, must be a checkpoint barrier", e)
		return nil
	}
	return EventAnnouncement{SequenceNumber: seq, Barrier: b}
}

func (r *eventReader) barrier() Event {
	c := CheckpointBarrier{ID: r.int64("the checkpoint id"), Timestamp: r.int64("the timestamp")}
	c.Options.Type = SnapshotType(r.oneOf(len(snapshotTypes), "the snapshot type"))
	if c.Options.Type.IsSavepoint() {
		c.Options.Format = SavepointFormat(r.oneOf(len(savepointFormats), "the savepoint format"))
	}
	switch n := r.int32("the length of the location"); {
	case n > 0:
		c.Options.Location = string(r.take(int(n), "the location"))
	case n != -1 && r.err == nil:
		r.fail("the length of the location is %d, must be -1 or above 0", n)
	}
	c.Options.Alignment = Alignment(r.oneOf(len(alignments), "the alignment"))
	c.Options.AlignedTimeoutMs = r.int64("the aligned timeout")
	return c
}
