package serde

// AppendUnconsumed appends what d was given and has not made an element of: the part of an element that it keeps, and
// the rest of the buffer. An unaligned checkpoint stores it. Given to a new deserializer, the bytes read the same.
func (d *Deserializer) AppendUnconsumed(dst []byte) []byte {
	if d.err != nil {
		return dst
	}
	if d.held > 0 {
		dst = append(dst, d.length[:min(d.held, 4)]...)
		if d.held >= 4 {
			dst = append(dst, d.element...)
		}
	}
	return append(dst, d.buf[d.pos:]...)
}
