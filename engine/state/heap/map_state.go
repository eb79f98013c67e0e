package heap

import (
	"fmt"

	"weir/engine/serde"
	"weir/engine/state"
)

// mapTable is a table of maps (Flink's HeapMapState): each value is a Go map, copied whole at its first change after a
// snapshot.
type mapTable[K mapKey[K], UK comparable, UV any] struct {
	t       *table[K, map[UK]UV]
	key     state.Codec[UK]
	value   state.Codec[UV]
	entries int64
}

func newMapTable[K mapKey[K], UK comparable, UV any](b *Backend, m state.Meta, k state.Codec[UK], v state.Codec[UV]) *mapTable[K, UK, UV] {
	t := &mapTable[K, UK, UV]{t: newTable[K](b, m, state.Map(k, v)), key: k, value: v}
	// The bytes of entries are counted as they come and go, each with the key again.
	t.t.sized, t.t.size = false, func(map[UK]UV) int { return 0 }
	return t
}

// live is the map of the current key, to read; nil if there is none. Where values may change in place it is a copy of
// what a snapshot holds.
func (t *mapTable[K, UK, UV]) live(ns state.Window) (map[UK]UV, error) {
	e, err := t.t.lookup(ns)
	if e == nil {
		return nil, err
	}
	if t.value.Copy != nil && e.valueVersion < t.t.m.required && t.t.needed(e.valueVersion) {
		e = t.t.ownValue(e)
	}
	return e.value, nil
}

// own is the map of the current key, to change; nil if there is none.
func (t *mapTable[K, UK, UV]) own(ns state.Window) (map[UK]UV, error) {
	m, _, err := t.t.Get(ns)
	return m, err
}

func (t *mapTable[K, UK, UV]) bytesOf(k UK, v UV) int64 {
	return int64(t.key.Bytes(k) + state.NullableBytes(&t.value, v))
}

func (t *mapTable[K, UK, UV]) Get(ns state.Window, k UK) (v UV, ok bool, err error) {
	m, err := t.live(ns)
	v, ok = m[k]
	return v, ok, err
}

func (t *mapTable[K, UK, UV]) Put(ns state.Window, k UK, v UV) error {
	m, err := t.own(ns)
	if err != nil {
		return err
	}
	if m == nil {
		m = map[UK]UV{}
		t.t.insert(m)
		t.t.bytes -= t.t.keyBytes() // counted with each entry
	}
	before, had := m[k]
	if had {
		t.t.bytes -= t.bytesOf(k, before)
	} else {
		t.entries++
		t.t.bytes += t.t.keyBytes()
		k = t.key.Clone(k)
	}
	t.t.bytes += t.bytesOf(k, v)
	m[k] = v
	return nil
}

func (t *mapTable[K, UK, UV]) Remove(ns state.Window, k UK) error {
	if m, err := t.live(ns); err != nil || m == nil {
		return err
	} else if _, ok := m[k]; !ok {
		return nil
	}
	m, err := t.own(ns)
	if err != nil {
		return err
	}
	t.forget(m, k)
	delete(m, k)
	if len(m) == 0 {
		return t.removeEmpty(ns)
	}
	return nil
}

func (t *mapTable[K, UK, UV]) forget(m map[UK]UV, k UK) {
	t.entries--
	t.t.bytes -= t.t.keyBytes() + t.bytesOf(k, m[k])
}

func (t *mapTable[K, UK, UV]) removeEmpty(ns state.Window) error {
	t.t.bytes += t.t.keyBytes() // what Remove takes away went with the entries
	return t.t.Remove(ns)
}

func (t *mapTable[K, UK, UV]) RemoveAll(ns state.Window) error {
	e, err := t.t.lookup(ns)
	if e == nil {
		return err
	}
	for k := range e.value {
		t.forget(e.value, k)
	}
	return t.removeEmpty(ns)
}

func (t *mapTable[K, UK, UV]) EachEntry(ns state.Window, f func(k UK, v UV) bool) error {
	m, err := t.live(ns)
	for k, v := range m {
		if !f(k, v) {
			break
		}
	}
	return err
}

func (t *mapTable[K, UK, UV]) Each(f func(group int, key serde.Key, ns state.Window, k UK, v UV) bool) error {
	return t.t.Each(func(group int, key serde.Key, ns state.Window, m map[UK]UV) bool {
		for k, v := range m {
			if !f(group, key, ns, k, v) {
				return false
			}
		}
		return true
	})
}

func (t *mapTable[K, UK, UV]) Keys(ns state.Window) ([]serde.Key, error) { return t.t.Keys(ns) }
func (t *mapTable[K, UK, UV]) Entries() int64                            { return t.entries }

func (t *mapTable[K, UK, UV]) metaOf() state.Meta { return t.t.meta }

func (t *mapTable[K, UK, UV]) stats() state.StateStats {
	s := t.t.stats()
	s.Entries = t.entries
	return s
}

func (t *mapTable[K, UK, UV]) readings(group int) (MapReadings, bool) { return t.t.readings(group) }

func (t *mapTable[K, UK, UV]) look(group, most int) (MapView, bool) { return t.t.look(group, most) }

func (t *mapTable[K, UK, UV]) held() (entries, bytes int64) { return t.t.held() }

func (t *mapTable[K, UK, UV]) snapshot() anySnapshot {
	return t.t.snapshotWith(t.writeMap, func(m map[UK]UV) int { return len(m) })
}

func (t *mapTable[K, UK, UV]) writeMap(w *state.CanonicalWriter, key K, m map[UK]UV) error {
	for k, v := range m {
		b := state.AppendSized(w.Begin(key.key(), key.window()), t.t.meta.FixedKey, &t.key, k)
		if err := w.End(state.AppendSizedNullable(b, t.t.meta.FixedValue, &t.value, v)); err != nil {
			return err
		}
	}
	return nil
}

func (t *mapTable[K, UK, UV]) restore(r *state.CanonicalReader, group int, hash int32) error {
	uk, rest, err := t.key.Read(r.UserKey)
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("%d bytes behind the map's key: %w", len(rest), orLeft(err))
	}
	v, rest, err := state.ReadNullable(r.Value, &t.value)
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("%d bytes behind the value: %w", len(rest), orLeft(err))
	}
	var k K
	k, hash = k.of(r.Key, hash, r.Namespace)
	m := &t.t.maps[group-t.t.first]
	e := m.find(hash, k)
	if e == nil {
		e = m.insert(hash, k.clone(), map[UK]UV{})
		t.t.turn = 0
		t.t.keys++
	}
	if _, ok := e.value[uk]; ok {
		return t.t.twice(r)
	}
	e.value[uk] = v
	t.entries++
	t.t.bytes += t.t.bytesOf(r.Key) + t.bytesOf(uk, v)
	return nil
}
