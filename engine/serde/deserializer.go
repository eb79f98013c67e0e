package serde

import (
	"encoding/binary"
	"fmt"
)

// Deserializer reads elements from the buffers of one channel, in the order of the channel. An element may span
// buffers. It follows Flink's SpillingAdaptiveSpanningRecordDeserializer, without its spilling to disk: an element
// above MaxRecordBytes is an error.
//
//	d.SetBuffer(bytes)
//	for {
//		kind, ok, err := d.Next(&record)
//		if !ok {
//			break // the buffer is used up, or err says what is wrong
//		}
//		...
//	}
//
// An element that lies whole in the buffer is read in place: the strings of the record are views of the buffer, which
// must stay until the next call of Next. It belongs to one goroutine.
type Deserializer struct {
	_ [128]byte // what changes per record has its own cache lines

	buf []byte
	pos int
	// held is how many bytes of an unfinished element are kept: of its length first, then of itself.
	held   int
	schema Schema

	// Decoder has the values of elements that are not records.
	Decoder

	length  [4]byte
	need    int // bytes of the unfinished element; counts once held >= 4
	element []byte
	err     error

	_ [128]byte
}

// failed in held keeps Next off the fast path after an error.
const failed = -1

// NewDeserializer makes a deserializer for a channel with records of this schema. It is a value, so that a task can keep
// it beside what else it has per channel.
func NewDeserializer(s Schema) Deserializer { return Deserializer{schema: s} }

// SetBuffer gives d the next bytes of the channel. What was left of those before is dropped, so call it when Next has
// said that they are used up.
func (d *Deserializer) SetBuffer(b []byte) { d.buf, d.pos = b, 0 }

// Next reads the next element and says what it is: a record goes to r, another element to d.Decoder. ok is false if
// the bytes end before the element does, or with an error, which stays: where the next element would start is not
// known. What is read lives until the next call.
func (d *Deserializer) Next(r *Record) (kind Kind, ok bool, err error) {
	if b := d.buf[d.pos:]; d.held == 0 && len(b) >= 4 {
		n := uint(binary.BigEndian.Uint32(b))
		if b = b[4:]; n <= uint(len(b)) {
			d.pos += int(n) + 4
			k, err := ReadElement(b[:n], d.schema, r, &d.Decoder)
			if err != nil {
				return d.fail(err)
			}
			return k, true, nil
		}
	}
	return d.nextSpanning(r)
}

// nextSpanning gathers an element that does not lie whole in the buffer.
func (d *Deserializer) nextSpanning(r *Record) (Kind, bool, error) {
	if d.err != nil {
		return d.fail(d.err)
	}
	if d.held < 4 {
		n := copy(d.length[d.held:], d.buf[d.pos:])
		d.pos += n
		if d.held += n; d.held < 4 {
			return KindNone, false, nil
		}
		n32 := int32(binary.BigEndian.Uint32(d.length[:]))
		if n32 < 0 || n32 > MaxRecordBytes {
			return d.fail(fmt.Errorf("element length %d, must be 0 to %d", n32, MaxRecordBytes))
		}
		d.need = int(n32)
		if d.element = d.element[:0]; cap(d.element) > keepScratch && d.need <= keepScratch {
			d.element = nil
		}
	}
	// The element grows with the bytes that come, not with the length that they promise.
	n := min(d.need-len(d.element), len(d.buf)-d.pos)
	d.element = append(d.element, d.buf[d.pos:d.pos+n]...)
	d.pos += n
	d.held += n
	if len(d.element) < d.need {
		return KindNone, false, nil
	}
	d.held = 0
	k, err := ReadElement(d.element, d.schema, r, &d.Decoder)
	if err != nil {
		return d.fail(err)
	}
	return k, true, nil
}

// fail keeps the first error, and gives it from then on.
func (d *Deserializer) fail(err error) (Kind, bool, error) {
	if d.err == nil {
		d.err = err
	}
	d.held, d.pos = failed, len(d.buf)
	return KindNone, false, d.err
}

// Remaining is how many bytes of the buffer are not read yet.
func (d *Deserializer) Remaining() int { return len(d.buf) - d.pos }

// Unfinished is how many bytes of an element that has not come whole are kept. At the end of a channel there must be
// none.
func (d *Deserializer) Unfinished() int { return max(d.held, 0) }

// Reset makes d as new. It keeps its memory.
func (d *Deserializer) Reset() {
	d.buf, d.pos, d.held, d.err = nil, 0, 0, nil
	d.element = d.element[:0]
	d.Decoder = Decoder{scratch: d.scratch[:0]}
}

// Result is what Flink's RecordDeserializer says of a buffer after each read.
type Result uint8

// Flink's deserialization results.
const (
	// Partial: the buffer is used up inside an element.
	Partial Result = iota
	// Intermediate: an element was read, and the buffer has more.
	Intermediate
	// Last: an element was read, and the buffer is used up.
	Last
)

var results = [...]string{"PARTIAL_RECORD", "INTERMEDIATE_RECORD_FROM_BUFFER", "LAST_RECORD_FROM_BUFFER"}

// String gives Flink's name of r.
func (r Result) String() string { return name(results[:], "Result", uint8(r)) }

// NextResult is Next with Flink's answer.
func (d *Deserializer) NextResult(r *Record) (Result, Kind, error) {
	k, ok, err := d.Next(r)
	switch {
	case !ok:
		return Partial, k, err
	case d.Remaining() > 0:
		return Intermediate, k, nil
	}
	return Last, k, nil
}
