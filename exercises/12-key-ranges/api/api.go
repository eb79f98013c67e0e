// Package api is what you write against: which key groups a subtask owns, and which move.
package api

import "weir/exercises/kit/wire"

// Ranges deals the key groups 0 to maxParallelism-1 to the subtasks 0 to parallelism-1. In Flink it is part of
// KeyGroupRangeAssignment. All numbers that you are given are valid: 1 <= parallelism <= maxParallelism <= 32768.
type Ranges interface {
	// Range is the run of key groups that a subtask owns: [first,end), so that end is the first group behind it.
	Range(maxParallelism, parallelism, subtask int) (first, end int)
	// Owner is the subtask that owns a key group. It must agree with Range.
	Owner(group, maxParallelism, parallelism int) int
	// Moves are the key groups that another subtask owns after the parallelism changed, as runs in order: each as long as
	// its owner before and its owner after are the same.
	Moves(maxParallelism, before, after int) []Move
}

// Move is a run of key groups [First,End) that goes from one subtask to another.
type Move struct{ First, End, From, To int }

// The methods of a call.
const (
	Begin = iota // anew
	Range
	Owner
	Moves
)

// Dispatch makes the function that takes the checker's calls. A call of Range or Owner has the arguments of as many as it
// likes, one behind the other.
func Dispatch(make func() Ranges) func(method uint32, args []byte) []byte {
	ranges := make()
	return func(method uint32, args []byte) []byte {
		r, w := wire.Reader{B: args}, wire.Writer{}
		if method == Begin {
			ranges = make()
		}
		for len(r.B) > 0 {
			a, b, c := int(r.Int()), int(r.Int()), int(r.Int())
			switch method {
			case Range:
				first, end := ranges.Range(a, b, c)
				w.Int(int64(first))
				w.Int(int64(end))
			case Owner:
				w.Int(int64(ranges.Owner(a, b, c)))
			case Moves:
				moves := ranges.Moves(a, b, c)
				w.Int(int64(len(moves)))
				for _, m := range moves {
					for _, n := range []int{m.First, m.End, m.From, m.To} {
						w.Int(int64(n))
					}
				}
			default:
				return nil
			}
		}
		return w.B
	}
}
