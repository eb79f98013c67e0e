package memory

// Request returns a segment counted for the subpartition (-1: none), with one reference and nothing written, or nil
// when there is none. A full subpartition is served all the same: its limit only turns the pool unavailable.
func (p *LocalPool) Request(subpartition int) *Segment {
	s, _ := p.TryRequest(subpartition)
	return s
}

// TryRequest is Request that tells why there is no segment: nil and nil when there is none now, ErrDestroyed, or
// ErrArgument for a subpartition the pool does not have.
func (p *LocalPool) TryRequest(subpartition int) (*Segment, error) {
	s, _, err := p.request(subpartition, false)
	return s, err
}

// RequestBlocking waits until it gets a segment. As in Flink it waits for the pool to turn available again, not for
// an overdraft segment to come back. It fails with ErrQuit once quit is closed, with ErrDestroyed and ErrArgument.
func (p *LocalPool) RequestBlocking(subpartition int, quit <-chan struct{}) (*Segment, error) {
	for {
		s, wait, err := p.request(subpartition, true)
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-wait:
		case <-quit:
			return nil, ErrQuit
		}
	}
}

// request takes a segment; without one, and if asked to, it returns the channel to wait on, taken under the same lock
// so that no change is missed.
func (p *LocalPool) request(subpartition int, wait bool) (*Segment, <-chan struct{}, error) {
	if subpartition < -1 || subpartition >= len(p.subpartitions) {
		return nil, nil, argumentError("%s: a buffer was requested for subpartition %d, but there are %d.",
			p.owner, subpartition, len(p.subpartitions))
	}
	var t todo
	p.mu.Lock()
	if p.destroyed {
		p.mu.Unlock()
		return nil, nil, destroyedError("Buffer pool")
	}
	var s *Segment
	if p.core != nil {
		s = p.requestByCore(subpartition, &t)
		if p.coreErr != nil {
			err := p.coreErr
			p.mu.Unlock()
			if s != nil {
				s.lend(p, -1)
				s.Release()
			}
			t.run()
			return nil, nil, err
		}
	} else if len(p.ready) > 0 {
		s = p.popReady()
	} else if p.requested >= p.size && p.requested-p.size < p.maxOverdraft {
		// Overdraft, only once the whole size is taken.
		if s = p.global.segments.take(); s != nil {
			p.requested++
		}
	}
	if s == nil {
		var ch <-chan struct{}
		if wait {
			ch = p.whenAvailableLocked()
		}
		p.mu.Unlock()
		t.run()
		return nil, ch, nil
	}
	var limit func(int)
	if subpartition >= 0 {
		p.subpartitions[subpartition]++
		if p.subpartitions[subpartition] == p.maxSubpartition {
			p.atLimit++
			limit = p.onLimit
		}
	}
	if p.core == nil {
		p.update(&t)
	}
	p.mu.Unlock()
	s.lend(p, subpartition)
	if limit != nil {
		limit(subpartition)
	}
	t.run()
	return s, nil, nil
}

// Recycle takes a segment back: to the global pool if the pool is destroyed or holds more than its size, else to the
// listener that has waited longest, else to the ready ones.
func (p *LocalPool) Recycle(s *Segment) {
	subpartition := int(s.subpartition)
	counted := subpartition
	s.subpartition = -1
	for {
		s.markReturned()
		var t todo
		p.mu.Lock()
		if subpartition >= 0 {
			if p.subpartitions[subpartition] == p.maxSubpartition {
				p.atLimit--
			}
			p.subpartitions[subpartition]--
			subpartition = -1
		}
		var l Listener
		switch {
		case p.core != nil && !p.destroyed:
			p.recycleByCore(s, counted, &t)
		case p.destroyed || p.requested > p.size:
			p.giveBack(s, &t)
		case len(p.listeners) > 0:
			l = p.popListener()
		default:
			p.ready = append(p.ready, s)
		}
		if !p.destroyed && p.core == nil {
			p.updateAvailable(&t)
		}
		p.mu.Unlock()
		t.run()
		if l == nil || p.offer(l, s) {
			return
		}
	}
}
