package serde

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
)

// Random streams, cut at random, against reading each element by itself.
func TestDeserializerOnRandomCuts(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		s := schemas()[rnd.IntN(len(schemas()))]
		var stream []byte
		var want []Record
		watermarks := 0
		for range rnd.IntN(60) {
			if rnd.IntN(5) == 0 {
				stream = AppendWatermark(stream, int64(watermarks))
				watermarks++
				continue
			}
			r := randomRecord(rnd, s)
			if rnd.IntN(10) == 0 && s.Payload {
				r.Payload = strings.Repeat(r.Payload, 100)
			}
			stream = AppendRecord(stream, s, &r)
			r.Key.Str, r.Payload = java(r.Key.Str), java(r.Payload)
			want = append(want, r)
		}
		d := NewDeserializer(s)
		seen := 0
		var r Record
		most := 1 + rnd.IntN(300)
		for rest, n := stream, 0; len(rest) > 0; rest = rest[n:] {
			n = min(rnd.IntN(most+1), len(rest))
			d.SetBuffer(rest[:n])
			for {
				kind, ok, err := d.Next(&r)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if !ok {
					break
				}
				switch kind {
				case KindRecord:
					if len(want) == 0 || r != want[0] {
						t.Fatalf("seed %d: read %#v, expected %#v", seed, r, want[:min(1, len(want))])
					}
					want = want[1:]
				case KindWatermark:
					if d.Watermark != int64(seen) {
						t.Fatalf("seed %d: watermark %d, expected %d", seed, d.Watermark, seen)
					}
					seen++
				}
			}
			if d.Remaining() != 0 {
				t.Fatalf("seed %d: %d bytes left in the buffer", seed, d.Remaining())
			}
		}
		if len(want) != 0 || seen != watermarks || d.Unfinished() != 0 {
			t.Fatalf("seed %d: %d records and %d watermarks are missing, %d bytes are unfinished", seed, len(want), watermarks-seen, d.Unfinished())
		}
	}
}

func TestDeserializerErrorsStay(t *testing.T) {
	for _, c := range []struct{ stream, want string }{
		{"\xff\xff\xff\xff", "element length -1, must be 0 to 268435456"},
		{"\x10\x00\x00\x01", "element length 268435457, must be 0 to 268435456"},
		{"\x00\x00\x00\x00", "element of 0 bytes"},
		{"\x00\x00\x00\x01\x09", "tag 9, must be 0 to 5"},
	} {
		for _, cut := range []int{0, 2} {
			d := NewDeserializer(Schema{})
			var r Record
			var err error
			for _, b := range []string{c.stream[:cut], c.stream[cut:]} {
				d.SetBuffer([]byte(b))
				_, _, err = d.Next(&r)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, expected %q", c.stream, err, c.want)
			}
			good := AppendWatermark(nil, 1)
			d.SetBuffer(good)
			if _, ok, again := d.Next(&r); ok || again != err {
				t.Errorf("%q: reads on after the error: %v, %v", c.stream, ok, again)
			}
			if d.Unfinished() != 0 {
				t.Errorf("%q: %d bytes are unfinished", c.stream, d.Unfinished())
			}
			d.Reset()
			d.SetBuffer(good)
			if k, ok, err := d.Next(&r); k != KindWatermark || !ok || err != nil {
				t.Errorf("%q: after a reset: %v, %v, %v", c.stream, k, ok, err)
			}
		}
	}
}

func TestDeserializerTrustsNoLength(t *testing.T) {
	d := NewDeserializer(Schema{})
	var r Record
	b := binary.BigEndian.AppendUint32(nil, MaxRecordBytes)
	d.SetBuffer(append(b, make([]byte, 100)...))
	if _, ok, err := d.Next(&r); ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if d.Unfinished() != 104 || cap(d.element) > 1024 {
		t.Errorf("%d bytes are kept in %d", d.Unfinished(), cap(d.element))
	}
}

// The memory of one huge record is not kept for the small ones after it.
func TestDeserializerForgetsHugeRecords(t *testing.T) {
	s := Schema{Payload: true}
	d := NewDeserializer(s)
	feed := func(payload string) {
		t.Helper()
		r := Record{Payload: payload}
		b := AppendRecord(nil, s, &r)
		var back Record
		for len(b) > 0 {
			n := min(len(b), 1<<15)
			if n == len(b) && n > 3 {
				n = 3
			}
			d.SetBuffer(b[:n])
			b = b[n:]
			if _, _, err := d.Next(&back); err != nil {
				t.Fatal(err)
			}
		}
		if back.Payload != payload {
			t.Fatalf("payload of %d came back as %d", len(payload), len(back.Payload))
		}
	}
	feed(strings.Repeat("é", 3<<20))
	feed("é")
	if cap(d.element) > keepScratch || cap(d.scratch) > keepScratch {
		t.Errorf("%d and %d bytes are kept", cap(d.element), cap(d.scratch))
	}
}
