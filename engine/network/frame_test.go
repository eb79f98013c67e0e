package network

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"weir/engine/serde"
)

func TestErrorResponse(t *testing.T) {
	for _, e := range []ErrorResponse{
		{Cause: "the task failed"},
		{Cause: "", HasReceiver: true, Receiver: ChannelID{1, 2}},
		{Kind: ErrorPartitionNotFound, Cause: "分区 not found", HasReceiver: true, Receiver: ChannelID{15: 9}},
	} {
		b := e.Append(nil)
		if h, err := ParseFrameHeader(b); err != nil || h.Length != len(b) || h.ID != MsgErrorResponse {
			t.Fatalf("header %+v, %v of %x", h, err, b)
		}
		got, err := ParseErrorResponse(b)
		if err != nil || got != e {
			t.Errorf("decoded %+v, %v, expected %+v", got, err, e)
		}
	}
	long := ErrorResponse{Cause: strings.Repeat("错", maxCauseBytes)}
	got, err := ParseErrorResponse(long.Append(nil))
	if err != nil || len(got.Cause) > maxCauseBytes || got.Cause != strings.Repeat("错", len(got.Cause)/3) {
		t.Errorf("a long cause came as %d bytes, %v", len(got.Cause), err)
	}
}

// TestBrokenFrames: garbage is refused with what is wrong in it, never taken for something else.
func TestBrokenFrames(t *testing.T) {
	good := func() []byte {
		b := make([]byte, BufferHeaderLength, BufferHeaderLength+4)
		(&BufferResponse{Type: serde.DataBuffer, Size: 4}).Put(b)
		return append(b, 1, 2, 3, 4)
	}
	with := func(at int, v ...byte) []byte {
		b := good()
		copy(b[at:], v)
		return b
	}
	control := (&Control{ID: MsgAddCredit, Value: 1}).Append(nil)
	request := (&PartitionRequest{}).Append(nil)
	weir := (&ErrorResponse{Cause: "x", HasReceiver: true}).Append(nil)
	for _, c := range []struct {
		name  string
		bytes []byte
		field string
	}{
		{"too short", good()[:8], "frame header bytes"},
		{"wrong magic", with(4, 0xBB), "magic"},
		{"task event", with(8, 3), "message id"},
		{"unknown id", with(8, 12), "message id"},
		{"negative length", with(0, 0xFF), "length of BufferResponse"},
		{"short length", with(0, 0, 0, 0, 46), "length of BufferResponse"},
		{"huge length", with(0, 0x7F), "length of BufferResponse"},
		{"payload longer than the frame", with(43, 0, 0, 0, 5), "payload size"},
		{"payload shorter than the frame", with(43, 0, 0, 0, 3), "payload size"},
		{"negative payload", with(43, 0xFF), "payload size"},
		{"no data type", with(41, 0), "data type"},
		{"unknown data type", with(41, 77), "data type"},
		{"compressed 2", with(42, 2), "compressed flag"},
		{"negative backlog", with(37, 0x80), "backlog"},
		{"backlog -2", with(37, 0xFF, 0xFF, 0xFF, 0xFE), "backlog"},
		{"negative subpartition", with(25, 0x80), "subpartition"},
		{"many partial buffers", with(29, 0x7F), "number of partial buffers"},
		{"negative partial buffers", with(29, 0xFF, 0xFF, 0xFF, 0xFF), "number of partial buffers"},
		{"negative payload made up for by partial buffers", with(29, append([]byte{0, 0, 0, 2}, append(good()[33:43], 0xFF, 0xFF, 0xFF, 0xFC)...)...), "payload size"},
		{"credit 0", append(append([]byte{}, control[:12]...), make([]byte, 17)...), "number in AddCredit"},
		{"wrong length of AddCredit", append([]byte{0, 0, 0, 30}, control[4:]...), "length of AddCredit"},
		{"negative credit", append(append(append([]byte{}, request[:93]...), 0x80), request[94:]...), "initial credit"},
		{"subpartitions backwards", append(append(append([]byte{}, request[:72]...), 2), request[73:]...), "last subpartition"},
		{"other error", append(append(append([]byte{}, weir[:9]...), 'X'), weir[10:]...), "first byte of ErrorResponse"},
		{"long cause", append(append(append([]byte{}, weir[:14]...), 9), weir[15:]...), "cause length"},
	} {
		_, err := parseAny(c.bytes)
		var f *FrameError
		if !errors.As(err, &f) || f.Field != c.field {
			t.Errorf("%s: %v, expected an error about %s", c.name, err, c.field)
		}
	}
	if v, err := parseAny(good()); err != nil {
		t.Errorf("the good frame: %v, %v", v, err)
	}
}

// parseAny decodes one whole frame as either end would.
func parseAny(b []byte) (any, error) {
	h, err := ParseFrameHeader(b)
	if err != nil {
		return nil, err
	}
	if h.Length > len(b) {
		return nil, &FrameError{"frame bytes", int64(len(b)), "more"}
	}
	b = b[:h.Length]
	switch h.ID {
	case MsgBufferResponse:
		return ParseBufferResponse(h, b)
	case MsgErrorResponse:
		return ParseErrorResponse(b)
	case MsgPartitionRequest:
		return ParsePartitionRequest(b)
	}
	return ParseControl(h, b)
}

// framesOfFlink are the bytes of the golden file's frames.
func framesOfFlink(t testing.TB) (frames [][]byte) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/golden/netty_frames.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct{ Hex, HeaderHex, Payload string }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		frame, err := hex.DecodeString(c.Hex + c.HeaderHex + c.Payload)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	return frames
}

// FuzzFrames: no bytes make the decoder panic, and what it accepts is encoded to the same bytes.
func FuzzFrames(f *testing.F) {
	for _, b := range framesOfFlink(f) {
		f.Add(b)
	}
	f.Add((&ErrorResponse{Cause: "x", HasReceiver: true}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseAny(b)
		if err != nil {
			var f *FrameError
			if !errors.As(err, &f) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		var again []byte
		switch m := m.(type) {
		case BufferResponse:
			again = make([]byte, BufferHeaderLength)
			m.Put(again)
			again = append(again, b[BufferHeaderLength:BufferHeaderLength+4*int(m.Partial)+int(m.Size)]...)
		case PartitionRequest:
			again = m.Append(nil)
		case Control:
			again = m.Append(nil)
		case ErrorResponse:
			if m.Java || len(m.Cause) > maxCauseBytes {
				return
			}
			again = m.Append(nil)
		}
		if !bytes.Equal(again, b[:len(again)]) {
			t.Fatalf("%x was decoded as %+v and encoded as %x", b, m, again)
		}
	})
}
