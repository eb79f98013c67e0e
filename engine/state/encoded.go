package state

import (
	"fmt"

	"weir/engine/serde"
)

// Encoded is the Table of a store of bytes: each access serializes. The name is the state's, for errors.
func Encoded[V any](name string, s Store, c Codec[V]) Table[V] {
	return &encoded[V]{named: named(name), store: s, codec: c}
}

// named gives errors the name of a state.
type named string

func (n named) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state %q: %w", string(n), err)
}

type encoded[V any] struct {
	named
	store   Store
	codec   Codec[V]
	scratch []byte
}

func (t *encoded[V]) decode(b []byte) (V, error) {
	v, rest, err := t.codec.Read(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind a value of codec %s", len(rest), t.codec.Name)
	}
	return v, err
}

func (t *encoded[V]) Get(ns Window) (v V, ok bool, err error) {
	b, ok, err := t.store.Get(ns)
	if err != nil || !ok {
		return v, false, t.wrap(err)
	}
	v, err = t.decode(b)
	return v, err == nil, t.wrap(err)
}

func (t *encoded[V]) Put(ns Window, v V) error {
	t.scratch = t.codec.Append(t.scratch[:0], v)
	return t.wrap(t.store.Put(ns, t.scratch))
}

func (t *encoded[V]) Remove(ns Window) error { return t.wrap(t.store.Remove(ns)) }

func (t *encoded[V]) Each(f func(group int, key serde.Key, ns Window, v V) bool) error {
	var failed error
	err := t.store.Each(func(group int, key serde.Key, ns Window, _, value []byte) bool {
		v, err := t.decode(value)
		if failed = err; err != nil {
			return false
		}
		return f(group, key, ns, v)
	})
	if err == nil {
		err = failed
	}
	return t.wrap(err)
}

func (t *encoded[V]) Keys(ns Window) ([]serde.Key, error) {
	keys, err := t.store.Keys(ns)
	return keys, t.wrap(err)
}

func (t *encoded[V]) Entries() int64 { return t.store.Entries() }

// EncodedList is the ListTable of a store of bytes. c is the codec of one element.
func EncodedList[E any](name string, s Store, c Codec[E]) ListTable[E] {
	return &encodedList[E]{encoded[[]E]{named: named(name), store: s, codec: Elements(c)}}
}

type encodedList[E any] struct{ encoded[[]E] }

func (t *encodedList[E]) Add(ns Window, e ...E) error {
	t.scratch = t.codec.Append(t.scratch[:0], e)
	return t.wrap(t.store.Append(ns, t.scratch))
}

// EncodedMap is the MapTable of a store of bytes.
func EncodedMap[K comparable, V any](name string, s Store, k Codec[K], v Codec[V]) MapTable[K, V] {
	return &encodedMap[K, V]{named: named(name), store: s, key: k, value: v}
}

type encodedMap[K comparable, V any] struct {
	named
	store        Store
	key          Codec[K]
	value        Codec[V]
	scratch, all []byte
}

func (t *encodedMap[K, V]) encodeKey(k K) []byte {
	t.scratch = t.key.Append(t.scratch[:0], k)
	return t.scratch
}

func (t *encodedMap[K, V]) Get(ns Window, k K) (v V, ok bool, err error) {
	b, ok, err := t.store.GetEntry(ns, t.encodeKey(k))
	if err != nil || !ok {
		return v, false, t.wrap(err)
	}
	v, _, err = ReadNullable(b, &t.value)
	return v, err == nil, t.wrap(err)
}

func (t *encodedMap[K, V]) Put(ns Window, k K, v V) error {
	t.all = AppendNullable(t.all[:0], &t.value, v)
	return t.wrap(t.store.PutEntry(ns, t.encodeKey(k), t.all))
}

func (t *encodedMap[K, V]) Remove(ns Window, k K) error {
	return t.wrap(t.store.RemoveEntry(ns, t.encodeKey(k)))
}

func (t *encodedMap[K, V]) RemoveAll(ns Window) error { return t.wrap(t.store.Remove(ns)) }

func (t *encodedMap[K, V]) decode(userKey, value []byte) (k K, v V, err error) {
	if k, _, err = t.key.Read(userKey); err == nil {
		v, _, err = ReadNullable(value, &t.value)
	}
	return k, v, err
}

func (t *encodedMap[K, V]) EachEntry(ns Window, f func(k K, v V) bool) error {
	var failed error
	err := t.store.EachEntry(ns, func(userKey, value []byte) bool {
		k, v, err := t.decode(userKey, value)
		if failed = err; err != nil {
			return false
		}
		return f(k, v)
	})
	if err == nil {
		err = failed
	}
	return t.wrap(err)
}

func (t *encodedMap[K, V]) Each(f func(group int, key serde.Key, ns Window, k K, v V) bool) error {
	var failed error
	err := t.store.Each(func(group int, key serde.Key, ns Window, userKey, value []byte) bool {
		k, v, err := t.decode(userKey, value)
		if failed = err; err != nil {
			return false
		}
		return f(group, key, ns, k, v)
	})
	if err == nil {
		err = failed
	}
	return t.wrap(err)
}

func (t *encodedMap[K, V]) Keys(ns Window) ([]serde.Key, error) {
	keys, err := t.store.Keys(ns)
	return keys, t.wrap(err)
}

func (t *encodedMap[K, V]) Entries() int64 { return t.store.Entries() }
