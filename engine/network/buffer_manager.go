package network

import (
	"context"
	"sync"
	"time"

	"weir/engine/memory"
)

// BufferManager has the free buffers of one remote channel: the exclusive ones, which are its own for life, and the
// floating ones, borrowed from the gate's pool while the producer has a backlog (Flink's BufferManager). Each free
// buffer is a credit. It is required to have backlog + initial credit of them; while the pool is empty it waits there
// as a listener, which the waiting flag says.
type BufferManager struct {
	channel *RemoteChannel
	pool    *memory.LocalPool
	global  *memory.GlobalPool
	core    CreditReceiver // keeps the numbers in place of this; nil else

	mu        sync.Mutex
	exclusive []*memory.Segment
	floating  []*memory.Segment
	required  int
	waiting   bool
	released  bool
}

// exclusiveTimeout is how long a channel waits for its exclusive buffers (taskmanager.network.memory.exclusive-buffers-
// request-timeout-ms, a constant in 2.3).
const exclusiveTimeout = 30 * time.Second

// requestExclusive takes the channel's own buffers from the global pool. Every free buffer holds one reference.
func (m *BufferManager) requestExclusive(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	segs, err := m.global.RequestUnpooledBlocking(ctx, n, exclusiveTimeout)
	if err != nil {
		return err
	}
	m.mu.Lock()
	if m.released {
		m.mu.Unlock()
		m.global.RecycleUnpooled(segs)
		return nil
	}
	for _, s := range segs {
		s.SetOwner(m)
	}
	m.exclusive = append(m.exclusive, segs...)
	m.mu.Unlock()
	return nil
}

// take hands out a free buffer with one reference, a floating one first; nil if there is none.
func (m *BufferManager) take() *memory.Segment {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.core != nil {
		return m.takeByCore()
	}
	// One fewer is needed, so that the channel does not ask for more than the producer has.
	m.required--
	if n := len(m.floating); n > 0 {
		s := m.floating[n-1]
		m.floating = m.floating[:n-1]
		return s
	}
	if n := len(m.exclusive); n > 0 {
		s := m.exclusive[n-1]
		m.exclusive = m.exclusive[:n-1]
		return s
	}
	return nil
}

// await takes a buffer of the gate's pool, without credit, and waits for it; nil when the pool is destroyed, or gone closed.
func (m *BufferManager) await(gone <-chan struct{}) *memory.Segment {
	if s := m.pool.Request(-1); s != nil {
		return s
	}
	s, err := m.pool.RequestBlocking(-1, gone)
	if err != nil {
		return nil
	}
	return s
}

// note keeps the producer's backlog for the debloater, where no buffers are asked for by it.
func (m *BufferManager) note(backlog int) {
	m.mu.Lock()
	m.required = backlog
	m.mu.Unlock()
}

// request raises or lowers the number of buffers needed and tries to have as many; it returns how many were added.
func (m *BufferManager) request(required int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.released {
		return 0
	}
	m.required = required
	if m.core != nil {
		m.core.Backlog(required - m.channel.o.ExclusiveBuffers)
		return m.fillByCore()
	}
	return m.fill()
}

// fill is called with the lock held.
func (m *BufferManager) fill() (added int) {
	for !m.waiting && len(m.exclusive)+len(m.floating) < m.required {
		if s := m.pool.Request(-1); s != nil {
			m.floating = append(m.floating, s)
			added++
		} else if m.pool.AddListener(m) {
			m.waiting = true
		} else if m.pool.Destroyed() {
			return added
		}
	}
	return added
}

// Recycle takes an exclusive buffer back. If there are now more than needed a floating one goes to the pool in its
// stead. It implements memory.Recycler.
func (m *BufferManager) Recycle(s *memory.Segment) {
	m.mu.Lock()
	if m.released {
		m.mu.Unlock()
		m.global.RecycleUnpooled([]*memory.Segment{s})
		return
	}
	if memory.Invariants {
		poison(s)
	}
	s.Reset()
	s.Retain()
	if m.core != nil {
		surplus, credit := m.recycleByCore(s)
		m.mu.Unlock()
		if surplus != nil {
			surplus.Release()
		}
		m.channel.buffersAdded(credit, m.channel.o.Thread)
		return
	}
	m.exclusive = append(m.exclusive, s)
	var surplus *memory.Segment
	if n := len(m.floating); n > 0 && n+len(m.exclusive) > m.required {
		surplus = m.floating[n-1]
		m.floating = m.floating[:n-1]
	}
	m.mu.Unlock()
	if surplus != nil {
		surplus.Release()
		return
	}
	m.channel.buffersAdded(1, m.channel.o.Thread)
}

// BufferAvailable is the pool's offer of a buffer to a waiting channel; false leaves it with the pool. It implements
// memory.Listener.
func (m *BufferManager) BufferAvailable(s *memory.Segment) bool {
	m.mu.Lock()
	m.waiting = false
	if m.core != nil && !m.released {
		kept, credit := m.offeredToCore(s)
		m.mu.Unlock()
		m.channel.buffersAdded(credit, m.channel.o.Thread)
		return kept
	}
	if m.released || len(m.exclusive)+len(m.floating) >= m.required {
		m.mu.Unlock()
		return false
	}
	m.floating = append(m.floating, s)
	added := 1 + m.fill()
	m.mu.Unlock()
	m.channel.buffersAdded(added, m.channel.o.Thread)
	return true
}

// BufferDestroyed tells that the pool is gone; it implements memory.Listener.
func (m *BufferManager) BufferDestroyed() {
	m.mu.Lock()
	m.waiting = false
	m.mu.Unlock()
}

// releaseFloating gives all floating buffers back and needs none any more, for a channel without exclusive ones that
// is blocked by an aligned barrier: others may need them to deliver theirs.
func (m *BufferManager) releaseFloating() {
	m.mu.Lock()
	m.required = 0
	back := m.floating
	m.floating = nil
	m.mu.Unlock()
	for _, s := range back {
		s.Release()
	}
}

// release gives everything back. Exclusive buffers that are still out return to the global pool one by one.
func (m *BufferManager) release() {
	m.mu.Lock()
	if m.released {
		m.mu.Unlock()
		return
	}
	m.released = true
	m.required = 0
	floating, exclusive := m.floating, m.exclusive
	m.floating, m.exclusive = nil, nil
	m.mu.Unlock()
	for _, s := range floating {
		s.Release()
	}
	if len(exclusive) > 0 {
		m.global.RecycleUnpooled(exclusive)
	}
}

// counts reads the state for a snapshot.
func (m *BufferManager) counts() (exclusive, floating, required int, waiting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.exclusive), len(m.floating), m.required, m.waiting
}

// poison overwrites a buffer that came back, so that a view kept too long shows.
func poison(s *memory.Segment) {
	room := s.Room()
	for i := range room {
		room[i] = 0xDB
	}
}
