package heap

import "reflect"

const (
	// firstEntries is how large the first part grows: up to it, an entry is one load away from its slot.
	firstEntries = 1 << 14
	chunkBits    = 12
	chunkEntries = 1 << chunkBits
)

// slab holds entries by slot. The first part doubles until it is full; behind it there are chunks that are made whole,
// so that no growth copies much. A slab never shrinks; free slots are used again.
type slab[K comparable, V any] struct {
	first []entry[K, V]
	head
	chunks [][]entry[K, V]
	next   uint32 // the first slot that was never used
	frees  []uint32
	// pointers says that an unused slot must be emptied, lest it keep memory alive.
	pointers bool
}

// head is what a search reads of a map beside its words and entries.
type head struct {
	version  uint32
	required uint32 // the highest version of an open snapshot, 0 if none is open
	shift    uint8  // 64 less the logarithm of the number of words
	growing  bool   // the words are being moved to larger arrays
}

func (s *slab[K, V]) init() {
	s.pointers = hasPointers(reflect.TypeFor[entry[K, V]]())
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}

func (s *slab[K, V]) slot(i uint32) *entry[K, V] {
	if int(i) < len(s.first) {
		return &s.first[i]
	}
	return far(s.chunks, i)
}

// far is a slot behind the first part.
func far[K comparable, V any](chunks [][]entry[K, V], i uint32) *entry[K, V] {
	i -= firstEntries
	return &chunks[i>>chunkBits][i&(chunkEntries-1)]
}

// take gives an unused slot. Pointers to entries of before no longer hold.
func (s *slab[K, V]) take() (uint32, *entry[K, V]) {
	if n := len(s.frees); n > 0 {
		i := s.frees[n-1]
		s.frees = s.frees[:n-1]
		return i, s.slot(i)
	}
	i := s.next
	s.next++
	switch {
	case i < firstEntries:
		if int(i) == len(s.first) {
			// A snapshot goes on reading the part of before; what it reads there does not change any more.
			bigger := make([]entry[K, V], min(max(2*i, 4), firstEntries))
			copy(bigger, s.first)
			s.first = bigger
		}
	case int(i-firstEntries) == len(s.chunks)<<chunkBits:
		s.chunks = append(s.chunks, make([]entry[K, V], chunkEntries))
	}
	return i, s.slot(i)
}

func (s *slab[K, V]) free(i uint32) {
	if s.pointers {
		*s.slot(i) = entry[K, V]{}
	}
	s.frees = append(s.frees, i)
}
