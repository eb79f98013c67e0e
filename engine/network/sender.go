package network

import (
	"errors"
	"fmt"
	"sync/atomic"

	"weir/engine/serde"
	"weir/engine/trace"
)

// readerSink takes a reader's notices to whoever runs its sender.
type readerSink interface{ readerNonEmpty(*Reader) }

// Reader sends one subpartition to one remote channel, a data buffer for each credit (Flink's
// CreditBasedSequenceNumberingViewReader). It belongs to its sender, except for the notices and the readings.
type Reader struct {
	receiver      ChannelID
	partition     PartitionID
	subpartition  int32
	initialCredit int32
	view          *View // nil while the partition is waited for
	sink          readerSink
	core          CreditSender // keeps the credit in place of this; nil else
	queued        bool         // among the sender's available readers
	released      bool

	_       [128]byte
	pending atomic.Bool // a notice is on its way to the sender
	_       [124]byte
	credit  atomic.Int32 // written by the sender only
	buffers atomic.Int64
	events  atomic.Int64
	_       [104]byte
}

// DataAvailable is called by the producer; notices that are on their way already are not repeated.
func (r *Reader) DataAvailable() {
	if !r.pending.Load() && !r.pending.Swap(true) {
		r.sink.readerNonEmpty(r)
	}
}

// PriorityAvailable is called by the producer; the subpartition hands the event out first by itself.
func (r *Reader) PriorityAvailable(int32) { r.DataAvailable() }

// ReaderStats is what a snapshot shows of the producer's end of a connection.
type ReaderStats struct {
	Credit      int
	SentBuffers int64
	SentEvents  int64
}

// Stats reads the reader; any goroutine may.
func (r *Reader) Stats() ReaderStats {
	return ReaderStats{Credit: int(r.credit.Load()), SentBuffers: r.buffers.Load(), SentEvents: r.events.Load()}
}

// needsBacklog: a channel without exclusive buffers gives no credit until it knows that there is something to send.
func (r *Reader) needsBacklog() bool { return r.initialCredit == 0 && r.credit.Load() == 0 }

// Outgoing is one message to be written. For a BufferResponse the buffer is to be recycled after the write.
type Outgoing struct {
	ID       MessageID // MsgBufferResponse, MsgBacklogAnnounce, or MsgErrorResponse
	Receiver ChannelID
	Buffer   Buffer
	Backlog  int32
	Sub      int32
	Error    ErrorResponse
}

// Sender is the producer's end of one connection: the readers that share it, and the queue of those that may send
// (Flink's PartitionRequestQueue). It is a plain state machine, driven by one goroutine: each call may make messages,
// and Next takes them one by one, when there is room to write them.
type Sender struct {
	provider PartitionProvider
	sink     readerSink
	tracer   *trace.Tracer
	thread   string
	frames   *FrameTap
	noCredit bool // whatever is available is sent (flowControl=tcp)
	newCore  func(credit int) CreditSender

	lost      error // why the connection broke: what the producers hear then
	readers   map[ChannelID]*Reader
	available []*Reader // ring
	head, n   int
	messages  []Outgoing // announcements and errors, before any buffer
	waiting   []*Reader  // their partitions are not there yet
}

// NewSender makes a sender. The sink gets each reader that has news; whoever drives the sender then calls NonEmpty.
func NewSender(provider PartitionProvider, sink readerSink, tracer *trace.Tracer, thread string) *Sender {
	return &Sender{provider: provider, sink: sink, tracer: tracer, thread: thread, readers: map[ChannelID]*Reader{}, available: make([]*Reader, 8)}
}

// Request starts a reader with its initial credit. waits is true when the partition is not there: the caller calls
// PartitionCreated when it may be, and Expire when it has waited long enough.
func (s *Sender) Request(partition PartitionID, req PartitionRequest) (r *Reader, waits bool) {
	if old := s.readers[req.Receiver]; old != nil {
		s.fail(old, ErrorOther, fmt.Errorf("channel %s requested its partition twice", req.Receiver))
		return nil, false
	}
	r = &Reader{receiver: req.Receiver, partition: partition, subpartition: req.SubpartitionStart, initialCredit: req.Credit, sink: s.sink}
	r.credit.Store(req.Credit)
	if s.newCore != nil {
		r.core = s.newCore(int(req.Credit))
	}
	s.readers[req.Receiver] = r
	if req.SubpartitionEnd != req.SubpartitionStart {
		s.fail(r, ErrorOther, fmt.Errorf("a range of subpartitions, %d to %d, was requested, expected one", req.SubpartitionStart, req.SubpartitionEnd))
		return r, false
	}
	if s.frames.On() {
		s.tapTook(r, MsgPartitionRequest, 0)
	}
	if waits = s.connect(r); waits {
		s.waiting = append(s.waiting, r)
	}
	return r, waits
}

// connect creates the reader's view; it reports if the partition is not there.
func (s *Sender) connect(r *Reader) (notFound bool) {
	v, err := s.provider.CreateView(r.partition, int(r.subpartition), r)
	switch {
	case errors.Is(err, ErrPartitionNotFound):
		return true
	case err != nil:
		s.fail(r, ErrorOther, err)
	default:
		if r.initialCredit == 0 && !s.noCredit {
			v.ReturnEmpty() // the channel borrowed a floating buffer for it
		}
		r.view = v
		s.enqueue(r)
	}
	return false
}

// PartitionCreated tries the requests that wait for their partition.
func (s *Sender) PartitionCreated() {
	left := s.waiting[:0]
	for _, r := range s.waiting {
		if !r.released && s.connect(r) {
			left = append(left, r)
		}
	}
	clear(s.waiting[len(left):])
	s.waiting = left
}

// Expire ends the waiting of a request with the answer that there is no such partition. The channel may ask again.
func (s *Sender) Expire(r *Reader) {
	for i, w := range s.waiting {
		if w == r {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			s.fail(r, ErrorPartitionNotFound, fmt.Errorf("%w: %s of subtask %d (attempt %d)", ErrPartitionNotFound, r.partition.Vertex, r.partition.Subtask, r.partition.Attempt))
			return
		}
	}
}

// NonEmpty takes a reader's notice.
func (s *Sender) NonEmpty(r *Reader) {
	// Before the subpartition is looked at: what is added after that sends a new notice.
	r.pending.Store(false)
	s.enqueue(r)
}

// enqueue puts a reader among the available ones if it may send: it has data and credit, or an event is next.
func (s *Sender) enqueue(r *Reader) {
	if r.queued || r.released || r.view == nil {
		return
	}
	if r.core != nil {
		if r.mayGoOn() {
			s.register(r)
		} else if err := r.view.failure(); err != nil {
			s.fail(r, ErrorOther, err)
		}
		return
	}
	hasCredit := s.noCredit || r.credit.Load() > 0
	if t := s.tracer; !hasCredit && t.On(trace.OnlyEventMayPass) {
		t.Hit(trace.OnlyEventMayPass, s.thread, trace.Str("vertex", r.partition.Vertex), trace.Int("subtask", r.partition.Subtask), trace.Int("subpartition", r.subpartition))
	}
	ready, backlog := r.view.Availability(hasCredit)
	if ready {
		s.register(r)
		return
	}
	if backlog > 0 && r.needsBacklog() && !s.noCredit {
		s.messages = append(s.messages, Outgoing{ID: MsgBacklogAnnounce, Receiver: r.receiver, Backlog: int32(backlog)})
		if s.frames.On() {
			s.tapSent(&s.messages[len(s.messages)-1], r)
		}
		return
	}
	if backlog == 0 {
		if err := r.view.failure(); err != nil {
			s.fail(r, ErrorOther, err)
		}
	}
}

func (s *Sender) register(r *Reader) {
	if s.n == len(s.available) {
		ring := make([]*Reader, 2*len(s.available))
		for i := range s.n {
			ring[i] = s.available[(s.head+i)%len(s.available)]
		}
		s.available, s.head = ring, 0
	}
	s.available[(s.head+s.n)%len(s.available)] = r
	s.n++
	r.queued = true
}

// AddCredit adds what a channel announced. A channel that is not known, or no more, is passed over: its messages cross
// with the error or the end that it was sent.
func (s *Sender) AddCredit(id ChannelID, n int32) {
	r := s.readers[id]
	if r == nil {
		return
	}
	before := r.credit.Load()
	r.credit.Store(before + n)
	if r.core != nil {
		r.core.AddCredit(int(n))
	}
	if s.frames.On() {
		s.tapTook(r, MsgAddCredit, before)
	}
	if t := s.tracer; t.On(trace.CreditAdded) {
		t.Hit(trace.CreditAdded, s.thread, trace.Str("vertex", r.partition.Vertex), trace.Int("subtask", r.partition.Subtask),
			trace.Int("subpartition", r.subpartition), trace.Int("added", n), trace.Int("credit", r.credit.Load()))
	}
	s.enqueue(r)
}

// Resume ends the blocking of a subpartition by an aligned barrier. What was added meanwhile is found here, as no notice
// came for it. Without exclusive buffers the channel has given its buffers back, so its credit is void.
func (s *Sender) Resume(id ChannelID) {
	r := s.readers[id]
	if r == nil || r.view == nil {
		return
	}
	before := r.credit.Load()
	if r.initialCredit == 0 {
		r.credit.Store(0)
	}
	if s.frames.On() {
		s.tapTook(r, MsgResumeConsumption, before)
	}
	r.view.Resume()
	s.enqueue(r)
}

// SetBufferSize passes the consumer's wish on to the producer.
func (s *Sender) SetBufferSize(id ChannelID, n int32) {
	if r := s.readers[id]; r != nil && r.view != nil {
		r.view.SetBufferSize(int(n))
		if s.frames.On() {
			s.tapTook(r, MsgNewBufferSize, r.credit.Load())
		}
	}
}

// Cancel ends a reader whose channel reads no more.
func (s *Sender) Cancel(id ChannelID) {
	if r := s.readers[id]; r != nil {
		s.release(r)
		delete(s.readers, id)
	}
}

func (s *Sender) release(r *Reader) {
	if r.released {
		return
	}
	r.released = true
	if r.view != nil {
		if s.lost != nil {
			r.view.Abandon(s.lost)
		} else {
			r.view.Release()
		}
	}
	for i, w := range s.waiting {
		if w == r {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			break
		}
	}
}

// fail answers a reader's channel with an error and ends the reader.
func (s *Sender) fail(r *Reader, kind ErrorKind, err error) {
	s.messages = append(s.messages, Outgoing{ID: MsgErrorResponse, Receiver: r.receiver,
		Error: ErrorResponse{Kind: kind, Cause: err.Error(), HasReceiver: true, Receiver: r.receiver}})
	s.release(r)
	delete(s.readers, r.receiver)
}

// FailAll answers every channel of the connection with an error.
func (s *Sender) FailAll(err error) {
	s.messages = append(s.messages, Outgoing{ID: MsgErrorResponse, Error: ErrorResponse{Cause: err.Error()}})
	s.Close()
}

// Close releases all readers.
func (s *Sender) Close() {
	for id, r := range s.readers {
		s.release(r)
		delete(s.readers, id)
	}
	s.waiting = nil
	for s.n > 0 {
		s.popAvailable()
	}
}

func (s *Sender) popAvailable() *Reader {
	r := s.available[s.head]
	s.available[s.head] = nil
	s.head = (s.head + 1) % len(s.available)
	s.n--
	r.queued = false
	return r
}

// Next takes the next message into o: announcements and errors first, then one buffer of the reader that has waited
// longest, which goes to the end of the queue if it may send more. ok is false when there is nothing to send.
func (s *Sender) Next(o *Outgoing) (ok bool) {
	if len(s.messages) > 0 {
		*o = s.messages[0]
		s.messages = append(s.messages[:0], s.messages[1:]...)
		return true
	}
	for s.n > 0 {
		r := s.popAvailable()
		if r.released {
			continue
		}
		p, got, err := r.view.Next()
		if err != nil {
			s.fail(r, ErrorOther, err)
			return s.Next(o)
		}
		if !got {
			continue
		}
		credit := r.credit.Load()
		if r.core != nil {
			s.sentByCore(r, &p)
		} else if p.IsData() {
			if !s.noCredit {
				credit--
			}
			if credit < 0 {
				p.Recycle()
				s.fail(r, ErrorOther, errors.New("network: no credit available"))
				return s.Next(o)
			}
			r.credit.Store(credit)
			r.buffers.Add(1)
		} else {
			r.events.Add(1)
		}
		if r.core == nil && p.Next != serde.None && (s.noCredit || credit > 0 || p.Next != serde.DataBuffer) {
			s.register(r)
		}
		if t := s.tracer; t.On(trace.ReaderPolled) {
			t.Hit(trace.ReaderPolled, s.thread, trace.Str("vertex", r.partition.Vertex), trace.Int("subtask", r.partition.Subtask),
				trace.Int("subpartition", r.subpartition), trace.Int("bytes", len(p.Bytes)), trace.Str("type", p.Type.String()),
				trace.Int("credit", credit), trace.Int("backlog", p.Backlog))
		}
		o.ID, o.Receiver, o.Sub, o.Backlog, o.Buffer = MsgBufferResponse, r.receiver, r.subpartition, int32(p.Backlog), p.Buffer
		if s.frames.On() {
			s.tapSent(o, r)
		}
		return true
	}
	return false
}

// failure is what a reader of a released subpartition has to be told; nil while all is well.
func (v *View) failure() error {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.s.released {
		return ErrReleased
	}
	return nil
}
