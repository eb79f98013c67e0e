package serde

import (
	"bytes"
	"runtime"
	"testing"
)

func fuzzSeeds(f *testing.F) {
	for i, s := range schemas() {
		r := Record{Key: Key{Num: 42, Str: "k\xed\xa0\xbd😀"}, Payload: "payload é用", Timestamp: 1, HasTimestamp: i%3 == 0}
		b := AppendRecord(nil, s, &r)
		f.Add(b[4:], byte(i), byte(3))
		b = AppendWatermark(b, -1)
		b = AppendWatermarkStatus(b, Idle)
		b = AppendLatencyMarker(b, LatencyMarker{MarkedTime: 5, Subtask: 1})
		b = AppendRecordAttributes(b, true)
		f.Add(b, byte(i), byte(7))
	}
	f.Add([]byte("\x00\x00\x00\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x0fab"), byte(1), byte(200))
	f.Add([]byte("\x0f\xff\xff\xff"), byte(0), byte(1))
}

// boundedAllocation fails if do allocates far more than the input it has accounts for.
func boundedAllocation(t *testing.T, input int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64<<10+16*input); got > most {
		t.Fatalf("%d bytes allocated for %d bytes of input, at most %d are in order", got, input, most)
	}
}

func FuzzReadRecord(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte, schema, _ byte) {
		ss := schemas()
		s := ss[int(schema)%len(ss)]
		var r, again Record
		var d, e Decoder
		var err error
		boundedAllocation(t, len(b), func() { err = ReadRecord(b, s, &r, &d) })
		if err != nil {
			return
		}
		// What was read is written to bytes that read the same.
		out := AppendRecord(nil, s, &r)
		if err := ReadRecord(out[4:], s, &again, &e); err != nil {
			t.Fatalf("% x: written again as % x: %v", b, out, err)
		}
		if s.Key == Double {
			r.Key.Num = doubleToLongBits(r.Key.Num)
		}
		if r != again {
			t.Fatalf("%#v came back as %#v", r, again)
		}
	})
}

// A stream read in pieces must give the elements and the error that it gives in one piece.
func FuzzDeserializer(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte, schema, piece byte) {
		ss := schemas()
		s := ss[int(schema)%len(ss)]
		read := func(size int) (out []byte, unfinished int, message string) {
			d := NewDeserializer(s)
			var r Record
			for rest := b; len(rest) > 0; {
				n := min(size, len(rest))
				d.SetBuffer(rest[:n])
				rest = rest[n:]
				for {
					kind, ok, err := d.Next(&r)
					if err != nil {
						return out, 0, err.Error()
					}
					if !ok {
						break
					}
					if out = append(out, byte(kind)); kind == KindRecord {
						out = AppendRecord(out, s, &r)
					}
				}
				if d.Remaining() != 0 {
					t.Fatalf("%d bytes left in a buffer that is used up", d.Remaining())
				}
			}
			return out, d.Unfinished(), ""
		}
		var out, pieces []byte
		var left, piecesLeft int
		var message, piecesMessage string
		boundedAllocation(t, 16*len(b), func() {
			out, left, message = read(max(len(b), 1))
			pieces, piecesLeft, piecesMessage = read(int(piece) + 1)
		})
		if !bytes.Equal(out, pieces) || left != piecesLeft || message != piecesMessage {
			t.Fatalf("% x, %d left, %q in one piece; % x, %d left, %q in pieces of %d", out, left, message, pieces, piecesLeft, piecesMessage, int(piece)+1)
		}
	})
}

func FuzzUnmarshalEvent(f *testing.F) {
	barrier := CheckpointBarrier{ID: 1, Timestamp: 2, Options: CheckpointOptions{Type: Savepoint, Format: Native, Location: "here", Alignment: Aligned}}
	for _, e := range []Event{barrier, CheckpointBarrier{Options: AlignedOptions()}, EventAnnouncement{SequenceNumber: 9, Barrier: barrier},
		CancelCheckpointMarker{8}, EndOfDataEvent{Drain: true}, EndOfPartitionEvent{}, EndOfSuperstepEvent{}, EndOfSegmentEvent{},
		EndOfOutputChannelStateEvent{}, EndOfInputChannelStateEvent{}, SubtaskConnectionDescriptor{2, 3}, RecoveryMetadata{4}} {
		f.Add(MarshalEvent(e))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Event
		var err error
		boundedAllocation(t, len(b), func() { e, err = UnmarshalEvent(b) })
		if err != nil {
			if e != nil {
				t.Fatalf("%v with an error", e)
			}
			return
		}
		if out := MarshalEvent(e); !bytes.Equal(out, b) {
			t.Fatalf("%#v was read from % x and is written as % x", e, b, out)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"1", "-1.5e3", "0x1.8p1d", "NaN", "true", "Infinity", " 7 ", "1e", "4.9E-324"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for kt := Long; kt <= Double; kt++ {
			k, err := ParseKey(kt, s)
			if err != nil {
				continue
			}
			if again, err := ParseKey(kt, FormatKey(kt, k)); err != nil || again != k {
				t.Fatalf("%v %q is %#v, printed as %q: %#v, %v", kt, s, k, FormatKey(kt, k), again, err)
			}
		}
	})
}
