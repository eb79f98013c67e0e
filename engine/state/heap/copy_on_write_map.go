package heap

import "math/bits"

// CopyOnWriteMap is a map that can be snapshotted in the time of copying its slots, and written to while the
// snapshot is read (Flink's CopyOnWriteStateMap; the layout is open addressing instead of chains).
//
// The entries lie in a slab. Words of a tag, a slot and a hash lead to them, each part in an array of its own, so that a
// search goes through bytes that the processor's cache can keep; it reads a slot and an entry only where the tag agrees. The
// arrays grow without moving entries: incrementally, a few words with each access, while old and new ones are in use.
//
// The map belongs to one goroutine. A snapshot is read by another; see copy_on_write.go for what keeps them apart.
type CopyOnWriteMap[K comparable, V any] struct {
	words words
	slab[K, V]

	// old are the words before their number doubled, while they are moved; those below moved have been.
	old   words
	moved int
	size  int

	history
	// clone makes a deep copy of a value. Nil says that values never change in place.
	clone func(V) V
}

// words lead from hashes to slots: open addressing, and a power of two of them.
type words struct {
	tags   []uint8 // free, gone, or inUse with seven bits of the hash
	slots  []uint32
	hashes []int32 // read only where words are moved
}

func newWords(n int) words {
	return words{make([]uint8, n), make([]uint32, n), make([]int32, n)}
}

const (
	free  = 0
	gone  = 1 // a word of the old arrays that was moved ahead of its turn: not free, but no entry's
	inUse = 0x80
)

type entry[K comparable, V any] struct {
	key   K
	value V
	// entryVersion is the map's when the entry was made or copied, valueVersion when its value was.
	entryVersion, valueVersion uint32
}

const (
	firstWords = 8
	// fullOf16 is how many of 16 words may be taken before their number doubles.
	fullOf16 = 11
	// step is how many words each access moves while they grow. It ends long before they must grow anew.
	step = 8
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
	for i := range m.places() {
		if slot, _, ok := m.word(i); ok {
			if e := m.slot(slot); !f(e.key, e.value) {
				return
			}
		}
	}
}

// places is the number of words, old ones included.
func (m *CopyOnWriteMap[K, V]) places() int { return len(m.words.tags) + len(m.old.tags) }

// word is the slot and hash of the entry that the word at a place leads to, if it does. The old words stand behind the new ones.
func (m *CopyOnWriteMap[K, V]) word(at int) (slot uint32, hash int32, ok bool) {
	w := &m.words
	if at >= len(w.tags) {
		at -= len(w.tags)
		if w = &m.old; at < m.moved {
			return 0, 0, false
		}
	}
	return w.slots[at], w.hashes[at], w.tags[at] >= inUse
}

// find is the entry of the key, nil if there is none.
func (m *CopyOnWriteMap[K, V]) find(hash int32, key K) *entry[K, V] {
	if len(m.words.tags) == 0 {
		return nil
	}
	if m.growing {
		m.rehash(hash, key)
	}
	tags, slots := m.words.tags, m.words.slots
	mask := uint32(len(tags) - 1)
	tag := m.tag(hash)
	for i := m.home(hash); ; i++ {
		switch tags[i&mask] {
		case tag:
			if e := m.slot(slots[i&mask]); e.key == key {
				return e
			}
		case free:
			return nil
		}
	}
}

// golden spreads a Java hash code over 64 bits: the upper half depends on all bits of it, which for small numbers are
// mostly zero.
const golden = 0x9E3779B97F4A7C15

// home is where the search for a hash begins.
func (m *CopyOnWriteMap[K, V]) home(hash int32) uint32 {
	return uint32(golden * uint64(uint32(hash)) >> (m.shift & 63))
}

// tag is that of a word with the hash. Its bits have no part in where the word stands, up to 1<<25 words.
func (m *CopyOnWriteMap[K, V]) tag(hash int32) uint8 {
	return uint8(golden*uint64(uint32(hash))>>32) | inUse
}

// position is where the word of a key that is there stands.
func (m *CopyOnWriteMap[K, V]) position(hash int32, key K) uint32 {
	mask := uint32(len(m.words.tags) - 1)
	tag := m.tag(hash)
	for i := m.home(hash); ; i++ {
		if m.words.tags[i&mask] == tag && m.slot(m.words.slots[i&mask]).key == key {
			return i & mask
		}
	}
}

// insert adds a key that is not there.
func (m *CopyOnWriteMap[K, V]) insert(hash int32, key K, value V) *entry[K, V] {
	if (m.size+1)*16 > len(m.words.tags)*fullOf16 {
		m.grow()
	}
	slot, e := m.take()
	*e = entry[K, V]{key, value, m.version, m.version}
	m.place(slot, hash)
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
	w := &m.words
	mask := uint32(len(w.tags) - 1)
	gap := m.position(hash, key)
	slot := w.slots[gap]
	for i := (gap + 1) & mask; w.tags[i] != free; i = (i + 1) & mask {
		// A word may fill the gap unless its search begins behind the gap.
		if home := m.home(w.hashes[i]); (i-home)&mask >= (i-gap)&mask {
			w.tags[gap], w.slots[gap], w.hashes[gap] = w.tags[i], w.slots[i], w.hashes[i]
			gap = i
		}
	}
	w.tags[gap] = free
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

func (m *CopyOnWriteMap[K, V]) place(slot uint32, hash int32) {
	w := &m.words
	mask := uint32(len(w.tags) - 1)
	i := m.home(hash) & mask
	for w.tags[i] != free {
		i = (i + 1) & mask
	}
	w.tags[i], w.slots[i], w.hashes[i] = m.tag(hash), slot, hash
}

// grow begins to move to twice as many words.
func (m *CopyOnWriteMap[K, V]) grow() {
	if len(m.words.tags) == 0 {
		m.words, m.shift = newWords(firstWords), 64-3
		return
	}
	m.move(len(m.old.tags) - m.moved) // never much, if any: see step
	m.old, m.moved = m.words, 0
	m.words, m.shift, m.growing = newWords(2*len(m.old.tags)), m.shift-1, true
}

// reserve makes room for n entries in an empty map. A restore needs it: entries come in the order of their hashes, and
// would all crowd at the beginning of arrays that are too small.
func (m *CopyOnWriteMap[K, V]) reserve(n int) {
	if m.next > 0 || n < firstWords {
		return
	}
	size := 1 << bits.Len(uint(n*16/fullOf16))
	m.words, m.shift = newWords(size), uint8(64-bits.TrailingZeros(uint(size)))
	m.first = make([]entry[K, V], min(n, firstEntries))
}

// rehash moves some words to the new arrays, and that of the key to be searched, so that a search need look there only.
func (m *CopyOnWriteMap[K, V]) rehash(hash int32, key K) {
	m.move(step)
	if !m.growing {
		return
	}
	mask := uint32(len(m.old.tags) - 1)
	tag := m.tag(hash)
	for i := m.home(hash) >> 1; ; i++ {
		at := i & mask
		switch m.old.tags[at] {
		case free:
			return
		case tag:
			if slot := m.old.slots[at]; int(at) >= m.moved && m.slot(slot).key == key {
				m.old.tags[at] = gone
				m.place(slot, hash)
				return
			}
		}
	}
}

// move moves the next n words. Those that were moved stay in the old arrays, where searches need them to go on.
func (m *CopyOnWriteMap[K, V]) move(n int) {
	end := min(m.moved+n, len(m.old.tags))
	for i := m.moved; i < end; i++ {
		if m.old.tags[i] >= inUse {
			m.place(m.old.slots[i], m.old.hashes[i])
		}
	}
	if m.moved = end; end == len(m.old.tags) {
		m.old, m.moved, m.growing = words{}, 0, false
	}
}

// Rehashing tells whether the words are growing.
func (m *CopyOnWriteMap[K, V]) Rehashing() bool { return m.growing }
