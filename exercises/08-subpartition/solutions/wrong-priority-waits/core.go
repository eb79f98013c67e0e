// refused by: priority

// Package core decides what of a subpartition may be read.
package core

import "weir/exercises/08-subpartition/api"

// New makes an empty subpartition.
func New() api.Subpartition { return &subpartition{} }

// entry is what stands in the queue.
type entry struct {
	id          int
	kind        api.Kind
	bytes, read int
	finished    bool
}

// subpartition is the queue, oldest first.
type subpartition struct {
	queue   []entry
	urgent  int  // priority events at the head
	flushed bool // what is written may be read
	blocked bool // by a barrier that was read
}

// Add queues an entry. The reader is told of the first finished entry only: it finds the others by itself.
func (s *subpartition) Add(id int, kind api.Kind) (notify bool) {
	e := entry{id: id, kind: kind, finished: kind != api.Data}
	if kind == api.Priority {
		s.queue = append(s.queue[:s.urgent:s.urgent], append([]entry{e}, s.queue[s.urgent:]...)...)
		s.urgent++
		return s.urgent == 1
	}
	s.queue = append(s.queue, e)
	return !s.flushed && !s.blocked && s.finished() == 1
}

// Written notes how far the newest data buffer is.
func (s *subpartition) Written(bytes int, finished bool) {
	for i := len(s.queue) - 1; i >= 0; i-- {
		if e := &s.queue[i]; e.kind == api.Data {
			e.bytes, e.finished = bytes, finished
			return
		}
	}
}

// finished counts the entries that nobody writes any more.
func (s *subpartition) finished() int {
	if n := len(s.queue); n != 1 {
		return max(0, n-1) // of several the last one does not count: the next one will announce it
	}
	if s.queue[0].finished {
		return 1
	}
	return 0
}

// Flush makes the unfinished buffer readable. With more in the queue than that one the reader knows already.
func (s *subpartition) Flush() (notify bool) {
	if len(s.queue) == 0 || s.flushed {
		return false
	}
	unread := s.queue[0].kind != api.Data || s.queue[0].bytes > s.queue[0].read
	s.flushed = len(s.queue) > 1 || unread
	return len(s.queue) == 1 && unread && !s.blocked
}

// Poll hands out the head of the queue.
func (s *subpartition) Poll() (p api.Polled, ok bool) {
	if s.blocked {
		return p, false
	}
	for len(s.queue) > 0 {
		if len(s.queue) == 1 {
			s.flushed = false // what is written from now on has to be flushed anew
		}
		e := &s.queue[0]
		p = api.Polled{ID: e.id, Bytes: e.bytes - e.read, Gone: e.finished}
		kind := e.kind
		e.read = e.bytes
		if e.finished {
			s.queue = s.queue[1:]
			s.urgent = max(s.urgent-1, 0)
		}
		if kind == api.Data && p.Bytes == 0 {
			if p.Gone {
				continue
			}
			return api.Polled{}, false
		}
		if kind == api.Barrier {
			s.blocked = true
		}
		p.Backlog = s.Backlog()
		if s.Available(true) {
			p.Next = s.queue[0].kind
		}
		return p, true
	}
	s.flushed = false
	return api.Polled{}, false
}

// Resume ends the blocking.
func (s *subpartition) Resume() {
	s.blocked = false
}

// Available keeps a priority event back behind a barrier.
func (s *subpartition) Available(credit bool) bool {
	if s.urgent > 0 {
		return !s.blocked
	}
	if s.blocked || len(s.queue) == 0 || !s.flushed && s.finished() == 0 {
		return false
	}
	return credit || s.queue[0].kind != api.Data
}

// Backlog counts data buffers, and the one at the end only after a flush.
func (s *subpartition) Backlog() int {
	n := 0
	if s.blocked {
		return 0
	}
	for i, e := range s.queue {
		if e.kind == api.Data && (i < len(s.queue)-1 || s.flushed) {
			n++
		}
	}
	return n
}
