package memory

import (
	"sync"
	"sync/atomic"
)

// GlobalPool is the network memory of one task manager: a fixed number of segments of one size, handed to local pools
// and, for the exclusive buffers of remote channels, out of any pool. What the local pools do not require is shared
// among them anew whenever one comes or goes (Flink's NetworkBufferPool).
type GlobalPool struct {
	segments  freeList
	destroyed atomic.Bool

	factory   sync.Mutex // guards what follows
	pools     []*LocalPool
	nextID    int
	required  int // segments promised: minimums of pools and unpooled ones
	reorder   func([]*LocalPool)
	lastUsage int
}

// NewGlobalPool returns a pool of total segments of segmentBytes each. Memory is carved as it is first needed, in
// chunks of at most 1 MiB (or one segment, when that is larger), and kept until Destroy. Values below 0 count as 0.
func NewGlobalPool(total, segmentBytes int) *GlobalPool {
	g := &GlobalPool{lastUsage: -1}
	g.segments.total = max(total, 0)
	g.segments.segmentBytes = max(segmentBytes, 0)
	return g
}

// PoolOptions say what a local pool is made for.
type PoolOptions struct {
	// Owner names the task that asks, for errors and readings.
	Owner string
	// Required is the number of segments the pool may count on; at least 1.
	Required int
	// Max is the largest size the pool can get; 0 or less means no bound.
	Max int
	// Subpartitions is the number of subpartitions the pool counts segments for; 0 in a gate.
	Subpartitions int
	// MaxBuffersPerSubpartition turns the pool unavailable once one subpartition holds as many; it refuses nothing.
	MaxBuffersPerSubpartition int
	// MaxOverdraft is how many segments beyond its size the pool may take when a record needs more than it has.
	MaxOverdraft int
}

// CreateLocalPool registers a new pool and shares the segments anew. It fails with *InsufficientError when the
// promises already made leave fewer than o.Required, with ErrArgument when the options contradict each other, and
// with ErrDestroyed; nothing is registered then.
func (g *GlobalPool) CreateLocalPool(o PoolOptions) (*LocalPool, error) {
	if o.Max <= 0 {
		o.Max = Unbounded
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	g.factory.Lock()
	if g.destroyed.Load() {
		g.factory.Unlock()
		return nil, destroyedError("Network buffer pool")
	}
	if free := g.segments.total - g.required; o.Required > free {
		g.factory.Unlock()
		return nil, g.insufficient(o.Required, free)
	}
	g.required += o.Required
	p := newLocalPool(g, g.nextID, o)
	g.nextID++
	g.pools = append(g.pools, p)
	todo := g.redistribute()
	g.factory.Unlock()
	todo.run()
	return p, nil
}

func (o PoolOptions) check() error {
	switch {
	case o.Required <= 0:
		return argumentError("%s: the number of required buffers (%d) should be larger than 0.", o.Owner, o.Required)
	case o.Max < o.Required:
		return argumentError("%s: the maximum number of buffers (%d) should not be smaller than the required (%d).",
			o.Owner, o.Max, o.Required)
	case o.Subpartitions < 0:
		return argumentError("%s: the number of subpartitions (%d) should not be less than 0.", o.Owner, o.Subpartitions)
	case o.Subpartitions > 0 && o.MaxBuffersPerSubpartition <= 0:
		return argumentError("%s: the maximum number of buffers for each subpartition (%d) should be larger than 0.",
			o.Owner, o.MaxBuffersPerSubpartition)
	case o.MaxOverdraft < 0:
		return argumentError("%s: the maximum number of overdraft buffers (%d) should not be less than 0.",
			o.Owner, o.MaxOverdraft)
	}
	return nil
}

func (g *GlobalPool) insufficient(required, available int) error {
	return &InsufficientError{Required: required, Available: available,
		Total: g.segments.total, SegmentBytes: g.segments.segmentBytes}
}

// unregister removes a destroyed pool and shares the segments anew.
func (g *GlobalPool) unregister(p *LocalPool) {
	g.segments.forget(p)
	g.factory.Lock()
	var todo todoList
	for i, q := range g.pools {
		if q == p {
			g.pools = append(g.pools[:i], g.pools[i+1:]...)
			g.required -= p.required
			todo = g.redistribute()
			break
		}
	}
	g.factory.Unlock()
	todo.run()
}

// DestroyAllPools destroys every registered local pool; the global pool stays usable.
func (g *GlobalPool) DestroyAllPools() {
	g.factory.Lock()
	pools := append([]*LocalPool(nil), g.pools...)
	g.factory.Unlock()
	for _, p := range pools {
		p.Destroy()
	}
}

// Destroy frees the segments that are here; those still out are dropped as they come back. Requests that wait fail
// with ErrDestroyed. Local pools are not destroyed with it.
func (g *GlobalPool) Destroy() {
	g.factory.Lock()
	g.destroyed.Store(true)
	g.factory.Unlock()
	g.segments.destroy()
}

// Destroyed tells whether Destroy was called.
func (g *GlobalPool) Destroyed() bool { return g.destroyed.Load() }

// SegmentBytes returns the size of a segment's payload area.
func (g *GlobalPool) SegmentBytes() int { return g.segments.segmentBytes }

// Total returns the number of segments, carved or not; 0 once destroyed.
func (g *GlobalPool) Total() int {
	if g.destroyed.Load() {
		return 0
	}
	return g.segments.total
}

// Available returns the number of segments that are with no pool and no channel.
func (g *GlobalPool) Available() int { return g.segments.available() }

// Used returns the number of segments handed to pools and channels.
func (g *GlobalPool) Used() int { return max(g.Total()-g.Available(), 0) }

// Memory returns the bytes of all segments, of the available, and of the used ones, carved or not.
func (g *GlobalPool) Memory() (total, available, used int) {
	total, available = g.Total(), g.Available()
	size := g.segments.segmentBytes
	return total * size, available * size, max(total-available, 0) * size
}

// CarvedBytes returns the payload bytes allocated so far.
func (g *GlobalPool) CarvedBytes() int { return g.segments.carvedBytes() }

// WhenAvailable returns a channel that is closed once a segment is free (or the pool destroyed), at once if one is.
func (g *GlobalPool) WhenAvailable() <-chan struct{} { return g.segments.whenReady() }

// Required returns the number of segments promised: the minimums of all pools and the unpooled segments.
func (g *GlobalPool) Required() int {
	g.factory.Lock()
	defer g.factory.Unlock()
	return g.required
}

// Pools returns the number of registered local pools.
func (g *GlobalPool) Pools() int {
	g.factory.Lock()
	defer g.factory.Unlock()
	return len(g.pools)
}
