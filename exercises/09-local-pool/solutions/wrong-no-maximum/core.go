// refused by: resize

// Package core is the local pool of a result partition.
package core

import "weir/exercises/09-local-pool/api"

// New makes a pool; Start follows.
func New() api.Pool { return &pool{} }

// pool has its numbers.
type pool struct {
	o         api.Options
	requested int // from the global pool: ready or out
	ready     int
	held      []int // segments out for each subpartition
}

// Start fetches one segment ahead.
func (p *pool) Start(o api.Options, free int) {
	p.o, p.held = o, make([]int, o.Subpartitions)
	p.fetch(free)
}

// fetch takes one segment ahead of demand, so that being available means something.
func (p *pool) fetch(free int) {
	if p.ready == 0 && p.requested < p.o.Size && free > 0 {
		p.ready++
		p.requested++
	}
}

// Request gives a ready segment, or one beyond the size once the whole size is taken.
func (p *pool) Request(subpartition, free int) (granted bool) {
	switch {
	case p.ready > 0:
		p.ready--
	case p.requested >= p.o.Size && p.requested-p.o.Size < p.o.MaxOverdraft && free > 0:
		p.requested++
		free--
	default:
		return false
	}
	if subpartition >= 0 {
		p.held[subpartition]++
	}
	p.fetch(free)
	return true
}

// Recycle gives what is beyond the size back to the global pool, and keeps the rest ready.
func (p *pool) Recycle(subpartition int) {
	if subpartition >= 0 {
		p.held[subpartition]--
	}
	if p.requested > p.o.Size {
		p.requested--
	} else {
		p.ready++
	}
}

// SetSize takes any size.
func (p *pool) SetSize(size, free int) {
	p.o.Size = size
	for p.requested > p.o.Size && p.ready > 0 {
		p.ready--
		p.requested--
		free++
	}
	p.fetch(free)
}

// SetMaxOverdraft changes the limit.
func (p *pool) SetMaxOverdraft(n int) {
	p.o.MaxOverdraft = n
}

// GlobalAvailable fetches what was missing.
func (p *pool) GlobalAvailable(free int) {
	p.fetch(free)
}

// atLimit counts the subpartitions that hold their maximum.
func (p *pool) atLimit() int {
	n := 0
	for _, held := range p.held {
		if held >= p.o.MaxPerSubpartition {
			n++
		}
	}
	return n
}

// State is available when a segment is ready and no subpartition is at its maximum.
func (p *pool) State() api.State {
	n := p.atLimit()
	return api.State{Available: p.ready > 0 && n == 0, Requested: p.requested, Ready: p.ready, AtLimit: n}
}
