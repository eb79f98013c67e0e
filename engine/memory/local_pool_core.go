package memory

import "fmt"

// PoolCore decides for a local pool in place of it: an exercise puts a learner's core here. It keeps numbers; the pool
// itself moves the segments that the numbers ask for. Calls never overlap.
type PoolCore interface {
	// Start begins with nothing; free is the number of segments in the global pool.
	Start(o CoreOptions, free int)
	Request(subpartition, free int) (granted bool)
	Recycle(subpartition int)
	SetSize(size, free int)
	SetMaxOverdraft(n int)
	// GlobalAvailable tells that the global pool, which was empty, has segments again.
	GlobalAvailable(free int)
	State() CoreState
}

// CoreOptions are what a PoolCore begins with; the numbers are segments.
type CoreOptions struct{ Size, Max, Subpartitions, MaxPerSubpartition, MaxOverdraft int }

// CoreState is what a PoolCore says of itself.
type CoreState struct {
	Available bool
	Requested int // taken from the global pool: ready or out
	Ready     int
	AtLimit   int // subpartitions that hold their maximum or more
}

// UseCore lets a core decide for the pool from now on. Call it before anything was requested.
func (p *LocalPool) UseCore(c PoolCore) {
	var t todo
	p.mu.Lock()
	for len(p.ready) > 0 {
		p.giveBack(p.popReady(), &t)
	}
	p.core = c
	c.Start(CoreOptions{Size: p.size, Max: p.max, Subpartitions: len(p.subpartitions), MaxPerSubpartition: p.maxSubpartition,
		MaxOverdraft: p.maxOverdraft}, p.global.segments.available())
	p.follow(&t)
	p.mu.Unlock()
	t.run()
}

// CoreError says what a core decided that cannot be done; nil while all is well. The pool serves nobody after it.
func (p *LocalPool) CoreError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.coreErr
}

// follow moves segments until there are as many as the core says. The lock is held.
func (p *LocalPool) follow(t *todo) {
	st := p.core.State()
	for p.requested < st.Requested {
		s := p.global.segments.takeOrWait(p, p.waitsForGlobal)
		if s == nil {
			p.waitsForGlobal = true
			p.refuse("the core took %d segments in all, but the global pool has no more than %d for it", st.Requested, p.requested)
			break
		}
		p.requested++
		p.ready = append(p.ready, s)
	}
	for p.requested > st.Requested && len(p.ready) > 0 {
		p.giveBack(p.popReady(), t)
	}
	if p.coreErr == nil && (p.requested != st.Requested || len(p.ready) != st.Ready) {
		p.refuse("the core says that it has %d segments, %d of them ready; with the %d that are out it cannot be so", st.Requested, st.Ready, p.requested-len(p.ready))
	}
	// Whoever waits for the pool is to hear of a decision that cannot be.
	available := st.Available || p.coreErr != nil
	if available != p.available.Load() {
		p.available.Store(available)
		if available {
			p.announce(t)
		}
	}
	if p.requested < p.size && len(p.ready) == 0 && !p.waitsForGlobal {
		p.waitsForGlobal = p.global.segments.await(p)
	}
}

func (p *LocalPool) refuse(format string, args ...any) {
	if p.coreErr == nil {
		p.coreErr = fmt.Errorf("network memory: "+format, args...)
	}
}

// requestByCore is request where a core decides. The lock is held.
func (p *LocalPool) requestByCore(subpartition int, t *todo) *Segment {
	if p.coreErr != nil {
		return nil
	}
	granted := p.core.Request(subpartition, p.global.segments.available())
	st := p.core.State()
	if !granted {
		p.follow(t)
		return nil
	}
	// One is out from now on, so what is ready and what was fetched make one more.
	if len(p.ready) == 0 {
		s := p.global.segments.take()
		if s == nil {
			p.refuse("the core granted a segment, but neither it nor the global pool has one")
			return nil
		}
		p.requested++
		p.ready = append(p.ready, s)
	}
	s := p.popReady()
	if st.Requested < p.requested {
		p.refuse("the core granted a segment that it does not count: it says %d in all, and there are %d", st.Requested, p.requested)
	}
	p.follow(t)
	return s
}

// recycleByCore takes a segment back. The lock is held.
func (p *LocalPool) recycleByCore(s *Segment, subpartition int, t *todo) {
	p.ready = append(p.ready, s)
	p.core.Recycle(subpartition)
	p.follow(t)
}

// await notes that a pool waits for the next free segment, if none is free now; it reports if it waits.
func (f *freeList) await(p *LocalPool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.destroyed || f.availableLocked() > 0 {
		return false
	}
	f.waiting = append(f.waiting, p)
	return true
}
