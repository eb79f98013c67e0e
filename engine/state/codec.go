package state

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"weir/engine/serde"
)

// Codec writes, reads and copies values of one type (Flink's TypeSerializer).
type Codec[V any] struct {
	// Name tells codecs apart: a restore refuses a state that was written by one of another name.
	Name string
	// Append writes v behind dst.
	Append func(dst []byte, v V) []byte
	// Read reads a value at the beginning of src and returns the rest. What it returns must not alias src.
	Read func(src []byte) (v V, rest []byte, err error)
	// Fixed is the bytes that Append writes for every value; where they differ it is 0, and Size tells them.
	Fixed int
	Size  func(v V) int
	// Copy makes a deep copy. Nil says that values never change in place, so that one may be shared.
	Copy func(v V) V
	// Absent tells the value that stands for none (nil). A codec without one has no such value. Absent values are
	// never given to Append.
	Absent func(v V) bool
}

// Bytes is how many bytes Append writes for v.
func (c *Codec[V]) Bytes(v V) int {
	if c.Fixed > 0 {
		return c.Fixed
	}
	return c.Size(v)
}

// Clone is a deep copy of v, or v itself where values never change in place.
func (c *Codec[V]) Clone(v V) V {
	if c.Copy == nil {
		return v
	}
	return c.Copy(v)
}

// IsAbsent tells whether v is the value that stands for none.
func (c *Codec[V]) IsAbsent(v V) bool { return c.Absent != nil && c.Absent(v) }

// check refuses a codec that cannot be used.
func (c *Codec[V]) check() error {
	switch {
	case c.Append == nil || c.Read == nil:
		return errors.New("a codec is missing")
	case c.Name == "":
		return errors.New("its codec has no name")
	case c.Fixed <= 0 && c.Size == nil:
		return errors.New("codec " + c.Name + " tells no size")
	}
	return nil
}

var errShort = errors.New("the bytes end inside a value")

// Int64 is the codec of Flink's LongSerializer: eight bytes, big-endian.
func Int64() Codec[int64] {
	return Codec[int64]{
		Name:   "long",
		Append: func(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) },
		Read: func(src []byte) (int64, []byte, error) {
			if len(src) < 8 {
				return 0, src, errShort
			}
			return int64(binary.BigEndian.Uint64(src)), src[8:], nil
		},
		Fixed: 8,
	}
}

// Double is the codec of Flink's DoubleSerializer: the eight bytes of IEEE 754, big-endian.
func Double() Codec[float64] {
	return Codec[float64]{
		Name:   "double",
		Append: func(dst []byte, v float64) []byte { return binary.BigEndian.AppendUint64(dst, math.Float64bits(v)) },
		Read: func(src []byte) (float64, []byte, error) {
			if len(src) < 8 {
				return 0, src, errShort
			}
			return math.Float64frombits(binary.BigEndian.Uint64(src)), src[8:], nil
		},
		Fixed: 8,
	}
}

// Bool is the codec of Flink's BooleanSerializer: one byte, 0 or 1.
func Bool() Codec[bool] {
	return Codec[bool]{
		Name: "bool",
		Append: func(dst []byte, v bool) []byte {
			if v {
				return append(dst, 1)
			}
			return append(dst, 0)
		},
		Read: func(src []byte) (bool, []byte, error) {
			switch {
			case len(src) == 0:
				return false, src, errShort
			case src[0] > 1:
				return false, src, errors.New("a bool is neither 0 nor 1")
			}
			return src[0] == 1, src[1:], nil
		},
		Fixed: 1,
	}
}

// String is the codec of Flink's StringSerializer: its length in UTF-16 code units plus one, then the units.
func String() Codec[string] {
	return Codec[string]{
		Name:   "string",
		Append: serde.AppendString,
		Read: func(src []byte) (string, []byte, error) {
			s, rest, err := serde.ReadString(src)
			return strings.Clone(s), rest, err
		},
		Size: stringSize,
	}
}

// stringSize is the bytes that serde.AppendString writes.
func stringSize(s string) int {
	n := 1
	for l := len(s) + 1; l >= 0x80; l >>= 7 {
		n++
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return len(serde.AppendString(nil, s))
		}
	}
	return n + len(s)
}

// ByteArray is the codec of Flink's BytePrimitiveArraySerializer: four bytes of length, then the bytes.
func ByteArray() Codec[[]byte] {
	return Codec[[]byte]{
		Name: "bytes",
		Append: func(dst []byte, v []byte) []byte {
			return append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...)
		},
		Read: func(src []byte) ([]byte, []byte, error) {
			n, rest, err := readCount(src)
			if err != nil || n > len(rest) {
				return nil, src, errShort
			}
			return append(make([]byte, 0, n), rest[:n]...), rest[n:], nil
		},
		Size:   func(v []byte) int { return 4 + len(v) },
		Copy:   func(v []byte) []byte { return append(make([]byte, 0, len(v)), v...) },
		Absent: func(v []byte) bool { return v == nil },
	}
}

func readCount(src []byte) (int, []byte, error) {
	if len(src) < 4 {
		return 0, src, errShort
	}
	n := int32(binary.BigEndian.Uint32(src))
	if n < 0 {
		return 0, src, errors.New("a length is negative")
	}
	return int(n), src[4:], nil
}
