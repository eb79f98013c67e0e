package state

import (
	"encoding/binary"
	"errors"
)

// Codec writes and reads values of one type.
type Codec[V any] struct {
	// Append writes v behind dst.
	Append func(dst []byte, v V) []byte
	// Read reads a value at the beginning of src and returns the rest. What it returns must not alias src.
	Read func(src []byte) (v V, rest []byte, err error)
	// Fixed is the bytes that Append writes for every value; where they differ it is 0, and Size tells them.
	Fixed int
	Size  func(v V) int
}

func (c *Codec[V]) size(v V) int {
	if c.Fixed > 0 {
		return c.Fixed
	}
	return c.Size(v)
}

var errShort = errors.New("the bytes end inside a value")

// Int64 is the codec of Flink's LongSerializer: eight bytes, big-endian.
func Int64() Codec[int64] {
	return Codec[int64]{
		Append: func(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) },
		Read: func(src []byte) (int64, []byte, error) {
			if len(src) < 8 {
				return 0, nil, errShort
			}
			return int64(binary.BigEndian.Uint64(src)), src[8:], nil
		},
		Fixed: 8,
	}
}
