package network

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"weir/engine/memory"
	"weir/engine/serde"
)

// entry is a queued buffer: a segment that may still be written, or an event. It holds one reference to its segment.
type entry struct {
	seg   *memory.Segment
	event []byte
	typ   serde.DataType
	read  int // bytes already handed out
}

// written is the number of bytes that can be read in all, and whether more will come.
func (e *entry) written() (n int, finished bool) {
	if e.seg == nil {
		return len(e.event), true
	}
	return e.seg.Written()
}

// Subpartition is the queue between one producing subtask and one consuming one (Flink's PipelinedSubpartition).
// The last data buffer may be unfinished: it can be read after a flush, or once it is finished.
type Subpartition struct {
	index int
	core  *coreQueue // decides in place of the queue; nil else

	mu       sync.Mutex
	queue    entryQueue
	priority int // priority events at the head of the queue
	backlog  int // data buffers in the queue
	seq      int32
	blocked  bool // by an aligned barrier, until resume
	finished bool
	released bool
	view     *View
	reader   AvailabilityListener // of the view there is or was: its readings outlive it
	// returnEmpty hands out finished buffers in which nothing is left, to a reader that gave credit for them.
	returnEmpty bool

	// flushRequested is written under mu; the producer reads it alone, to skip a flush that is asked for already.
	flushRequested atomic.Bool
	// waiting is an aligned barrier in the queue that may turn unaligned; nil without one.
	waiting *waitingBarrier
	// overtaken counts data buffers that barriers have overtaken.
	overtaken int64

	// bufferSize is the size announced by the consumer's debloater.
	bufferSize int

	cause error // why it was released, if the connection to its reader broke

	totalBuffers, totalEvents, totalBytes int64
	// sentBuffers and sentBytes count the data that left the queue; a buffer that is read in pieces counts for each.
	sentBuffers, sentBytes int64
}

// NoBufferSize is the size of a subpartition that was told none.
const NoBufferSize = math.MaxInt32

func newSubpartition(index, startBufferSize int) *Subpartition {
	if startBufferSize <= 0 {
		startBufferSize = NoBufferSize
	}
	return &Subpartition{index: index, bufferSize: startBufferSize}
}

// errFinished is what adding to a finished or released subpartition gives.
var errFinished = errors.New("network: the subpartition is finished or released")

// refusal is why nothing can be added; the lock is held.
func (s *Subpartition) refusal() error {
	if s.cause != nil {
		return s.cause
	}
	return errFinished
}

// addSegment queues a segment whose writer goes on writing it. The queue takes its own reference. It returns the
// size that the buffer should be cut at.
func (s *Subpartition) addSegment(seg *memory.Segment) (size int, err error) {
	seg.Retain()
	s.mu.Lock()
	if s.finished || s.released {
		err := s.refusal()
		s.mu.Unlock()
		seg.Release()
		return 0, err
	}
	s.totalBuffers++
	v := s.view
	var notify bool
	if s.core != nil {
		notify = s.core.add(entry{seg: seg, typ: serde.DataBuffer}) && v != nil
	} else {
		s.queue.pushBack(entry{seg: seg, typ: serde.DataBuffer})
		s.backlog++
		notify = v != nil && s.shouldNotify()
	}
	size = s.bufferSize
	s.mu.Unlock()
	if notify {
		v.listener.DataAvailable()
	}
	return size, nil
}

// addEvent queues an event; a priority event goes before everything that is not one. finish ends the subpartition.
func (s *Subpartition) addEvent(event []byte, typ serde.DataType, finish bool) error {
	return s.addBarrier(event, typ, finish, nil)
}

// addBarrier is addEvent for a barrier that concerns the data in flight: b says of which checkpoint, and who keeps it.
func (s *Subpartition) addBarrier(event []byte, typ serde.DataType, finish bool, b *waitingBarrier) error {
	s.mu.Lock()
	if s.finished || s.released {
		err := s.refusal()
		s.mu.Unlock()
		return err
	}
	e := entry{event: event, typ: typ}
	v := s.view
	prioritySeq := int32(-1)
	told := false
	if s.core != nil {
		told = s.core.add(e)
	} else if typ.HasPriority() {
		s.queue.insert(s.priority, e)
		s.priority++
		if s.priority == 1 {
			prioritySeq = s.seq
		}
	} else {
		s.queue.pushBack(e)
	}
	s.totalBuffers++
	s.totalEvents++
	if b != nil && s.core == nil {
		s.keepInFlight(typ, b)
	}
	notify := v != nil && (finish || told || s.core == nil && s.shouldNotify())
	s.finished = s.finished || finish
	s.mu.Unlock()
	if v != nil && prioritySeq >= 0 {
		v.listener.PriorityAvailable(prioritySeq)
	}
	if notify {
		v.listener.DataAvailable()
	}
	return nil
}

// shouldNotify: only the first finished buffer is announced; the reader asks for the others by itself.
func (s *Subpartition) shouldNotify() bool {
	return !s.flushRequested.Load() && !s.blocked && s.finishedBuffers() == 1
}

// finishedBuffers assumes that only the last one is unfinished.
func (s *Subpartition) finishedBuffers() int {
	n := s.queue.len()
	if n == 1 {
		if _, done := s.queue.back().written(); done {
			return 1
		}
	}
	return max(0, n-1)
}

// flush makes what is written so far readable.
func (s *Subpartition) flush() {
	s.mu.Lock()
	if s.core != nil {
		notify, v := s.core.flush(), s.view
		s.mu.Unlock()
		if notify && v != nil {
			v.listener.DataAvailable()
		}
		return
	}
	if s.queue.len() == 0 || s.flushRequested.Load() {
		s.mu.Unlock()
		return
	}
	ready := false
	if s.queue.len() == 1 {
		head := s.queue.front()
		n, _ := head.written()
		ready = n > head.read || head.seg == nil
	}
	v := s.view
	notify := v != nil && !s.blocked && ready
	s.flushRequested.Store(s.queue.len() > 1 || ready)
	s.mu.Unlock()
	if notify {
		v.listener.DataAvailable()
	}
}

// poll takes the next readable buffer.
func (s *Subpartition) poll() (p Polled, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return p, false, ErrReleased
	}
	if s.core != nil {
		if p, ok, err = s.core.poll(); ok {
			p.Seq = s.seq
			s.seq++
		}
		return p, ok, err
	}
	if s.blocked && s.priority == 0 {
		return p, false, nil
	}
	if s.queue.len() == 0 {
		s.flushRequested.Store(false)
	}
	for s.queue.len() > 0 {
		head := s.queue.front()
		if s.queue.len() == 1 {
			// Before the position is read: what is written after it asks for a flush anew.
			s.flushRequested.Store(false)
		}
		n, done := head.written()
		if !done && s.queue.len() > 1 {
			return p, false, fmt.Errorf("network: subpartition %d has an unfinished buffer before its last one", s.index)
		}
		from, typ, seg, event := head.read, head.typ, head.seg, head.event
		if done {
			s.queue.popFront()
			if s.priority > 0 {
				s.priority--
			}
			if typ == serde.DataBuffer {
				s.backlog--
			}
		}
		if typ == serde.DataBuffer && n == from && !(done && s.returnEmpty) {
			if done {
				seg.Release()
				continue
			}
			return p, false, nil
		}
		p.Type = typ
		if seg == nil {
			p.Bytes = event
			if typ == serde.TimeoutableAlignedCheckpointBarrier {
				s.leftInTime(entry{event: event, typ: typ})
			}
		} else {
			p.Bytes, p.Seg = seg.Bytes()[from:n:n], seg
			if !done {
				head.read = n
				seg.Retain()
			}
		}
		ok = true
		break
	}
	if !ok {
		return p, false, nil
	}
	if p.Type.BlocksUpstream() {
		s.blocked = true
	}
	s.totalBytes += int64(len(p.Bytes))
	if p.Type == serde.DataBuffer {
		s.sentBuffers++
		s.sentBytes += int64(len(p.Bytes))
	}
	p.Seq = s.seq
	s.seq++
	p.Backlog = s.backlogNow()
	if s.available() {
		p.Next = s.queue.front().typ
	}
	return p, true, nil
}

// backlogNow is the number of data buffers that can be read now (getBuffersInBacklogUnsafe).
func (s *Subpartition) backlogNow() int {
	if s.blocked || s.queue.len() == 0 {
		return 0
	}
	if s.flushRequested.Load() || s.finished || s.queue.back().typ != serde.DataBuffer {
		return s.backlog
	}
	return max(s.backlog-1, 0)
}

// available: a blocked subpartition lets nothing pass but the priority events at its head.
func (s *Subpartition) available() bool {
	if s.priority > 0 {
		return true
	}
	return !s.blocked && s.queue.len() > 0 && (s.flushRequested.Load() || s.finishedBuffers() > 0)
}

// release drops everything queued and tells the reader; the writer's own reference stays with the writer.
func (s *Subpartition) release() {
	s.mu.Lock()
	if s.released {
		s.mu.Unlock()
		return
	}
	s.released = true
	var segs []*memory.Segment
	for s.queue.len() > 0 {
		if e := s.queue.popFront(); e.seg != nil {
			segs = append(segs, e.seg)
		}
	}
	if s.core != nil {
		segs = s.core.release()
	}
	s.backlog, s.priority = 0, 0
	if s.waiting != nil {
		s.waiting.state.Fail(ErrReleased)
		s.waiting = nil
	}
	v := s.view
	s.view = nil
	s.mu.Unlock()
	for _, seg := range segs {
		seg.Release()
	}
	if v != nil {
		v.listener.DataAvailable() // its next look finds the partition released
	}
}

// abandon releases the subpartition because its reader is lost; the producer hears of the cause when it adds more.
func (s *Subpartition) abandon(cause error) {
	s.mu.Lock()
	if !s.released {
		s.cause = cause
		s.view = nil // it knows
	}
	s.mu.Unlock()
	s.release()
}

// SubpartitionStats is what a snapshot shows of a subpartition.
type SubpartitionStats struct {
	Buffers                               int // queued data buffers, the one being written included
	Bytes                                 int64
	Backlog                               int
	Fill                                  []int // bytes of each queued buffer, oldest first; -1 an event
	Blocked                               bool
	Overtaken                             int64 // data buffers that barriers have overtaken
	TotalBuffers, TotalEvents, TotalBytes int64
}

// stats reads the queue under its lock; the lock is held for the length of the queue, ten entries or so.
func (s *Subpartition) stats() SubpartitionStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := SubpartitionStats{Backlog: s.backlogNow(), Blocked: s.blocked, Overtaken: s.overtaken, TotalBuffers: s.totalBuffers - s.totalEvents,
		TotalEvents: s.totalEvents, TotalBytes: s.totalBytes, Fill: make([]int, 0, s.queue.len())}
	for i := range s.queue.len() {
		e := s.queue.at(i)
		if e.typ != serde.DataBuffer {
			st.Fill = append(st.Fill, -1)
			continue
		}
		n, _ := e.written()
		st.Buffers++
		st.Bytes += int64(n - e.read)
		st.Fill = append(st.Fill, n-e.read)
	}
	return st
}

// ErrReleased is what reading a released subpartition gives, and what data in flight is lost with that was still in it.
var ErrReleased = errors.New("network: the subpartition was released by its producer")

// View is the read side of a subpartition (Flink's PipelinedSubpartitionView). One reader has it.
type View struct {
	s        *Subpartition
	listener AvailabilityListener
}

// createView gives the subpartition its only reader.
func (s *Subpartition) createView(l AvailabilityListener) (*View, error) {
	s.mu.Lock()
	if s.released {
		s.mu.Unlock()
		return nil, ErrReleased
	}
	if s.view != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("network: subpartition %d is being read already", s.index)
	}
	v := &View{s: s, listener: l}
	s.view, s.reader = v, l
	notify := s.core != nil && s.core.available(true) || s.core == nil && s.available()
	s.mu.Unlock()
	if notify {
		l.DataAvailable()
	}
	return v, nil
}

// Next takes the next readable buffer; ok is false if there is none.
func (v *View) Next() (Polled, bool, error) { return v.s.poll() }

// Availability says whether something can be sent, with credit or without, and the backlog. Without credit only an
// event at the head may pass.
func (v *View) Availability(hasCredit bool) (available bool, backlog int) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.core != nil {
		if s.released {
			return false, 0
		}
		return s.core.available(hasCredit), s.core.backlog()
	}
	if hasCredit {
		available = s.available()
	} else {
		available = s.available() && s.queue.front().typ != serde.DataBuffer
	}
	return available, s.backlogNow()
}

// Queued is the number of queued entries, events and unfinished buffers included.
func (v *View) Queued() int {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	return v.s.queue.len()
}

// Resume ends the blocking by an aligned barrier. The caller asks Availability afterwards.
func (v *View) Resume() {
	v.s.mu.Lock()
	v.s.blocked = false
	if q := v.s.core; q != nil {
		q.blocked = false
		q.core.Resume()
	}
	v.s.mu.Unlock()
}

// ReturnEmpty makes the view hand out finished buffers in which nothing is left, instead of passing over them. A reader
// whose channel has no exclusive buffers asks for it: the channel took a floating buffer for each buffer of the backlog,
// and keeps it from all others until it gets something for it.
func (v *View) ReturnEmpty() {
	v.s.mu.Lock()
	v.s.returnEmpty = true
	v.s.mu.Unlock()
}

// SetBufferSize tells the producer the size that its next buffers should have. A size that is not positive is none.
func (v *View) SetBufferSize(n int) {
	if n <= 0 {
		return
	}
	v.s.mu.Lock()
	v.s.bufferSize = n
	v.s.mu.Unlock()
}

// Release ends the reading: what is queued is dropped, and what the producer adds is refused.
func (v *View) Release() {
	v.s.mu.Lock()
	if v.s.view == v {
		v.s.view = nil // it need not be told of its own release
	}
	v.s.mu.Unlock()
	v.s.release()
}

// Abandon ends the reading because the connection of the reader broke: the producer fails with the cause.
func (v *View) Abandon(cause error) { v.s.abandon(cause) }
