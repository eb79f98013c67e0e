package checkpoint

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzMetadata: whatever the bytes, metadata is read or refused in one line, and what is read is written again the same.
func FuzzMetadata(f *testing.F) {
	good, err := encodeMetadata(&Completed{ID: 3, TimestampMs: 5, Type: TypeCheckpoint, Vertices: []VertexState{
		{ID: "count", Parallelism: 2, MaxParallelism: 128, MaxParallelismDerived: true, Subtasks: []SubtaskState{{Handle: Handle{"count-0", 10, 5}}, {Finished: true}}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:40])
	f.Add([]byte("weir-checkpoint 2 0 00000000\n"))
	f.Add([]byte("weir-checkpoint 1 3 ed1cd1a5\n{}\n"))
	f.Add([]byte(flinkMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		// The checksum keeps a fuzzer out; what is behind it is tried with one that fits, too.
		for _, in := range [][]byte{b, resum(b)} {
			c, err := parseMetadata(in)
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("more than one line: %q", err)
				}
				continue
			}
			again, err := encodeMetadata(c)
			if err != nil {
				t.Fatal(err)
			}
			c2, err := parseMetadata(again)
			if err != nil || !reflect.DeepEqual(c, c2) {
				t.Fatalf("read %+v, written and read again %+v, %v", c, c2, err)
			}
		}
	})
}

// resum puts a first line before a document that fits it.
func resum(b []byte) []byte {
	if _, body, ok := bytes.Cut(b, []byte("\n")); ok {
		b = body
	}
	return metadataLine(b)
}

// FuzzState: whatever the bytes, a state file is read or refused, and what is read is written again the same.
func FuzzState(f *testing.F) {
	for i := range 3 {
		var b bytes.Buffer
		writeState(&b, sampleState(i))
		f.Add(b.Bytes())
	}
	var rich bytes.Buffer
	writeState(&rich, richState())
	f.Add(rich.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, restate(b)} {
			s, err := parseState(in)
			if err != nil {
				continue
			}
			var again bytes.Buffer
			if _, _, err := writeState(&again, s); err != nil {
				t.Fatal(err)
			}
			s2, err := parseState(again.Bytes())
			if err != nil || !sameState(s, s2) {
				t.Fatalf("written and read again: %v", err)
			}
		}
	})
}

// restate gives a state file the checksum that fits it.
func restate(b []byte) []byte {
	if len(b) < 4 {
		return b
	}
	body := slices.Clone(b[:len(b)-4])
	return binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
}
