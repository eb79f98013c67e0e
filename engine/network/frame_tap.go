package network

import (
	"sync"
	"sync/atomic"
	"time"

	"weir/engine/serde"
)

// FrameTap keeps the last frames of each channel between task managers, decoded, with what the books of both ends said
// before and after. Nil or off, it costs an atomic load for each frame. All methods may be called from any goroutine.
type FrameTap struct {
	on atomic.Bool

	mu      sync.Mutex
	number  int64
	attempt int // of the job; what an earlier one left is dropped
	rings   map[ChannelID]*frameRing
}

// framesKept is how many frames of a channel are kept.
const framesKept = 256

// FrameEvent is one frame of one channel.
type FrameEvent struct {
	Number       int64 // in the order of sending, over all channels, from 1
	Kind         MessageID
	FromProducer bool
	Partition    PartitionID
	Subpartition int
	Consumer     string // the consuming task, such as "slow-map 1"
	Channel      ChannelID
	// SentNs and ReceivedNs are times of the wall clock; 0 is not yet.
	SentNs, ReceivedNs int64

	Type    serde.DataType // of a BufferResponse
	Seq     int32          // of a BufferResponse
	Bytes   int32          // of a BufferResponse's payload
	Backlog int32          // that a BufferResponse or a BacklogAnnouncement tells
	Credit  int32          // that a PartitionRequest or an AddCredit brings; the size of a NewBufferSize

	// The producer's books when it sent or took the frame, the consumer's likewise.
	ProducerBefore, ProducerAfter ProducerLedger
	ConsumerBefore, ConsumerAfter ConsumerLedger
}

// ProducerLedger is what the sender of a subpartition knows of its receiver.
type ProducerLedger struct {
	Credit int `json:"credit"`
	// Backlog is how many buffers wait for credit; -1 where the frame does not tell.
	Backlog int `json:"backlog"`
}

// ConsumerLedger is what a remote channel has.
type ConsumerLedger struct {
	Exclusive   int `json:"exclusive"` // free ones of its own
	Floating    int `json:"floating"`  // free ones that it borrowed
	Unannounced int `json:"unannounced"`
	Queued      int `json:"queued"` // for the task
	Backlog     int `json:"backlog"`
}

// frameRing are the last frames of a channel, and of each direction those on their way.
type frameRing struct {
	consumer string // as its first frame, the PartitionRequest, tells
	frames   [framesKept]FrameEvent
	next     int
	sent     int64 // frames put in, ever
}

// NewFrameTap makes a tap that is off.
func NewFrameTap() *FrameTap { return &FrameTap{rings: map[ChannelID]*frameRing{}} }

// SetOn turns the tap on or off; what was kept stays.
func (t *FrameTap) SetOn(on bool) { t.on.Store(on) }

// On says whether frames are kept. A nil tap is off.
func (t *FrameTap) On() bool { return t != nil && t.on.Load() }

// Frames returns those kept, of all channels, in the order of sending.
func (t *FrameTap) Frames() []FrameEvent {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []FrameEvent
	for _, r := range t.rings {
		list = append(list, r.list()...)
	}
	sortFrames(list)
	return list
}

// Reset forgets all frames, for another job.
func (t *FrameTap) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.rings)
	t.attempt = 0
}

func (r *frameRing) list() []FrameEvent {
	if r.sent < framesKept {
		return r.frames[:r.next]
	}
	return append(append([]FrameEvent(nil), r.frames[r.next:]...), r.frames[:r.next]...)
}

func sortFrames(list []FrameEvent) {
	// Each ring is in order, so that insertion is cheap for the few rings that there are.
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].Number < list[j-1].Number; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// sending notes a frame about to be written.
func (t *FrameTap) sending(e FrameEvent) {
	e.SentNs = time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Partition.Attempt > t.attempt {
		t.attempt = e.Partition.Attempt
		clear(t.rings)
	}
	r := t.rings[e.Channel]
	if r == nil {
		r = &frameRing{}
		t.rings[e.Channel] = r
	}
	if r.consumer == "" {
		r.consumer = e.Consumer
	}
	t.number++
	e.Number, e.Consumer = t.number, r.consumer
	r.frames[r.next] = e
	r.next = (r.next + 1) % framesKept
	r.sent++
}

// arrived finds the frame that was sent longest ago and has not arrived: a connection keeps the order of each kind. The
// caller fills in the books of its end.
func (t *FrameTap) arrived(channel ChannelID, kind MessageID, fill func(*FrameEvent)) {
	now := time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rings[channel]
	if r == nil {
		return
	}
	start := 0
	if r.sent >= framesKept {
		start = r.next
	}
	for i := range min(framesKept, int(r.sent)) {
		e := &r.frames[(start+i)%framesKept]
		if e.Kind == kind && e.ReceivedNs == 0 {
			e.ReceivedNs = now
			fill(e)
			return
		}
	}
}

// tapSent notes what the sender hands out: before, the message's own data buffer and credit were still there.
func (s *Sender) tapSent(o *Outgoing, r *Reader) {
	after := ProducerLedger{Credit: int(r.credit.Load()), Backlog: int(o.Backlog)}
	e := FrameEvent{Kind: o.ID, FromProducer: true, Partition: r.partition, Subpartition: int(r.subpartition), Channel: r.receiver, Backlog: o.Backlog,
		ProducerBefore: after, ProducerAfter: after}
	if o.ID == MsgBufferResponse {
		e.Type, e.Seq, e.Bytes = o.Buffer.Type, o.Buffer.Seq, int32(len(o.Buffer.Bytes))
		if o.Buffer.IsData() {
			e.ProducerBefore.Credit++
			e.ProducerBefore.Backlog++
		}
	}
	s.frames.sending(e)
}

// tapTook notes what a message of the consumer did to the reader's credit.
func (s *Sender) tapTook(r *Reader, kind MessageID, before int32) {
	after := r.credit.Load()
	s.frames.arrived(r.receiver, kind, func(e *FrameEvent) {
		e.ProducerBefore, e.ProducerAfter = ProducerLedger{int(before), -1}, ProducerLedger{int(after), -1}
	})
}

// ledger reads the channel's books.
func (c *RemoteChannel) ledger() ConsumerLedger {
	s := c.Stats()
	return ConsumerLedger{Exclusive: s.ExclusiveFree, Floating: s.FloatingHeld, Unannounced: s.Unannounced, Queued: s.Queued, Backlog: s.Backlog}
}

// tapSent notes what the channel tells its producer; an AddCredit's number has been taken already.
func (k *clientCore) tapSent(c *RemoteChannel, id MessageID, value int32) {
	after := c.ledger()
	e := FrameEvent{Kind: id, Partition: c.o.Partition, Subpartition: c.o.Subpartition, Consumer: c.o.Thread, Channel: c.id, Credit: value, ConsumerBefore: after, ConsumerAfter: after}
	if id == MsgAddCredit {
		e.ConsumerBefore.Unannounced += int(value)
	}
	k.frames.sending(e)
}

// tapTook notes what a frame of the producer did to the channel.
func (k *clientCore) tapTook(c *RemoteChannel, id MessageID, before ConsumerLedger) {
	after := c.ledger()
	k.frames.arrived(c.id, id, func(e *FrameEvent) { e.ConsumerBefore, e.ConsumerAfter = before, after })
}
