package network

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"weir/engine/memory"
	"weir/engine/trace"
)

// errChannelReleased is what asking the producer of a released channel for something gives.
var errChannelReleased = errors.New("network: the channel is released")

// ReorderingError says that a buffer was lost or overtaken on its way (Flink's BufferReorderingException).
type ReorderingError struct{ Expected, Received int32 }

// Error implements error.
func (e *ReorderingError) Error() string {
	return fmt.Sprintf("buffer re-ordering: expected buffer with sequence number %d, but received %d", e.Expected, e.Received)
}

// producerLink is what a channel asks of the connection to its producer.
type producerLink interface {
	request(c *RemoteChannel)
	creditAvailable(c *RemoteChannel)
	send(c *RemoteChannel, id MessageID, value int32)
	close(c *RemoteChannel)
}

// RemoteChannelOptions describes one remote input channel.
type RemoteChannelOptions struct {
	Index int // place in the gate
	Gate  *Gate
	Pool  *memory.LocalPool // has the floating buffers; nil is the gate's
	// Global gives the exclusive buffers; ExclusiveBuffers of them are the initial credit, 0 is allowed.
	Global           *memory.GlobalPool
	ExclusiveBuffers int
	// NoCredit takes each buffer that comes from the gate's pool and lets the connection wait for it (flowControl=tcp).
	NoCredit     bool
	Partition    PartitionID
	Subpartition int
	// Addr is the producer's task manager, Connections the consumer's.
	Addr        string
	Connections *ConnectionManager
	// RequestMaxBackoffMs bounds the asking for a partition that is not there yet: each time the producer's task manager
	// waits RequestTimeoutMs before it says so, and the channel asks again while the sum stays below twice the bound.
	RequestTimeoutMs    int
	RequestMaxBackoffMs int
	Tracer              *trace.Tracer
	Thread              string // the consuming task's name in the trace
	// Announcer and Receiver take over these decisions; nil leaves the channel's own.
	Announcer Announcer
	Receiver  CreditReceiver
}

// RemoteChannel receives a subpartition of another task manager under credit-based flow control (Flink's
// RemoteInputChannel). The connection's reader goroutine puts buffers in, the consuming task takes them out.
type RemoteChannel struct {
	o       RemoteChannelOptions
	id      ChannelID
	buffers BufferManager
	link    atomic.Pointer[producerLink]
	backoff int // ms, of the partition request

	mu             sync.Mutex
	received       receivedQueue
	expectedSeq    int32
	err            error
	lastBarrier    int64 // id of the newest barrier seen, noBarrier without one
	lastBarrierSeq int32
	persist        persister
	overtaken      int64 // data buffers that barriers have overtaken in the queue

	released    atomic.Bool
	unannounced atomic.Int32
	announcing  sync.Mutex // around an Announcer
	counters    channelCounters
}

// channelCounters are written per buffer or per message by different goroutines, so they stand apart.
type channelCounters struct {
	_               [128]byte
	sentAddCredit   atomic.Int64 // the connection's writer
	announcedCredit atomic.Int64
	_               [112]byte
	buffers         atomic.Int64 // the connection's reader
	events          atomic.Int64
	bytes           atomic.Int64
	_               [104]byte
}

// NewRemoteChannel makes a channel; Setup gives it its buffers, and Request opens the way to the producer.
func NewRemoteChannel(o RemoteChannelOptions) *RemoteChannel {
	c := &RemoteChannel{o: o, id: newChannelID(), lastBarrier: noBarrier, persist: newPersister()}
	if o.Pool == nil {
		o.Pool = o.Gate.Pool()
	}
	c.buffers = BufferManager{channel: c, pool: o.Pool, global: o.Global, core: o.Receiver}
	return c
}

// Setup takes the exclusive buffers; it fails as memory.GlobalPool.RequestUnpooledBlocking does.
func (c *RemoteChannel) Setup(ctx context.Context) error {
	return c.buffers.requestExclusive(ctx, c.o.ExclusiveBuffers)
}

// Request connects to the producer's task manager and asks for the subpartition. A failure names the partition.
func (c *RemoteChannel) Request() error {
	client, err := c.o.Connections.client(c.o.Addr, c.o.Partition.Vertex)
	if err != nil {
		return fmt.Errorf("network: connection for partition %s of subtask %d to %s: %w", c.o.Partition.Vertex, c.o.Partition.Subtask, c.o.Addr, err)
	}
	c.open(client)
	return nil
}

// open attaches the channel to a connection and sends the request.
func (c *RemoteChannel) open(l producerLink) {
	c.link.Store(&l)
	l.request(c)
}

func (c *RemoteChannel) client() (producerLink, error) {
	if c.released.Load() {
		return nil, errChannelReleased
	}
	l := c.link.Load()
	if l == nil {
		return nil, fmt.Errorf("network: channel %d has not requested its partition yet", c.o.Index)
	}
	return *l, nil
}

// Index is the channel's place in its gate.
func (c *RemoteChannel) Index() int { return c.o.Index }

// ID names the channel on the wire.
func (c *RemoteChannel) ID() ChannelID { return c.id }

// Next takes the next buffer. An error of the channel comes before any buffer that is queued.
func (c *RemoteChannel) Next() (b Buffer, more, ok bool, err error) {
	c.mu.Lock()
	if c.err != nil {
		err = c.err
	} else {
		b, ok = c.received.pop()
		more = c.received.len() > 0
	}
	urgent := more && c.received.priority > 0
	c.mu.Unlock()
	if urgent {
		// Only the first of several priority events was announced.
		c.o.Gate.NotifyPriority(c.o.Index)
	}
	return b, more, ok, err
}

// Resume tells the producer to go on after an aligned barrier. Without exclusive buffers credit starts from 0 again, on
// both sides.
func (c *RemoteChannel) Resume() error {
	l, err := c.client()
	if err != nil {
		return err
	}
	if c.o.ExclusiveBuffers == 0 {
		c.unannounced.Store(0)
	}
	l.send(c, MsgResumeConsumption, 0)
	return nil
}

// AnnounceBufferSize tells the producer the size that its next buffers should have.
func (c *RemoteChannel) AnnounceBufferSize(n int) error {
	l, err := c.client()
	if err != nil {
		return err
	}
	l.send(c, MsgNewBufferSize, int32(n))
	return nil
}

// AckAllRecordsProcessed tells the producer that the end of its data was reached.
func (c *RemoteChannel) AckAllRecordsProcessed() error {
	l, err := c.client()
	if err != nil {
		return err
	}
	l.send(c, MsgAckAllUserRecords, 0)
	return nil
}

// BuffersInUse is what the debloater divides by: the queued buffers and the producer's backlog.
func (c *RemoteChannel) BuffersInUse() int {
	c.mu.Lock()
	n := c.received.len()
	c.mu.Unlock()
	_, _, required, _ := c.buffers.counts()
	return n + max(0, required-c.o.ExclusiveBuffers)
}

// Release gives all buffers back and tells the producer that nobody reads any more. Data still on its way is dropped.
func (c *RemoteChannel) Release() {
	if c.released.Swap(true) {
		return
	}
	c.mu.Lock()
	var queued []Buffer
	for {
		b, ok := c.received.pop()
		if !ok {
			break
		}
		queued = append(queued, b)
	}
	c.mu.Unlock()
	for i := range queued {
		queued[i].Recycle()
	}
	c.buffers.release()
	if l := c.link.Load(); l != nil {
		(*l).close(c)
	}
}

// buffersAdded counts new free buffers as credit to be announced. Only the step from 0 sends a message; what comes
// until it is written goes with it. thread names the calling goroutine in the trace.
func (c *RemoteChannel) buffersAdded(n int, thread string) {
	if n <= 0 || !c.freed(n) {
		return
	}
	l, err := c.client()
	if err != nil {
		if !c.released.Load() {
			c.fail(err)
		}
		return
	}
	if t := c.o.Tracer; t.On(trace.CreditAnnounced) {
		t.Hit(trace.CreditAnnounced, thread, trace.Str("to", c.o.Thread), trace.Int("channel", c.o.Index), trace.Int("credit", n))
	}
	l.creditAvailable(c)
}

// takeCredit is what the next AddCredit message carries; 0 sends none.
func (c *RemoteChannel) takeCredit() int32 {
	if c.released.Load() {
		return 0
	}
	n := c.announced()
	if n > 0 {
		c.counters.sentAddCredit.Add(1)
		c.counters.announcedCredit.Add(int64(n))
	}
	return n
}

// onBuffer takes over a buffer or event that came; backlog -1 tells nothing. The connection's reader calls it.
func (c *RemoteChannel) onBuffer(b Buffer, backlog int32, thread string) error {
	if b.Type.BlocksUpstream() {
		if backlog > 0 {
			b.Recycle()
			return fmt.Errorf("network: channel %d got %s with backlog %d, expected 0", c.o.Index, b.Type, backlog)
		}
		if c.o.ExclusiveBuffers == 0 {
			c.buffers.releaseFloating()
		}
	}
	c.mu.Lock()
	if c.released.Load() {
		c.mu.Unlock()
		b.Recycle()
		return nil
	}
	if b.Seq != c.expectedSeq {
		err := &ReorderingError{c.expectedSeq, b.Seq}
		c.mu.Unlock()
		b.Recycle()
		return err
	}
	wasEmpty, size := c.received.len() == 0, len(b.Bytes)
	firstPriority, err := c.enqueue(b)
	c.expectedSeq++
	// Counted before the task can see it.
	if b.IsData() {
		c.counters.buffers.Add(1)
		c.counters.bytes.Add(int64(size))
	} else {
		c.counters.events.Add(1)
	}
	c.mu.Unlock()
	if err != nil {
		b.Recycle()
		return err
	}
	if t := c.o.Tracer; t.On(trace.BufferReceived) {
		t.Hit(trace.BufferReceived, thread, trace.Str("to", c.o.Thread), trace.Int("channel", c.o.Index), trace.Int("seq", b.Seq), trace.Str("type", b.Type.String()),
			trace.Int("bytes", size), trace.Int("backlog", backlog))
	}
	if firstPriority {
		c.o.Gate.NotifyPriority(c.o.Index)
	}
	if wasEmpty {
		c.o.Gate.NotifyNonEmpty(c.o.Index)
	}
	if backlog >= 0 {
		c.onBacklog(backlog, thread)
	}
	if c.o.NoCredit && b.Type.BlocksUpstream() && c.o.Gate.Channels() == 1 && !c.released.Load() {
		// No other channel is waited for, so the producer need not pause. Flink before 1.5 never made it.
		return c.Resume()
	}
	return nil
}

// onEmptyBuffer counts a data buffer of no bytes, which is not handed on.
func (c *RemoteChannel) onEmptyBuffer(seq, backlog int32, thread string) error {
	c.mu.Lock()
	if c.released.Load() {
		c.mu.Unlock()
		return nil
	}
	if seq != c.expectedSeq {
		err := &ReorderingError{c.expectedSeq, seq}
		c.mu.Unlock()
		return err
	}
	c.expectedSeq++
	c.mu.Unlock()
	if !c.o.NoCredit {
		// It used up a credit, so the buffer that stood for that goes back: kept without a credit it would count as one
		// that the producer may still fill, and none would be asked for in its stead.
		if free := c.buffers.take(); free != nil {
			free.Release()
		}
	}
	if backlog >= 0 {
		c.onBacklog(backlog, thread)
	}
	return nil
}

// onBacklog asks for floating buffers by the producer's backlog.
func (c *RemoteChannel) onBacklog(backlog int32, thread string) {
	if c.o.NoCredit {
		c.buffers.note(int(backlog))
		return
	}
	c.buffersAdded(c.buffers.request(int(backlog)+c.o.ExclusiveBuffers), thread)
}

// onPartitionNotFound asks again, or fails the channel when it has asked long enough.
func (c *RemoteChannel) onPartitionNotFound() {
	l, err := c.client()
	if err != nil {
		return
	}
	c.backoff += c.o.RequestTimeoutMs
	if c.o.RequestTimeoutMs <= 0 || c.backoff >= 2*c.o.RequestMaxBackoffMs {
		c.fail(fmt.Errorf("%w: %s of subtask %d (attempt %d)", ErrPartitionNotFound, c.o.Partition.Vertex, c.o.Partition.Subtask, c.o.Partition.Attempt))
		return
	}
	l.request(c)
}

// fail keeps the first error; the consuming task meets it at its next read.
func (c *RemoteChannel) fail(err error) {
	c.mu.Lock()
	first := c.err == nil && !c.released.Load()
	if first {
		c.err = err
	}
	c.mu.Unlock()
	if first {
		c.o.Gate.NotifyNonEmpty(c.o.Index)
	}
}

// RemoteChannelStats is what a snapshot shows of the consumer's end.
type RemoteChannelStats struct {
	Queued          int
	QueuedBytes     int64
	Fill            []int // bytes of each queued buffer, oldest first; -1 an event
	ExclusiveFree   int
	FloatingHeld    int // free floating buffers
	Unannounced     int
	Required        int
	Backlog         int // of the producer, as last heard
	Waiting         bool
	SentAddCredit   int64 // AddCredit messages
	AnnouncedCredit int64 // credits in them
	Buffers         int64 // data buffers received
	Events          int64
	Bytes           int64
	Overtaken       int64 // data buffers that barriers have overtaken in the queue
}

// Stats reads the channel; any goroutine may.
func (c *RemoteChannel) Stats() RemoteChannelStats {
	var s RemoteChannelStats
	c.mu.Lock()
	s.Queued, s.QueuedBytes, s.Overtaken = c.received.len(), c.received.bytes, c.overtaken
	s.Fill = c.received.fill()
	c.mu.Unlock()
	s.ExclusiveFree, s.FloatingHeld, s.Required, s.Waiting = c.buffers.counts()
	s.Backlog = max(0, s.Required-c.o.ExclusiveBuffers)
	s.Unannounced = int(c.unannounced.Load())
	s.SentAddCredit, s.AnnouncedCredit = c.counters.sentAddCredit.Load(), c.counters.announcedCredit.Load()
	s.Buffers, s.Events, s.Bytes = c.counters.buffers.Load(), c.counters.events.Load(), c.counters.bytes.Load()
	return s
}

var _ InputChannel = (*RemoteChannel)(nil)
