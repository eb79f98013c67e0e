package network

import (
	"fmt"

	"weir/engine/memory"
	"weir/engine/serde"
)

// QueueKind is what stands in a subpartition's queue, as far as its order and its readability go.
type QueueKind uint8

// The kinds. An aligned barrier blocks the subpartition when it is read; a priority event goes ahead.
const (
	NoKind QueueKind = iota
	DataKind
	EventKind
	BarrierKind
	PriorityKind
)

func kindOf(t serde.DataType) QueueKind {
	switch {
	case t == serde.DataBuffer:
		return DataKind
	case t.HasPriority():
		return PriorityKind
	case t.BlocksUpstream():
		return BarrierKind
	}
	return EventKind
}

var typeOfKind = [...]serde.DataType{serde.None, serde.DataBuffer, serde.EventBuffer, serde.AlignedCheckpointBarrier, serde.PrioritizedEventBuffer}

// QueuePolled is what a core hands to the reader.
type QueuePolled struct {
	ID      int
	Bytes   int  // of a data buffer: those that were not read yet
	Gone    bool // it has left the queue
	Backlog int
	Next    QueueKind
}

// SubpartitionCore decides what of a subpartition may be read, and when the reader is told (PipelinedSubpartition).
type SubpartitionCore interface {
	Add(id int, kind QueueKind) (notify bool)
	// Written tells how far the writer of the newest data buffer is, before each question.
	Written(bytes int, finished bool)
	Flush() (notify bool)
	Poll() (p QueuePolled, ok bool)
	Resume()
	Available(credit bool) bool
	Backlog() int
}

// coreQueue is what a subpartition has in place of its queue while a core decides.
type coreQueue struct {
	core    SubpartitionCore
	entries map[int]*coreEntry
	nextID  int
	newest  *coreEntry // data buffer whose writer may go on
	blocked bool       // as the rules say, to see that nothing passes
}

type coreEntry struct {
	entry
	bytes    int // that the core was told of
	finished bool
}

// UseCores lets other cores decide in place of this partition's subpartitions. Call it before anything is written.
func (p *ResultPartition) UseCores(newCore func() SubpartitionCore) {
	for _, s := range p.subs {
		s.core = &coreQueue{core: newCore(), entries: map[int]*coreEntry{}}
	}
}

// sync tells the core how far the writer is.
func (q *coreQueue) sync() {
	e := q.newest
	if e == nil {
		return
	}
	if n, done := e.written(); n != e.bytes || done {
		e.bytes, e.finished = n, done
		q.core.Written(n, done)
		if done {
			q.newest = nil
		}
	}
}

// add queues an entry; the subpartition's lock is held.
func (q *coreQueue) add(e entry) (notify bool) {
	q.sync()
	kept := &coreEntry{entry: e}
	q.entries[q.nextID] = kept
	if e.seg != nil {
		q.newest = kept
	}
	q.nextID++
	return q.core.Add(q.nextID-1, kindOf(e.typ))
}

func (q *coreQueue) flush() (notify bool) {
	q.sync()
	return q.core.Flush()
}

func (q *coreQueue) available(credit bool) bool {
	q.sync()
	return q.core.Available(credit)
}

func (q *coreQueue) backlog() int {
	q.sync()
	return q.core.Backlog()
}

// poll takes what the core hands out, if it is there to be handed out.
func (q *coreQueue) poll() (p Polled, ok bool, err error) {
	q.sync()
	c, ok := q.core.Poll()
	if !ok {
		return p, false, nil
	}
	e := q.entries[c.ID]
	switch {
	case e == nil:
		return p, false, fmt.Errorf("network: Poll handed out entry %d, which is not in the queue", c.ID)
	case q.blocked && !e.typ.HasPriority():
		return p, false, fmt.Errorf("network: Poll handed out entry %d, but the subpartition is blocked by a barrier", c.ID)
	case e.seg != nil && c.Bytes != e.bytes-e.read:
		return p, false, fmt.Errorf("network: Poll handed out %d bytes of buffer %d, but %d are unread", c.Bytes, c.ID, e.bytes-e.read)
	case e.seg != nil && c.Bytes == 0:
		return p, false, fmt.Errorf("network: Poll handed out buffer %d, in which nothing is unread", c.ID)
	case e.seg != nil && c.Gone != e.finished:
		return p, false, fmt.Errorf("network: Poll says that buffer %d left the queue: %v, but its writer is done: %v", c.ID, c.Gone, e.finished)
	}
	p.Type, p.Bytes, p.Seg = e.typ, e.event, e.seg
	if e.seg != nil {
		p.Bytes = e.seg.Bytes()[e.read:e.bytes:e.bytes]
		e.read = e.bytes
		if !c.Gone {
			e.seg.Retain()
		}
	}
	if e.seg == nil || c.Gone {
		delete(q.entries, c.ID)
	}
	q.blocked = q.blocked || e.typ.BlocksUpstream()
	p.Backlog = max(c.Backlog, 0)
	if p.Type.BlocksUpstream() {
		p.Backlog = 0 // the receiver takes no other
	}
	if int(c.Next) < len(typeOfKind) {
		p.Next = typeOfKind[c.Next]
	}
	return p, true, nil
}

// release empties the queue and gives its segments.
func (q *coreQueue) release() (segs []*memory.Segment) {
	for id, e := range q.entries {
		if e.seg != nil {
			segs = append(segs, e.seg)
		}
		delete(q.entries, id)
	}
	q.newest = nil
	return segs
}
