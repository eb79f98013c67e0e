package state

import "weir/engine/serde"

// Table is one state's values by key and namespace, as a kind of state uses it. All but Keys, Each and Entries speak of
// the current key and fail with the rule where there is none. Errors name the state. The namespace is ignored by a state that has none.
type Table[V any] interface {
	Get(ns Window) (v V, ok bool, err error)
	Put(ns Window, v V) error
	Remove(ns Window) error
	// Each goes through all values by key group, until f returns false. f must change neither table nor values.
	Each(f func(group int, key serde.Key, ns Window, v V) bool) error
	// Keys are the keys that have a value in the namespace, each once, safe to keep.
	Keys(ns Window) ([]serde.Key, error)
	Entries() int64
}

// ListTable is a Table of lists that an element is added to without touching the others.
type ListTable[E any] interface {
	Table[[]E]
	Add(ns Window, e ...E) error
}

// MapTable is one state's maps by key and namespace.
type MapTable[K comparable, V any] interface {
	Get(ns Window, k K) (v V, ok bool, err error)
	Put(ns Window, k K, v V) error
	Remove(ns Window, k K) error
	// RemoveAll removes the map of the current key.
	RemoveAll(ns Window) error
	// EachEntry goes through the map of the current key until f returns false. f may remove or replace the entry that
	// it was given.
	EachEntry(ns Window, f func(k K, v V) bool) error
	Each(f func(group int, key serde.Key, ns Window, k K, v V) bool) error
	Keys(ns Window) ([]serde.Key, error)
	Entries() int64
}
