package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// mostFrame bounds what a core may answer, in bytes.
const mostFrame = 8 << 20

// What the parent asks of the child.
const (
	opStart  = 1 // payload: seed; makes a new instance
	opCall   = 2 // payload: method and arguments
	opOutput = 3 // answers what the core has printed
	opReady  = 4 // answers when the module is compiled to machine code
)

// How the child answers.
const (
	answerOK     = 0
	answerFailed = 1 // the core failed; payload: a Failure
)

// writeFrame sends a length, a byte, and the parts.
func writeFrame(w io.Writer, code byte, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	frame := make([]byte, 5, 5+size)
	binary.LittleEndian.PutUint32(frame, uint32(size))
	frame[4] = code
	for _, p := range parts {
		frame = append(frame, p...)
	}
	_, err := w.Write(frame)
	return err
}

func readFrame(r io.Reader) (code byte, payload []byte, err error) {
	var head [5]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > mostFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes, %d are the most", size, mostFrame)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return head[4], payload, err
}

// head keeps the first bytes that are written to it and drops the rest.
type head struct {
	bytes.Buffer
	most int
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.most - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
