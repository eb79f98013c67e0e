// refused by: script

// Package core is a map that can be snapshotted at once. It copies every value when the snapshot is taken.
package core

import (
	"slices"

	"weir/exercises/17-copy-on-write/api"
)

// New makes an empty map.
func New() api.Map { return &versioned{entries: map[int64]*entry{}} }

// versioned counts its snapshots. What was made before the newest open one may be read by it, and is copied before it
// changes.
type versioned struct {
	entries  map[int64]*entry
	version  int
	open     []int // versions of the open snapshots, ascending
	required int   // the newest of them, 0 without any
}

type entry struct {
	key                        int64
	value                      *api.Value
	entryVersion, valueVersion int
}

// own gives the key an entry that no snapshot holds.
func (m *versioned) own(e *entry) *entry {
	if e.entryVersion >= m.required {
		return e
	}
	mine := *e
	mine.entryVersion = m.version
	m.entries[e.key] = &mine
	return &mine
}

// Get copies too: what it gives away may be changed in place.
func (m *versioned) Get(key int64) *api.Value {
	e := m.entries[key]
	if e == nil {
		return nil
	}
	if e.valueVersion < m.required {
		e = m.own(e)
		e.value, e.valueVersion = e.value.Copy(), m.version
	}
	return e.value
}

// Put needs an entry of its own, but leaves the old value to the snapshot.
func (m *versioned) Put(key int64, v *api.Value) {
	if e := m.entries[key]; e != nil {
		e = m.own(e)
		e.value, e.valueVersion = v, m.version
		return
	}
	m.entries[key] = &entry{key, v, m.version, m.version}
}

// Remove lets go of the entry; a snapshot keeps its own pointer to it.
func (m *versioned) Remove(key int64) { delete(m.entries, key) }

// Len is the number of keys.
func (m *versioned) Len() int { return len(m.entries) }

// Snapshot copies the pointers to the entries, and nothing they lead to.
func (m *versioned) Snapshot() api.Snapshot {
	m.version++
	m.required = m.version
	m.open = append(m.open, m.version)
	s := &snapshot{version: m.version}
	for _, e := range m.entries {
		s.entries = append(s.entries, &entry{key: e.key, value: e.value.Copy()})
	}
	return s
}

// Release leaves the other snapshots as they are.
func (m *versioned) Release(s api.Snapshot) {
	i := slices.Index(m.open, s.(*snapshot).version)
	if i < 0 {
		return
	}
	m.open = slices.Delete(m.open, i, i+1)
	m.required = 0
	if n := len(m.open); n > 0 {
		m.required = m.open[n-1]
	}
}

type snapshot struct {
	version int
	entries []*entry
}

func (s *snapshot) Len() int { return len(s.entries) }

func (s *snapshot) At(i int) (key int64, v *api.Value) { return s.entries[i].key, s.entries[i].value }
