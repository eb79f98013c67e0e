package web

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A session's picture goes out to all its viewers at the same beats: those of a rate tick together, counted from the
// start of the session, so that the first to wake takes the picture and the others find it taken. What turns one picture
// into the next is encoded once, by the first that needs it, and the bytes are shared. A viewer keeps nothing but the
// last picture it was sent, so that what it holds does not grow while it reads nothing.

// nextBeat is the first beat after now of those an interval apart that were counted from started.
func nextBeat(started, now time.Time, interval time.Duration) time.Time {
	return started.Add((now.Sub(started)/interval + 1) * interval)
}

// frame is one picture of a session, shared by its viewers. The tree is never changed.
type frame struct {
	seq  int64
	tree tree

	mu     sync.Mutex
	merges map[int64]*encoded // by the seq of the frame they start from; 0 is none
}

// encoded is a message that is being made, or was.
type encoded struct {
	once sync.Once
	b    []byte
	err  error
}

// message encodes what turns the frame seen before into this one; without one it is the whole picture. Nil means that
// nothing changed. The bytes may be shared and must not be changed.
func (f *frame) message(seen *frame, skipped int64) ([]byte, error) {
	var b []byte
	if seen != f {
		e := f.from(seen)
		e.once.Do(func() { e.b, e.err = encode(seen, f) })
		if e.err != nil {
			return nil, e.err
		}
		b = e.b
	}
	if skipped == 0 {
		return b, nil
	}
	// How much a viewer missed is its own affair: it goes in front of the fields that all get.
	own := append(make([]byte, 0, len(b)+32), `{"skipped":`...)
	own = strconv.AppendInt(own, skipped, 10)
	if len(b) <= len("{}") {
		return append(own, '}'), nil
	}
	return append(append(own, ','), b[1:]...), nil
}

// from returns the place of the message that starts from a frame.
func (f *frame) from(seen *frame) *encoded {
	seq := int64(0)
	if seen != nil {
		seq = seen.seq
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.merges[seq]
	if e == nil {
		if f.merges == nil {
			f.merges = map[int64]*encoded{}
		}
		e = &encoded{}
		f.merges[seq] = e
	}
	return e
}

func encode(seen, to *frame) ([]byte, error) {
	if seen == nil {
		return json.Marshal(to.tree)
	}
	d, changed := diff(map[string]any(seen.tree), map[string]any(to.tree))
	if !changed {
		return nil, nil
	}
	return json.Marshal(d)
}

// streamCounts are the readings of all streams of a server since it started.
type streamCounts struct {
	opened   atomic.Int64 // connections
	pictures atomic.Int64 // taken of sessions
	messages atomic.Int64 // written to viewers
	bytes    atomic.Int64 // of these messages
	dropped  atomic.Int64 // pictures that viewers missed because they were behind
}

// streamReadings writes the readings of the streams in Prometheus' text format.
func (s *Server) streamReadings(w io.Writer) {
	viewers := int64(0)
	for _, sess := range s.sessions.list() {
		viewers += int64(sess.viewers.Load())
	}
	for _, r := range []struct {
		name, kind, help string
		value            int64
	}{
		{"weir_stream_viewers", "gauge", "Connections that follow a session now.", viewers},
		{"weir_stream_connections_total", "counter", "Connections that followed a session.", s.streams.opened.Load()},
		{"weir_stream_pictures_total", "counter", "Pictures taken of sessions.", s.streams.pictures.Load()},
		{"weir_stream_messages_total", "counter", "Messages sent to viewers.", s.streams.messages.Load()},
		{"weir_stream_bytes_total", "counter", "Bytes of these messages.", s.streams.bytes.Load()},
		{"weir_stream_dropped_frames_total", "counter", "Pictures that viewers missed because they were behind.", s.streams.dropped.Load()},
	} {
		_, _ = fmt.Fprintf(w, "# HELP %[1]s %[2]s\n# TYPE %[1]s %[3]s\n%[1]s %[4]d\n", r.name, r.help, r.kind, r.value)
	}
}
