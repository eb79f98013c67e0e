package serde

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"weir/engine/internal/wtf8"
)

// Decoder holds what reading elements needs beside the bytes: the characters of strings that are not ASCII, and the
// values of elements that are not records. It belongs to one goroutine and starts ready as its zero value.
type Decoder struct {
	// Watermark is the last watermark read, in ms.
	Watermark int64
	// Status is the last watermark status read.
	Status WatermarkStatus
	// Latency is the last latency marker read.
	Latency LatencyMarker
	// Backlog is the isBacklog of the last record attributes read.
	Backlog bool

	scratch []byte
}

// keepScratch is the most bytes of scratch that are kept for the next record.
const keepScratch = 1 << 20

// ReadRecord reads one element, without its length, that must be a record. Strings in r are views of src if they are
// ASCII, else of d: they live until src changes and d reads its next element.
func ReadRecord(src []byte, s Schema, r *Record, d *Decoder) error {
	k, err := ReadElement(src, s, r, d)
	if err == nil && k != KindRecord {
		return fmt.Errorf("element of %d bytes: found a %v, expected a record", len(src), k)
	}
	return err
}

// ReadElement reads one element, without its length, and says what it is. A record goes to r, as ReadRecord has it;
// another element to d, and r stays as it was. An element must end where src ends.
func ReadElement(src []byte, s Schema, r *Record, d *Decoder) (Kind, error) {
	if len(src) == 0 {
		return KindNone, readError(src, s, 0)
	}
	p := 1
	switch src[0] {
	case tagRecordWithoutTimestamp:
		r.HasTimestamp, r.Timestamp = false, 0
	case tagRecordWithTimestamp:
		if len(src) < 9 {
			return KindNone, readError(src, s, 1)
		}
		r.HasTimestamp, r.Timestamp = true, int64(binary.BigEndian.Uint64(src[1:]))
		p = 9
	default:
		return d.readOther(src)
	}
	d.scratch = d.scratch[:0]
	if s.Key == Long {
		if len(src)-p < 8 {
			return KindNone, readError(src, s, p)
		}
		r.Key = Key{Num: int64(binary.BigEndian.Uint64(src[p:]))}
		p += 8
	} else if n := d.readKey(src, p, s.Key, &r.Key); n > 0 {
		p = n
	} else {
		return KindNone, readError(src, s, p)
	}
	if s.Payload {
		str, n := d.readString(src, p)
		if n < 0 {
			return KindNone, readError(src, s, p)
		}
		r.Payload, p = str, n
	} else {
		r.Payload = ""
	}
	if p != len(src) {
		return KindNone, readError(src, s, p)
	}
	return KindRecord, nil
}

// readOther reads an element that is not a record.
func (d *Decoder) readOther(src []byte) (Kind, error) {
	k := ElementKind(src[0])
	want := 0
	switch k {
	case KindWatermark:
		want = WatermarkBytes - 4
	case KindLatencyMarker:
		want = LatencyMarkerBytes - 4
	case KindWatermarkStatus:
		want = 5
	case KindRecordAttributes:
		want = 2
	default:
		return KindNone, fmt.Errorf("element of %d bytes: tag %d, must be 0 to 5", len(src), src[0])
	}
	if len(src) != want {
		return KindNone, fmt.Errorf("%v of %d bytes, must have %d", k, len(src), want)
	}
	switch b := src[1:]; k {
	case KindWatermark:
		d.Watermark = int64(binary.BigEndian.Uint64(b))
	case KindLatencyMarker:
		d.Latency = LatencyMarker{
			MarkedTime: int64(binary.BigEndian.Uint64(b)),
			OperatorID: [16]byte(b[8:24]),
			Subtask:    int32(binary.BigEndian.Uint32(b[24:])),
		}
	case KindWatermarkStatus:
		status := WatermarkStatus(binary.BigEndian.Uint32(b))
		if status != Active && status != Idle {
			return KindNone, fmt.Errorf("watermark status %d, must be 0 (active) or -1 (idle)", int32(status))
		}
		d.Status = status
	case KindRecordAttributes:
		d.Backlog = b[0] != 0
	}
	return k, nil
}

// ReadKey reads a key as its Flink serializer writes it and gives the bytes behind it. The string of a String key is
// a view of src if it is ASCII.
func ReadKey(src []byte, t KeyType) (Key, []byte, error) {
	var d Decoder
	var k Key
	p := d.readKey(src, 0, t, &k)
	if p < 0 {
		return Key{}, src, fmt.Errorf("%v key in %d bytes: the bytes end early or are no such value", t, len(src))
	}
	return k, src[p:], nil
}

// ReadString reads a string as Flink's StringSerializer writes it and gives the bytes behind it. The string is a view
// of src if it is ASCII.
func ReadString(src []byte) (string, []byte, error) {
	k, rest, err := ReadKey(src, String)
	return k.Str, rest, err
}

// readKey reads a key at src[p:] and gives the position behind it; -1 if the bytes are none.
func (d *Decoder) readKey(src []byte, p int, t KeyType, k *Key) int {
	b := src[p:]
	switch t {
	case Int:
		if len(b) < 4 {
			return -1
		}
		*k = Key{Num: int64(int32(binary.BigEndian.Uint32(b)))}
		return p + 4
	case Bool:
		if len(b) < 1 {
			return -1
		}
		*k = Key{}
		if b[0] != 0 {
			k.Num = 1
		}
		return p + 1
	case String:
		s, n := d.readString(src, p)
		if n < 0 {
			return -1
		}
		*k = Key{Str: s}
		return n
	default:
		if len(b) < 8 {
			return -1
		}
		*k = Key{Num: int64(binary.BigEndian.Uint64(b))}
		return p + 8
	}
}

// readString reads a string at src[p:] and gives the position behind it; -1 if the bytes are none. Java's null is
// none here.
func (d *Decoder) readString(src []byte, p int) (string, int) {
	if p >= len(src) {
		return "", -1
	}
	n := int(src[p])
	p++
	if n >= 0x80 {
		n &= 0x7f
		for shift := 7; ; shift += 7 {
			if p >= len(src) || shift > 28 {
				return "", -1
			}
			c := src[p]
			p++
			n |= int(c&0x7f) << shift
			if c < 0x80 {
				break
			}
		}
	}
	n--
	// Each code unit has a byte at least, so a length beyond the bytes is refused before anything is made for it.
	if uint(n) > uint(len(src)-p) {
		return "", -1
	}
	if b := src[p : p+n]; wtf8.IsASCII(b) {
		return unsafe.String(unsafe.SliceData(b), n), p + n
	}
	return d.readUnits(src, p, n)
}

// readUnits reads n code units at src[p:].
func (d *Decoder) readUnits(src []byte, p, n int) (string, int) {
	if cap(d.scratch) > keepScratch && len(d.scratch) == 0 {
		d.scratch = nil
	}
	from := len(d.scratch)
	out := d.scratch
	for ; n > 0; n-- {
		if p >= len(src) {
			return "", -1
		}
		u := uint32(src[p])
		p++
		if u >= 0x80 {
			u &= 0x7f
			for shift := 7; ; shift += 7 {
				if p >= len(src) || shift > 14 {
					return "", -1
				}
				c := src[p]
				p++
				u |= uint32(c&0x7f) << shift
				if c < 0x80 {
					break
				}
			}
			if u > 0xffff {
				return "", -1
			}
		}
		out = wtf8.AppendUnit(out, from, uint16(u))
	}
	d.scratch = out
	b := out[from:]
	return unsafe.String(unsafe.SliceData(b), len(b)), p
}

// readError says what is wrong with the bytes of a record from position p on. It is out of the way of good records.
//
//go:noinline
func readError(src []byte, s Schema, p int) error {
	if len(src) == 0 {
		return fmt.Errorf("element of 0 bytes, must have a tag at least")
	}
	what := s.Key.String()
	if s.Payload {
		what = "Tuple2<" + what + ", string>"
	}
	return fmt.Errorf("record of %d bytes, expected a %s: the bytes from %d on do not fit it", len(src), what, p)
}
