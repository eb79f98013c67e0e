package wtf8

import (
	"slices"
	"testing"
)

func TestIsASCII(t *testing.T) {
	for n := range 100 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i) & 0x7f
		}
		if !IsASCII(b) {
			t.Fatalf("%d bytes of ASCII are not taken for it", n)
		}
		for i := range b {
			b[i] |= 0x80
			if IsASCII(b) {
				t.Fatalf("byte %d of %d is not ASCII, and not seen", i, n)
			}
			b[i] &= 0x7f
		}
	}
}

// Every row of code units, two surrogates in every order among them, comes back from its Go string.
func TestUnitsComeBack(t *testing.T) {
	some := []uint16{0, 'a', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfffd, 0xffff}
	for _, a := range some {
		for _, b := range some {
			for _, c := range some {
				want := []uint16{a, b, c}
				s := FromUnits(want)
				var got []uint16
				for rest := s; rest != ""; {
					r, n := DecodeRune(rest)
					rest = rest[n:]
					if r >= 0x10000 {
						high, low := Split(r)
						got = append(got, uint16(high), uint16(low))
					} else {
						got = append(got, uint16(r))
					}
				}
				if !slices.Equal(got, want) || Units(s) != len(want) {
					t.Fatalf("%x came back as %x through %x, %d units", want, got, s, Units(s))
				}
			}
		}
	}
}
