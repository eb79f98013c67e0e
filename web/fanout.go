package web

import (
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"weir/web/delta"
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
	tree delta.Tree

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
		e.once.Do(func() {
			var before delta.Tree
			if seen != nil {
				before = seen.tree
			}
			e.b, e.err = delta.Message(before, f.tree)
		})
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

// streamCounts are the readings of all streams of a server since it started.
type streamCounts struct {
	opened   atomic.Int64 // connections
	pictures atomic.Int64 // taken of sessions
	messages atomic.Int64 // written to viewers
	bytes    atomic.Int64 // of these messages
	dropped  atomic.Int64 // pictures that viewers missed because they were behind
}

// streamReadings writes the readings of the streams.
func (s *Server) streamReadings(w io.Writer) {
	viewers := int64(0)
	for _, sess := range s.sessions.list() {
		viewers += int64(sess.viewers.Load())
	}
	writeReadings(w,
		reading{"weir_stream_viewers", "gauge", "Connections that follow a session now.", viewers},
		reading{"weir_stream_connections_total", "counter", "Connections that followed a session.", s.streams.opened.Load()},
		reading{"weir_stream_pictures_total", "counter", "Pictures taken of sessions.", s.streams.pictures.Load()},
		reading{"weir_stream_messages_total", "counter", "Messages sent to viewers.", s.streams.messages.Load()},
		reading{"weir_stream_bytes_total", "counter", "Bytes of these messages.", s.streams.bytes.Load()},
		reading{"weir_stream_dropped_frames_total", "counter", "Pictures that viewers missed because they were behind.", s.streams.dropped.Load()},
	)
}
