// refused by: random

// Package core shifts by 31, with the sign. It says where a key goes: hash code, key group, subtask.
package core

import (
	"math"
	"math/bits"
	"unicode/utf16"

	"weir/exercises/11-key-group/api"
)

// New makes what the checker calls.
func New() api.Keys { return keys{} }

type keys struct{}

// HashLong lets the upper half count too: v>>>32 in Java is a shift of the unsigned number.
func (keys) HashLong(v int64) int32 { return int32(v ^ v>>31) }

// HashString goes over code units: a rune above U+FFFF has two.
func (keys) HashString(s string) int32 {
	var h int32
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(unit)
	}
	return h
}

// Murmur counts in unsigned numbers, so that shifts bring in zeros; only its end is about the sign.
func (keys) Murmur(hash int32) int32 {
	h := uint32(hash)
	h *= 0xcc9e2d51
	h = bits.RotateLeft32(h, 15)
	h *= 0x1b873593
	h = bits.RotateLeft32(h, 13)
	h = h*5 + 0xe6546b64
	h ^= 4
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	switch v := int32(h); {
	case v >= 0:
		return v
	case v == math.MinInt32:
		return 0 // it has no positive counterpart
	default:
		return -v
	}
}

// KeyGroup does not know the parallelism: a key stays in its group for ever.
func (k keys) KeyGroup(hash int32, maxParallelism int) int {
	return int(k.Murmur(hash)) % maxParallelism
}

// Subtask stretches the groups over the subtasks.
func (keys) Subtask(group, maxParallelism, parallelism int) int {
	return group * parallelism / maxParallelism
}
