// refused by: golden

// Package core deals the state of a checkpoint to new subtasks. It deals the entries of split state like cards, one to each in turn.
package core

import (
	"slices"

	"weir/exercises/19-assignment/api"
)

// New makes what the checker calls.
func New() api.Assigner { return assigner{} }

type assigner struct{}

// Keyed cuts each handle by the range of each new subtask.
func (assigner) Keyed(maxParallelism, parallelism int, handles []api.Handle) [][]api.Piece {
	dealt := make([][]api.Piece, parallelism)
	for sub := range dealt {
		first, end := api.Range(maxParallelism, parallelism, sub)
		for i, h := range handles {
			if from, to := max(first, h.First), min(end, h.End); from < to {
				dealt[sub] = append(dealt[sub], api.Piece{Handle: i, First: from, End: to})
			}
		}
	}
	return dealt
}

// Operator asks first whether anything has to move at all.
func (assigner) Operator(mode api.Mode, old [][]string, parallelism, start int) (dealt [][]string, next int) {
	same := len(old) == parallelism
	switch mode {
	case api.Split:
		if same {
			return old, start
		}
		return split(slices.Concat(old...), parallelism, start)
	case api.Union:
		return fill(parallelism, func(int) []string { return slices.Concat(old...) }), start
	}
	var reporters []int
	for i, entries := range old {
		if entries != nil {
			reporters = append(reporters, i)
		}
	}
	missing := len(reporters) < len(old)
	return fill(parallelism, func(sub int) []string {
		var from []int
		if same && old[sub] != nil {
			from = append(from, sub)
		}
		if (!same || missing) && len(reporters) > 0 {
			if r := reporters[sub%len(reporters)]; !slices.Contains(from, r) {
				from = append(from, r)
			}
		}
		slices.Sort(from)
		var entries []string
		for _, i := range from {
			entries = append(entries, old[i]...)
		}
		return entries
	}), start
}

// split deals runs of equal length, the first ones longer by one while there is a rest.
func split(all []string, parallelism, start int) (dealt [][]string, next int) {
	dealt = make([][]string, parallelism)
	for i, e := range all {
		sub := (start + i) % parallelism
		dealt[sub] = append(dealt[sub], e)
	}
	return dealt, (start + len(all)) % parallelism
}

func fill(parallelism int, of func(sub int) []string) [][]string {
	dealt := make([][]string, parallelism)
	for sub := range dealt {
		dealt[sub] = of(sub)
	}
	return dealt
}
