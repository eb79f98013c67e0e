package network

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"weir/engine/serde"
)

// Magic is the number that every frame carries behind its length.
const Magic = 0xBADC0FFE

// Lengths in bytes of the pieces of a frame.
const (
	FrameHeaderLength         = 9                                                 // [4-byte length, itself included][4-byte magic][1-byte id]
	BufferMessageHeaderLength = 38                                                // what a BufferResponse has between frame header and payload
	BufferHeaderLength        = FrameHeaderLength + BufferMessageHeaderLength     // 47, the tail of a memory.Segment
	partitionRequestLength    = FrameHeaderLength + 20 + 40 + 8 + 16 + 4          // 97
	maxErrorLength            = 64 << 10                                          // a longer ErrorResponse is garbage
	maxPartialBuffers         = 1 << 12                                           // more in one message is garbage
	maxEventBytes             = 1 << 20                                           // a longer event is garbage
	maxFrameLength            = BufferHeaderLength + 4*maxPartialBuffers + 64<<20 // what any length is held against first
)

// MessageID is the one-byte id of a frame, as in Flink's NettyMessage.
type MessageID uint8

// The messages of Flink 2.3's NettyMessage. Id 3 (TaskEventRequest) serves iterations, which the engine does not have.
const (
	MsgBufferResponse    MessageID = 0
	MsgErrorResponse     MessageID = 1
	MsgPartitionRequest  MessageID = 2
	MsgCancelRequest     MessageID = 4
	MsgCloseRequest      MessageID = 5
	MsgAddCredit         MessageID = 6
	MsgResumeConsumption MessageID = 7
	MsgAckAllUserRecords MessageID = 8
	MsgBacklogAnnounce   MessageID = 9
	MsgNewBufferSize     MessageID = 10
	MsgSegmentID         MessageID = 11
	messageIDs                     = 12
)

// String names the message as Flink does.
func (m MessageID) String() string {
	names := [messageIDs]string{"BufferResponse", "ErrorResponse", "PartitionRequest", "TaskEventRequest", "CancelPartitionRequest", "CloseRequest",
		"AddCredit", "ResumeConsumption", "AckAllUserRecordsProcessed", "BacklogAnnouncement", "NewBufferSize", "SegmentId"}
	if int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("message %d", uint8(m))
}

// frameLength is the whole length of the messages that have one length only; 0 for the others.
var frameLength = [messageIDs]int{
	MsgPartitionRequest: partitionRequestLength, MsgCancelRequest: 25, MsgCloseRequest: 9, MsgAddCredit: 29, MsgResumeConsumption: 25,
	MsgAckAllUserRecords: 25, MsgBacklogAnnounce: 29, MsgNewBufferSize: 29, MsgSegmentID: 33,
}

// ChannelID names the receiving input channel on the wire (Flink's InputChannelID): upper part, then lower part.
type ChannelID [16]byte

// String prints the id as AbstractID.toHexString does.
func (c ChannelID) String() string { return hex.EncodeToString(c[:]) }

// FrameError says what is wrong with bytes that claimed to be a frame.
type FrameError struct {
	Field string // the part of the frame: length, magic, id, payload size, ...
	Value int64
	Want  string
}

// Error implements error.
func (e *FrameError) Error() string {
	return fmt.Sprintf("broken frame: %s is %d, expected %s", e.Field, e.Value, e.Want)
}

// FrameHeader is the decoded start of any frame.
type FrameHeader struct {
	Length int // bytes of the whole frame, these nine included
	ID     MessageID
}

// ParseFrameHeader decodes the first nine bytes of b. It refuses a wrong magic, an unknown id, and a length that the
// message cannot have.
func ParseFrameHeader(b []byte) (FrameHeader, error) {
	if len(b) < FrameHeaderLength {
		return FrameHeader{}, &FrameError{"frame header bytes", int64(len(b)), "9"}
	}
	if m := binary.BigEndian.Uint32(b[4:]); m != Magic {
		return FrameHeader{}, &FrameError{"magic", int64(m), fmt.Sprintf("%d (0xBADC0FFE)", uint32(Magic))}
	}
	h := FrameHeader{Length: int(int32(binary.BigEndian.Uint32(b))), ID: MessageID(b[8])}
	var low, high int
	switch h.ID {
	case MsgBufferResponse:
		low, high = BufferHeaderLength, maxFrameLength
	case MsgErrorResponse:
		low, high = FrameHeaderLength+1, maxErrorLength
	default:
		if int(h.ID) >= messageIDs || frameLength[h.ID] == 0 {
			return FrameHeader{}, &FrameError{"message id", int64(h.ID), "0 to 11 without 3"}
		}
		low, high = frameLength[h.ID], frameLength[h.ID]
	}
	if h.Length < low || h.Length > high {
		return FrameHeader{}, &FrameError{"length of " + h.ID.String(), int64(h.Length), fmt.Sprintf("%d to %d", low, high)}
	}
	return h, nil
}

func putFrameHeader(b []byte, length int, id MessageID) {
	binary.BigEndian.PutUint32(b, uint32(length))
	binary.BigEndian.PutUint32(b[4:], Magic)
	b[8] = byte(id)
}

func appendFrameHeader(b []byte, length int, id MessageID) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(length))
	b = binary.BigEndian.AppendUint32(b, Magic)
	return append(b, byte(id))
}

// BufferResponse is the header of a buffer or event on the wire; Size bytes of payload follow it.
type BufferResponse struct {
	Receiver     ChannelID
	Subpartition int32
	Partial      int32 // buffers in this message, whose sizes stand between header and payload; 0 for an ordinary one
	Seq          int32
	Backlog      int32
	Type         serde.DataType
	Compressed   bool
	Size         int32
}

// Put writes frame header and message header, BufferHeaderLength bytes, at the start of dst.
func (r *BufferResponse) Put(dst []byte) {
	_ = dst[BufferHeaderLength-1]
	putFrameHeader(dst, BufferHeaderLength+4*int(r.Partial)+int(r.Size), MsgBufferResponse)
	copy(dst[9:], r.Receiver[:])
	binary.BigEndian.PutUint32(dst[25:], uint32(r.Subpartition))
	binary.BigEndian.PutUint32(dst[29:], uint32(r.Partial))
	binary.BigEndian.PutUint32(dst[33:], uint32(r.Seq))
	binary.BigEndian.PutUint32(dst[37:], uint32(r.Backlog))
	dst[41] = byte(r.Type)
	dst[42] = 0
	if r.Compressed {
		dst[42] = 1
	}
	binary.BigEndian.PutUint32(dst[43:], uint32(r.Size))
}

// ParseBufferResponse decodes the BufferHeaderLength bytes at the start of b, whose frame header is h. It checks that the
// sizes agree with the frame's length, that the data type is one that Flink has, and that nothing is negative.
func ParseBufferResponse(h FrameHeader, b []byte) (BufferResponse, error) {
	var r BufferResponse
	if len(b) < BufferHeaderLength {
		return r, &FrameError{"BufferResponse header bytes", int64(len(b)), "47"}
	}
	copy(r.Receiver[:], b[9:])
	r.Subpartition = int32(binary.BigEndian.Uint32(b[25:]))
	r.Partial = int32(binary.BigEndian.Uint32(b[29:]))
	r.Seq = int32(binary.BigEndian.Uint32(b[33:]))
	r.Backlog = int32(binary.BigEndian.Uint32(b[37:]))
	r.Type = serde.DataType(b[41])
	r.Compressed = b[42] != 0
	r.Size = int32(binary.BigEndian.Uint32(b[43:]))
	switch {
	case r.Subpartition < 0:
		return r, &FrameError{"subpartition", int64(r.Subpartition), "0 or more"}
	case r.Partial < 0 || r.Partial > maxPartialBuffers:
		return r, &FrameError{"number of partial buffers", int64(r.Partial), fmt.Sprintf("0 to %d", maxPartialBuffers)}
	case r.Backlog < -1:
		return r, &FrameError{"backlog", int64(r.Backlog), "-1 or more"}
	case r.Type == serde.None || r.Type > serde.EndOfPartition:
		return r, &FrameError{"data type", int64(r.Type), "1 to 10"}
	case b[42] > 1:
		return r, &FrameError{"compressed flag", int64(b[42]), "0 or 1"}
	case r.Size < 0 || h.Length != BufferHeaderLength+4*int(r.Partial)+int(r.Size):
		return r, &FrameError{"payload size", int64(r.Size), fmt.Sprintf("%d by the frame's length", h.Length-BufferHeaderLength-4*int(r.Partial))}
	}
	return r, nil
}

// PartitionRequest asks a producer's task manager for the subpartitions of a partition, and brings the initial credit.
type PartitionRequest struct {
	DataSet           [16]byte // IntermediateDataSetID
	Partition         int32
	ExecutionGraph    [16]byte
	JobVertex         [16]byte
	Subtask           int32
	Attempt           int32
	SubpartitionStart int32 // first and last of the range, both inclusive
	SubpartitionEnd   int32
	Receiver          ChannelID
	Credit            int32
}

// Append writes the whole frame behind b.
func (r *PartitionRequest) Append(b []byte) []byte {
	b = appendFrameHeader(b, partitionRequestLength, MsgPartitionRequest)
	b = append(b, r.DataSet[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Partition))
	b = append(b, r.ExecutionGraph[:]...)
	b = append(b, r.JobVertex[:]...)
	for _, v := range [...]int32{r.Subtask, r.Attempt, r.SubpartitionStart, r.SubpartitionEnd} {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	b = append(b, r.Receiver[:]...)
	return binary.BigEndian.AppendUint32(b, uint32(r.Credit))
}

// ParsePartitionRequest decodes a whole frame.
func ParsePartitionRequest(b []byte) (PartitionRequest, error) {
	var r PartitionRequest
	if len(b) < partitionRequestLength {
		return r, &FrameError{"PartitionRequest bytes", int64(len(b)), fmt.Sprint(partitionRequestLength)}
	}
	i32 := func(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
	copy(r.DataSet[:], b[9:])
	r.Partition = i32(25)
	copy(r.ExecutionGraph[:], b[29:])
	copy(r.JobVertex[:], b[45:])
	r.Subtask, r.Attempt = i32(61), i32(65)
	r.SubpartitionStart, r.SubpartitionEnd = i32(69), i32(73)
	copy(r.Receiver[:], b[77:])
	r.Credit = i32(93)
	switch {
	case r.Partition < 0:
		return r, &FrameError{"partition", int64(r.Partition), "0 or more"}
	case r.SubpartitionStart < 0 || r.SubpartitionEnd < r.SubpartitionStart:
		return r, &FrameError{"last subpartition", int64(r.SubpartitionEnd), fmt.Sprintf("%d or more, and the first 0 or more", r.SubpartitionStart)}
	case r.Credit < 0:
		return r, &FrameError{"initial credit", int64(r.Credit), "0 or more"}
	}
	return r, nil
}

// Control is any message that only names a receiver and at most two numbers: AddCredit (Value is the credit),
// NewBufferSize (the size), BacklogAnnouncement (the backlog), SegmentId (the segment, with Subpartition),
// ResumeConsumption, CancelPartitionRequest, AckAllUserRecordsProcessed, and CloseRequest, which has no receiver.
type Control struct {
	ID           MessageID
	Receiver     ChannelID
	Value        int32
	Subpartition int32
}

// Append writes the whole frame behind b.
func (c *Control) Append(b []byte) []byte {
	b = appendFrameHeader(b, frameLength[c.ID], c.ID)
	switch c.ID {
	case MsgCloseRequest:
		return b
	case MsgAddCredit, MsgNewBufferSize, MsgBacklogAnnounce:
		b = binary.BigEndian.AppendUint32(b, uint32(c.Value))
	case MsgSegmentID:
		b = binary.BigEndian.AppendUint32(b, uint32(c.Subpartition))
		b = binary.BigEndian.AppendUint32(b, uint32(c.Value))
	}
	return append(b, c.Receiver[:]...)
}

// ParseControl decodes a whole frame whose header is h.
func ParseControl(h FrameHeader, b []byte) (Control, error) {
	c := Control{ID: h.ID}
	if int(h.ID) >= messageIDs || frameLength[h.ID] == 0 || h.ID == MsgPartitionRequest {
		return c, &FrameError{"message id", int64(h.ID), "that of a control message"}
	}
	if len(b) < frameLength[h.ID] {
		return c, &FrameError{h.ID.String() + " bytes", int64(len(b)), fmt.Sprint(frameLength[h.ID])}
	}
	b = b[FrameHeaderLength:frameLength[h.ID]]
	switch h.ID {
	case MsgCloseRequest:
		return c, nil
	case MsgAddCredit, MsgNewBufferSize, MsgBacklogAnnounce:
		c.Value, b = int32(binary.BigEndian.Uint32(b)), b[4:]
	case MsgSegmentID:
		c.Subpartition, c.Value, b = int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:])), b[8:]
	}
	copy(c.Receiver[:], b)
	// Credit 0 or less would never be announced; a size or backlog below 0 has no meaning.
	if c.Value < 0 || c.Value == 0 && (h.ID == MsgAddCredit || h.ID == MsgNewBufferSize) {
		return c, &FrameError{"number in " + h.ID.String(), int64(c.Value), "above 0"}
	}
	return c, nil
}
