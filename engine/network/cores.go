package network

import (
	"weir/engine/memory"
	"weir/engine/serde"
)

// The interfaces here let an exercise put a learner's core in place of one decision of the engine. Each is asked for a
// buffer or a message, never for a record, and a nil one leaves the engine's own. Calls of one core never overlap.

// Announcer decides when the new credit of a remote channel is worth a message (what
// RemoteInputChannel.notifyBufferAvailable decides).
type Announcer interface {
	// Freed tells of n new free buffers; true puts an AddCredit message in the line.
	Freed(n int) bool
	// Take is the credit that the message carries when it is written; 0 writes none.
	Take() int
}

// Place is where the free buffer comes from that takes an arriving one.
type Place uint8

// The places.
const (
	NoPlace Place = iota
	ExclusivePlace
	FloatingPlace
)

// CreditReceiver keeps the numbers of a remote channel's free buffers (BufferManager with RemoteInputChannel's credit).
type CreditReceiver interface {
	Backlog(n int)
	// WantsFloating is asked again after each GotFloating.
	WantsFloating() bool
	GotFloating()
	Arrived() Place
	// Recycled takes an exclusive buffer back; true gives a floating one to the pool in its stead.
	Recycled() (giveBack bool)
	// Credit is the credit that came up since the last call.
	Credit() int
}

// CreditSender keeps the credit of one reader (CreditBasedSequenceNumberingViewReader).
type CreditSender interface {
	AddCredit(n int)
	// MaySend says whether what is next may leave, an event or a data buffer.
	MaySend(event bool) bool
	Sent(event bool)
}

// Cores are a learner's cores; each function makes one more of its kind, nil ones leave the engine's own. They are asked
// from any goroutine.
type Cores struct {
	Announcer    func() Announcer
	Receiver     func(exclusive int) CreditReceiver
	Sender       func(credit int) CreditSender
	Subpartition func() SubpartitionCore
}

// Channel makes the cores of one remote channel.
func (c *Cores) Channel(exclusive int) (a Announcer, r CreditReceiver) {
	if c.Announcer != nil {
		a = c.Announcer()
	}
	if c.Receiver != nil {
		r = c.Receiver(exclusive)
	}
	return a, r
}

// freed is buffersAdded's question to whoever decides.
func (c *RemoteChannel) freed(n int) bool {
	if a := c.o.Announcer; a != nil {
		c.announcing.Lock()
		defer c.announcing.Unlock()
		return a.Freed(n)
	}
	return c.unannounced.Add(int32(n)) == int32(n)
}

// announced is what the next message carries, by whoever decides.
func (c *RemoteChannel) announced() int32 {
	if a := c.o.Announcer; a != nil {
		c.announcing.Lock()
		defer c.announcing.Unlock()
		return int32(a.Take())
	}
	return c.unannounced.Swap(0)
}

// takeByCore is take, where a core says which buffer it is; the lock is held.
func (m *BufferManager) takeByCore() *memory.Segment {
	list := &m.exclusive
	switch m.core.Arrived() {
	case NoPlace:
		return nil
	case FloatingPlace:
		list = &m.floating
	case ExclusivePlace:
	}
	n := len(*list)
	if n == 0 {
		return nil
	}
	s := (*list)[n-1]
	*list = (*list)[:n-1]
	return s
}

// fillByCore takes floating buffers as long as the core wants some and the pool has some; the lock is held. It returns
// the credit that came of it.
func (m *BufferManager) fillByCore() (credit int) {
	for !m.waiting && m.core.WantsFloating() {
		if s := m.pool.Request(-1); s != nil {
			m.floating = append(m.floating, s)
			m.core.GotFloating()
		} else if m.pool.AddListener(m) {
			m.waiting = true
		} else if m.pool.Destroyed() {
			break
		}
	}
	return m.core.Credit()
}

// recycleByCore takes an exclusive buffer back; the lock is held.
func (m *BufferManager) recycleByCore(s *memory.Segment) (surplus *memory.Segment, credit int) {
	m.exclusive = append(m.exclusive, s)
	if m.core.Recycled() && len(m.floating) > 0 {
		n := len(m.floating)
		surplus = m.floating[n-1]
		m.floating = m.floating[:n-1]
	}
	return surplus, m.core.Credit()
}

// offeredToCore answers an offer of the pool; the lock is held.
func (m *BufferManager) offeredToCore(s *memory.Segment) (kept bool, credit int) {
	if !m.core.WantsFloating() {
		return false, 0
	}
	m.floating = append(m.floating, s)
	m.core.GotFloating()
	return true, m.fillByCore()
}

// mayGoOn says whether a reader with a core has something that may leave now.
func (r *Reader) mayGoOn() bool {
	if ready, _ := r.view.Availability(true); !ready {
		return false
	}
	event, _ := r.view.Availability(false)
	return r.core.MaySend(event)
}

// sentByCore counts what leaves, and registers the reader again if the next one may follow.
func (s *Sender) sentByCore(r *Reader, p *Polled) {
	r.core.Sent(!p.IsData())
	if p.IsData() {
		r.credit.Add(-1)
		r.buffers.Add(1)
	} else {
		r.events.Add(1)
	}
	if p.Next != serde.None && r.core.MaySend(p.Next != serde.DataBuffer) {
		s.register(r)
	}
}
