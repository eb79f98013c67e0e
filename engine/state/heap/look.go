package heap

import (
	"fmt"
	"reflect"

	"weir/engine/serde"
	"weir/engine/state"
)

// MapView is the map of one state and key group as a microscope shows it: the entries that the task sees, and the old
// ones that are kept for snapshots.
type MapView struct {
	MapReadings
	State    string `json:"state"`
	KeyGroup int    `json:"keyGroup"`
	// NewWords is the size of the array of words. While it grows, OldWords is that of the one before, and Moved counts the
	// words of it that were moved already.
	NewWords int `json:"newWords"`
	OldWords int `json:"oldWords"`
	Moved    int `json:"moved"`
	// CopiesOnRead says that values may change in place, so that a read copies too.
	CopiesOnRead bool        `json:"copiesOnRead"`
	Live         []EntryView `json:"live"` // by word
	Old          []EntryView `json:"old"`  // oldest first
	LeftOut      int         `json:"leftOut"`
}

// EntryView is one entry.
type EntryView struct {
	Key          string `json:"key"`
	Word         int    `json:"word"` // where the word stands that leads to it; -1 of an old entry
	Slot         uint32 `json:"slot"`
	EntryVersion uint32 `json:"entryVersion"`
	ValueVersion uint32 `json:"valueVersion"`
	Value        string `json:"value"` // the beginning of it
	// In are the versions of the open snapshots that read this very entry.
	In []uint32 `json:"in"`
}

// Look views the map of a state and key group, with at most so many entries and as many old ones. It copies nothing.
func (b *Backend) Look(name string, group, most int) (MapView, bool) {
	b.collect()
	t, ok := b.byName[name]
	if !ok {
		return MapView{}, false
	}
	return t.look(group, most)
}

// StateNames are the names of the states, in the order in which they were made.
func (b *Backend) StateNames() []string {
	names := make([]string, len(b.tables))
	for i, t := range b.tables {
		names[i] = t.metaOf().Name
	}
	return names
}

// Held are the old entries that are kept for snapshots, over all states, and an estimate of their bytes.
func (b *Backend) Held() (entries, bytes int64) {
	b.collect()
	for _, t := range b.tables {
		n, size := t.held()
		entries += n
		bytes += size
	}
	return entries, bytes
}

func (t *table[K, V]) held() (entries, bytes int64) {
	for i := range t.maps {
		for _, r := range t.maps[i].retired {
			entries += int64(len(r.slots))
		}
	}
	if entries > 0 && t.keys > 0 {
		bytes = entries * (int64(reflect.TypeFor[entry[K, V]]().Size()) + max(t.bytes, 0)/t.keys)
	}
	return entries, bytes
}

func (t *table[K, V]) look(group, most int) (MapView, bool) {
	i := group - t.first
	if i < 0 || i >= len(t.maps) {
		return MapView{}, false
	}
	m := &t.maps[i]
	v := MapView{MapReadings: m.Readings(), State: t.meta.Name, KeyGroup: group, NewWords: len(m.words.tags), OldWords: len(m.old.tags), Moved: m.moved,
		CopiesOnRead: m.clone != nil, Live: []EntryView{}, Old: []EntryView{}}
	view := func(e *entry[K, V], word int, slot, until uint32) EntryView {
		x := EntryView{Key: serde.FormatKey(t.ctx.KeyType(), e.key.key()), Word: word, Slot: slot, EntryVersion: e.entryVersion, ValueVersion: e.valueVersion,
			Value: preview(any(e.value)), In: []uint32{}}
		if w := e.key.window(); w != (state.Window{}) {
			x.Key += fmt.Sprintf(" [%d,%d)", w.Start, w.End)
		}
		for _, s := range m.open {
			if e.entryVersion < s && s <= until {
				x.In = append(x.In, s)
			}
		}
		return x
	}
	for at := range m.places() {
		if slot, _, ok := m.word(at); ok && len(v.Live) < most {
			word := at
			if at >= v.NewWords {
				word -= v.NewWords
			}
			v.Live = append(v.Live, view(m.slot(slot), word, slot, m.version))
		}
	}
	for _, r := range m.retired {
		for _, slot := range r.slots {
			if len(v.Old) < most {
				v.Old = append(v.Old, view(m.slot(slot), -1, slot, r.version))
			}
		}
	}
	v.LeftOut = v.Entries - len(v.Live) + v.Retired - len(v.Old)
	if v.Open == nil {
		v.Open = []uint32{}
	}
	return v, true
}

// previewLength bounds what is shown of a value.
const previewLength = 28

func preview(v any) string {
	s := fmt.Sprint(v)
	if r := []rune(s[:min(len(s), 4*previewLength)]); len(s) > previewLength {
		return string(r[:min(len(r), previewLength)]) + fmt.Sprintf("… (%d)", len(s))
	}
	return s
}

// Sweep looks at the next n entries, going round through all key groups, and removes those whose value gone names: the
// incremental cleanup of a TTL. It begins where the last call ended, and tells how many it removed.
func (t *table[K, V]) Sweep(n int, gone func(V) bool) int {
	removed := 0
	for range len(t.maps) + 1 {
		if n <= 0 || t.keys == 0 {
			break
		}
		m := &t.maps[t.sweepMap]
		if m.size == 0 || t.sweepWord >= m.places() {
			t.sweepMap, t.sweepWord = (t.sweepMap+1)%len(t.maps), 0
			continue
		}
		for ; n > 0 && t.sweepWord < m.places(); t.sweepWord++ {
			slot, hash, ok := m.word(t.sweepWord)
			if !ok {
				continue
			}
			n--
			e := m.slot(slot)
			if !gone(e.value) {
				continue
			}
			if e.entryVersion < m.required {
				t.b.collect()
			}
			key := e.key
			t.keys--
			t.bytes -= t.bytesOf(key.key()) + int64(t.size(e.value))
			m.find(hash, key) // moves its word where it is to be removed
			m.remove(hash, key)
			t.turn = 0 // what is remembered of the current key may be gone
			removed++
			t.sweepWord-- // another word may have moved up
		}
	}
	t.b.swept += int64(removed)
	return removed
}
