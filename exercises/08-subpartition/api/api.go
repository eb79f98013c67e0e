// Package api is what the exercise asks for: what of a subpartition's queue may be read, and when its reader is told.
package api

import "weir/exercises/kit/wire"

// Kind is what stands in the queue.
type Kind int

// The kinds.
const (
	None     Kind = iota
	Data          // a data buffer
	Event         // an event that keeps its place
	Barrier       // an aligned barrier: an event behind which nothing is read until Resume
	Priority      // an event that goes ahead of all that has no priority, behind those that have
)

// Polled is what the reader gets.
type Polled struct {
	ID      int  // of the entry
	Bytes   int  // of a data buffer: those that nobody has read yet; 0 of an event
	Gone    bool // the entry has left the queue: an event always, a data buffer if its writer is done with it
	Backlog int  // as Backlog answers after this
	Next    Kind // what can be read now, behind this; None if nothing can
}

// Subpartition is the queue of one subpartition (PipelinedSubpartition in Flink). A data buffer is queued empty, and its
// writer goes on writing it there; only the newest one can be unfinished. No call overlaps another.
type Subpartition interface {
	// Add queues an entry. True tells the reader that there is something to read.
	Add(id int, kind Kind) (notify bool)
	// Written tells how many bytes the newest data buffer has in all, and whether its writer is done with it. It comes
	// before each other call if something was written, and nobody hears of it.
	Written(bytes int, finished bool)
	// Flush makes readable what is written so far. True tells the reader.
	Flush() (notify bool)
	// Poll hands out the next thing that may be read; ok is false if there is none. A finished data buffer in which nothing
	// is left is dropped on the way.
	Poll() (p Polled, ok bool)
	// Resume ends the blocking by a Barrier that was read. The reader asks Available afterwards.
	Resume()
	// Available says whether something may be read now; without credit only an event may.
	Available(credit bool) bool
	// Backlog is how many data buffers may be read now. A data buffer at the very end of the queue counts after a flush only.
	Backlog() int
}

// The calls.
const (
	Begin     = 1 // number of the subpartition
	Add       = 2 // number, id, kind → notify
	Written   = 3 // number, bytes, finished
	Flush     = 4 // number → notify
	Poll      = 5 // number → ok, id, bytes, gone, backlog, next
	Resume    = 6 // number
	Available = 7 // number, credit → available
	Backlog   = 8 // number → backlog
)

// Dispatch answers calls with subpartitions that it makes, one for each number.
func Dispatch(newSubpartition func() Subpartition) func(method uint32, args []byte) []byte {
	all := map[int64]Subpartition{}
	return func(method uint32, args []byte) []byte {
		r := wire.Reader{B: args}
		var w wire.Writer
		number := r.Int()
		if method == Begin {
			all[number] = newSubpartition()
			return nil
		}
		s := all[number]
		switch method {
		case Add:
			id, kind := r.Int(), r.Int()
			w.Bool(s.Add(int(id), Kind(kind)))
		case Written:
			bytes, finished := r.Int(), r.Bool()
			s.Written(int(bytes), finished)
		case Flush:
			w.Bool(s.Flush())
		case Poll:
			p, ok := s.Poll()
			w.Bool(ok)
			w.Int(int64(p.ID))
			w.Int(int64(p.Bytes))
			w.Bool(p.Gone)
			w.Int(int64(p.Backlog))
			w.Int(int64(p.Next))
		case Resume:
			s.Resume()
		case Available:
			w.Bool(s.Available(r.Bool()))
		case Backlog:
			w.Int(int64(s.Backlog()))
		}
		return w.B
	}
}
