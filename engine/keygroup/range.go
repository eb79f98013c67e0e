// Package keygroup maps keys to key groups and key groups to subtasks, as Flink's KeyGroupRangeAssignment does.
//
// A key has a Java hash code (hash.go). Murmur mixes it, and the remainder by the maximum parallelism is its key
// group. Each subtask owns a contiguous Range of key groups, so a change of parallelism moves whole groups and never
// single keys; a change of the maximum parallelism would move the keys themselves, which is why it is refused on
// restore.
package keygroup

import (
	"fmt"
	"iter"
)

// Range is a range of key groups, both ends inclusive as in Flink's KeyGroupRange; Last < First is the empty range.
type Range struct{ First, Last int }

// Empty is the range without key groups, as Flink writes it.
var Empty = Range{First: 0, Last: -1}

// RangeOf gives the range from first to last. A last before first gives Empty; a negative first is an error.
func RangeOf(first, last int) (Range, error) {
	if first > last {
		return Empty, nil
	}
	if first < 0 {
		return Empty, &BoundsError{Detail: fmt.Sprintf("key group range %d-%d: the first key group must be 0 or more", first, last)}
	}
	return Range{first, last}, nil
}

// Contains tells if the key group lies in r.
func (r Range) Contains(group int) bool { return r.First <= group && group <= r.Last }

// Size is the number of key groups in r.
func (r Range) Size() int {
	if r.Last < r.First {
		return 0
	}
	return r.Last - r.First + 1
}

// Intersect is what r and o have in common: Empty if nothing.
func (r Range) Intersect(o Range) Range {
	first, last := max(r.First, o.First), min(r.Last, o.Last)
	if first > last {
		return Empty
	}
	return Range{first, last}
}

// All goes through the key groups of r in order.
func (r Range) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for g := r.First; g <= r.Last; g++ {
			if !yield(g) {
				return
			}
		}
	}
}

// String prints r as Flink's KeyGroupRange does.
func (r Range) String() string {
	return fmt.Sprintf("KeyGroupRange{startKeyGroup=%d, endKeyGroup=%d}", r.First, r.Last)
}
