// Package api is an exercise for the tests of the sandbox.
package api

import "weir/exercises/kit/wire"

// Core does something with a number.
type Core interface{ Do(n int64) int64 }

// Dispatch answers method 1 with Do of a number, and method 2 with as many bytes.
func Dispatch(newCore func() Core) func(method uint32, args []byte) []byte {
	core := newCore()
	return func(method uint32, args []byte) []byte {
		r, w := wire.Reader{B: args}, wire.Writer{}
		n := r.Int()
		switch method {
		case 1:
			w.Int(core.Do(n))
		case 2:
			w.Bytes(make([]byte, n))
		}
		return w.B
	}
}
