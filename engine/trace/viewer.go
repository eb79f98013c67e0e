package trace

import (
	"fmt"
	"slices"
)

// Viewer is one who looks at a job's trace, such as a page. What it watches, has armed and has stopped is undone when
// it closes, so that nobody's leaving holds up a job.
type Viewer struct {
	t        *Tracer
	watching uint64
	armed    [numPoints]*Condition
	changed  chan struct{}
	ended    bool
}

// Attach adds a viewer that watches nothing yet. On a closed tracer the viewer has nothing to see.
func (t *Tracer) Attach() *Viewer {
	v := &Viewer{t: t, changed: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		v.end()
		return v
	}
	t.viewers = append(t.viewers, v)
	return v
}

// end marks the viewer as gone. The tracer's lock is held.
func (v *Viewer) end() {
	if !v.ended {
		v.ended = true
		close(v.changed)
	}
}

// Changed has a value when a thread stopped or went on since it was last received; it is closed when the viewer or the
// tracer is. Events alone do not signal: read those at the rate of the page.
func (v *Viewer) Changed() <-chan struct{} { return v.changed }

// Watch sets which points are recorded for this viewer, besides those it has armed.
func (v *Viewer) Watch(points ...Point) {
	v.change(func() {
		v.watching = 0
		for _, p := range points {
			if p < numPoints {
				v.watching |= p.bit()
			}
		}
	})
}

// Arm makes a breakpoint of p: a thread that hits it with a condition that holds stops there. A second one replaces the
// first.
func (v *Viewer) Arm(p Point, c Condition) error {
	if p >= numPoints {
		return fmt.Errorf("tracepoint %d is unknown; there are %v", uint8(p), pointNames)
	}
	v.change(func() { v.armed[p] = &c })
	return nil
}

// Disarm removes the breakpoint at p. Threads that it stopped stay stopped until they are resumed.
func (v *Viewer) Disarm(p Point) {
	v.change(func() {
		if p < numPoints {
			v.armed[p] = nil
		}
	})
}

// change applies f to a viewer that has not ended.
func (v *Viewer) change(f func()) {
	v.t.mu.Lock()
	defer v.t.mu.Unlock()
	if v.ended {
		return
	}
	f()
	v.t.refreshMask()
}

// Armed are the breakpoints with their conditions.
func (v *Viewer) Armed() map[Point]Condition {
	v.t.mu.Lock()
	defer v.t.mu.Unlock()
	armed := map[Point]Condition{}
	for p, c := range v.armed {
		if c != nil {
			armed[Point(p)] = *c
		}
	}
	return armed
}

// Resume lets the stopped thread of that id go on, whoever stopped it.
func (v *Viewer) Resume(id uint64) error { return v.release(id, false) }

// Step lets the stopped thread of that id go on to the next tracepoint that it hits, whichever it is, and stops it
// there for this viewer.
func (v *Viewer) Step(id uint64) error { return v.release(id, true) }

func (v *Viewer) release(id uint64, step bool) error {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.stops[id]
	if !ok {
		return fmt.Errorf("no thread is stopped under id %d: it went on already", id)
	}
	if step && !v.ended {
		t.steps[s.Event.Thread] = v
		t.refreshMask()
	}
	t.free(s)
	t.notify()
	return nil
}

// ResumeAll lets go on every thread that this viewer stopped, and forgets its steps.
func (v *Viewer) ResumeAll() {
	v.t.mu.Lock()
	defer v.t.mu.Unlock()
	v.letGo()
	v.t.notify()
}

func (v *Viewer) letGo() {
	t := v.t
	for thread, by := range t.steps {
		if by == v {
			delete(t.steps, thread)
		}
	}
	for _, s := range t.stops {
		if s.viewer == v {
			t.free(s)
		}
	}
	t.refreshMask()
}

// Events are those above seq at the points that this viewer watches or has armed, oldest first, the last limit of
// them. Each point keeps its last 256; a gap shows in Counts.
func (v *Viewer) Events(seq uint64, limit int) []Event {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	var events []Event
	for p := range t.rings {
		if v.watching&Point(p).bit() != 0 || v.armed[p] != nil {
			events = t.rings[p].after(seq, events)
		}
	}
	slices.SortFunc(events, func(a, b Event) int { return int(int64(a.Seq) - int64(b.Seq)) })
	if limit >= 0 && len(events) > limit {
		events = events[len(events)-limit:]
	}
	return events
}

// Close takes the viewer off: its breakpoints, steps and watches end and the threads that it stopped go on. A second
// Close does nothing.
func (v *Viewer) Close() {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.ended {
		return
	}
	if i := slices.Index(t.viewers, v); i >= 0 {
		t.viewers = slices.Delete(t.viewers, i, i+1)
	}
	v.watching, v.armed = 0, [numPoints]*Condition{}
	v.letGo()
	v.end()
	t.notify()
}
