package state

import (
	"encoding/binary"
	"fmt"
)

// List is the codec of Flink's ListSerializer: four bytes of count, then the elements.
func List[E any](c Codec[E]) Codec[[]E] {
	elements := Elements(c)
	return Codec[[]E]{
		Name: "list<" + c.Name + ">",
		Append: func(dst []byte, v []E) []byte {
			return elements.Append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v)
		},
		Read: func(src []byte) ([]E, []byte, error) {
			n, rest, err := readCount(src)
			if err != nil {
				return nil, src, err
			}
			v := make([]E, 0, min(n, len(rest)))
			for i := range n {
				var e E
				if e, rest, err = c.Read(rest); err != nil {
					return nil, src, fmt.Errorf("element %d of %d: %w", i+1, n, err)
				}
				v = append(v, e)
			}
			return v, rest, nil
		},
		Size:   func(v []E) int { return 4 + elements.Size(v) },
		Copy:   elements.Copy,
		Absent: func(v []E) bool { return v == nil },
	}
}

// Elements is the codec of the contents of a ListState: one element behind the other until the bytes end, so that an
// element is added without reading the others.
func Elements[E any](c Codec[E]) Codec[[]E] {
	return Codec[[]E]{
		Name: c.Name,
		Append: func(dst []byte, v []E) []byte {
			for _, e := range v {
				dst = c.Append(dst, e)
			}
			return dst
		},
		Read: func(src []byte) ([]E, []byte, error) {
			var v []E
			if c.Fixed > 0 {
				v = make([]E, 0, len(src)/c.Fixed)
			}
			for len(src) > 0 {
				e, rest, err := c.Read(src)
				if err != nil {
					return nil, src, fmt.Errorf("element %d: %w", len(v)+1, err)
				}
				if len(rest) == len(src) {
					return nil, src, fmt.Errorf("element %d has no bytes", len(v)+1)
				}
				v, src = append(v, e), rest
			}
			return v, src, nil
		},
		Size: func(v []E) int {
			if c.Fixed > 0 {
				return c.Fixed * len(v)
			}
			n := 0
			for _, e := range v {
				n += c.Size(e)
			}
			return n
		},
		Copy: func(v []E) []E {
			if v == nil {
				return nil
			}
			out := append(make([]E, 0, len(v)+len(v)/4+1), v...)
			if c.Copy != nil {
				for i := range out {
					out[i] = c.Copy(out[i])
				}
			}
			return out
		},
		Absent: func(v []E) bool { return v == nil },
	}
}

// Map is the codec of Flink's MapSerializer: four bytes of count, then for each entry the key, one byte that is 1 where
// the value is absent, and the value where it is not. The order is that of Go's maps: none.
func Map[K comparable, V any](k Codec[K], v Codec[V]) Codec[map[K]V] {
	entry := func(value V) int {
		if v.IsAbsent(value) {
			return 1
		}
		return 1 + v.Bytes(value)
	}
	return Codec[map[K]V]{
		Name: "map<" + k.Name + "," + v.Name + ">",
		Append: func(dst []byte, m map[K]V) []byte {
			dst = binary.BigEndian.AppendUint32(dst, uint32(len(m)))
			for key, value := range m {
				dst = AppendNullable(k.Append(dst, key), &v, value)
			}
			return dst
		},
		Read: func(src []byte) (map[K]V, []byte, error) {
			n, rest, err := readCount(src)
			if err != nil {
				return nil, src, err
			}
			m := make(map[K]V, min(n, len(rest)))
			for i := range n {
				var key K
				var value V
				if key, rest, err = k.Read(rest); err == nil {
					value, rest, err = ReadNullable(rest, &v)
				}
				if err != nil {
					return nil, src, fmt.Errorf("entry %d of %d: %w", i+1, n, err)
				}
				m[key] = value
			}
			return m, rest, nil
		},
		Size: func(m map[K]V) int {
			n := 4
			for key, value := range m {
				n += k.Bytes(key) + entry(value)
			}
			return n
		},
		Copy: func(m map[K]V) map[K]V {
			if m == nil {
				return nil
			}
			out := make(map[K]V, len(m))
			for key, value := range m {
				if !v.IsAbsent(value) {
					value = v.Clone(value)
				}
				out[k.Clone(key)] = value
			}
			return out
		},
		Absent: func(m map[K]V) bool { return m == nil },
	}
}

// Pointer makes a codec of pointers, whose absent value is nil. Its bytes are those of the value pointed to.
func Pointer[V any](c Codec[V]) Codec[*V] {
	p := Codec[*V]{
		Name:   c.Name,
		Append: func(dst []byte, v *V) []byte { return c.Append(dst, *v) },
		Read: func(src []byte) (*V, []byte, error) {
			v, rest, err := c.Read(src)
			return &v, rest, err
		},
		Fixed: c.Fixed,
		Copy: func(v *V) *V {
			if v == nil {
				return nil
			}
			w := c.Clone(*v)
			return &w
		},
		Absent: func(v *V) bool { return v == nil },
	}
	if c.Size != nil {
		p.Size = func(v *V) int { return c.Size(*v) }
	}
	return p
}

// AppendNullable writes a value of a map: one byte that is 1 where it is absent, else 0 and the value. RocksDBMapState
// writes the same.
func AppendNullable[V any](dst []byte, c *Codec[V], v V) []byte {
	if c.IsAbsent(v) {
		return append(dst, 1)
	}
	return c.Append(append(dst, 0), v)
}

// ReadNullable reads what AppendNullable wrote.
func ReadNullable[V any](src []byte, c *Codec[V]) (v V, rest []byte, err error) {
	switch {
	case len(src) == 0:
		return v, src, errShort
	case src[0] == 1 && c.Absent != nil:
		return v, src[1:], nil
	case src[0] != 0:
		return v, src, fmt.Errorf("the byte before a value of a map is %d, expected 0", src[0])
	}
	return c.Read(src[1:])
}

// NullableBytes is how many bytes AppendNullable writes.
func NullableBytes[V any](c *Codec[V], v V) int {
	if c.IsAbsent(v) {
		return 1
	}
	return 1 + c.Bytes(v)
}
