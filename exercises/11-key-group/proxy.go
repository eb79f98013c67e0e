package keygroup

import (
	"weir/exercises/11-key-group/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// proxy is a learner's core; each method takes many arguments at a time and gives as many results. What is missing reads as
// zero.
type proxy struct{ core kit.Core }

func (p proxy) ints(method uint32, n int, args wire.Writer) []int64 {
	r := wire.Reader{B: p.core.Call(method, args.B)}
	out := make([]int64, n)
	for i := range out {
		out[i] = r.Int()
	}
	return out
}

func (p proxy) hashLongs(v []int64) []int64 {
	var w wire.Writer
	for _, x := range v {
		w.Int(x)
	}
	return p.ints(api.HashLong, len(v), w)
}

func (p proxy) hashStrings(v []string) []int64 {
	var w wire.Writer
	for _, x := range v {
		w.String(x)
	}
	return p.ints(api.HashString, len(v), w)
}

func (p proxy) murmur(v []int32) []int64 {
	var w wire.Writer
	for _, x := range v {
		w.Int(int64(x))
	}
	return p.ints(api.Murmur, len(v), w)
}

// keyGroups are the key groups of hash codes, each for all max parallelisms.
func (p proxy) keyGroups(hashes []int32, maxParallelisms []int) []int64 {
	var w wire.Writer
	for _, h := range hashes {
		for _, m := range maxParallelisms {
			w.Int(int64(h))
			w.Int(int64(m))
		}
	}
	return p.ints(api.KeyGroup, len(hashes)*len(maxParallelisms), w)
}

// subtasks are the owners of groups at the same numbers.
func (p proxy) subtasks(groups []int, maxParallelism, parallelism int) []int64 {
	var w wire.Writer
	for _, g := range groups {
		w.Int(int64(g))
		w.Int(int64(maxParallelism))
		w.Int(int64(parallelism))
	}
	return p.ints(api.Subtask, len(groups), w)
}
