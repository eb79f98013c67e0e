package golden

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"weir/engine/serde"
)

// eventCase has the fields of the kinds event and dataType.
type eventCase struct {
	Event            string `json:"event"`
	Class            string `json:"class"`
	Priority         bool   `json:"priority"`
	CheckpointID     int64  `json:"checkpointId"`
	Snapshot         string `json:"snapshot"`
	Alignment        string `json:"alignment"`
	AlignedTimeoutMs string `json:"alignedTimeoutMs"`
	Location         string `json:"location"`

	Name                 string `json:"name"`
	DataType             string `json:"dataType"`
	Ordinal              uint8  `json:"ordinal"`
	IsBuffer             bool   `json:"isBuffer"`
	IsEvent              bool   `json:"isEvent"`
	BlocksUpstream       bool   `json:"blocksUpstream"`
	HasPriority          bool   `json:"hasPriority"`
	RequiresAnnouncement bool   `json:"requiresAnnouncement"`
	IsPartialRecord      bool   `json:"isPartialRecord"`
}

// event makes the event that a case describes. Numbers that only the description has are read from it.
func (s *recordsReplay) event(c *recordsCase) (serde.Event, error) {
	number := func(format string, into ...any) error {
		_, err := fmt.Sscanf(c.Event, format, into...)
		return err
	}
	switch c.Class {
	case "CheckpointBarrier":
		b, err := c.barrier()
		if err == nil && s.barrier == nil {
			s.barrier = &b
		}
		return b, err
	case "EndOfPartitionEvent":
		return serde.EndOfPartitionEvent{}, nil
	case "EndOfSuperstepEvent":
		return serde.EndOfSuperstepEvent{}, nil
	case "EndOfOutputChannelStateEvent":
		return serde.EndOfOutputChannelStateEvent{}, nil
	case "EndOfInputChannelStateEvent":
		return serde.EndOfInputChannelStateEvent{}, nil
	case "EndOfSegmentEvent":
		return serde.EndOfSegmentEvent{}, nil
	case "EndOfData":
		return serde.EndOfDataEvent{Drain: !strings.Contains(c.Event, "no drain")}, nil
	case "CancelCheckpointMarker":
		var e serde.CancelCheckpointMarker
		err := number("cancel checkpoint %d", &e.CheckpointID)
		return e, err
	case "SubtaskConnectionDescriptor":
		var e serde.SubtaskConnectionDescriptor
		err := number("subtask connection descriptor %d %d", &e.InputSubtask, &e.OutputSubtask)
		return e, err
	case "RecoveryMetadata":
		var e serde.RecoveryMetadata
		err := number("recovery metadata %d", &e.FinalBufferSubpartition)
		return e, err
	case "EventAnnouncement":
		if s.barrier == nil {
			return nil, fmt.Errorf("there is no barrier before the announcement")
		}
		e := serde.EventAnnouncement{Barrier: *s.barrier}
		err := number("announcement of the first barrier, sequence number %d", &e.SequenceNumber)
		return e, err
	}
	return nil, fmt.Errorf("unknown class %q", c.Class)
}

func (c *recordsCase) barrier() (serde.CheckpointBarrier, error) {
	b := serde.CheckpointBarrier{ID: c.CheckpointID}
	var err error
	if b.Timestamp, err = strconv.ParseInt(deref(c.Timestamp), 10, 64); err != nil {
		return b, err
	}
	o := &b.Options
	if o.AlignedTimeoutMs, err = strconv.ParseInt(c.AlignedTimeoutMs, 10, 64); err != nil {
		return b, err
	}
	if c.Location != "default" {
		location, err := hex.DecodeString(c.Location)
		if err != nil {
			return b, err
		}
		o.Location = string(location)
	}
	if strings.Contains(c.Event, "native") {
		o.Format = serde.Native
	}
	for o.Type = serde.Checkpoint; o.Type.String() != c.Snapshot; o.Type++ {
		if o.Type > serde.FullCheckpoint {
			return b, fmt.Errorf("unknown snapshot type %q", c.Snapshot)
		}
	}
	for o.Alignment = serde.AtLeastOnce; o.Alignment.String() != c.Alignment; o.Alignment++ {
		if o.Alignment > serde.ForcedAligned {
			return b, fmt.Errorf("unknown alignment %q", c.Alignment)
		}
	}
	return b, nil
}

func (s *recordsReplay) checkEvent(c *recordsCase, want []byte) error {
	e, err := s.event(c)
	if err != nil {
		return err
	}
	if got := serde.MarshalEvent(e); !bytes.Equal(got, want) {
		return differs("the bytes", hex.EncodeToString(got), hex.EncodeToString(want))
	}
	back, err := serde.UnmarshalEvent(want)
	if err != nil {
		return err
	}
	if back != e {
		return differs("the event read", back, e)
	}
	t := serde.EventDataType(e, c.Priority)
	if t.String() != c.DataType {
		return differs("the data type", t, c.DataType)
	}
	switch {
	case uint8(t) != c.Ordinal:
		return differs("the ordinal", uint8(t), c.Ordinal)
	case t.BlocksUpstream() != c.BlocksUpstream:
		return differs("blocksUpstream", t.BlocksUpstream(), c.BlocksUpstream)
	case t.HasPriority() != c.HasPriority:
		return differs("hasPriority", t.HasPriority(), c.HasPriority)
	case t.RequiresAnnouncement() != c.RequiresAnnouncement:
		return differs("requiresAnnouncement", t.RequiresAnnouncement(), c.RequiresAnnouncement)
	}
	return nil
}

func checkDataType(c *recordsCase) error {
	t := serde.DataType(c.Ordinal)
	if t.String() != c.Name {
		return differs("the name", t, c.Name)
	}
	got := [...]bool{t.IsBuffer(), t.IsEvent(), t.BlocksUpstream(), t.HasPriority(), t.RequiresAnnouncement(), t.IsPartialRecord()}
	want := [...]bool{c.IsBuffer, c.IsEvent, c.BlocksUpstream, c.HasPriority, c.RequiresAnnouncement, c.IsPartialRecord}
	if got != want {
		return differs("isBuffer, isEvent, blocksUpstream, hasPriority, requiresAnnouncement, isPartialRecord", got, want)
	}
	return nil
}
