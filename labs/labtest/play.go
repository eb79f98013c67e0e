// Package labtest plays labs in tests of other packages: a script in fake time, over the in-memory transport, so that a
// minute of a lab takes part of a second and reads the same on every machine.
package labtest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"testing"
	"testing/synctest"

	"weir/labs"
)

// Script reads a run.json.
func Script(t *testing.T, path string) *labs.Script {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var s labs.Script
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &s
}

// Play runs a script in fake time and returns its record. It must not be called in a synctest bubble.
func Play(t *testing.T, s *labs.Script) *labs.Record {
	t.Helper()
	var r *labs.Record
	synctest.Test(t, func(t *testing.T) { r = play(t, s) })
	return r
}

func play(t *testing.T, s *labs.Script) *labs.Record {
	t.Helper()
	in := *s
	in.Knobs = maps.Clone(s.Knobs)
	if in.Knobs == nil {
		in.Knobs = map[string]any{}
	}
	// A socket or a disk would hold the clock up.
	in.Knobs["transport"], in.Knobs["checkpointStorage"] = "memory", "memory"
	r, err := in.Play(context.Background())
	if err != nil {
		t.Error(err)
		return &labs.Record{}
	}
	return r
}

// Bytes are the record's run.weir, unsigned.
func Bytes(t *testing.T, r *labs.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
