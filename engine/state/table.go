// Package state holds what keyed operators remember: for each key group of the subtask a table from key to value, kept
// on the heap (a plain form of Flink's HashMapStateBackend).
package state

// table maps the keys of one key group to values. The entries lie in one slab in order of insertion; an open-addressed
// array of words (hash in the upper half, index of the entry plus one in the lower) leads to them, so that a search
// reads an entry only when the whole hash agrees, and growing moves no entry.
type table[K comparable, V any] struct {
	words   []uint64
	shift   uint8 // 32 less the logarithm of len(words)
	entries []entry[K, V]
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

const (
	firstWords = 8
	// fullOf16 is how many of 16 words may be taken before the array doubles.
	fullOf16 = 11
)

// find is the index of the key's entry, or -1.
func (t *table[K, V]) find(hash int32, key K) int {
	if len(t.words) == 0 {
		return -1
	}
	mask := uint32(len(t.words) - 1)
	for i := spread(hash) >> t.shift; ; i++ {
		w := t.words[i&mask]
		if w == 0 {
			return -1
		}
		if int32(w>>32) == hash {
			if at := int(uint32(w)) - 1; t.entries[at].key == key {
				return at
			}
		}
	}
}

// insert adds a key that is not there and returns the index of its entry.
func (t *table[K, V]) insert(hash int32, key K, value V) int {
	if (len(t.entries)+1)*16 > len(t.words)*fullOf16 {
		t.grow()
	}
	t.entries = append(t.entries, entry[K, V]{key, value})
	t.place(uint64(uint32(hash))<<32 | uint64(len(t.entries)))
	return len(t.entries) - 1
}

func (t *table[K, V]) place(word uint64) {
	mask := uint32(len(t.words) - 1)
	i := spread(int32(word>>32)) >> t.shift
	for t.words[i&mask] != 0 {
		i++
	}
	t.words[i&mask] = word
}

func (t *table[K, V]) grow() {
	old := t.words
	if len(old) == 0 {
		t.words, t.shift = make([]uint64, firstWords), 32-3
	} else {
		t.words = make([]uint64, 2*len(old))
		t.shift--
	}
	for _, w := range old {
		if w != 0 {
			t.place(w)
		}
	}
}

// spread makes the upper bits depend on all bits of a Java hash code, which for small numbers are all zero.
func spread(hash int32) uint32 { return uint32(hash) * 0x9E3779B9 }
