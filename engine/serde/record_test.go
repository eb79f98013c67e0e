package serde

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"weir/engine/internal/wtf8"
)

// randomString mixes ASCII, longer characters, surrogates that stand alone and bytes that are no UTF-8.
func randomString(rnd *rand.Rand) string {
	var b []byte
	pieces := []string{"a", "Z", "\x00", "\x7f", "\u0080", "é", "\u07ff", "\u0800", "\u3fff", "\u4000", "用", "\ufffd", "\uffff",
		"😀", "\xed\xa0\xbd", "\xed\xb8\x80", "\xff", "\xed\xa0"}
	most := len(pieces)
	if rnd.IntN(2) == 0 {
		most = 4
	}
	for n := rnd.IntN(50); n > 0; n-- {
		b = append(b, pieces[rnd.IntN(most)]...)
	}
	return string(b)
}

// units is the plain definition of what a Go string is in Java.
func units(s string) []uint16 {
	var us []uint16
	for len(s) > 0 {
		r, n := wtf8.DecodeRune(s)
		if s = s[n:]; r >= 0x10000 {
			us = utf16.AppendRune(us, r)
		} else {
			us = append(us, uint16(r))
		}
	}
	return us
}

func plainString(s string) []byte {
	us := units(s)
	b := binary.AppendUvarint(nil, uint64(len(us)+1))
	for _, u := range us {
		b = binary.AppendUvarint(b, uint64(u))
	}
	return b
}

func randomRecord(rnd *rand.Rand, s Schema) Record {
	var r Record
	switch s.Key {
	case String:
		r.Key.Str = randomString(rnd)
	case Bool:
		r.Key.Num = int64(rnd.IntN(2))
	case Int:
		r.Key.Num = int64(int32(rnd.Uint32()))
	case Double:
		r.Key.Num = doubleToLongBits(int64(rnd.Uint64()))
	default:
		r.Key.Num = int64(rnd.Uint64())
	}
	if s.Payload {
		r.Payload = randomString(rnd)
	}
	if r.HasTimestamp = rnd.IntN(2) == 0; r.HasTimestamp {
		r.Timestamp = int64(rnd.Uint64())
	}
	return r
}

func schemas() []Schema {
	var ss []Schema
	for t := Long; t <= Double; t++ {
		ss = append(ss, Schema{Key: t}, Schema{Key: t, Payload: true})
	}
	return ss
}

// java gives a string as it comes back from Java: halves of a pair joined, bytes that are no UTF-8 replaced.
func java(s string) string { return wtf8.FromUnits(units(s)) }

func TestRecordsComeBack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var d Decoder
	for _, s := range schemas() {
		for range 2_000 {
			r := randomRecord(rnd, s)
			buf := make([]byte, MaxEncoded(s, &r))
			b := buf[:PutRecord(buf, s, &r)]
			if n := binary.BigEndian.Uint32(b); int(n) != len(b)-4 {
				t.Fatalf("%+v %+v: length %d of %d bytes", s, r, n, len(b))
			}
			if s.Payload && !bytes.HasSuffix(b, plainString(r.Payload)) {
				t.Fatalf("%q: % x, expected % x at its end", r.Payload, b, plainString(r.Payload))
			}
			back := Record{Key: Key{Num: 7, Str: "stale"}, Payload: "stale"}
			if err := ReadRecord(b[4:], s, &back, &d); err != nil {
				t.Fatalf("%+v %+v: %v", s, r, err)
			}
			r.Key.Str, r.Payload = java(r.Key.Str), java(r.Payload)
			if back != r {
				t.Fatalf("%+v: %#v came back as %#v", s, r, back)
			}
			if HashKey(s.Key, back.Key) != HashKey(s.Key, r.Key) {
				t.Fatalf("%+v: the hash of %#v changed", s, r)
			}
			// No shorter piece of it is a record, and no longer one.
			for cut := range b[4:] {
				if ReadRecord(b[4:4+cut], s, &back, &d) == nil {
					t.Fatalf("%+v: % x read from %d bytes", s, b[4:], cut)
				}
			}
			if ReadRecord(append(b[4:], 0), s, &back, &d) == nil {
				t.Fatalf("%+v: a byte too many is not noticed", s)
			}
		}
	}
}

func TestNaNIsOneKey(t *testing.T) {
	a, b := Key{Num: 0x7ff0000000000001}, Key{Num: -1}
	if HashKey(Double, a) != 2146959360 || HashKey(Double, b) != 2146959360 {
		t.Errorf("hashes %d and %d, expected 2146959360", HashKey(Double, a), HashKey(Double, b))
	}
	if got := AppendKey(nil, Double, b); !bytes.Equal(got, []byte{0x7f, 0xf8, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("bytes % x", got)
	}
	inf := int64(math.Float64bits(math.Inf(-1)))
	if doubleToLongBits(inf) != inf {
		t.Error("an infinity is no NaN")
	}
}

func TestReadErrors(t *testing.T) {
	long, tuple := Schema{}, Schema{Payload: true}
	for _, c := range []struct {
		schema Schema
		b      string
		want   string
	}{
		{long, "", "element of 0 bytes, must have a tag"},
		{long, "\x06", "tag 6, must be 0 to 5"},
		{long, "\x01\x00", "record of 2 bytes, expected a long: the bytes from 1 on do not fit it"},
		{long, "\x00\x00\x00", "the bytes from 1 on do not fit it"},
		{long, "\x02\x00", "watermark of 2 bytes, must have 9"},
		{long, "\x04\x00\x00\x00\x01", "watermark status 1, must be 0 (active) or -1 (idle)"},
		{long, "\x04\x00\x00\x00\x00", "found a watermark status, expected a record"},
		{tuple, "\x0100000000\x00", "expected a Tuple2<long, string>: the bytes from 9 on do not fit it"},
		{tuple, "\x0100000000\x05abc", "the bytes from 9 on do not fit it"},
		{tuple, "\x0100000000\xff\xff\xff\xff\x0fabc", "the bytes from 9 on do not fit it"},
		{tuple, "\x0100000000\xff\xff\xff\xff\xff\xff\xff\xff\x01", "the bytes from 9 on do not fit it"},
		{tuple, "\x0100000000\x02\xff\xff\x07", "the bytes from 9 on do not fit it"},
		{tuple, "\x0100000000\x02\xff\xff\xff\x01", "the bytes from 9 on do not fit it"},
	} {
		var r Record
		var d Decoder
		err := ReadRecord([]byte(c.b), c.schema, &r, &d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, expected %q", c.b, err, c.want)
		}
	}
}

func TestASCIIStringsAreViews(t *testing.T) {
	s := Schema{Key: String, Payload: true}
	r := Record{Key: Key{Str: "key"}, Payload: "payload"}
	b := AppendRecord(nil, s, &r)
	var back Record
	var d Decoder
	if err := ReadRecord(b[4:], s, &back, &d); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = '.'
	}
	if back.Key.Str != "..." || back.Payload != "......." {
		t.Errorf("%q and %q are copies", back.Key.Str, back.Payload)
	}
}

func TestNoAllocations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, s := range schemas() {
		r := randomRecord(rnd, s)
		r.Payload = strings.Repeat("用户😀 ascii ", 10)
		buf := make([]byte, MaxEncoded(s, &r))
		d := NewDeserializer(s)
		var back Record
		once := func() {
			n := PutRecord(buf, s, &r)
			for _, piece := range [][]byte{buf[:n], buf[:2], buf[2:n]} {
				d.SetBuffer(piece)
				d.Next(&back)
			}
		}
		once() // the first time scratch is made
		if n := testing.AllocsPerRun(100, once); n != 0 {
			t.Errorf("%+v: %v allocations a record", s, n)
		}
	}
}
