package memory

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// LocalPool is the pool of one result partition or one input gate. Its size is the number of segments it may take from
// the global pool, and changes while segments are out; beyond it, it may go into overdraft when a record needs more
// (Flink's LocalBufferPool).
//
// It is available when a segment is ready and no subpartition holds its maximum. To know that, it fetches one segment
// ahead of demand. Any goroutine may call it.
type LocalPool struct {
	global   *GlobalPool
	id       int
	owner    string
	required int
	max      int
	// gone is closed when the pool is destroyed.
	gone chan struct{}

	_         [128]byte
	available atomic.Bool
	_         [127]byte

	mu              sync.Mutex // guards what follows
	ready           []*Segment // last in, first out
	size            int
	requested       int // segments taken from the global pool, ready or out
	maxOverdraft    int
	maxSubpartition int
	subpartitions   []int // segments out for each
	atLimit         int   // subpartitions that hold their maximum or more
	listeners       []Listener
	destroyed       bool
	waitsForGlobal  bool
	whenAvailable   chan struct{} // closed when the pool turns available; nil while nobody waits
	onAvailable     func()
	onLimit         func(subpartition int)
	core            PoolCore // decides in place of the pool; nil else
	coreErr         error    // what it decided that cannot be done
	_               [128]byte
}

func newLocalPool(g *GlobalPool, id int, o PoolOptions) *LocalPool {
	p := &LocalPool{
		global: g, id: id, owner: o.Owner, required: o.Required, max: o.Max,
		gone: make(chan struct{}),
		size: o.Required, maxOverdraft: o.MaxOverdraft, maxSubpartition: o.MaxBuffersPerSubpartition,
		subpartitions: make([]int, o.Subpartitions),
	}
	p.mu.Lock()
	var t todo
	p.update(&t)
	p.mu.Unlock()
	return p
}

// ID returns the pool's number within the global pool, from 0 in the order of creation.
func (p *LocalPool) ID() int { return p.id }

// Owner returns the name given at creation.
func (p *LocalPool) Owner() string { return p.owner }

// Required returns the number of segments the pool may count on.
func (p *LocalPool) Required() int { return p.required }

// Max returns the largest size the pool can get, Unbounded without one.
func (p *LocalPool) Max() int { return p.max }

// Available tells whether the next request gets a segment that is no overdraft; one atomic load.
func (p *LocalPool) Available() bool { return p.available.Load() }

// WhenAvailable returns a channel that is closed once the pool is available or destroyed, at once if it is.
func (p *LocalPool) WhenAvailable() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.available.Load() || p.destroyed {
		return closedChannel
	}
	return p.whenAvailableLocked()
}

func (p *LocalPool) whenAvailableLocked() <-chan struct{} {
	if p.whenAvailable == nil {
		p.whenAvailable = make(chan struct{})
	}
	return p.whenAvailable
}

// SetOnAvailable sets the hook called each time the pool turns from unavailable to available, and when it is destroyed
// while unavailable. It runs with no lock held, on the goroutine that gave a segment back or changed a size, so the
// pool may have changed again.
func (p *LocalPool) SetOnAvailable(hook func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onAvailable = hook
}

// SetOnLimit sets the hook called, with no lock held, when a subpartition comes to hold its maximum.
func (p *LocalPool) SetOnLimit(hook func(subpartition int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onLimit = hook
}

// update fetches one segment ahead if the size allows, and works out availability.
func (p *LocalPool) update(t *todo) {
	if len(p.ready) == 0 && p.requested < p.size {
		if s := p.global.segments.takeOrWait(p, p.waitsForGlobal); s != nil {
			p.requested++
			p.ready = append(p.ready, s)
		} else {
			p.waitsForGlobal = true
		}
	}
	p.updateAvailable(t)
}

func (p *LocalPool) updateAvailable(t *todo) {
	should := len(p.ready) > 0 && p.atLimit == 0
	if should != p.available.Load() {
		p.available.Store(should)
		if should {
			p.announce(t)
		}
	}
	if len(p.listeners) > 0 && len(p.ready) > 0 {
		t.pool, t.serve = p, true
	}
}

// announce wakes whoever waits for the pool.
func (p *LocalPool) announce(t *todo) {
	if p.whenAvailable != nil {
		close(p.whenAvailable)
		p.whenAvailable = nil
	}
	t.available = p.onAvailable
}

// globalAvailable is called when the global pool, found empty before, has segments again.
func (p *LocalPool) globalAvailable() {
	var t todo
	p.mu.Lock()
	p.waitsForGlobal = false
	if p.core != nil {
		if !p.destroyed {
			p.core.GlobalAvailable(p.global.segments.available())
			p.follow(&t)
		}
		p.mu.Unlock()
		t.run()
		return
	}
	// An available pool leaves the segment to others.
	if !p.destroyed && !p.available.Load() {
		p.update(&t)
	}
	p.mu.Unlock()
	t.run()
}

// SetSize sets the number of segments the pool may hold, capped at its maximum. Ready segments beyond it go back to
// the global pool; those that are out count as overdraft until they come back. Fails with ErrArgument below the
// required number.
func (p *LocalPool) SetSize(n int) error {
	if n < p.required {
		return argumentError("Buffer pool needs at least %d buffers, but tried to set to %d", p.required, n)
	}
	t := p.resize(n)
	t.run()
	return nil
}

func (p *LocalPool) resize(n int) todo {
	var t todo
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = min(n, p.max)
	if p.core != nil {
		if !p.destroyed {
			p.core.SetSize(n, p.global.segments.available())
			p.follow(&t)
		}
		return t
	}
	p.returnExcess(&t)
	// A destroyed pool fetches nothing: the segment would never go back.
	if !p.destroyed {
		p.update(&t)
	}
	return t
}

// returnExcess gives ready segments back while the pool holds more than its size.
func (p *LocalPool) returnExcess(t *todo) {
	for p.requested > p.size && len(p.ready) > 0 {
		p.giveBack(p.popReady(), t)
	}
}

func (p *LocalPool) giveBack(s *Segment, t *todo) {
	p.requested--
	t.woken = append(t.woken, p.global.segments.put(s)...)
}

func (p *LocalPool) popReady() *Segment {
	last := len(p.ready) - 1
	s := p.ready[last]
	p.ready[last] = nil
	p.ready = p.ready[:last]
	return s
}

// SetMaxOverdraft sets how many segments beyond its size the pool may take; segments already out stay out. Values
// below 0 count as 0.
func (p *LocalPool) SetMaxOverdraft(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.maxOverdraft = max(n, 0)
	if p.core != nil {
		p.core.SetMaxOverdraft(p.maxOverdraft)
	}
}

// SetMaxBuffersPerSubpartition sets how many segments a subpartition may hold before the pool turns unavailable.
// Values below 1 count as 1.
func (p *LocalPool) SetMaxBuffersPerSubpartition(n int) {
	var t todo
	p.mu.Lock()
	p.maxSubpartition = max(n, 1)
	p.atLimit = 0
	for _, held := range p.subpartitions {
		if held >= p.maxSubpartition {
			p.atLimit++
		}
	}
	p.updateAvailable(&t)
	p.mu.Unlock()
	t.run()
}

// Reserve makes sure that the pool holds at least n segments, waiting for them for at most timeout (0 or less: as long
// as ctx allows). It fails with ErrArgument when n exceeds the required number, ErrDestroyed, ErrTimeout, or the cause
// of ctx.
func (p *LocalPool) Reserve(ctx context.Context, n int, timeout time.Duration) error {
	if n > p.required {
		return argumentError("Can not reserve more segments (%d) than the number of required segments (%d).", n, p.required)
	}
	p.mu.Lock()
	missing, destroyed := n-p.requested, p.destroyed
	p.mu.Unlock()
	if destroyed {
		return destroyedError("Buffer pool")
	}
	if missing <= 0 {
		return nil
	}
	// The lock is not held while waiting: the pool goes on serving, and may fetch a segment itself meanwhile.
	segments, err := p.global.takeBlocking(ctx, missing, timeout, p.gone)
	if err != nil {
		return err
	}
	var t todo
	p.mu.Lock()
	destroyed = p.destroyed
	if destroyed {
		t.woken = p.global.segments.put(segments...)
	} else {
		p.ready = append(p.ready, segments...)
		p.requested += len(segments)
		p.returnExcess(&t)
		p.updateAvailable(&t)
	}
	p.mu.Unlock()
	t.run()
	if destroyed {
		return destroyedError("Buffer pool")
	}
	return nil
}

// Destroy ends the pool: ready segments go back to the global pool at once, those that are out when they are recycled.
// Listeners are told, requests that wait fail with ErrDestroyed. A second call does nothing.
func (p *LocalPool) Destroy() {
	var t todo
	p.mu.Lock()
	if p.destroyed {
		p.mu.Unlock()
		return
	}
	p.destroyed = true
	close(p.gone)
	for len(p.ready) > 0 {
		p.giveBack(p.popReady(), &t)
	}
	listeners := p.listeners
	p.listeners = nil
	if !p.available.Swap(false) {
		p.announce(&t)
	}
	p.mu.Unlock()
	for _, l := range listeners {
		l.BufferDestroyed()
	}
	t.run()
	p.global.unregister(p)
}

// Destroyed tells whether Destroy was called.
func (p *LocalPool) Destroyed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.destroyed
}
