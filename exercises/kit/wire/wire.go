// Package wire has the bytes of a call to a learner's core and of its answer. It imports the standard library alone, and
// is built into the sandbox together with the exercise's interface.
package wire

import "encoding/binary"

// Writer collects the parts of a call or an answer. The zero value is empty.
type Writer struct{ B []byte }

// Int adds a whole number.
func (w *Writer) Int(v int64) { w.B = binary.AppendVarint(w.B, v) }

// Bool adds a bool.
func (w *Writer) Bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	w.B = append(w.B, b)
}

// Bytes adds bytes behind their length.
func (w *Writer) Bytes(b []byte) {
	w.B = binary.AppendUvarint(w.B, uint64(len(b)))
	w.B = append(w.B, b...)
}

// String adds a text.
func (w *Writer) String(s string) { w.Bytes([]byte(s)) }

// Reader takes the parts out again, in the same order. What is missing reads as zero, and Short says so.
type Reader struct {
	B     []byte
	short bool
}

// Short says that something was missing.
func (r *Reader) Short() bool { return r.short }

// Int takes a whole number.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.B)
	if n <= 0 {
		r.short, r.B = true, nil
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Bool takes a bool.
func (r *Reader) Bool() bool {
	if len(r.B) == 0 {
		r.short = true
		return false
	}
	v := r.B[0] != 0
	r.B = r.B[1:]
	return v
}

// Bytes takes bytes, a view of the message.
func (r *Reader) Bytes() []byte {
	n, size := binary.Uvarint(r.B)
	if size <= 0 || n > uint64(len(r.B)-size) {
		r.short, r.B = true, nil
		return nil
	}
	b := r.B[size : size+int(n)]
	r.B = r.B[size+int(n):]
	return b
}

// String takes a text.
func (r *Reader) String() string { return string(r.Bytes()) }
