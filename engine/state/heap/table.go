package heap

import (
	"encoding/binary"
	"fmt"

	"weir/engine/serde"
	"weir/engine/state"
)

// table is one state: a copy-on-write map per key group (Flink's StateTable). Where the current key was found is
// remembered, so that reading and then updating it searches once.
type table[K mapKey[K], V any] struct {
	b     *Backend
	ctx   *state.KeyContext
	first int // key group of maps[0]
	maps  []CopyOnWriteMap[K, V]
	meta  state.Meta
	codec state.Codec[V]
	// size is the bytes of an entry beside its key and namespace; sized says that it differs between values.
	size  func(v V) int
	sized bool

	_ [64]byte // what is written per record has its own cache lines
	// Of the current key, as long as turn is the context's: its map, its entry or nil, its namespace.
	turn uint64
	m    *CopyOnWriteMap[K, V]
	at   *entry[K, V]
	ns   state.Window

	keys  int64
	bytes int64
	_     [64]byte

	// Where Sweep goes on.
	sweepMap, sweepWord int
}

// newTable makes the table of a state; the caller fills codec and size.
func newTable[K mapKey[K], V any](b *Backend, m state.Meta, c state.Codec[V]) *table[K, V] {
	t := &table[K, V]{b: b, ctx: b.ctx, first: b.ctx.Groups().First, maps: make([]CopyOnWriteMap[K, V], b.ctx.Groups().Size()), meta: m, codec: c}
	for i := range t.maps {
		t.maps[i].init(c.Copy)
	}
	t.sized = c.Fixed == 0
	t.size = c.Bytes
	return t
}

// lookup finds the entry of the current key, nil if it has none.
func (t *table[K, V]) lookup(ns state.Window) (*entry[K, V], error) {
	turn := t.ctx.Turn()
	if t.turn == turn && t.ns == ns && !state.OwnerChecked {
		return t.at, nil
	}
	if err := t.ctx.Check(); err != nil {
		return nil, fmt.Errorf("state %q: %w", t.meta.Name, err)
	}
	t.ns, t.turn = ns, turn
	t.m = &t.maps[t.ctx.Group()-t.first]
	hash, k := t.current()
	t.at = t.m.find(hash, k)
	return t.at, nil
}

// current is the current key as the map has it, with its hash. A string may be a view.
func (t *table[K, V]) current() (hash int32, k K) {
	if n, ok := any(&k).(*number); ok { // the way of most records: no call
		*n = number(t.ctx.Num())
		return t.ctx.Hash(), k
	}
	k, hash = k.of(t.ctx.Key(), t.ctx.Hash(), t.ns)
	return hash, k
}

// needed tells whether a snapshot still needs what the entry was: one may have been released meanwhile.
func (t *table[K, V]) needed(version uint32) bool {
	if version >= t.m.required {
		return false
	}
	t.b.collect()
	return version < t.m.required
}

// Get is the value of the current key: the live one.
func (t *table[K, V]) Get(ns state.Window) (v V, ok bool, err error) {
	e, err := t.lookup(ns)
	if e == nil {
		return v, false, err
	}
	if e.valueVersion < t.m.required && t.codec.Copy != nil && t.needed(e.valueVersion) {
		e = t.ownValue(e)
	}
	return e.value, true, nil
}

func (t *table[K, V]) ownValue(e *entry[K, V]) *entry[K, V] {
	hash, k := t.current()
	copies := e.entryVersion < t.m.required
	t.at = t.m.ownValue(e, hash, k)
	t.b.copied(Copy{State: t.meta.Name, Entry: copies, Value: true, EntryVersion: t.at.entryVersion, ValueVersion: t.at.valueVersion, MapVersion: t.m.version})
	return t.at
}

// Put sets the value of the current key. The key is cloned when it is new; the value is kept as it is given.
func (t *table[K, V]) Put(ns state.Window, v V) error {
	e, err := t.lookup(ns)
	if err != nil {
		return err
	}
	if e == nil {
		t.insert(v)
		return nil
	}
	if t.sized {
		t.bytes += int64(t.size(v) - t.size(e.value))
	}
	if e.entryVersion < t.m.required && t.needed(e.entryVersion) {
		e = t.own()
	}
	e.value, e.valueVersion = v, t.m.version
	return nil
}

// own copies the current key's entry, without its value.
func (t *table[K, V]) own() *entry[K, V] {
	hash, k := t.current()
	t.at = t.m.own(hash, k)
	t.b.copied(Copy{State: t.meta.Name, Entry: true, EntryVersion: t.at.entryVersion, ValueVersion: t.at.valueVersion, MapVersion: t.m.version})
	return t.at
}

func (t *table[K, V]) insert(v V) {
	hash, k := t.current()
	t.at = t.m.insert(hash, k.clone(), v)
	t.keys++
	t.bytes += t.keyBytes() + int64(t.size(v))
}

// keyBytes is what the current key and its namespace take in a snapshot.
func (t *table[K, V]) keyBytes() int64 { return t.bytesOf(t.ctx.Key()) }

func (t *table[K, V]) bytesOf(k serde.Key) int64 {
	n := int64(state.KeyBytes(t.ctx.KeyType(), k))
	if t.meta.Namespace == state.WindowNamespace {
		n += 16
	}
	return n
}

// Remove removes the value of the current key.
func (t *table[K, V]) Remove(ns state.Window) error {
	e, err := t.lookup(ns)
	if e == nil {
		return err
	}
	t.keys--
	t.bytes -= t.keyBytes() + int64(t.size(e.value))
	if e.entryVersion < t.m.required {
		t.b.collect()
	}
	hash, k := t.current()
	t.m.remove(hash, k)
	t.at = nil
	return nil
}

// Each goes through all values by key group.
func (t *table[K, V]) Each(f func(group int, key serde.Key, ns state.Window, v V) bool) error {
	more := true
	for i := range t.maps {
		t.maps[i].Each(func(k K, v V) bool {
			more = f(t.first+i, k.key(), k.window(), v)
			return more
		})
		if !more {
			break
		}
	}
	return nil
}

// Keys are the keys that have a value in the namespace.
func (t *table[K, V]) Keys(ns state.Window) ([]serde.Key, error) {
	if t.meta.Namespace == state.NoNamespace {
		ns = state.Window{}
	}
	var keys []serde.Key
	err := t.Each(func(_ int, key serde.Key, at state.Window, _ V) bool {
		if at == ns {
			keys = append(keys, key)
		}
		return true
	})
	return keys, err
}

// Entries is the number of values.
func (t *table[K, V]) Entries() int64 { return t.keys }

// What the backend does with a table of any type.

func (t *table[K, V]) metaOf() state.Meta { return t.meta }

func (t *table[K, V]) stats() state.StateStats {
	return state.StateStats{Name: t.meta.Name, Kind: t.meta.Kind, Keys: t.keys, Entries: t.keys, Bytes: max(t.bytes, 0)}
}

func (t *table[K, V]) readings(group int) (MapReadings, bool) {
	if i := group - t.first; i >= 0 && i < len(t.maps) {
		return t.maps[i].Readings(), true
	}
	return MapReadings{}, false
}

// restore takes an entry of the canonical format.
func (t *table[K, V]) restore(r *state.CanonicalReader, group int, hash int32) error {
	v, rest, err := t.codec.Read(r.Value)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind the value", len(rest))
	}
	if err != nil {
		return err
	}
	var k K
	k, hash = k.of(r.Key, hash, r.Namespace)
	m := &t.maps[group-t.first]
	if m.size == 0 {
		m.reserve(r.Left() + 1)
	}
	if m.find(hash, k) != nil {
		return t.twice(r)
	}
	m.insert(hash, k.clone(), v)
	t.turn = 0
	t.keys++
	t.bytes += t.bytesOf(r.Key) + int64(t.size(v))
	return nil
}

func (t *table[K, V]) twice(r *state.CanonicalReader) error {
	return fmt.Errorf("key %q stands there twice", serde.FormatKey(t.ctx.KeyType(), r.Key))
}

// tableSnapshot is a table as it was.
type tableSnapshot[K mapKey[K], V any] struct {
	t    *table[K, V] // of which only what never changes is read
	maps []MapSnapshot[K, V]
	// entries counts those that writeValue writes for a value, nil for one.
	write func(w *state.CanonicalWriter, k K, v V) error
	count func(v V) int
}

func (t *table[K, V]) snapshot() anySnapshot { return t.snapshotWith(t.writeValue, nil) }

func (t *table[K, V]) snapshotWith(write func(w *state.CanonicalWriter, k K, v V) error, count func(v V) int) *tableSnapshot[K, V] {
	s := &tableSnapshot[K, V]{t: t, maps: make([]MapSnapshot[K, V], len(t.maps)), write: write, count: count}
	slots := make([]uint32, t.keys) // of all maps
	for i := range t.maps {
		n := t.maps[i].size
		t.maps[i].snapshotTo(&s.maps[i], slots[:n:n])
		slots = slots[n:]
	}
	return s
}

func (s *tableSnapshot[K, V]) size(group int) int { return s.maps[group-s.t.first].Size() }

func (s *tableSnapshot[K, V]) writeGroup(w *state.CanonicalWriter, group int) error {
	m := &s.maps[group-s.t.first]
	n := int64(m.Size())
	if s.count != nil {
		n = 0
		m.Each(func(_ K, v V) bool { n += int64(s.count(v)); return true })
	}
	if n == 0 {
		return nil
	}
	w.State(s.t.meta, n)
	var err error
	m.Each(func(k K, v V) bool {
		err = s.write(w, k, v)
		return err == nil
	})
	return err
}

func (t *table[K, V]) writeValue(w *state.CanonicalWriter, k K, v V) error {
	b := w.Begin(k.key(), k.window())
	if t.meta.FixedValue == 0 {
		b = binary.AppendUvarint(b, uint64(t.codec.Bytes(v)))
	}
	return w.End(t.codec.Append(b, v))
}

func (s *tableSnapshot[K, V]) release() {
	for i := range s.maps {
		s.t.maps[i].Release(&s.maps[i])
	}
}
