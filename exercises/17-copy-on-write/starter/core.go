// Package core is a map that can be snapshotted at once.
package core

import "weir/exercises/17-copy-on-write/api"

// New makes an empty map.
func New() api.Map { return &versioned{entries: map[int64]*entry{}} }

// versioned is a map. As it stands, a snapshot is no more than a list of its entries: whatever happens to an entry happens
// to the snapshot too.
type versioned struct {
	entries map[int64]*entry
	// Your code: which version is the map's now, and which snapshots are open?
}

type entry struct {
	key   int64
	value *api.Value
	// Your code: since which version has the entry been as it is, and since which one its value?
}

// Get is the value under a key.
func (m *versioned) Get(key int64) *api.Value {
	if e := m.entries[key]; e != nil {
		return e.value
	}
	return nil
}

// Put sets the value under a key.
func (m *versioned) Put(key int64, v *api.Value) {
	if e := m.entries[key]; e != nil {
		e.value = v
		return
	}
	m.entries[key] = &entry{key: key, value: v}
}

// Remove takes a key out.
func (m *versioned) Remove(key int64) { delete(m.entries, key) }

// Len is the number of keys.
func (m *versioned) Len() int { return len(m.entries) }

// Snapshot is the map as it is now.
func (m *versioned) Snapshot() api.Snapshot {
	s := &snapshot{}
	for _, e := range m.entries {
		s.entries = append(s.entries, e)
	}
	return s
}

// Release ends a snapshot.
func (m *versioned) Release(s api.Snapshot) {}

type snapshot struct{ entries []*entry }

func (s *snapshot) Len() int { return len(s.entries) }

func (s *snapshot) At(i int) (key int64, v *api.Value) { return s.entries[i].key, s.entries[i].value }
