// Package wtf8 holds Java strings in Go strings. A Java string is a row of UTF-16 code units and may have surrogates
// that stand alone; WTF-8 is UTF-8 that also writes those, as three bytes each.
package wtf8

import (
	"encoding/binary"
	"unicode/utf8"
)

const highBits = 0x8080808080808080

// IsASCII tells if no byte of b has its high bit set. It looks at 32 bytes at a time, then 8, then at the last 8 again.
func IsASCII(b []byte) bool {
	n := len(b)
	if n < 8 {
		var w byte
		for _, c := range b {
			w |= c
		}
		return w < utf8.RuneSelf
	}
	w := binary.LittleEndian.Uint64(b[n-8:])
	i := 0
	for ; i <= n-32; i += 32 {
		c := (*[32]byte)(b[i:])
		w |= binary.LittleEndian.Uint64(c[:]) | binary.LittleEndian.Uint64(c[8:]) |
			binary.LittleEndian.Uint64(c[16:]) | binary.LittleEndian.Uint64(c[24:])
		if w&highBits != 0 {
			return false
		}
	}
	for ; i <= n-8; i += 8 {
		w |= binary.LittleEndian.Uint64(b[i:])
	}
	return w&highBits == 0
}

// DecodeRune gives the first code point of s, which must not be empty, and its length in bytes. A surrogate that
// stands alone is given as itself; a byte that is not UTF-8 as utf8.RuneError with length 1.
func DecodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 && len(s) >= 3 && s[0] == 0xed && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return r, n
}

// Units is the length of s in UTF-16 code units: what Java calls its length.
func Units(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := DecodeRune(s[i:])
		i += size
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// Split gives the two surrogates of a code point from U+10000 on.
func Split(r rune) (high, low rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}

// AppendUnit appends a UTF-16 code unit to dst. A low surrogate joins a high one that dst ends with, if dst[from:]
// has it.
func AppendUnit(dst []byte, from int, u uint16) []byte {
	switch {
	case u < utf8.RuneSelf:
		return append(dst, byte(u))
	case u < 0x800:
		return append(dst, 0xc0|byte(u>>6), 0x80|byte(u&0x3f))
	case u&0xfc00 == 0xdc00:
		if n := len(dst) - 3; n >= from && dst[n] == 0xed && dst[n+1]&0xf0 == 0xa0 {
			high := 0xd000 | rune(dst[n+1]&0x3f)<<6 | rune(dst[n+2]&0x3f)
			return utf8.AppendRune(dst[:n], 0x10000+(high-0xd800)<<10+rune(u)-0xdc00)
		}
	}
	return append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
}

// FromUnits gives the Go string of a Java string.
func FromUnits(units []uint16) string {
	var b []byte
	for _, u := range units {
		b = AppendUnit(b, 0, u)
	}
	return string(b)
}
