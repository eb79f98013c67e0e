//go:build !invariants

package memory

// Invariants tells whether the package was built with the tag invariants.
const Invariants = false

//lint:ignore U1000 it marks something with the tag invariants only
type lentMark struct{}

func (s *Segment) markLent()      {}
func (s *Segment) markReturned()  {}
func (s *Segment) doubleRelease() {}
