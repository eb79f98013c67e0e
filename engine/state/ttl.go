package state

import (
	"encoding/binary"

	"weir/engine/serde"
)

// Stamped is a value with the time in ms when it was last written (or read, with TTL.OnRead).
type Stamped[V any] struct {
	At    int64
	Value V
}

const stampBytes = 8

// StampedCodec writes the time before the value: eight bytes, big-endian. A backend that drops expired values by
// itself reads it there.
func StampedCodec[V any](c Codec[V]) Codec[Stamped[V]] {
	s := Codec[Stamped[V]]{
		Name: c.Name,
		Append: func(dst []byte, v Stamped[V]) []byte {
			return c.Append(binary.BigEndian.AppendUint64(dst, uint64(v.At)), v.Value)
		},
		Read: func(src []byte) (v Stamped[V], rest []byte, err error) {
			if len(src) < stampBytes {
				return v, src, errShort
			}
			v.At = int64(binary.BigEndian.Uint64(src))
			v.Value, rest, err = c.Read(src[stampBytes:])
			return v, rest, err
		},
	}
	if c.Fixed > 0 {
		s.Fixed = c.Fixed + stampBytes
	} else {
		s.Size = func(v Stamped[V]) int { return stampBytes + c.Size(v.Value) }
	}
	if c.Copy != nil {
		s.Copy = func(v Stamped[V]) Stamped[V] { return Stamped[V]{v.At, c.Copy(v.Value)} }
	}
	if c.Absent != nil {
		s.Absent = func(v Stamped[V]) bool { return c.Absent(v.Value) }
	}
	return s
}

// StampedMapValue is the codec of the values of a map with a TTL: the time stands before an absent value too.
func StampedMapValue[V any](c Codec[V]) Codec[Stamped[V]] {
	if c.Absent == nil {
		return StampedCodec(c)
	}
	n := Codec[V]{
		Name:   c.Name,
		Append: func(dst []byte, v V) []byte { return AppendNullable(dst, &c, v) },
		Read:   func(src []byte) (V, []byte, error) { return ReadNullable(src, &c) },
		Size:   func(v V) int { return NullableBytes(&c, v) },
	}
	if c.Copy != nil {
		n.Copy = func(v V) V {
			if c.Absent(v) {
				return v
			}
			return c.Copy(v)
		}
	}
	return StampedCodec(n)
}

// Stamp is the time in ms that stands in the bytes of a value of the state (of one entry of a map). It is false where
// there is none: in a state without TTL, and in a list, whose elements have a time each.
func (m *Meta) Stamp(value []byte) (at int64, ok bool) {
	if !m.TTL.Enabled() || m.Kind == KindList {
		return 0, false
	}
	if m.Kind == KindMap && len(value) > 0 {
		value = value[1:] // the byte that tells an absent value
	}
	if len(value) < stampBytes {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(value)), true
}

// Expired tells whether a value written at the time has passed its time to live; all in ms.
func Expired(at, ttlMs, now int64) bool {
	if at > 0 && at > int64(^uint64(0)>>1)-ttlMs {
		return false // its end lies behind all time
	}
	return at+ttlMs <= now
}

// Expiry is what the wrappers of one state go by, and counts what they removed.
type Expiry struct {
	ttlMs   int64
	onRead  bool
	now     func() int64
	dropped *int64
	// each is how many entries an access to a value looks at beside its own.
	each func() int
}

// Cleaned has each access to a single value also look at so many other entries and remove those that have expired, where
// the backend can go through them (Flink's incremental cleanup, which its heap backend has).
func (e Expiry) Cleaned(each func() int) Expiry {
	e.each = each
	return e
}

// sweeper is a table that goes through its entries a few at a time.
type sweeper[V any] interface {
	Sweep(n int, gone func(V) bool) int
}

// NewExpiry makes it; dropped is where the backend counts removed values.
func NewExpiry(t TTL, now func() int64, dropped *int64) Expiry {
	return Expiry{ttlMs: t.After.Milliseconds(), onRead: t.OnRead, now: now, dropped: dropped}
}

// WithTTL hides values that have expired, and removes each when it is read.
func WithTTL[V any](t Table[Stamped[V]], e Expiry) Table[V] {
	s, _ := t.(sweeper[Stamped[V]])
	return &ttlTable[V]{t, e, s}
}

type ttlTable[V any] struct {
	t     Table[Stamped[V]]
	e     Expiry
	sweep sweeper[Stamped[V]] // nil where the backend cleans up by itself
}

// clean is the access's share of the incremental cleanup.
func (t *ttlTable[V]) clean(now int64) {
	if t.sweep == nil || t.e.each == nil {
		return
	}
	if n := t.e.each(); n > 0 {
		t.sweep.Sweep(n, func(s Stamped[V]) bool { return Expired(s.At, t.e.ttlMs, now) })
	}
}

// Ages counts the entries that have not expired, and those that have and are still stored.
func (t *ttlTable[V]) Ages() (live, expired int64, err error) {
	now := t.e.now()
	err = t.t.Each(func(_ int, _ serde.Key, _ Window, s Stamped[V]) bool {
		if Expired(s.At, t.e.ttlMs, now) {
			expired++
		} else {
			live++
		}
		return true
	})
	return live, expired, err
}

func (t *ttlTable[V]) Get(ns Window) (v V, ok bool, err error) {
	s, ok, err := t.t.Get(ns)
	if err != nil {
		return v, false, err
	}
	now := t.e.now()
	defer t.clean(now)
	if !ok {
		return v, false, nil
	}
	if Expired(s.At, t.e.ttlMs, now) {
		*t.e.dropped++
		return v, false, t.t.Remove(ns)
	}
	if t.e.onRead && s.At != now {
		err = t.t.Put(ns, Stamped[V]{now, s.Value})
	}
	return s.Value, err == nil, err
}

func (t *ttlTable[V]) Put(ns Window, v V) error {
	now := t.e.now()
	err := t.t.Put(ns, Stamped[V]{now, v})
	t.clean(now)
	return err
}

func (t *ttlTable[V]) Remove(ns Window) error { return t.t.Remove(ns) }

func (t *ttlTable[V]) Each(f func(group int, key serde.Key, ns Window, v V) bool) error {
	now := t.e.now()
	return t.t.Each(func(group int, key serde.Key, ns Window, s Stamped[V]) bool {
		return Expired(s.At, t.e.ttlMs, now) || f(group, key, ns, s.Value)
	})
}

func (t *ttlTable[V]) Keys(ns Window) ([]serde.Key, error) { return t.t.Keys(ns) }
func (t *ttlTable[V]) Entries() int64                      { return t.t.Entries() }

// ListWithTTL gives each element of a list its own time.
func ListWithTTL[E any](t ListTable[Stamped[E]], e Expiry) ListTable[E] { return &ttlList[E]{t, e} }

type ttlList[E any] struct {
	t ListTable[Stamped[E]]
	e Expiry
}

func (t *ttlList[E]) stamp(list []E) []Stamped[E] {
	now := t.e.now()
	out := make([]Stamped[E], len(list))
	for i, v := range list {
		out[i] = Stamped[E]{now, v}
	}
	return out
}

// live are the elements that have not expired, and whether that is all.
func (t *ttlList[E]) live(list []Stamped[E], now int64) ([]E, bool) {
	out := make([]E, 0, len(list))
	for _, s := range list {
		if !Expired(s.At, t.e.ttlMs, now) {
			out = append(out, s.Value)
		}
	}
	return out, len(out) == len(list)
}

func (t *ttlList[E]) Get(ns Window) ([]E, bool, error) {
	list, ok, err := t.t.Get(ns)
	if err != nil || !ok {
		return nil, false, err
	}
	now := t.e.now()
	out, all := t.live(list, now)
	*t.e.dropped += int64(len(list) - len(out))
	switch {
	case len(out) == 0:
		return nil, false, t.t.Remove(ns)
	case t.e.onRead:
		err = t.t.Put(ns, t.stamp(out))
	case !all:
		kept := make([]Stamped[E], 0, len(out))
		for _, s := range list {
			if !Expired(s.At, t.e.ttlMs, now) {
				kept = append(kept, s)
			}
		}
		err = t.t.Put(ns, kept)
	}
	return out, err == nil, err
}

func (t *ttlList[E]) Put(ns Window, list []E) error       { return t.t.Put(ns, t.stamp(list)) }
func (t *ttlList[E]) Add(ns Window, list ...E) error      { return t.t.Add(ns, t.stamp(list)...) }
func (t *ttlList[E]) Remove(ns Window) error              { return t.t.Remove(ns) }
func (t *ttlList[E]) Keys(ns Window) ([]serde.Key, error) { return t.t.Keys(ns) }
func (t *ttlList[E]) Entries() int64                      { return t.t.Entries() }

func (t *ttlList[E]) Each(f func(group int, key serde.Key, ns Window, list []E) bool) error {
	now := t.e.now()
	return t.t.Each(func(group int, key serde.Key, ns Window, list []Stamped[E]) bool {
		out, _ := t.live(list, now)
		return len(out) == 0 || f(group, key, ns, out)
	})
}

// MapWithTTL gives each entry of a map its own time.
func MapWithTTL[K comparable, V any](t MapTable[K, Stamped[V]], e Expiry) MapTable[K, V] {
	return &ttlMap[K, V]{t, e}
}

type ttlMap[K comparable, V any] struct {
	t MapTable[K, Stamped[V]]
	e Expiry
}

func (t *ttlMap[K, V]) Get(ns Window, k K) (v V, ok bool, err error) {
	s, ok, err := t.t.Get(ns, k)
	if err != nil || !ok {
		return v, false, err
	}
	now := t.e.now()
	if Expired(s.At, t.e.ttlMs, now) {
		*t.e.dropped++
		return v, false, t.t.Remove(ns, k)
	}
	if t.e.onRead && s.At != now {
		err = t.t.Put(ns, k, Stamped[V]{now, s.Value})
	}
	return s.Value, err == nil, err
}

func (t *ttlMap[K, V]) Put(ns Window, k K, v V) error {
	return t.t.Put(ns, k, Stamped[V]{t.e.now(), v})
}
func (t *ttlMap[K, V]) Remove(ns Window, k K) error         { return t.t.Remove(ns, k) }
func (t *ttlMap[K, V]) RemoveAll(ns Window) error           { return t.t.RemoveAll(ns) }
func (t *ttlMap[K, V]) Keys(ns Window) ([]serde.Key, error) { return t.t.Keys(ns) }
func (t *ttlMap[K, V]) Entries() int64                      { return t.t.Entries() }

func (t *ttlMap[K, V]) EachEntry(ns Window, f func(k K, v V) bool) error {
	now := t.e.now()
	var failed error
	err := t.t.EachEntry(ns, func(k K, s Stamped[V]) bool {
		if Expired(s.At, t.e.ttlMs, now) {
			*t.e.dropped++
			failed = t.t.Remove(ns, k)
			return failed == nil
		}
		if t.e.onRead && s.At != now {
			if failed = t.t.Put(ns, k, Stamped[V]{now, s.Value}); failed != nil {
				return false
			}
		}
		return f(k, s.Value)
	})
	if err == nil {
		err = failed
	}
	return err
}

func (t *ttlMap[K, V]) Each(f func(group int, key serde.Key, ns Window, k K, v V) bool) error {
	now := t.e.now()
	return t.t.Each(func(group int, key serde.Key, ns Window, k K, s Stamped[V]) bool {
		return Expired(s.At, t.e.ttlMs, now) || f(group, key, ns, k, s.Value)
	})
}
