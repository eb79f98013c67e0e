package heap

import "math/bits"

// CopyOnWriteMap is a map that can be snapshotted in the time of copying its slots, and written to while the
// snapshot is read (Flink's CopyOnWriteStateMap; the layout is open addressing instead of chains).
//
// The entries lie in a slab. An array of words leads to them: the hash in the upper half, the entry's slot plus one in
// the lower. A search reads an entry only when the whole hash agrees, and the array grows without moving entries:
// incrementally, a few words with each access, while both arrays are in use.
//
// The map belongs to one goroutine. A snapshot is read by another; see copy_on_write.go for what keeps them apart.
type CopyOnWriteMap[K comparable, V any] struct {
	// What a search reads lies in one cache line: the words, the first part of the slab, the versions.
	words []uint64
	slab[K, V]

	// old is the array before it doubled, while its words are moved; those below moved have been.
	old      []uint64
	oldShift uint8
	moved    int
	size     int

	history
	// clone makes a deep copy of a value. Nil says that values never change in place.
	clone func(V) V
}

type entry[K comparable, V any] struct {
	key   K
	value V
	// entryVersion is the map's when the entry was made or copied, valueVersion when its value was.
	entryVersion, valueVersion uint32
}

const (
	firstWords = 8
	// fullOf16 is how many of 16 words may be taken before the array doubles.
	fullOf16 = 11
	// step is how many words each access moves while the array grows. It ends long before the array must grow anew.
	step = 8
	// gone is a word of the old array that was moved ahead of its turn: not empty, but no entry's.
	gone = 1 << 32
)

// NewCopyOnWriteMap makes an empty map. clone makes a deep copy of a value; nil says that values never change in place.
func NewCopyOnWriteMap[K comparable, V any](clone func(V) V) *CopyOnWriteMap[K, V] {
	m := &CopyOnWriteMap[K, V]{}
	m.init(clone)
	return m
}

func (m *CopyOnWriteMap[K, V]) init(clone func(V) V) {
	m.clone = clone
	m.slab.init()
}

// Size is the number of entries.
func (m *CopyOnWriteMap[K, V]) Size() int { return m.size }

// Get is the value under the key. It is the map's own: changing it in place is seen by the next Get, but not by the
// snapshots, since the first Get after one gives a copy. hash must be the same for equal keys.
func (m *CopyOnWriteMap[K, V]) Get(hash int32, key K) (v V, ok bool) {
	e := m.find(hash, key)
	if e == nil {
		return v, false
	}
	if m.clone != nil && e.valueVersion < m.required {
		e = m.ownValue(e, hash, key)
	}
	return e.value, true
}

// Put sets the value under the key and gives the one before.
func (m *CopyOnWriteMap[K, V]) Put(hash int32, key K, value V) (old V, had bool) {
	e := m.find(hash, key)
	if e == nil {
		m.insert(hash, key, value)
		return old, false
	}
	old = e.value
	m.replace(e, hash, key, value)
	return old, true
}

// Remove removes the entry of the key and gives its value.
func (m *CopyOnWriteMap[K, V]) Remove(hash int32, key K) (old V, had bool) {
	e := m.find(hash, key)
	if e == nil {
		return old, false
	}
	old = e.value
	m.remove(hash, key)
	return old, true
}

// Transform replaces the value under the key by what f makes of it; had is false, and the value V's zero, where there
// is none.
func (m *CopyOnWriteMap[K, V]) Transform(hash int32, key K, f func(v V, had bool) V) {
	v, had := m.Get(hash, key)
	m.Put(hash, key, f(v, had))
}

// Each calls f with each entry until f returns false. f must change neither map nor values.
func (m *CopyOnWriteMap[K, V]) Each(f func(key K, value V) bool) {
	for _, words := range [2][]uint64{m.words, m.old[m.moved:]} {
		for _, w := range words {
			if uint32(w) != 0 {
				if e := m.slot(uint32(w) - 1); !f(e.key, e.value) {
					return
				}
			}
		}
	}
}

// find is the entry of the key, nil if there is none.
func (m *CopyOnWriteMap[K, V]) find(hash int32, key K) *entry[K, V] {
	if len(m.words) == 0 {
		return nil
	}
	if m.growing {
		m.rehash(hash, key)
	}
	words := m.words
	mask := uint32(len(words) - 1)
	for i := spread(hash) >> m.shift; ; i++ {
		w := words[i&mask]
		if w == 0 {
			return nil
		}
		if int32(w>>32) == hash {
			if e := m.slot(uint32(w) - 1); e.key == key {
				return e
			}
		}
	}
}

// position is where the word of a key that is there stands.
func (m *CopyOnWriteMap[K, V]) position(hash int32, key K) uint32 {
	mask := uint32(len(m.words) - 1)
	for i := spread(hash) >> m.shift; ; i++ {
		if w := m.words[i&mask]; int32(w>>32) == hash && w != 0 && m.slot(uint32(w)-1).key == key {
			return i & mask
		}
	}
}

// insert adds a key that is not there.
func (m *CopyOnWriteMap[K, V]) insert(hash int32, key K, value V) *entry[K, V] {
	if (m.size+1)*16 > len(m.words)*fullOf16 {
		m.grow()
	}
	slot, e := m.take()
	*e = entry[K, V]{key, value, m.version, m.version}
	m.place(uint64(uint32(hash))<<32 | uint64(slot+1))
	m.size++
	return e
}

// replace sets the value of an entry. The old value is left alone: a snapshot may hold it.
func (m *CopyOnWriteMap[K, V]) replace(e *entry[K, V], hash int32, key K, value V) *entry[K, V] {
	if e.entryVersion < m.required {
		e = m.own(hash, key)
	}
	e.value, e.valueVersion = value, m.version
	return e
}

// remove takes out the entry of a key that is there. The words behind it move up, so that no gap ends a search early.
func (m *CopyOnWriteMap[K, V]) remove(hash int32, key K) {
	mask := uint32(len(m.words) - 1)
	gap := m.position(hash, key)
	slot := uint32(m.words[gap]) - 1
	for i := gap; ; {
		i = (i + 1) & mask
		w := m.words[i]
		if w == 0 {
			break
		}
		// A word may fill the gap unless its search begins behind the gap.
		if home := spread(int32(w>>32)) >> m.shift & mask; (i-home)&mask >= (i-gap)&mask {
			m.words[gap], gap = w, i
		}
	}
	m.words[gap] = 0
	m.size--
	m.giveUp(slot)
}

// giveUp frees a slot that no word leads to any more, at once or when no snapshot needs it.
func (m *CopyOnWriteMap[K, V]) giveUp(slot uint32) {
	if e := m.slot(slot); e.entryVersion < m.required {
		m.retire(slot)
	} else {
		m.free(slot)
	}
}

func (m *CopyOnWriteMap[K, V]) place(word uint64) {
	mask := uint32(len(m.words) - 1)
	i := spread(int32(word>>32)) >> m.shift
	for m.words[i&mask] != 0 {
		i++
	}
	m.words[i&mask] = word
}

// grow begins to move to an array of twice the size.
func (m *CopyOnWriteMap[K, V]) grow() {
	if len(m.words) == 0 {
		m.words, m.shift = make([]uint64, firstWords), 32-3
		return
	}
	m.move(len(m.old) - m.moved) // never much, if any: see step
	m.old, m.oldShift, m.moved = m.words, m.shift, 0
	m.words, m.shift, m.growing = make([]uint64, 2*len(m.old)), m.shift-1, true
}

// reserve makes room for n entries in an empty map. A restore needs it: entries come in the order of their hashes, and
// would all crowd at the beginning of arrays that are too small.
func (m *CopyOnWriteMap[K, V]) reserve(n int) {
	if m.next > 0 || n < firstWords {
		return
	}
	size := 1 << bits.Len(uint(n*16/fullOf16))
	m.words, m.shift = make([]uint64, size), uint8(32-bits.TrailingZeros(uint(size)))
	m.first = make([]entry[K, V], min(n, firstEntries))
}

// rehash moves some words to the new array, and that of the key to be searched, so that a search need look there only.
func (m *CopyOnWriteMap[K, V]) rehash(hash int32, key K) {
	m.move(step)
	if !m.growing {
		return
	}
	mask := uint32(len(m.old) - 1)
	for i := spread(hash) >> m.oldShift; ; i++ {
		w := m.old[i&mask]
		if w == 0 {
			return
		}
		if uint32(w) != 0 && int32(w>>32) == hash && int(i&mask) >= m.moved && m.slot(uint32(w)-1).key == key {
			m.old[i&mask] = gone
			m.place(w)
			return
		}
	}
}

// move moves the next n words. Those that were moved stay in the old array, where searches need them to go on.
func (m *CopyOnWriteMap[K, V]) move(n int) {
	end := min(m.moved+n, len(m.old))
	for _, w := range m.old[m.moved:end] {
		if uint32(w) != 0 {
			m.place(w)
		}
	}
	if m.moved = end; end == len(m.old) {
		m.old, m.moved, m.growing = nil, 0, false
	}
}

// Rehashing tells whether the array of words is growing.
func (m *CopyOnWriteMap[K, V]) Rehashing() bool { return m.growing }

// spread makes the upper bits depend on all bits of a Java hash code, which for small numbers are all zero.
func spread(hash int32) uint32 { return uint32(hash) * 0x9E3779B9 }
