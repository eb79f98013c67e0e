//go:build !invariants

package memory

// Invariants tells whether the package was built with the tag invariants.
const Invariants = false

type lentMark struct{}

func (s *Segment) markLent()      {}
func (s *Segment) markReturned()  {}
func (s *Segment) doubleRelease() {}
