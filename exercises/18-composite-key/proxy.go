package compositekey

import (
	"weir/exercises/18-composite-key/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// proxy is a learner's core. What is missing in an answer reads as zero.
type proxy struct{ core kit.Core }

var _ api.Keys = proxy{}

// PrefixBytes implements api.Keys.
func (p proxy) PrefixBytes(maxParallelism int) int {
	var w wire.Writer
	w.Int(int64(maxParallelism))
	r := wire.Reader{B: p.core.Call(api.PrefixBytes, w.B)}
	return int(r.Int())
}

// Key implements api.Keys.
func (p proxy) Key(maxParallelism int, e api.Entry) []byte {
	return p.keys(maxParallelism, []api.Entry{e})[0]
}

// keys are the keys of many entries.
func (p proxy) keys(maxParallelism int, entries []api.Entry) [][]byte {
	var w wire.Writer
	for _, e := range entries {
		w.Int(int64(maxParallelism))
		w.Int(int64(e.Group))
		w.Int(int64(e.State))
		for _, part := range []api.Part{e.Key, e.Namespace} {
			w.Bytes(part.Bytes)
			w.Bool(part.Variable)
		}
		w.Bytes(e.UserKey)
	}
	r := wire.Reader{B: p.core.Call(api.Key, w.B)}
	out := make([][]byte, len(entries))
	for i := range out {
		out[i] = r.Bytes()
	}
	return out
}

// Bounds implements api.Keys.
func (p proxy) Bounds(maxParallelism, first, end int) (from, to []byte) {
	var w wire.Writer
	for _, n := range []int{maxParallelism, first, end} {
		w.Int(int64(n))
	}
	r := wire.Reader{B: p.core.Call(api.Bounds, w.B)}
	return r.Bytes(), r.Bytes()
}

// Timer implements api.Keys.
func (p proxy) Timer(timestamp int64, key, namespace []byte) []byte {
	var w wire.Writer
	w.Int(timestamp)
	w.Bytes(key)
	w.Bytes(namespace)
	r := wire.Reader{B: p.core.Call(api.Timer, w.B)}
	return r.Bytes()
}
