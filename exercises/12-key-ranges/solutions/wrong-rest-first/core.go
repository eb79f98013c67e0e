// refused by: golden

// Package core deals key groups to subtasks. It gives the first subtasks one group more each.
package core

import "weir/exercises/12-key-ranges/api"

// New makes what the checker calls.
func New() api.Ranges { return ranges{} }

type ranges struct{}

// Range begins at the first group whose owner is the subtask: subtask*max/parallelism, rounded up. It ends where the next
// one begins.
func (ranges) Range(maxParallelism, parallelism, subtask int) (first, end int) {
	share, rest := maxParallelism/parallelism, maxParallelism%parallelism
	begin := func(i int) int { return i*share + min(i, rest) }
	return begin(subtask), begin(subtask + 1)
}

// Owner stretches the groups over the subtasks, rounded down.
func (ranges) Owner(group, maxParallelism, parallelism int) int {
	return group * parallelism / maxParallelism
}

// Moves goes over the groups and begins a new run whenever an owner changes.
func (r ranges) Moves(maxParallelism, before, after int) []api.Move {
	var moves []api.Move
	for g := range maxParallelism {
		from, to := r.Owner(g, maxParallelism, before), r.Owner(g, maxParallelism, after)
		if from == to {
			continue
		}
		if n := len(moves); n > 0 && moves[n-1].End == g && moves[n-1].From == from && moves[n-1].To == to {
			moves[n-1].End++
			continue
		}
		moves = append(moves, api.Move{First: g, End: g + 1, From: from, To: to})
	}
	return moves
}
