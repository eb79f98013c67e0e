package heap

import (
	"weir/engine/state"
)

// listTable is a table of lists.
type listTable[K mapKey[K], E any] struct {
	*table[K, []E]
	element state.Codec[E]
}

func newListTable[K mapKey[K], E any](b *Backend, m state.Meta, c state.Codec[E]) *listTable[K, E] {
	return &listTable[K, E]{newTable[K](b, m, state.Elements(c)), c}
}

// Add adds to the list of the current key. What a snapshot reads of the list ends before what is added, so that only the
// entry is copied for it, not the list.
func (t *listTable[K, E]) Add(ns state.Window, more ...E) error {
	e, err := t.lookup(ns)
	if err != nil {
		return err
	}
	if e == nil {
		t.insert(append([]E(nil), more...))
		return nil
	}
	if e.entryVersion < t.m.required && t.needed(e.entryVersion) {
		e = t.own()
	}
	for _, v := range more {
		t.bytes += int64(t.element.Bytes(v))
	}
	e.value = append(e.value, more...)
	return nil
}
