//go:build invariants

package memory

import (
	"fmt"
	"sync/atomic"
)

// Invariants tells whether the package was built with the tag invariants.
const Invariants = true

// poison fills recycled memory, so that a view kept too long shows.
const poison = 0xDB

// lentMark tells whether the segment is out of its pool.
type lentMark struct{ out atomic.Bool }

func (s *Segment) markLent() {
	if s.lent.out.Swap(true) {
		panic(fmt.Sprintf("memory: segment %d was handed out twice", s.id))
	}
}

// markReturned poisons the memory of a segment that comes back.
func (s *Segment) markReturned() {
	if !s.lent.out.Swap(false) {
		panic(fmt.Sprintf("memory: segment %d was released twice", s.id))
	}
	for i := range s.data {
		s.data[i] = poison
	}
}

func (s *Segment) doubleRelease() {
	panic(fmt.Sprintf("memory: segment %d was released twice", s.id))
}
