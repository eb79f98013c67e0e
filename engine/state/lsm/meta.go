package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/state"
)

// metaVersion begins what a checkpoint keeps of a DB beside its files: the states with their numbers and, by key group, how
// much there is of each, so that a restore of a part knows it without reading; and the timers, which lie on the heap.
const metaVersion = 1

// groupCount is how much a state has in one key group.
type groupCount struct{ keys, entries, bytes int64 }

// storedState is a state as a checkpoint has it.
type storedState struct {
	id     uint16
	meta   state.Meta
	groups map[int]groupCount
}

// storedMeta is the whole of it.
type storedMeta struct {
	states []storedState
	timers []checkpoint.KeyGroupState // in the canonical format
}

func (m *storedMeta) ids() map[string]uint16 {
	ids := map[string]uint16{}
	for _, s := range m.states {
		ids[s.meta.Name] = s.id
	}
	return ids
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (m *storedMeta) encode() []byte {
	b := []byte{metaVersion}
	b = binary.AppendUvarint(b, uint64(len(m.states)))
	for _, s := range m.states {
		b = appendText(b, s.meta.Name)
		b = binary.BigEndian.AppendUint16(b, s.id)
		b = append(b, byte(s.meta.Kind), byte(s.meta.Namespace))
		b = appendText(appendText(b, s.meta.Codec), s.meta.KeyCodec)
		b = binary.AppendUvarint(b, uint64(s.meta.FixedValue))
		b = binary.AppendUvarint(b, uint64(s.meta.FixedKey))
		b = binary.AppendUvarint(b, uint64(s.meta.TTL.After.Milliseconds()))
		var onRead byte
		if s.meta.TTL.OnRead {
			onRead = 1
		}
		b = append(b, onRead)
		b = binary.AppendUvarint(b, uint64(len(s.groups)))
		for _, g := range slices.Sorted(maps.Keys(s.groups)) {
			c := s.groups[g]
			for _, n := range [...]int64{int64(g), c.keys, c.entries, c.bytes} {
				b = binary.AppendUvarint(b, uint64(n))
			}
		}
	}
	b = binary.AppendUvarint(b, uint64(len(m.timers)))
	for _, g := range m.timers {
		b = binary.AppendUvarint(b, uint64(g.KeyGroup))
		b = binary.AppendUvarint(b, uint64(len(g.Data)))
		b = append(b, g.Data...)
	}
	return b
}

var errShortMeta = errors.New("the description of the state ends early")

// metaReader walks the bytes; after the first fault it answers zeros.
type metaReader struct {
	b   []byte
	err error
}

func (r *metaReader) take(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.b)) {
		r.err = errShortMeta
	}
	if r.err != nil {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *metaReader) varint() int64 {
	if r.err != nil {
		return 0
	}
	n, w := binary.Uvarint(r.b)
	if w <= 0 || n > 1<<62 {
		r.err = errShortMeta
		return 0
	}
	r.b = r.b[w:]
	return int64(n)
}

// count is a number of things that take at least one byte each, or of bytes.
func (r *metaReader) count() int {
	n := r.varint()
	if n > int64(len(r.b)) {
		r.err = errShortMeta
		return 0
	}
	return int(n)
}

func (r *metaReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *metaReader) text() string { return string(r.take(r.count())) }

func parseMeta(b []byte) (*storedMeta, error) {
	r := &metaReader{b: b}
	if v := r.byte(); r.err == nil && v != metaVersion {
		return nil, fmt.Errorf("lsm state of version %d, expected %d", v, metaVersion)
	}
	m := &storedMeta{}
	for range r.count() {
		s := storedState{groups: map[int]groupCount{}}
		s.meta.Name = r.text()
		if id := r.take(2); id != nil {
			s.id = binary.BigEndian.Uint16(id)
		}
		s.meta.Kind, s.meta.Namespace = state.Kind(r.byte()), state.NamespaceKind(r.byte())
		s.meta.Codec, s.meta.KeyCodec = r.text(), r.text()
		s.meta.FixedValue, s.meta.FixedKey = int(r.varint()), int(r.varint())
		s.meta.TTL.After = time.Duration(r.varint()) * time.Millisecond
		s.meta.TTL.OnRead = r.byte() != 0
		for range r.count() {
			g := int(r.varint())
			s.groups[g] = groupCount{r.varint(), r.varint(), r.varint()}
		}
		m.states = append(m.states, s)
	}
	for range r.count() {
		g := int(r.varint())
		m.timers = append(m.timers, checkpoint.KeyGroupState{KeyGroup: g, Data: r.take(r.count())})
	}
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes too many behind the description of the state", len(r.b))
	}
	return m, r.err
}
