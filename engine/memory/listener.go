package memory

// Listener waits for a segment of a local pool that had none (Flink's BufferListener). It hears of one segment, or
// that the pool was destroyed, and has to register again to hear of another.
type Listener interface {
	// BufferAvailable offers a segment with one reference; false leaves it to the pool.
	BufferAvailable(*Segment) bool
	// BufferDestroyed says that the pool has been destroyed.
	BufferDestroyed()
}

// AddListener registers a listener; refused, with false, when a segment is ready or the pool destroyed. A listener is
// also served when the pool fetches a segment from the global pool, not only when one is recycled: otherwise a gate
// whose channels all wait with no segment out would wait for ever.
func (p *LocalPool) AddListener(l Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ready) > 0 || p.destroyed {
		return false
	}
	p.listeners = append(p.listeners, l)
	return true
}

func (p *LocalPool) popListener() Listener {
	l := p.listeners[0]
	n := copy(p.listeners, p.listeners[1:])
	p.listeners[n] = nil
	p.listeners = p.listeners[:n]
	return l
}

// offer gives the listener a segment; false when it does not want it.
func (p *LocalPool) offer(l Listener, s *Segment) bool {
	s.lend(p, -1)
	return l.BufferAvailable(s)
}

// serveListeners hands ready segments to listeners, as long as there are both.
func (p *LocalPool) serveListeners() {
	for {
		p.mu.Lock()
		if p.destroyed || len(p.listeners) == 0 || len(p.ready) == 0 {
			p.mu.Unlock()
			return
		}
		l, s := p.popListener(), p.popReady()
		var t todo
		p.update(&t)
		t.serve = false // this loop serves
		p.mu.Unlock()
		t.run()
		if !p.offer(l, s) {
			p.Recycle(s)
		}
	}
}
