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

// Add queues an entry.
func (s *subpartition) Add(id int, kind api.Kind) (notify bool) {
	e := entry{id: id, kind: kind, finished: kind != api.Data}
	s.queue = append(s.queue, e) // your code: where does a priority event go?
	return false                 // your code: when does the reader have to be told?
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
	return 0 // your code
}

// Flush makes readable what is written so far.
func (s *subpartition) Flush() (notify bool) {
	return false // your code
}

// Poll hands out the head of the queue.
func (s *subpartition) Poll() (p api.Polled, ok bool) {
	return p, false // your code
}

// Resume ends the blocking.
func (s *subpartition) Resume() {
	// your code
}

// Available says whether something may be read now.
func (s *subpartition) Available(credit bool) bool {
	return false // your code: finished or flushed, and not blocked; and without credit?
}

// Backlog is how many data buffers may be read now.
func (s *subpartition) Backlog() int {
	return 0 // your code
}
