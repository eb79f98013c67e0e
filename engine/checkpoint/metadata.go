package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"weir/engine/keygroup"
)

// The metadata of a checkpoint is one line that says what follows, and a JSON document:
//
//	weir-checkpoint VERSION BYTES CRC-32C
//	{ ... }
//
// The line comes first so that a truncated, damaged, foreign or newer file is told apart without a guess.
const (
	// MetadataName is the file that makes a folder a checkpoint, as in Flink.
	MetadataName    = "_metadata"
	metadataMagic   = "weir-checkpoint"
	metadataVersion = 1
	maxMetadata     = 64 << 20
	// flinkMagic begins the _metadata of Apache Flink.
	flinkMagic = "\x49\x60\x67\x2d"
)

type metadataDocument struct {
	ID          int64            `json:"id"`
	TimestampMs int64            `json:"timestampMs"`
	Type        string           `json:"type"`
	Vertices    []metadataVertex `json:"vertices"`
}

type metadataVertex struct {
	ID                    string            `json:"id"`
	Parallelism           int               `json:"parallelism"`
	MaxParallelism        int               `json:"maxParallelism"`
	MaxParallelismDerived bool              `json:"maxParallelismDerived"`
	Subtasks              []metadataSubtask `json:"subtasks"`
}

type metadataSubtask struct {
	File     string `json:"file,omitempty"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum,omitempty"`
	Finished bool   `json:"finished,omitempty"`
}

// encodeMetadata writes what parseMetadata reads.
func encodeMetadata(c *Completed) ([]byte, error) {
	doc := metadataDocument{ID: c.ID, TimestampMs: c.TimestampMs, Type: c.Type, Vertices: []metadataVertex{}}
	for _, v := range c.Vertices {
		mv := metadataVertex{v.ID, v.Parallelism, v.MaxParallelism, v.MaxParallelismDerived, []metadataSubtask{}}
		for _, s := range v.Subtasks {
			ms := metadataSubtask{File: s.File, Bytes: s.Bytes, Finished: s.Finished}
			if s.File != "" {
				ms.Checksum = fmt.Sprintf("%08x", s.Checksum)
			}
			mv.Subtasks = append(mv.Subtasks, ms)
		}
		doc.Vertices = append(doc.Vertices, mv)
	}
	body, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, err
	}
	return metadataLine(append(body, '\n')), nil
}

// metadataLine puts the first line before a document.
func metadataLine(body []byte) []byte {
	line := fmt.Sprintf("%s %d %d %08x\n", metadataMagic, metadataVersion, len(body), crc32.Checksum(body, castagnoli))
	return append([]byte(line), body...)
}

// parseMetadata reads and checks the metadata. Errors say what was expected; the caller names the file.
func parseMetadata(b []byte) (*Completed, error) {
	body, err := metadataBody(b)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	var doc metadataDocument
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("malformed: %v", err)
	}
	c := &Completed{ID: doc.ID, TimestampMs: doc.TimestampMs, Type: doc.Type}
	if c.ID < 1 {
		return nil, fmt.Errorf("malformed: checkpoint id %d, expected 1 or more", c.ID)
	}
	if c.Type != TypeCheckpoint && c.Type != TypeSavepoint {
		return nil, fmt.Errorf("malformed: type %q, expected %s or %s", c.Type, TypeCheckpoint, TypeSavepoint)
	}
	for _, mv := range doc.Vertices {
		v, err := mv.check()
		if err != nil {
			return nil, fmt.Errorf("malformed: vertex %q: %v", mv.ID, err)
		}
		if _, twice := c.Vertex(v.ID); twice {
			return nil, fmt.Errorf("malformed: vertex %q is there twice", v.ID)
		}
		c.Vertices = append(c.Vertices, v)
	}
	return c, nil
}

// metadataBody checks the first line and returns what follows it.
func metadataBody(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("truncated: it is empty")
	}
	if !bytes.HasPrefix(b, []byte(metadataMagic+" ")) {
		switch {
		case bytes.HasPrefix([]byte(metadataMagic+" "), b):
			return nil, fmt.Errorf("truncated inside its first line")
		case bytes.HasPrefix(b, []byte(flinkMagic)):
			return nil, fmt.Errorf("metadata of Apache Flink, expected one that begins with %q", metadataMagic)
		}
		return nil, fmt.Errorf("not the metadata of a checkpoint: it begins with %q, expected %q", b[:min(len(b), len(metadataMagic))], metadataMagic)
	}
	line, _, ok := bytes.Cut(b[:min(len(b), 128)], []byte("\n"))
	fields := strings.Split(string(line), " ")
	// A newer version may have another line; its number always comes second.
	if len(fields) > 2 || ok {
		if v, err := strconv.Atoi(fields[1]); err != nil || v < 1 {
			return nil, fmt.Errorf("malformed: version %q, expected a number", fields[1])
		} else if v > metadataVersion {
			return nil, fmt.Errorf("written by a newer version: format %d, expected at most %d", v, metadataVersion)
		}
	}
	if !ok && len(b) < 128 {
		return nil, fmt.Errorf("truncated inside its first line")
	}
	if !ok || len(fields) != 4 {
		return nil, fmt.Errorf("malformed: first line %q, expected \"%s VERSION BYTES CHECKSUM\"", line, metadataMagic)
	}
	length, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || length < 0 {
		return nil, fmt.Errorf("malformed: length %q, expected a number", fields[2])
	}
	want, err := strconv.ParseUint(fields[3], 16, 32)
	if err != nil {
		return nil, fmt.Errorf("malformed: checksum %q, expected 8 hexadecimal digits", fields[3])
	}
	body := b[len(line)+1:]
	if int64(len(body)) < length {
		return nil, fmt.Errorf("truncated: %d bytes after the first line, expected %d", len(body), length)
	}
	if int64(len(body)) > length {
		return nil, fmt.Errorf("damaged: %d bytes after the first line, expected %d", len(body), length)
	}
	if have := crc32.Checksum(body, castagnoli); have != uint32(want) {
		return nil, fmt.Errorf("damaged: checksum %08x, expected %08x", have, want)
	}
	return body, nil
}

func (mv *metadataVertex) check() (VertexState, error) {
	v := VertexState{ID: mv.ID, Parallelism: mv.Parallelism, MaxParallelism: mv.MaxParallelism, MaxParallelismDerived: mv.MaxParallelismDerived}
	switch {
	case mv.ID == "":
		return v, fmt.Errorf("it has no id")
	case mv.MaxParallelism < 1 || mv.MaxParallelism > keygroup.UpperBound:
		return v, fmt.Errorf("max parallelism %d, expected 1 to %d", mv.MaxParallelism, keygroup.UpperBound)
	case mv.Parallelism < 1 || mv.Parallelism > mv.MaxParallelism:
		return v, fmt.Errorf("parallelism %d, expected 1 to %d", mv.Parallelism, mv.MaxParallelism)
	case len(mv.Subtasks) != mv.Parallelism:
		return v, fmt.Errorf("%d subtasks, expected %d", len(mv.Subtasks), mv.Parallelism)
	}
	for i, ms := range mv.Subtasks {
		s := SubtaskState{Handle: Handle{File: ms.File, Bytes: ms.Bytes}, Finished: ms.Finished}
		switch {
		case ms.File == "" && (ms.Bytes != 0 || ms.Checksum != ""):
			return v, fmt.Errorf("subtask %d: %d bytes without a file", i, ms.Bytes)
		case ms.File == "":
		case !plainName(ms.File):
			return v, fmt.Errorf("subtask %d: file %q, expected a name without a folder", i, ms.File)
		case ms.Bytes < 0 || ms.Bytes > maxStateFile:
			return v, fmt.Errorf("subtask %d: %d bytes, expected 0 to %d", i, ms.Bytes, int64(maxStateFile))
		default:
			sum, err := strconv.ParseUint(ms.Checksum, 16, 32)
			if err != nil {
				return v, fmt.Errorf("subtask %d: checksum %q, expected 8 hexadecimal digits", i, ms.Checksum)
			}
			s.Checksum = uint32(sum)
		}
		v.Subtasks = append(v.Subtasks, s)
	}
	return v, nil
}

// plainName tells whether a name stays inside the folder that it is joined to.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && name != MetadataName && !strings.ContainsAny(name, "/\\\x00:")
}
