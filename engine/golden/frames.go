package golden

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"weir/engine/network"
	"weir/engine/serde"
)

// framesCase is one frame; which fields it has depends on the message.
type framesCase struct {
	Message           string            `json:"message"`
	ID                network.MessageID `json:"id"`
	Hex               string            `json:"hex"`
	HeaderHex         string            `json:"headerHex"`
	Payload           string            `json:"payload"`
	DataSet           string            `json:"dataSet"`
	ExecutionGraph    string            `json:"executionGraph"`
	JobVertex         string            `json:"jobVertex"`
	Receiver          string            `json:"receiver"`
	Partition         int32             `json:"partition"`
	Subtask           int32             `json:"subtask"`
	Attempt           int32             `json:"attempt"`
	SubpartitionStart int32             `json:"subpartitionStart"`
	SubpartitionEnd   int32             `json:"subpartitionEnd"`
	Credit            int32             `json:"credit"`
	BufferSize        int32             `json:"bufferSize"`
	Backlog           int32             `json:"backlog"`
	Subpartition      int32             `json:"subpartition"`
	SegmentID         int32             `json:"segmentId"`
	SequenceNumber    int32             `json:"sequenceNumber"`
	DataTypeOrdinal   serde.DataType    `json:"dataTypeOrdinal"`
	DataType          string            `json:"dataType"`
	Compressed        bool              `json:"compressed"`
	Fatal             bool              `json:"fatal"`
}

type framesHeader struct {
	FrameHeaderLength                 int    `json:"frameHeaderLength"`
	Magic                             string `json:"magic"`
	BufferResponseMessageHeaderLength int    `json:"bufferResponseMessageHeaderLength"`
}

// NettyFrames replays netty_frames.json: each frame is decoded and encoded again. Of an ErrorResponse, whose body is
// Java's own, what is outside the exception is read.
func NettyFrames(data []byte) (Report, error) {
	var h framesHeader
	return replay(data, &h, func(c *framesCase) error {
		got := [2]int{network.FrameHeaderLength, network.BufferMessageHeaderLength}
		if want := [2]int{h.FrameHeaderLength, h.BufferResponseMessageHeaderLength}; got != want {
			return differs("the length of the frame header and of a buffer's", got, want)
		}
		return c.check(h.Magic)
	})
}

// id16 reads an id of 32 hex digits; empty is the zero id.
func id16(name, text string) (id [16]byte, err error) {
	if text == "" {
		return id, nil
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%s %q, must be 32 hex digits", name, text)
	}
	return [16]byte(b), nil
}

func (c *framesCase) check(magic string) error {
	want, err := hex.DecodeString(c.Hex + c.HeaderHex + c.Payload)
	if err != nil {
		return err
	}
	h, err := network.ParseFrameHeader(want)
	switch {
	case err != nil:
		return err
	case h.ID != c.ID || h.ID.String() != c.Message:
		return differs("the message", fmt.Sprintf("%d %s", h.ID, h.ID), fmt.Sprintf("%d %s", c.ID, c.Message))
	case h.Length != len(want):
		return differs("the length", h.Length, len(want))
	case hex.EncodeToString(want[4:8]) != magic:
		return differs("the magic number", hex.EncodeToString(want[4:8]), magic)
	}
	id, err := id16("receiver", c.Receiver)
	if err != nil {
		return err
	}
	receiver := network.ChannelID(id)
	if c.Receiver != "" && receiver.String() != c.Receiver {
		return differs("the receiver", receiver, c.Receiver)
	}
	var got []byte
	switch c.ID {
	case network.MsgErrorResponse:
		e, err := network.ParseErrorResponse(want)
		switch {
		case err != nil:
			return err
		case !e.Java || e.Fatal() != c.Fatal || e.Receiver != receiver:
			return differs("what was decoded", fmt.Sprintf("%+v", e), fmt.Sprintf("fatal %v, receiver %q, of Java", c.Fatal, c.Receiver))
		}
		return nil
	case network.MsgBufferResponse:
		got, err = c.bufferResponse(h, want, receiver)
	case network.MsgPartitionRequest:
		got, err = c.partitionRequest(want, receiver)
	default:
		m := network.Control{ID: c.ID, Receiver: receiver, Value: c.Credit + c.BufferSize + c.Backlog + c.SegmentID, Subpartition: c.Subpartition}
		var parsed network.Control
		if parsed, err = network.ParseControl(h, want); err == nil && parsed != m {
			err = decoded(parsed, m)
		}
		got = m.Append(nil)
	}
	if err == nil && !bytes.Equal(got, want) {
		err = differs("the bytes", hex.EncodeToString(got), hex.EncodeToString(want))
	}
	return err
}

func decoded(got, want any) error {
	return differs("what was decoded", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

func (c *framesCase) bufferResponse(h network.FrameHeader, want []byte, receiver network.ChannelID) ([]byte, error) {
	r := network.BufferResponse{Receiver: receiver, Subpartition: c.Subpartition, Seq: c.SequenceNumber, Backlog: c.Backlog,
		Type: c.DataTypeOrdinal, Compressed: c.Compressed, Size: int32(len(c.Payload) / 2)}
	if c.DataType != "" && r.Type.String() != c.DataType {
		return nil, differs("the data type", r.Type, c.DataType)
	}
	parsed, err := network.ParseBufferResponse(h, want)
	if err == nil && parsed != r {
		err = decoded(parsed, r)
	}
	if err != nil {
		return nil, err
	}
	got := make([]byte, network.BufferHeaderLength, len(want))
	r.Put(got)
	return append(got, want[network.BufferHeaderLength:]...), nil
}

func (c *framesCase) partitionRequest(want []byte, receiver network.ChannelID) ([]byte, error) {
	r := network.PartitionRequest{Partition: c.Partition, Subtask: c.Subtask, Attempt: c.Attempt,
		SubpartitionStart: c.SubpartitionStart, SubpartitionEnd: c.SubpartitionEnd, Receiver: receiver, Credit: c.Credit}
	for _, id := range []struct {
		name, text string
		to         *[16]byte
	}{{"data set", c.DataSet, &r.DataSet}, {"execution graph", c.ExecutionGraph, &r.ExecutionGraph}, {"job vertex", c.JobVertex, &r.JobVertex}} {
		var err error
		if *id.to, err = id16(id.name, id.text); err != nil {
			return nil, err
		}
	}
	parsed, err := network.ParsePartitionRequest(want)
	if err == nil && parsed != r {
		err = decoded(parsed, r)
	}
	return r.Append(nil), err
}
