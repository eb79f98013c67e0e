package heap

import "slices"

// history is what keeps the writes of the map apart from its snapshots.
//
// Each snapshot raises the version. An entry whose version is below required, the highest version of an open snapshot,
// may be read by it: it is never written again, but copied to another slot that takes its place in the words. The
// snapshot has a list of its own with the old slot. That slot is retired, and free when every snapshot that was
// open then is released.
type history struct {
	open    []uint32 // versions of the open snapshots, ascending
	retired []retirement

	entryCopies, valueCopies int64
}

// retirement has the slots that were retired at one version: no snapshot of a later one knows them.
type retirement struct {
	version uint32
	slots   []uint32
}

// own copies an entry that a snapshot may read, and gives the copy. The value is the same: it is copied when it is read
// (ownValue), not when it is replaced.
func (m *CopyOnWriteMap[K, V]) own(hash int32, key K) *entry[K, V] {
	at := m.position(hash, key)
	was := m.words.slots[at]
	slot, e := m.take()
	*e = *m.slot(was)
	e.entryVersion = m.version
	m.words.slots[at] = slot
	m.retire(was)
	m.entryCopies++
	return e
}

// ownValue copies the value of an entry, and the entry if a snapshot may read it. The value may come to be changed in
// place by whom it is given to; so even a read copies, once after each snapshot.
func (m *CopyOnWriteMap[K, V]) ownValue(e *entry[K, V], hash int32, key K) *entry[K, V] {
	if e.entryVersion < m.required {
		e = m.own(hash, key)
	}
	e.value, e.valueVersion = m.clone(e.value), m.version
	m.valueCopies++
	return e
}

func (m *CopyOnWriteMap[K, V]) retire(slot uint32) {
	if n := len(m.retired); n > 0 && m.retired[n-1].version == m.version {
		m.retired[n-1].slots = append(m.retired[n-1].slots, slot)
		return
	}
	m.retired = append(m.retired, retirement{m.version, []uint32{slot}})
}

// MapSnapshot is a map as it was. Any goroutine may read it, one at a time, until it is released.
type MapSnapshot[K comparable, V any] struct {
	version uint32
	slots   []uint32 // of its entries
	first   []entry[K, V]
	chunks  [][]entry[K, V]
}

// Snapshot copies the slots that the words lead to, and no entry.
func (m *CopyOnWriteMap[K, V]) Snapshot() *MapSnapshot[K, V] {
	s := &MapSnapshot[K, V]{}
	m.snapshotTo(s, make([]uint32, m.size))
	return s
}

// snapshotTo fills s; slots has as many elements as the map.
func (m *CopyOnWriteMap[K, V]) snapshotTo(s *MapSnapshot[K, V], slots []uint32) {
	m.version++
	m.required = m.version
	m.open = append(m.open, m.version)
	*s = MapSnapshot[K, V]{version: m.version, slots: slots}
	if len(slots) > 0 {
		s.first, s.chunks = m.first, slices.Clone(m.chunks)
		n := gather(slots, 0, m.words, 0)
		gather(slots, n, m.old, m.moved)
	}
}

// gather writes the slots of words, from the given one on, behind the first n, and returns how many there are then. It
// does not branch on a word: whether one is free cannot be foretold.
func gather(slots []uint32, n int, w words, from int) int {
	tags := w.tags[from:]
	for i, slot := range w.slots[from:] {
		if n == len(slots) {
			break
		}
		slots[n] = slot
		n += int(tags[i] / inUse) // 1, or 0 for a word without entry
	}
	return n
}

// Release ends a snapshot. It belongs to the map's goroutine, and nobody may be reading the snapshot any more. A second
// call does nothing.
func (m *CopyOnWriteMap[K, V]) Release(s *MapSnapshot[K, V]) {
	i, ok := slices.BinarySearch(m.open, s.version)
	if !ok {
		return
	}
	m.open = slices.Delete(m.open, i, i+1)
	s.slots, s.first, s.chunks = nil, nil, nil
	m.required = 0
	oldest := m.version + 1
	if n := len(m.open); n > 0 {
		m.required, oldest = m.open[n-1], m.open[0]
	}
	for len(m.retired) > 0 && m.retired[0].version < oldest {
		for _, slot := range m.retired[0].slots {
			m.free(slot)
		}
		m.retired[0].slots = nil
		m.retired = m.retired[1:]
	}
	if len(m.retired) == 0 {
		m.retired = nil
	}
}

// Size is the number of entries.
func (s *MapSnapshot[K, V]) Size() int { return len(s.slots) }

// Each calls f with each entry until f returns false. f must not change the values.
func (s *MapSnapshot[K, V]) Each(f func(key K, value V) bool) {
	for _, i := range s.slots {
		e := (*entry[K, V])(nil)
		if int(i) < len(s.first) {
			e = &s.first[i]
		} else {
			e = far(s.chunks, i)
		}
		if !f(e.key, e.value) {
			return
		}
	}
}

// MapReadings are what a page shows of a map.
type MapReadings struct {
	Entries   int    `json:"entries"`
	Words     int    `json:"words"`
	Rehashing bool   `json:"rehashing"`
	Version   uint32 `json:"version"`
	Required  uint32 `json:"required"` // the highest version of an open snapshot, 0 if none is open
	// Open are the versions of the open snapshots.
	Open []uint32 `json:"open"`
	// EntryCopies and ValueCopies count since the map was made.
	EntryCopies int64 `json:"entryCopies"`
	ValueCopies int64 `json:"valueCopies"`
	// Retired is how many old entries are kept for snapshots.
	Retired int `json:"retired"`
	Slots   int `json:"slots"` // entries, retired and free
}

// Readings are the map's figures now.
func (m *CopyOnWriteMap[K, V]) Readings() MapReadings {
	r := MapReadings{
		Entries: m.size, Words: m.places(), Rehashing: m.growing, Version: m.version, Required: m.required,
		Open: slices.Clone(m.open), EntryCopies: m.entryCopies, ValueCopies: m.valueCopies, Slots: int(m.next),
	}
	for _, l := range m.retired {
		r.Retired += len(l.slots)
	}
	return r
}
