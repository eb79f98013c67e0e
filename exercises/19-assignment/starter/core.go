// Package core deals the state of a checkpoint to new subtasks.
package core

import "weir/exercises/19-assignment/api"

// New makes what the checker calls.
func New() api.Assigner { return assigner{} }

type assigner struct{}

// Keyed gives each new subtask the pieces of handles that are its own.
func (assigner) Keyed(maxParallelism, parallelism int, handles []api.Handle) [][]api.Piece {
	dealt := make([][]api.Piece, parallelism)
	// Your code: api.Range says what a new subtask owns.
	return dealt
}

// Operator deals one operator state.
func (assigner) Operator(mode api.Mode, old [][]string, parallelism, start int) (dealt [][]string, next int) {
	dealt = make([][]string, parallelism)
	// Your code: what of each mode while the parallelism stays, and what when it changes?
	return dealt, start
}
