// Package keyed makes states of descriptors in whichever backend a subtask has: the place where a generic type meets
// the two kinds of backends (see package state). The choice is made once, when the state is made; no access comes by
// here.
package keyed

import (
	"fmt"

	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/trace"
)

// created hits the tracepoint of a new state. ttl is in ms, 0 for ever.
func created(b state.Backend, m *state.Meta) {
	if t, thread := b.Context().Tracer(); t.On(trace.StateCreated) {
		t.Hit(trace.StateCreated, thread, trace.Str("state", m.Name), trace.Str("kind", m.Kind.String()), trace.Str("codec", m.Codec),
			trace.Str("backend", b.Name()), trace.Int("ttlMs", m.TTL.After.Milliseconds()))
	}
}

func unknown(b state.Backend) error {
	return fmt.Errorf("state backend %q keeps neither live values nor bytes", b.Name())
}

// table makes or opens a state of single values.
func table[V any](b state.Backend, m state.Meta, c state.Codec[V]) (state.Table[V], error) {
	if !m.TTL.Enabled() {
		return plain(b, m, c)
	}
	t, err := plain(b, m, state.StampedCodec(c))
	if err != nil {
		return nil, err
	}
	return state.WithTTL(t, b.Expiry(m.TTL)), nil
}

func plain[V any](b state.Backend, m state.Meta, c state.Codec[V]) (state.Table[V], error) {
	switch b := b.(type) {
	case *heap.Backend:
		return heap.Value(b, m, c)
	case state.ByteBackend:
		s, err := b.OpenStore(m)
		if err != nil {
			return nil, err
		}
		return state.Encoded(m.Name, s, c), nil
	}
	return nil, unknown(b)
}

func plainList[E any](b state.Backend, m state.Meta, c state.Codec[E]) (state.ListTable[E], error) {
	switch b := b.(type) {
	case *heap.Backend:
		return heap.List(b, m, c)
	case state.ByteBackend:
		s, err := b.OpenStore(m)
		if err != nil {
			return nil, err
		}
		return state.EncodedList(m.Name, s, c), nil
	}
	return nil, unknown(b)
}

func plainMap[K comparable, V any](b state.Backend, m state.Meta, k state.Codec[K], v state.Codec[V]) (state.MapTable[K, V], error) {
	switch b := b.(type) {
	case *heap.Backend:
		return heap.Map(b, m, k, v)
	case state.ByteBackend:
		s, err := b.OpenStore(m)
		if err != nil {
			return nil, err
		}
		return state.EncodedMap(m.Name, s, k, v), nil
	}
	return nil, unknown(b)
}

// Value makes a value state. A name that the backend has in use is an error, as is one that was restored with another
// kind or codec.
func Value[V any](b state.Backend, d state.ValueDescriptor[V]) (*state.ValueState[V], error) {
	m, err := d.Meta()
	if err != nil {
		return nil, err
	}
	t, err := table(b, m, d.Codec)
	if err != nil {
		return nil, err
	}
	created(b, &m)
	return state.NewValueState(b.Context(), t, d), nil
}

// List makes a list state.
func List[E any](b state.Backend, d state.ListDescriptor[E]) (*state.ListState[E], error) {
	m, err := d.Meta()
	if err != nil {
		return nil, err
	}
	var t state.ListTable[E]
	if m.TTL.Enabled() {
		var stamped state.ListTable[state.Stamped[E]]
		if stamped, err = plainList(b, m, state.StampedCodec(d.Codec)); err == nil {
			t = state.ListWithTTL(stamped, b.Expiry(m.TTL))
		}
	} else {
		t, err = plainList(b, m, d.Codec)
	}
	if err != nil {
		return nil, err
	}
	created(b, &m)
	return state.NewListState(b.Context(), t, d), nil
}

// Map makes a map state.
func Map[K comparable, V any](b state.Backend, d state.MapDescriptor[K, V]) (*state.MapState[K, V], error) {
	m, err := d.Meta()
	if err != nil {
		return nil, err
	}
	var t state.MapTable[K, V]
	if m.TTL.Enabled() {
		var stamped state.MapTable[K, state.Stamped[V]]
		if stamped, err = plainMap(b, m, d.Key, state.StampedMapValue(d.Value)); err == nil {
			t = state.MapWithTTL(stamped, b.Expiry(m.TTL))
		}
	} else {
		t, err = plainMap(b, m, d.Key, d.Value)
	}
	if err != nil {
		return nil, err
	}
	created(b, &m)
	return state.NewMapState(b.Context(), t, d), nil
}

// Reducing makes a reducing state.
func Reducing[V any](b state.Backend, d state.ReducingDescriptor[V]) (*state.ReducingState[V], error) {
	m, err := d.Meta()
	if err != nil {
		return nil, err
	}
	t, err := table(b, m, d.Codec)
	if err != nil {
		return nil, err
	}
	created(b, &m)
	return state.NewReducingState(b.Context(), t, d), nil
}

// Aggregating makes an aggregating state.
func Aggregating[In, Acc, Out any](b state.Backend, d state.AggregatingDescriptor[In, Acc, Out]) (*state.AggregatingState[In, Acc, Out], error) {
	m, err := d.Meta()
	if err != nil {
		return nil, err
	}
	t, err := table(b, m, d.Codec)
	if err != nil {
		return nil, err
	}
	created(b, &m)
	return state.NewAggregatingState(b.Context(), t, d), nil
}
