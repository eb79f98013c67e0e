package memory

import "sync"

// chunkBytes bounds what is carved at once, so that a job with few segments stays small.
const chunkBytes = 1 << 20

// firstChunk is the number of segments carved first; each further chunk doubles what there is, up to chunkBytes.
const firstChunk = 4

// lineBytes keeps two segments' memory off one another's cache lines.
const lineBytes = 128

// freeList holds the segments that no pool has. Its lock is the leaf of the lock order, and it calls nobody.
type freeList struct {
	segmentBytes int
	total        int

	mu        sync.Mutex
	free      []*Segment // last in, first out: a hot segment comes back
	carved    int
	destroyed bool
	// waiting local pools want to hear of the next free segment; ready is closed then.
	waiting []*LocalPool
	ready   chan struct{}
}

// take returns a free segment, or nil.
func (f *freeList) take() *Segment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takeLocked()
}

// takeOrWait returns a free segment, or nil after noting that p is to be woken, unless it waits already. One step
// under one lock, so that a segment that comes back between the two cannot be missed.
func (f *freeList) takeOrWait(p *LocalPool, waitsAlready bool) *Segment {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.takeLocked()
	if s == nil && !waitsAlready && !f.destroyed {
		f.waiting = append(f.waiting, p)
	}
	return s
}

// takeOrReady returns a free segment, or a channel that is closed when there may be one.
func (f *freeList) takeOrReady() (s *Segment, ready <-chan struct{}, destroyed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.destroyed {
		return nil, nil, true
	}
	if s = f.takeLocked(); s != nil {
		return s, nil, false
	}
	return nil, f.readyLocked(), false
}

// whenReady returns a channel that is closed once a segment is free; at once if one is.
func (f *freeList) whenReady() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.destroyed || f.availableLocked() > 0 {
		return closedChannel
	}
	return f.readyLocked()
}

// closedChannel answers everyone who asks to wait for what is there.
var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (f *freeList) readyLocked() <-chan struct{} {
	if f.ready == nil {
		f.ready = make(chan struct{})
	}
	return f.ready
}

func (f *freeList) takeLocked() *Segment {
	if f.destroyed {
		return nil
	}
	if len(f.free) == 0 {
		if f.carved == f.total {
			return nil
		}
		f.carve()
	}
	last := len(f.free) - 1
	s := f.free[last]
	f.free[last] = nil
	f.free = f.free[:last]
	return s
}

// carve cuts one more chunk into segments; the lowest id comes out first.
func (f *freeList) carve() {
	stride := (f.segmentBytes + SegmentTail + lineBytes - 1) / lineBytes * lineBytes
	n := min(max(f.carved, firstChunk), max(chunkBytes/stride, 1), f.total-f.carved)
	memory := make([]byte, n*stride)
	segments := make([]Segment, n)
	for i := n - 1; i >= 0; i-- {
		s := &segments[i]
		end := i*stride + f.segmentBytes + SegmentTail
		s.data = memory[i*stride : end : end]
		s.size = f.segmentBytes
		s.id = f.carved + i
		s.subpartition = -1
		f.free = append(f.free, s)
	}
	f.carved += n
}

// put takes segments back and returns the local pools that waited for one; the caller wakes them when it holds no
// lock.
func (f *freeList) put(segments ...*Segment) (woken []*LocalPool) {
	if len(segments) == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.destroyed {
		return nil
	}
	if f.availableLocked() == 0 {
		woken = f.waiting
		f.waiting = nil
		f.announceLocked()
	}
	f.free = append(f.free, segments...)
	return woken
}

func (f *freeList) announceLocked() {
	if f.ready != nil {
		close(f.ready)
		f.ready = nil
	}
}

// forget removes a pool from those that wait.
func (f *freeList) forget(p *LocalPool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, w := range f.waiting {
		if w == p {
			f.waiting = append(f.waiting[:i], f.waiting[i+1:]...)
			return
		}
	}
}

func (f *freeList) available() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.availableLocked()
}

func (f *freeList) availableLocked() int {
	if f.destroyed {
		return 0
	}
	return len(f.free) + f.total - f.carved
}

// carvedBytes is the memory allocated so far.
func (f *freeList) carvedBytes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.carved * f.segmentBytes
}

func (f *freeList) destroy() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.destroyed = true
	f.free = nil
	f.waiting = nil
	f.announceLocked()
}
