package state

import (
	"fmt"

	"weir/engine/serde"
)

// base is what all kinds of state have: a name for errors, the current namespace.
type base struct {
	name string
	ctx  *KeyContext
	ns   Window
}

// SetNamespace sets the window that the next accesses speak of, until it is set anew.
func (b *base) SetNamespace(w Window) { b.ns = w }

// Name is the descriptor's.
func (b *base) Name() string { return b.name }

func (b *base) fail(err error) error { return fmt.Errorf("state %q: %w", b.name, err) }

// forEach makes each key current and calls f.
func (b *base) forEach(keys []serde.Key, err error, f func(key serde.Key) error) error {
	if err != nil {
		return err
	}
	defer b.ctx.Clear()
	for _, k := range keys {
		if err := b.ctx.Set(k, serde.HashKey(b.ctx.keyType, k)); err != nil {
			return b.fail(err)
		}
		if err := f(k); err != nil {
			return err
		}
	}
	return nil
}

// ValueState is one value per key and namespace.
type ValueState[V any] struct {
	base
	table Table[V]
	codec Codec[V]
	def   func() V
}

// NewValueState makes it of a backend's table.
func NewValueState[V any](ctx *KeyContext, t Table[V], d ValueDescriptor[V]) *ValueState[V] {
	return &ValueState[V]{base{name: d.Name, ctx: ctx}, t, d.Codec, d.Default}
}

// Get is the value of the current key; false if it has none.
func (s *ValueState[V]) Get() (v V, ok bool, err error) {
	return s.table.Get(s.ns)
}

// Value is the value of the current key, or the default if it has none.
func (s *ValueState[V]) Value() (V, error) {
	v, ok, err := s.table.Get(s.ns)
	if !ok && s.def != nil && err == nil {
		v = s.def()
	}
	return v, err
}

// Update sets the value. The absent value clears it.
func (s *ValueState[V]) Update(v V) error {
	if s.codec.Absent != nil && s.codec.Absent(v) {
		return s.Clear()
	}
	return s.table.Put(s.ns, v)
}

// Clear removes the value.
func (s *ValueState[V]) Clear() error {
	return s.table.Remove(s.ns)
}

// Each goes through all values by key group, without a current key, until f returns false. f must not change them.
func (s *ValueState[V]) Each(f func(group int, key serde.Key, ns Window, v V) bool) error {
	return s.table.Each(f)
}

// ForEachKey calls f with each key that has a value in the current namespace as the current key (Flink's
// applyToAllKeys). f may change the state.
func (s *ValueState[V]) ForEachKey(f func(key serde.Key) error) error {
	keys, err := s.table.Keys(s.ns)
	return s.forEach(keys, err, f)
}

// Entries is the number of values.
func (s *ValueState[V]) Entries() int64 { return s.table.Entries() }

// Ages counts the values that have not expired, and those that have and are still stored; without a TTL all are live.
func (s *ValueState[V]) Ages() (live, expired int64, err error) {
	if t, ok := s.table.(interface {
		Ages() (live, expired int64, err error)
	}); ok {
		return t.Ages()
	}
	return s.Entries(), 0, nil
}

// ListState is a list of elements per key and namespace.
type ListState[E any] struct {
	base
	table ListTable[E]
	codec Codec[E]
}

// NewListState makes it of a backend's table.
func NewListState[E any](ctx *KeyContext, t ListTable[E], d ListDescriptor[E]) *ListState[E] {
	return &ListState[E]{base{name: d.Name, ctx: ctx}, t, d.Codec}
}

// Get is the list, nil if there is none.
func (s *ListState[E]) Get() ([]E, error) {
	v, _, err := s.table.Get(s.ns)
	return v, err
}

func (s *ListState[E]) check(list []E) error {
	if s.codec.Absent != nil {
		for i, e := range list {
			if s.codec.Absent(e) {
				return s.fail(fmt.Errorf("element %d of %d is absent, and a list holds no such element", i+1, len(list)))
			}
		}
	}
	return nil
}

// Add adds elements at the end.
func (s *ListState[E]) Add(e ...E) error {
	if err := s.check(e); err != nil || len(e) == 0 {
		return err
	}
	return s.table.Add(s.ns, e...)
}

// Update replaces the list. An empty one clears it.
func (s *ListState[E]) Update(list []E) error {
	if err := s.check(list); err != nil {
		return err
	}
	if len(list) == 0 {
		return s.Clear()
	}
	return s.table.Put(s.ns, append(make([]E, 0, len(list)), list...))
}

// Clear removes the list.
func (s *ListState[E]) Clear() error {
	return s.table.Remove(s.ns)
}

// Merge moves the lists of the sources behind that of the target, for the current key; the current namespace stays.
func (s *ListState[E]) Merge(target Window, sources ...Window) error {
	for _, ns := range sources {
		if ns == target {
			continue
		}
		list, ok, err := s.table.Get(ns)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		list = append(make([]E, 0, len(list)), list...)
		if err := s.table.Remove(ns); err != nil {
			return err
		}
		if err := s.table.Add(target, list...); err != nil {
			return err
		}
	}
	return nil
}

// Each goes through all lists by key group, without a current key, until f returns false. f must not change them.
func (s *ListState[E]) Each(f func(group int, key serde.Key, ns Window, list []E) bool) error {
	return s.table.Each(f)
}

// ForEachKey calls f with each key that has a list in the current namespace as the current key.
func (s *ListState[E]) ForEachKey(f func(key serde.Key) error) error {
	keys, err := s.table.Keys(s.ns)
	return s.forEach(keys, err, f)
}

// Entries is the number of lists.
func (s *ListState[E]) Entries() int64 { return s.table.Entries() }

// MapState is a map per key and namespace.
type MapState[K comparable, V any] struct {
	base
	table MapTable[K, V]
}

// NewMapState makes it of a backend's table.
func NewMapState[K comparable, V any](ctx *KeyContext, t MapTable[K, V], d MapDescriptor[K, V]) *MapState[K, V] {
	return &MapState[K, V]{base{name: d.Name, ctx: ctx}, t}
}

// Get is the value under k; false if there is none. An absent value may be stored, and is then found.
func (s *MapState[K, V]) Get(k K) (v V, ok bool, err error) {
	return s.table.Get(s.ns, k)
}

// Put sets the value under k.
func (s *MapState[K, V]) Put(k K, v V) error {
	return s.table.Put(s.ns, k, v)
}

// Remove removes the value under k. There need not be one.
func (s *MapState[K, V]) Remove(k K) error {
	return s.table.Remove(s.ns, k)
}

// Contains tells whether there is a value under k.
func (s *MapState[K, V]) Contains(k K) (bool, error) {
	_, ok, err := s.Get(k)
	return ok, err
}

// IsEmpty tells whether the current key has no entry.
func (s *MapState[K, V]) IsEmpty() (bool, error) {
	empty := true
	err := s.EachEntry(func(K, V) bool { empty = false; return false })
	return empty, err
}

// EachEntry goes through the map of the current key until f returns false; f may remove or replace the entry that it
// was given. A backend of bytes goes in the order of the keys' bytes, the heap in none.
func (s *MapState[K, V]) EachEntry(f func(k K, v V) bool) error {
	return s.table.EachEntry(s.ns, f)
}

// Clear removes the map.
func (s *MapState[K, V]) Clear() error {
	return s.table.RemoveAll(s.ns)
}

// Each goes through the entries of all maps by key group, without a current key, until f returns false.
func (s *MapState[K, V]) Each(f func(group int, key serde.Key, ns Window, k K, v V) bool) error {
	return s.table.Each(f)
}

// ForEachKey calls f with each key that has a map in the current namespace as the current key.
func (s *MapState[K, V]) ForEachKey(f func(key serde.Key) error) error {
	keys, err := s.table.Keys(s.ns)
	return s.forEach(keys, err, f)
}

// Entries is the number of entries of all maps.
func (s *MapState[K, V]) Entries() int64 { return s.table.Entries() }
