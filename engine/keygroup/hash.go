package keygroup

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
	"unsafe"

	"weir/engine/internal/wtf8"
)

// HashLong is Java's Long.hashCode.
func HashLong(v int64) int32 { return int32(v ^ int64(uint64(v)>>32)) }

// HashInt is Java's Integer.hashCode.
func HashInt(v int32) int32 { return v }

// HashBool is Java's Boolean.hashCode.
func HashBool(v bool) int32 {
	if v {
		return 1231
	}
	return 1237
}

// HashDouble is Java's Double.hashCode: all NaNs are one value, -0.0 and 0.0 are two.
func HashDouble(v float64) int32 {
	b := math.Float64bits(v)
	if v != v {
		b = 0x7ff8000000000000 // the one NaN of doubleToLongBits
	}
	return HashLong(int64(b))
}

// HashTuple is the hash code of Flink's Tuple2<Long, String>.
func HashTuple(f0 int64, f1 string) int32 { return 31*HashLong(f0) + HashString(f1) }

// Powers of 31, modulo 2^32, for eight characters at a time.
const (
	p1 = 31
	p2 = p1 * p1
	p3 = p2 * p1
	p4 = p3 * p1
	p5 = p4 * p1
	p6 = p5 * p1 & (1<<32 - 1)
	p7 = p6 * p1 & (1<<32 - 1)
	p8 = p7 * p1 & (1<<32 - 1)
)

// HashString is Java's String.hashCode: over the UTF-16 code units of s. A surrogate that stands alone is written in
// s as the three bytes of WTF-8; any other byte that is not UTF-8 counts as U+FFFD.
func HashString(s string) int32 {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	var h uint32
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return hashUnits(h, s[len(s)-len(b):])
		}
		// One multiplication of h for eight characters: the chain of dependent multiplications is what costs.
		h = h*p8 + uint32(b[0])*p7 + uint32(b[1])*p6 + uint32(b[2])*p5 + uint32(b[3])*p4 +
			uint32(b[4])*p3 + uint32(b[5])*p2 + uint32(b[6])*p1 + uint32(b[7])
		b = b[8:]
	}
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return hashUnits(h, s[len(s)-len(b)+i:])
		}
		h = 31*h + uint32(c)
	}
	return int32(h)
}

// hashUnits goes on with the hash h over the code units of s.
func hashUnits(h uint32, s string) int32 {
	for i := 0; i < len(s); {
		r, n := wtf8.DecodeRune(s[i:])
		i += n
		if r >= 0x10000 {
			var high rune
			high, r = wtf8.Split(r)
			h = 31*h + uint32(high)
		}
		h = 31*h + uint32(r)
	}
	return int32(h)
}
