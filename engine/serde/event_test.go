package serde

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestEventErrors(t *testing.T) {
	barrier := "0000000100000000000000010000018bcfe56800"
	for _, c := range []struct{ hex, want string }{
		{"", "event of 0 bytes, at byte 0: the event type needs 4 bytes, but only 0 are left"},
		{"00000003", "event type 3, an event by its Java class, is not supported"},
		{"0000000b", "event type 11, a generalized watermark, is not supported"},
		{"0000000d", "event type 13, must be 0 to 12"},
		{"ffffffff", "event type -1, must be 0 to 12"},
		{"0000000000", "at byte 4: 1 bytes left behind a serde.EndOfPartitionEvent"},
		{"0000000802", "the stop mode is 2, must be 0 to 1"},
		{barrier + "05", "the snapshot type is 5, must be 0 to 4"},
		{barrier + "0102", "the savepoint format is 2, must be 0 to 1"},
		{barrier + "0000000000", "the length of the location is 0, must be -1 or above 0"},
		{barrier + "007fffffff00", "the location needs 2147483647 bytes, but only 1 are left"},
		{barrier + "00ffffffff04", "the alignment is 4, must be 0 to 3"},
		{barrier + "00ffffffff01", "the aligned timeout needs 8 bytes, but only 0 are left"},
		{"000000060000000900000000", "a serde.EndOfPartitionEvent is announced, must be a checkpoint barrier"},
		{"00000006000000090000000600000009" + "00000000", "cannot announce an announcement"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		e, err := UnmarshalEvent(b)
		if e != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, expected %q", c.hex, e, err, c.want)
		}
	}
	if b := MarshalEvent(nil); b != nil {
		t.Errorf("no event has bytes % x", b)
	}
}

func TestBarrierThatIsForcedAligned(t *testing.T) {
	b := CheckpointBarrier{Options: CheckpointOptions{Alignment: ForcedAligned, AlignedTimeoutMs: 1000}}
	if got := EventDataType(b, false); got != AlignedCheckpointBarrier {
		t.Errorf("%v", got)
	}
	if got := EventDataType(CheckpointBarrier{Options: AlignedOptions()}, false); got != AlignedCheckpointBarrier {
		t.Errorf("%v", got)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{SuspendSavepoint.String(), "Suspend Savepoint"}, {SnapshotType(9).String(), "SnapshotType(9)"},
		{Native.String(), "NATIVE"}, {Unaligned.String(), "UNALIGNED"}, {Alignment(200).String(), "Alignment(200)"},
		{DataType(99).String(), "DataType(99)"}, {KindLatencyMarker.String(), "latency marker"},
		{Last.String(), "LAST_RECORD_FROM_BUFFER"}, {WatermarkStatus(3).String(), "WatermarkStatus(3)"},
		{KeyType(9).String(), "KeyType(9)"},
	} {
		if c.got != c.want {
			t.Errorf("%q, expected %q", c.got, c.want)
		}
	}
	if DataType(99).IsEvent() || DataType(99).IsBuffer() {
		t.Error("an unknown data type is neither event nor buffer")
	}
}
