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

// Start has nothing yet.
func (p *pool) Start(o api.Options, free int) {
	p.o, p.held = o, make([]int, o.Subpartitions)
	// your code: the pool fetches one segment ahead
}

// fetch takes one segment ahead of demand.
func (p *pool) fetch(free int) {
	// your code
}

// Request asks for a segment.
func (p *pool) Request(subpartition, free int) (granted bool) {
	return false // your code: a ready one, or overdraft; and what is counted?
}

// Recycle takes a segment back.
func (p *pool) Recycle(subpartition int) {
	// your code: is it ready then, or does it go back to the global pool?
}

// SetSize changes the size while segments are out.
func (p *pool) SetSize(size, free int) {
	// your code
}

// SetMaxOverdraft changes the limit.
func (p *pool) SetMaxOverdraft(n int) {
	// your code
}

// GlobalAvailable tells that the global pool has segments again.
func (p *pool) GlobalAvailable(free int) {
	// your code
}

// State is what the pool says of itself.
func (p *pool) State() api.State {
	return api.State{Requested: p.requested, Ready: p.ready} // your code: when is it available?
}
