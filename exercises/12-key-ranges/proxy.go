package keyranges

import (
	"sync"

	"weir/exercises/12-key-ranges/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// proxy is a learner's core. What is missing in an answer reads as zero.
type proxy struct{ core kit.Core }

var _ api.Ranges = proxy{}

func (p proxy) call(method uint32, n int, args ...int) []int {
	var w wire.Writer
	for _, a := range args {
		w.Int(int64(a))
	}
	r := wire.Reader{B: p.core.Call(method, w.B)}
	out := make([]int, n)
	for i := range out {
		out[i] = int(r.Int())
	}
	return out
}

// Range implements api.Ranges.
func (p proxy) Range(maxParallelism, parallelism, subtask int) (first, end int) {
	a := p.call(api.Range, 2, maxParallelism, parallelism, subtask)
	return a[0], a[1]
}

// all are the ranges of all subtasks.
func (p proxy) all(maxParallelism, parallelism int) [][2]int {
	var args []int
	for i := range parallelism {
		args = append(args, maxParallelism, parallelism, i)
	}
	a := p.call(api.Range, 2*parallelism, args...)
	out := make([][2]int, parallelism)
	for i := range out {
		out[i] = [2]int{a[2*i], a[2*i+1]}
	}
	return out
}

// Owner implements api.Ranges.
func (p proxy) Owner(group, maxParallelism, parallelism int) int {
	return p.call(api.Owner, 1, group, maxParallelism, parallelism)[0]
}

// owners are the owners of all groups.
func (p proxy) owners(groups []int, maxParallelism, parallelism int) []int {
	var args []int
	for _, g := range groups {
		args = append(args, g, maxParallelism, parallelism)
	}
	return p.call(api.Owner, len(groups), args...)
}

// Moves implements api.Ranges.
func (p proxy) Moves(maxParallelism, before, after int) []api.Move {
	var w wire.Writer
	for _, a := range []int{maxParallelism, before, after} {
		w.Int(int64(a))
	}
	r := wire.Reader{B: p.core.Call(api.Moves, w.B)}
	n := r.Int()
	var moves []api.Move
	for i := int64(0); i < n && !r.Short(); i++ {
		moves = append(moves, api.Move{First: int(r.Int()), End: int(r.Int()), From: int(r.Int()), To: int(r.Int())})
	}
	return moves
}

// locked lets the subtasks of a job ask one at a time.
type locked struct {
	mu sync.Mutex
	p  proxy
}

func (l *locked) Range(maxParallelism, parallelism, subtask int) (first, end int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.p.Range(maxParallelism, parallelism, subtask)
}

func (l *locked) owners(maxParallelism, parallelism int) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	groups := make([]int, maxParallelism)
	for g := range groups {
		groups[g] = g
	}
	return l.p.owners(groups, maxParallelism, parallelism)
}
