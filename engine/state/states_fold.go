package state

import (
	"errors"

	"weir/engine/serde"
)

// ReducingState is one value per key and namespace that each added value is folded into.
type ReducingState[V any] struct {
	base
	table  Table[V]
	codec  Codec[V]
	reduce func(sum, v V) V
}

// NewReducingState makes it of a backend's table.
func NewReducingState[V any](ctx *KeyContext, t Table[V], d ReducingDescriptor[V]) *ReducingState[V] {
	return &ReducingState[V]{base{name: d.Name, ctx: ctx}, t, d.Codec, d.Reduce}
}

// Get is the value; false if nothing was added.
func (s *ReducingState[V]) Get() (v V, ok bool, err error) {
	return s.table.Get(s.ns)
}

// Add folds v into the value. The absent value clears it.
func (s *ReducingState[V]) Add(v V) error {
	if s.codec.Absent != nil && s.codec.Absent(v) {
		return s.Clear()
	}
	return s.addTo(s.ns, v)
}

func (s *ReducingState[V]) addTo(ns Window, v V) error {
	sum, ok, err := s.table.Get(ns)
	if err != nil {
		return err
	}
	if ok {
		v = s.reduce(sum, v)
	}
	return s.table.Put(ns, v)
}

// Clear removes the value.
func (s *ReducingState[V]) Clear() error {
	return s.table.Remove(s.ns)
}

// Merge folds the values of the sources into that of the target, for the current key, and removes them.
func (s *ReducingState[V]) Merge(target Window, sources ...Window) error {
	for _, ns := range sources {
		if ns == target {
			continue
		}
		v, ok, err := s.table.Get(ns)
		if ok && err == nil {
			if err = s.table.Remove(ns); err == nil {
				err = s.addTo(target, v)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Each goes through all values by key group, without a current key, until f returns false. f must not change them.
func (s *ReducingState[V]) Each(f func(group int, key serde.Key, ns Window, v V) bool) error {
	return s.table.Each(f)
}

// ForEachKey calls f with each key that has a value in the current namespace as the current key.
func (s *ReducingState[V]) ForEachKey(f func(key serde.Key) error) error {
	keys, err := s.table.Keys(s.ns)
	return s.forEach(keys, err, f)
}

// Entries is the number of values.
func (s *ReducingState[V]) Entries() int64 { return s.table.Entries() }

// AggregatingState is one accumulator per key and namespace.
type AggregatingState[In, Acc, Out any] struct {
	base
	table Table[Acc]
	d     AggregatingDescriptor[In, Acc, Out]
}

// NewAggregatingState makes it of a backend's table.
func NewAggregatingState[In, Acc, Out any](ctx *KeyContext, t Table[Acc], d AggregatingDescriptor[In, Acc, Out]) *AggregatingState[In, Acc, Out] {
	return &AggregatingState[In, Acc, Out]{base{name: d.Name, ctx: ctx}, t, d}
}

// Get is the result of what was added; false if nothing was.
func (s *AggregatingState[In, Acc, Out]) Get() (out Out, ok bool, err error) {
	acc, ok, err := s.table.Get(s.ns)
	if err != nil || !ok {
		return out, false, err
	}
	return s.d.Result(acc), true, nil
}

// Add takes v into the accumulator.
func (s *AggregatingState[In, Acc, Out]) Add(v In) error {
	acc, ok, err := s.table.Get(s.ns)
	if err != nil {
		return err
	}
	if !ok {
		acc = s.d.Create()
	}
	return s.table.Put(s.ns, s.d.Add(acc, v))
}

// Clear removes the accumulator.
func (s *AggregatingState[In, Acc, Out]) Clear() error {
	return s.table.Remove(s.ns)
}

// Merge joins the accumulators of the sources with that of the target, for the current key, and removes them.
func (s *AggregatingState[In, Acc, Out]) Merge(target Window, sources ...Window) error {
	for _, ns := range sources {
		if ns == target {
			continue
		}
		if err := s.mergeOne(target, ns); err != nil {
			return err
		}
	}
	return nil
}

func (s *AggregatingState[In, Acc, Out]) mergeOne(target, source Window) error {
	acc, ok, err := s.table.Get(source)
	if err != nil || !ok {
		return err
	}
	if s.d.Merge == nil {
		return s.fail(errors.New("its descriptor has no Merge function"))
	}
	if err := s.table.Remove(source); err != nil {
		return err
	}
	into, ok, err := s.table.Get(target)
	if err != nil {
		return err
	}
	if ok {
		acc = s.d.Merge(into, acc)
	}
	return s.table.Put(target, acc)
}

// Each goes through all accumulators by key group, without a current key, until f returns false. f must not change
// them.
func (s *AggregatingState[In, Acc, Out]) Each(f func(group int, key serde.Key, ns Window, acc Acc) bool) error {
	return s.table.Each(f)
}

// ForEachKey calls f with each key that has an accumulator in the current namespace as the current key.
func (s *AggregatingState[In, Acc, Out]) ForEachKey(f func(key serde.Key) error) error {
	keys, err := s.table.Keys(s.ns)
	return s.forEach(keys, err, f)
}

// Entries is the number of accumulators.
func (s *AggregatingState[In, Acc, Out]) Entries() int64 { return s.table.Entries() }
