package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestStreamedKeyGroups writes keyed state of two operators as it is read, and reads it back as key groups.
func TestStreamedKeyGroups(t *testing.T) {
	stream := func(texts ...string) *OperatorState {
		return &OperatorState{Splits: [][]byte{[]byte("split")}, Stream: func(w io.Writer) ([]KeyGroupOffset, error) {
			var offsets []KeyGroupOffset
			var at int64
			for i, text := range texts {
				if _, err := io.WriteString(w, text); err != nil {
					return nil, err
				}
				offsets = append(offsets, KeyGroupOffset{KeyGroup: 2 * i, Offset: at, Length: int64(len(text))})
				at += int64(len(text))
			}
			return offsets, nil
		}}
	}
	s := &TaskState{Operators: map[string]*OperatorState{"a": stream("first", "", "third"), "b": stream("fourth"), "c": {Keyed: []KeyGroupState{{7, []byte("kept")}}}}}
	for name, storage := range map[string]Storage{"file": NewFileStorage(t.TempDir(), nil), "memory": NewMemoryStorage()} {
		if err := storage.Begin(1); err != nil {
			t.Fatal(err)
		}
		h, err := storage.WriteState(1, TaskID{"v", 0}, s)
		if err != nil {
			t.Fatal(err)
		}
		c := &Completed{ID: 1, Type: TypeCheckpoint, Vertices: []VertexState{{ID: "v", Parallelism: 1, MaxParallelism: 128, Subtasks: []SubtaskState{{Handle: h}}}}}
		if err := storage.Complete(c); err != nil {
			t.Fatal(err)
		}
		back, err := c.State("v", 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, op := range []string{"a", "b", "c"} {
			for _, g := range back.Operators[op].Keyed {
				got = append(got, string(rune('0'+g.KeyGroup))+string(g.Data))
			}
		}
		if text := strings.Join(got, " "); text != "0first 2 4third 0fourth 7kept" || string(back.Operators["b"].Splits[0]) != "split" {
			t.Errorf("%s: %q", name, text)
		}
	}
	broken := &TaskState{Operators: map[string]*OperatorState{"a": {Stream: func(io.Writer) ([]KeyGroupOffset, error) { return nil, errors.New("no more") }}}}
	if _, _, err := writeState(io.Discard, broken); err == nil || err.Error() != "no more" {
		t.Errorf("a stream that fails: %v", err)
	}
	// Damage of the places is found, whatever the checksum says.
	var b bytes.Buffer
	wrong := &TaskState{Operators: map[string]*OperatorState{"a": {Stream: func(io.Writer) ([]KeyGroupOffset, error) {
		return []KeyGroupOffset{{KeyGroup: 1, Offset: 5, Length: 1 << 40}}, nil
	}}}}
	if _, _, err := writeState(&b, wrong); err != nil {
		t.Fatal(err)
	}
	if _, err := parseState(b.Bytes()); err == nil || !strings.Contains(err.Error(), "key group 1") {
		t.Errorf("a key group outside the file: %v", err)
	}
}
