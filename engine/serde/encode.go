package serde

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
	"unsafe"

	"weir/engine/internal/wtf8"
)

// maxUnitBytes is the most that a byte of a Go string takes when encoded: a byte that is not UTF-8 becomes U+FFFD,
// three bytes. A length takes at most five.
const (
	maxUnitBytes   = 3
	maxLengthBytes = 5
)

// MaxEncoded is the most bytes that PutRecord writes for r, found without looking at its characters.
func MaxEncoded(s Schema, r *Record) int {
	n := 4 + 1 + 8 + 8
	if s.Key == String {
		n += maxLengthBytes + maxUnitBytes*len(r.Key.Str)
	}
	if s.Payload {
		n += maxLengthBytes + maxUnitBytes*len(r.Payload)
	}
	return n
}

// PutRecord writes r with its length to dst and says how many bytes that took. dst must have room for MaxEncoded.
func PutRecord(dst []byte, s Schema, r *Record) int {
	p := 5
	if r.HasTimestamp {
		dst[4] = tagRecordWithTimestamp
		binary.BigEndian.PutUint64(dst[5:], uint64(r.Timestamp))
		p = 13
	} else {
		dst[4] = tagRecordWithoutTimestamp
	}
	switch s.Key {
	case Long:
		binary.BigEndian.PutUint64(dst[p:], uint64(r.Key.Num))
		p += 8
	default:
		p += putKey(dst[p:], s.Key, &r.Key)
	}
	if s.Payload {
		p += putString(dst[p:], r.Payload)
	}
	binary.BigEndian.PutUint32(dst, uint32(p-4))
	return p
}

// AppendRecord appends r with its length.
func AppendRecord(dst []byte, s Schema, r *Record) []byte {
	n := len(dst)
	m := MaxEncoded(s, r)
	dst = slices.Grow(dst, m)
	return dst[:n+PutRecord(dst[n:n+m], s, r)]
}

// AppendKey appends the bytes of a key, as its Flink serializer writes them.
func AppendKey(dst []byte, t KeyType, k Key) []byte {
	n := len(dst)
	m := 8
	if t == String {
		m = maxLengthBytes + maxUnitBytes*len(k.Str)
	}
	dst = slices.Grow(dst, m)
	return dst[:n+putKey(dst[n:n+m], t, &k)]
}

// AppendString appends a string as Flink's StringSerializer writes it.
func AppendString(dst []byte, s string) []byte {
	return AppendKey(dst, String, Key{Str: s})
}

func putKey(dst []byte, t KeyType, k *Key) int {
	switch t {
	case Int:
		binary.BigEndian.PutUint32(dst, uint32(k.Num))
		return 4
	case String:
		return putString(dst, k.Str)
	case Bool:
		dst[0] = 0
		if k.Num != 0 {
			dst[0] = 1
		}
		return 1
	case Double:
		binary.BigEndian.PutUint64(dst, uint64(doubleToLongBits(k.Num)))
		return 8
	default:
		binary.BigEndian.PutUint64(dst, uint64(k.Num))
		return 8
	}
}

// putString writes s: its length in UTF-16 code units plus 1, then each unit, all as little-endian base 128.
func putString(dst []byte, s string) int {
	if !wtf8.IsASCII(unsafe.Slice(unsafe.StringData(s), len(s))) {
		return putUnits(dst, s)
	}
	n := uint(len(s)) + 1
	if n < 0x80 {
		dst[0] = byte(n)
		return 1 + copy(dst[1:], s)
	}
	p := putLength(dst, n)
	return p + copy(dst[p:], s)
}

func putLength(dst []byte, n uint) int {
	p := 0
	for n >= 0x80 {
		dst[p] = byte(n) | 0x80
		n >>= 7
		p++
	}
	dst[p] = byte(n)
	return p + 1
}

func putUnits(dst []byte, s string) int {
	p := putLength(dst, uint(wtf8.Units(s))+1)
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst[p] = c
			p++
			i++
			continue
		}
		r, n := wtf8.DecodeRune(s[i:])
		i += n
		if r >= 0x10000 {
			var high rune
			high, r = wtf8.Split(r)
			p += putUnit(dst[p:], high)
		}
		p += putUnit(dst[p:], r)
	}
	return p
}

// putUnit writes a code unit from 0x80 on.
func putUnit(dst []byte, u rune) int {
	dst[0] = byte(u) | 0x80
	if u < 1<<14 {
		dst[1] = byte(u >> 7)
		return 2
	}
	dst[1] = byte(u>>7) | 0x80
	dst[2] = byte(u >> 14)
	return 3
}
