package trace

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Tracer is the tracepoints of one job. Its engine asks On and calls Hit; viewers attach to watch and to stop threads.
// A nil Tracer is always off. All methods are safe from any goroutine.
type Tracer struct {
	mask atomic.Uint64 // a bit for each point at which Hit has something to do
	_    [120]byte     // the mask is read per record: it shares its line with nothing that is written

	start time.Time

	mu      sync.Mutex
	closed  bool
	seq     uint64
	rings   [numPoints]ring
	counts  [numPoints]uint64
	viewers []*Viewer // in the order they came: the first whose breakpoint matches stops the thread
	stops   map[uint64]*stop
	steps   map[string]*Viewer // threads to be stopped at the next point they hit, whichever it is
	nextID  uint64
}

// stop is a goroutine that waits inside Hit.
type stop struct {
	Stop
	viewer  *Viewer
	release chan struct{}
}

// Stop tells of a thread that waits at a breakpoint.
type Stop struct {
	ID    uint64 `json:"id"`
	Event Event  `json:"event"`
	// Stepped says that a step ended here, not a breakpoint.
	Stepped bool `json:"stepped,omitempty"`
}

// New makes a tracer that is off.
func New() *Tracer {
	return &Tracer{start: time.Now(), stops: map[uint64]*stop{}, steps: map[string]*Viewer{}}
}

// On says whether Hit would do anything at p. It is what a tracepoint costs that nobody watches: one atomic load.
func (t *Tracer) On(p Point) bool { return t != nil && t.mask.Load()>>p&1 != 0 }

// Hit records the event if a viewer watches p, and blocks the calling goroutine if a breakpoint's condition holds or a
// step of this thread ends here, until it is resumed. thread names the goroutine; no two of a job share a name. The
// fields are kept, not copied. Call it only when On(p), and with no lock held.
func (t *Tracer) Hit(p Point, thread string, fields ...Field) {
	if !t.On(p) || p >= numPoints {
		return
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	e := Event{Seq: t.seq + 1, Point: p, Thread: thread, At: time.Since(t.start), Fields: fields}
	viewer, stepped := t.steps[thread], true
	if viewer == nil {
		viewer, stepped = t.armedBy(&e), false
	}
	if viewer == nil && !t.watched(p) { // on only because another thread steps
		t.mu.Unlock()
		return
	}
	t.seq++
	t.counts[p]++
	t.rings[p].add(e)
	if viewer == nil {
		t.mu.Unlock()
		return
	}
	delete(t.steps, thread)
	t.nextID++
	s := &stop{viewer: viewer, release: make(chan struct{})}
	s.ID, s.Stepped, s.Event = t.nextID, stepped, e
	t.stops[s.ID] = s
	t.refreshMask()
	t.notify()
	t.mu.Unlock()
	<-s.release
}

// armedBy finds the viewer whose breakpoint stops the event.
func (t *Tracer) armedBy(e *Event) *Viewer {
	for _, v := range t.viewers {
		if b := v.armed[e.Point]; b != nil && b.Holds(e) {
			return v
		}
	}
	return nil
}

func (t *Tracer) watched(p Point) bool {
	for _, v := range t.viewers {
		if v.watching&p.bit() != 0 || v.armed[p] != nil {
			return true
		}
	}
	return false
}

// refreshMask sets the bits that Hit is needed for. While a thread steps, that is all of them.
func (t *Tracer) refreshMask() {
	var mask uint64
	for _, v := range t.viewers {
		mask |= v.watching
		for p, b := range v.armed {
			if b != nil {
				mask |= Point(p).bit()
			}
		}
	}
	if len(t.steps) > 0 {
		mask = allPoints
	}
	t.mask.Store(mask)
}

// notify wakes the viewers: a thread stopped or went on.
func (t *Tracer) notify() {
	for _, v := range t.viewers {
		select {
		case v.changed <- struct{}{}:
		default:
		}
	}
}

// free lets a stopped thread go on.
func (t *Tracer) free(s *stop) {
	delete(t.stops, s.ID)
	close(s.release)
}

// Counts are how often each point was recorded, by name; points never recorded are left out.
func (t *Tracer) Counts() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := map[string]uint64{}
	for p, n := range t.counts {
		if n > 0 {
			counts[Point(p).String()] = n
		}
	}
	return counts
}

// Stopped are the threads that wait, in the order in which they stopped.
func (t *Tracer) Stopped() []Stop {
	t.mu.Lock()
	defer t.mu.Unlock()
	stops := make([]Stop, 0, len(t.stops))
	for _, s := range t.stops {
		stops = append(stops, s.Stop)
	}
	slices.SortFunc(stops, func(a, b Stop) int { return int(a.ID) - int(b.ID) })
	return stops
}

// DisarmAll removes every breakpoint and step and lets all stopped threads go on; watching goes on. A job calls it
// before it stops or restarts, which needs its threads to run.
func (t *Tracer) DisarmAll() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disarmAll()
}

func (t *Tracer) disarmAll() {
	for _, v := range t.viewers {
		v.armed = [numPoints]*Condition{}
	}
	clear(t.steps)
	for _, s := range t.stops {
		t.free(s)
	}
	t.refreshMask()
	t.notify()
}

// Close ends tracing for good: all stopped threads go on, nothing is recorded any more, and viewers have nothing
// further to wait for.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.disarmAll()
	for _, v := range t.viewers {
		v.end()
	}
	t.viewers = nil
	t.refreshMask()
}
