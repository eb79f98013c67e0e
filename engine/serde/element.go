package serde

import (
	"encoding/binary"
	"strconv"
)

// Kind says what an element is.
type Kind uint8

// The kinds of element. KindNone is no element at all.
const (
	KindNone Kind = iota
	KindRecord
	KindWatermark
	KindLatencyMarker
	KindWatermarkStatus
	KindRecordAttributes
)

var kinds = [...]string{"none", "record", "watermark", "latency marker", "watermark status", "record attributes"}

// String names k.
func (k Kind) String() string { return name(kinds[:], "Kind", uint8(k)) }

// The tags of Flink's StreamElementSerializer.
const (
	tagRecordWithTimestamp    = 0
	tagRecordWithoutTimestamp = 1
	tagWatermark              = 2
	tagLatencyMarker          = 3
	tagWatermarkStatus        = 4
	tagRecordAttributes       = 5
)

// ElementKind gives the kind of element that starts with this tag; KindNone if none does.
func ElementKind(tag byte) Kind {
	switch tag {
	case tagRecordWithTimestamp, tagRecordWithoutTimestamp:
		return KindRecord
	case tagWatermark:
		return KindWatermark
	case tagLatencyMarker:
		return KindLatencyMarker
	case tagWatermarkStatus:
		return KindWatermarkStatus
	case tagRecordAttributes:
		return KindRecordAttributes
	}
	return KindNone
}

// WatermarkStatus tells if a channel takes part in event time.
type WatermarkStatus int32

// Flink's watermark statuses, as on the wire.
const (
	Active WatermarkStatus = 0
	Idle   WatermarkStatus = -1
)

// String gives Flink's name of s.
func (s WatermarkStatus) String() string {
	switch s {
	case Active:
		return "ACTIVE"
	case Idle:
		return "IDLE"
	}
	return "WatermarkStatus(" + strconv.Itoa(int(s)) + ")"
}

// LatencyMarker travels with the records from a source, so that its age tells the latency.
type LatencyMarker struct {
	// MarkedTime is when the source emitted it, in ms since 1970.
	MarkedTime int64
	// OperatorID is the source's: the 16 bytes of Flink's OperatorID in the order in which it prints them.
	OperatorID [16]byte
	Subtask    int32
}

// LatencyMarkerBytes and WatermarkBytes are the sizes of these elements with their length.
const (
	WatermarkBytes     = 4 + 1 + 8
	LatencyMarkerBytes = 4 + 1 + 8 + 16 + 4
)

func appendHeader(dst []byte, n uint32, tag byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, n), tag)
}

// AppendWatermark appends a watermark, in ms, with its length.
func AppendWatermark(dst []byte, timestamp int64) []byte {
	return binary.BigEndian.AppendUint64(appendHeader(dst, WatermarkBytes-4, tagWatermark), uint64(timestamp))
}

// AppendWatermarkStatus appends a watermark status with its length.
func AppendWatermarkStatus(dst []byte, s WatermarkStatus) []byte {
	return binary.BigEndian.AppendUint32(appendHeader(dst, 5, tagWatermarkStatus), uint32(s))
}

// AppendLatencyMarker appends a latency marker with its length.
func AppendLatencyMarker(dst []byte, m LatencyMarker) []byte {
	dst = appendHeader(dst, LatencyMarkerBytes-4, tagLatencyMarker)
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.MarkedTime))
	dst = append(dst, m.OperatorID[:]...)
	return binary.BigEndian.AppendUint32(dst, uint32(m.Subtask))
}

// AppendRecordAttributes appends record attributes with their length.
func AppendRecordAttributes(dst []byte, backlog bool) []byte {
	dst = appendHeader(dst, 2, tagRecordAttributes)
	if backlog {
		return append(dst, 1)
	}
	return append(dst, 0)
}
