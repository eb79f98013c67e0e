package serde

import "strconv"

// DataType tells what a buffer holds; the values are the ordinals of Flink's Buffer.DataType, as they stand on the wire.
type DataType uint8

// The data types of Flink 2.3's Buffer.DataType.
const (
	None                                DataType = 0
	DataBuffer                          DataType = 1
	EventBuffer                         DataType = 2
	PrioritizedEventBuffer              DataType = 3
	AlignedCheckpointBarrier            DataType = 4
	TimeoutableAlignedCheckpointBarrier DataType = 5
	RecoveryCompletion                  DataType = 6
	EndOfSegment                        DataType = 7
	DataBufferWithClearEnd              DataType = 8
	EndOfData                           DataType = 9
	EndOfPartition                      DataType = 10
	RecoveryMetadataBuffer              DataType = 11
	AlignedWatermarkEvent               DataType = 12
	UnalignedWatermarkEvent             DataType = 13
)

const (
	isBuffer = 1 << iota
	isEvent
	blocksUpstream
	hasPriority
	requiresAnnouncement
	isPartialRecord
)

var dataTypes = [...]struct {
	name  string
	flags uint8
}{
	None:                                {"NONE", 0},
	DataBuffer:                          {"DATA_BUFFER", isBuffer | isPartialRecord},
	EventBuffer:                         {"EVENT_BUFFER", isEvent},
	PrioritizedEventBuffer:              {"PRIORITIZED_EVENT_BUFFER", isEvent | hasPriority},
	AlignedCheckpointBarrier:            {"ALIGNED_CHECKPOINT_BARRIER", isEvent | blocksUpstream},
	TimeoutableAlignedCheckpointBarrier: {"TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER", isEvent | blocksUpstream | requiresAnnouncement},
	RecoveryCompletion:                  {"RECOVERY_COMPLETION", isEvent | blocksUpstream},
	EndOfSegment:                        {"END_OF_SEGMENT", isEvent},
	DataBufferWithClearEnd:              {"DATA_BUFFER_WITH_CLEAR_END", isBuffer},
	EndOfData:                           {"END_OF_DATA", isEvent},
	EndOfPartition:                      {"END_OF_PARTITION", isEvent},
	RecoveryMetadataBuffer:              {"RECOVERY_METADATA", isEvent},
	AlignedWatermarkEvent:               {"ALIGNED_WATERMARK_EVENT", isEvent | blocksUpstream},
	UnalignedWatermarkEvent:             {"UNALIGNED_WATERMARK_EVENT", isEvent},
}

// Valid tells if t is one of Flink's data types.
func (t DataType) Valid() bool { return int(t) < len(dataTypes) }

// IsBuffer tells if the buffer holds records.
func (t DataType) IsBuffer() bool { return t.has(isBuffer) }

// IsEvent tells if the buffer holds an event.
func (t DataType) IsEvent() bool { return t.has(isEvent) }

// BlocksUpstream tells if the sender must not go on before the receiver says so.
func (t DataType) BlocksUpstream() bool { return t.has(blocksUpstream) }

// HasPriority tells if the buffer overtakes those before it.
func (t DataType) HasPriority() bool { return t.has(hasPriority) }

// RequiresAnnouncement tells if the receiver is told of the event before it reaches it in the queue.
func (t DataType) RequiresAnnouncement() bool { return t.has(requiresAnnouncement) }

// IsPartialRecord tells if the buffer may end inside a record.
func (t DataType) IsPartialRecord() bool { return t.has(isPartialRecord) }

func (t DataType) has(flag uint8) bool { return t.Valid() && dataTypes[t].flags&flag != 0 }

// String gives Flink's name of t.
func (t DataType) String() string {
	if !t.Valid() {
		return "DataType(" + strconv.Itoa(int(t)) + ")"
	}
	return dataTypes[t].name
}
