// Package api is what you write against: the way of a key to its subtask.
package api

import "weir/exercises/kit/wire"

// Keys says where a key goes. Flink has its parts in Long.hashCode, String.hashCode, MathUtils.murmurHash and
// KeyGroupRangeAssignment.
type Keys interface {
	// HashLong is the Java hash code of a long.
	HashLong(v int64) int32
	// HashString is the Java hash code of a string, over its UTF-16 code units. s is valid UTF-8.
	HashString(s string) int32
	// Murmur mixes the bits of a hash code. Its result is never negative.
	Murmur(hash int32) int32
	// KeyGroup is the key group, from 0 to maxParallelism-1, of a key with this hash code (not mixed yet).
	KeyGroup(hash int32, maxParallelism int) int
	// Subtask is the subtask, from 0 to parallelism-1, that owns a key group.
	Subtask(group, maxParallelism, parallelism int) int
}

// The methods of a call.
const (
	Begin = iota // anew
	HashLong
	HashString
	Murmur
	KeyGroup
	Subtask
)

// Dispatch makes the function that takes the checker's calls. A call has the arguments of as many calls as it likes, one
// behind the other, and its answer as many results.
func Dispatch(make func() Keys) func(method uint32, args []byte) []byte {
	keys := make()
	return func(method uint32, args []byte) []byte {
		r, w := wire.Reader{B: args}, wire.Writer{}
		if method == Begin {
			keys = make()
		}
		for len(r.B) > 0 {
			switch method {
			case HashLong:
				w.Int(int64(keys.HashLong(r.Int())))
			case HashString:
				w.Int(int64(keys.HashString(r.String())))
			case Murmur:
				w.Int(int64(keys.Murmur(int32(r.Int()))))
			case KeyGroup:
				hash := int32(r.Int())
				w.Int(int64(keys.KeyGroup(hash, int(r.Int()))))
			case Subtask:
				group, most := int(r.Int()), int(r.Int())
				w.Int(int64(keys.Subtask(group, most, int(r.Int()))))
			default:
				return nil
			}
		}
		return w.B
	}
}
