package network

import (
	"context"
	"fmt"
	"strings"

	"weir/engine/memory"
	"weir/engine/serde"
)

// ReceiverModel is the receiving end of one channel without a connection or goroutines: the real BufferManager over a real
// pool of floating buffers. An exercise drives it beside a learner's core, call by call.
type ReceiverModel struct {
	global  *memory.GlobalPool
	pool    *memory.LocalPool
	channel *RemoteChannel
	held    [2][]*memory.Segment // exclusive and floating buffers that the task has
	others  []*memory.Segment    // floating buffers that other channels have
	told    int                  // credit that went out
}

// silentLink is a connection that says nothing.
type silentLink struct{}

func (silentLink) request(*RemoteChannel)                {}
func (silentLink) creditAvailable(*RemoteChannel)        {}
func (silentLink) send(*RemoteChannel, MessageID, int32) {}
func (silentLink) close(*RemoteChannel)                  {}

// NewReceiverModel makes a channel with its exclusive buffers, in a gate with so many floating ones. With a core, that
// keeps the numbers.
func NewReceiverModel(exclusive, floating int, core CreditReceiver) (*ReceiverModel, error) {
	m := &ReceiverModel{global: memory.NewGlobalPool(exclusive+floating, 64)}
	var err error
	if m.pool, err = m.global.CreateLocalPool(memory.PoolOptions{Owner: "gate", Required: floating, Max: floating}); err != nil {
		return nil, err
	}
	m.channel = NewRemoteChannel(RemoteChannelOptions{Gate: NewGate(1, m.pool, func() {}), Global: m.global, ExclusiveBuffers: exclusive, Receiver: core})
	m.channel.open(silentLink{})
	return m, m.channel.Setup(context.Background())
}

// Backlog is what the sender says of its queue.
func (m *ReceiverModel) Backlog(n int) { m.channel.onBacklog(int32(n), "") }

// Arrive takes a free buffer for one that arrives; false without one.
func (m *ReceiverModel) Arrive() bool {
	s := m.channel.buffers.take()
	if s == nil {
		return false
	}
	i := 0
	if s.Owner() == m.pool {
		i = 1
	}
	m.held[i] = append(m.held[i], s)
	return true
}

// Recycle gives back a buffer that the task has read, a floating or an exclusive one; false if it has none such.
func (m *ReceiverModel) Recycle(floating bool) bool {
	i := 0
	if floating {
		i = 1
	}
	return release(&m.held[i])
}

// OtherTakes lets another channel have a floating buffer, OtherReturns takes one back from it; false if there is none.
func (m *ReceiverModel) OtherTakes() bool {
	s := m.pool.Request(-1)
	if s != nil {
		m.others = append(m.others, s)
	}
	return s != nil
}

// OtherReturns is the other channel's buffer coming back to the pool.
func (m *ReceiverModel) OtherReturns() bool { return release(&m.others) }

func release(list *[]*memory.Segment) bool {
	n := len(*list)
	if n == 0 {
		return false
	}
	s := (*list)[n-1]
	*list = (*list)[:n-1]
	s.Release()
	return true
}

// Take writes the AddCredit message.
func (m *ReceiverModel) Take() int {
	n := int(m.channel.takeCredit())
	m.told += n
	return n
}

// State is what can be seen from outside.
func (m *ReceiverModel) State() (exclusiveFree, floatingFree, poolFree, unannounced int) {
	e, f, _, _ := m.channel.buffers.counts()
	return e, f, m.pool.Stats().Size - len(m.others) - len(m.held[1]) - f, m.channel.Stats().Unannounced
}

// Held is how many buffers the task has that are the channel's own, and floating ones.
func (m *ReceiverModel) Held() (exclusive, floating int) { return len(m.held[0]), len(m.held[1]) }

// SenderModel is the sending end of one channel: the real Sender over a real subpartition.
type SenderModel struct {
	global *memory.GlobalPool
	part   *ResultPartition
	sender *Sender
	news   []*Reader
}

// readerNonEmpty implements readerSink.
func (m *SenderModel) readerNonEmpty(r *Reader) { m.news = append(m.news, r) }

// NewSenderModel makes a reader with its initial credit. With a core, that keeps the credit.
func NewSenderModel(credit int, core CreditSender) (*SenderModel, error) {
	const segments = 64
	m := &SenderModel{global: memory.NewGlobalPool(segments, 64)}
	pool, err := m.global.CreateLocalPool(memory.PoolOptions{Owner: "source", Required: segments, Max: segments, Subpartitions: 1, MaxBuffersPerSubpartition: segments})
	if err != nil {
		return nil, err
	}
	m.part = NewResultPartition(PartitionID{Vertex: "source"}, 1, pool, 0)
	partitions := NewPartitionManager()
	partitions.Register(m.part)
	m.sender = NewSender(partitions, m, nil, "")
	if core != nil {
		m.sender.newCore = func(int) CreditSender { return core }
	}
	m.sender.Request(m.part.ID, PartitionRequest{Credit: int32(credit)})
	return m, nil
}

// Data queues a finished data buffer; false when there is no room for one.
func (m *SenderModel) Data() bool {
	seg := m.part.pool.Request(0)
	if seg == nil {
		return false
	}
	seg.Finish(1)
	_, err := m.part.subs[0].addSegment(seg)
	seg.Release()
	m.part.FlushAll()
	m.hear()
	return err == nil
}

// Event queues an event that blocks nothing.
func (m *SenderModel) Event() {
	if err := m.part.addEvent(0, serde.CancelCheckpointMarker{}, false, false); err == nil {
		m.hear()
	}
}

// Credit brings an AddCredit message.
func (m *SenderModel) Credit(n int) {
	m.sender.AddCredit(ChannelID{}, int32(n))
	m.hear()
}

func (m *SenderModel) hear() {
	for _, r := range m.news {
		m.sender.NonEmpty(r)
	}
	m.news = nil
}

// Send writes at most n messages and says what left, such as "data event data".
func (m *SenderModel) Send(n int) string {
	var left []string
	var o Outgoing
	for len(left) < n && m.sender.Next(&o) {
		switch {
		case o.ID != MsgBufferResponse:
			left = append(left, fmt.Sprint(o.ID, " ", o.Error.Cause))
		case o.Buffer.IsData():
			left = append(left, "data")
		default:
			left = append(left, "event")
		}
		o.Buffer.Recycle()
	}
	if len(left) == 0 {
		return "nothing"
	}
	return strings.Join(left, " ")
}

// AnnouncerModel is the announcing rule of a real remote channel.
func AnnouncerModel() Announcer { return announcerModel{&RemoteChannel{}} }

type announcerModel struct{ c *RemoteChannel }

func (m announcerModel) Freed(n int) bool { return n > 0 && m.c.freed(n) }
func (m announcerModel) Take() int        { return int(m.c.takeCredit()) }
