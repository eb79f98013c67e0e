package state

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what a state is.
type Kind uint8

// The kinds of state. Their numbers are part of the canonical format.
const (
	KindValue Kind = iota
	KindList
	KindMap
	KindReducing
	KindAggregating
	KindTimers
	numKinds
)

var kindNames = [numKinds]string{"value", "list", "map", "reducing", "aggregating", "timers"}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Window is the namespace of a windowed state, as Flink's TimeWindow: start inclusive, end exclusive, in ms.
type Window struct{ Start, End int64 }

// NamespaceKind says what a state has beside its key.
type NamespaceKind uint8

// The kinds of namespaces: none (Flink's VoidNamespace), or a window.
const (
	NoNamespace NamespaceKind = iota
	WindowNamespace
	numNamespaces
)

// TTL is how long a value lives after it was written. The zero value: for ever.
type TTL struct {
	After time.Duration
	// OnRead says that reading a value, too, begins its time anew (Flink's UpdateType.OnReadAndWrite).
	OnRead bool
}

// Enabled tells whether values ever expire.
func (t TTL) Enabled() bool { return t.After > 0 }

// ValueDescriptor describes one value per key and namespace.
type ValueDescriptor[V any] struct {
	Name  string
	Codec Codec[V]
	// Default makes what Value returns where there is none; nil is V's zero value.
	Default   func() V
	Namespace NamespaceKind
	TTL       TTL
}

// ListDescriptor describes a list of elements. Codec is that of one element. With a TTL each element has its own time.
type ListDescriptor[E any] struct {
	Name      string
	Codec     Codec[E]
	Namespace NamespaceKind
	TTL       TTL
}

// MapDescriptor describes a map. With a TTL each of its entries has its own time.
type MapDescriptor[K comparable, V any] struct {
	Name      string
	Key       Codec[K]
	Value     Codec[V]
	Namespace NamespaceKind
	TTL       TTL
}

// ReducingDescriptor describes a value that each Add folds into with Reduce.
type ReducingDescriptor[V any] struct {
	Name      string
	Codec     Codec[V]
	Reduce    func(sum, v V) V
	Namespace NamespaceKind
	TTL       TTL
}

// AggregatingDescriptor describes an accumulator (Flink's AggregateFunction): Create makes an empty one, Add takes a
// value into it and returns it or a new one, Merge joins two, Result is what Get returns. Codec is the accumulator's.
type AggregatingDescriptor[In, Acc, Out any] struct {
	Name      string
	Codec     Codec[Acc]
	Create    func() Acc
	Add       func(acc Acc, v In) Acc
	Merge     func(a, b Acc) Acc
	Result    func(acc Acc) Out
	Namespace NamespaceKind
	TTL       TTL
}

// Meta is what a backend and the canonical format know of a state. Two Metas that differ in anything but TTL.OnRead and
// a TTL's length are incompatible.
type Meta struct {
	Name      string
	Kind      Kind
	Namespace NamespaceKind
	// Codec is the name of the value's codec (a list's element's), KeyCodec that of a map's keys.
	Codec, KeyCodec string
	// FixedValue and FixedKey are the bytes of each value and of each of a map's keys, 0 where they differ.
	FixedValue, FixedKey int
	TTL                  TTL
}

func newMeta[V any](kind Kind, name string, c *Codec[V], ns NamespaceKind, ttl TTL) (Meta, error) {
	m := Meta{Name: name, Kind: kind, Namespace: ns, Codec: c.Name, FixedValue: c.Fixed, TTL: ttl}
	if name == "" {
		return m, fmt.Errorf("a %v state has no name", kind)
	}
	if err := c.check(); err != nil {
		return m, fmt.Errorf("%v state %q: %w", kind, name, err)
	}
	if ns >= numNamespaces {
		return m, fmt.Errorf("%v state %q: namespace kind %d, must be 0 (none) or 1 (window)", kind, name, ns)
	}
	if ttl.After < 0 || ttl.After%time.Millisecond != 0 {
		return m, fmt.Errorf("%v state %q: time to live %v, must be 0 or whole milliseconds", kind, name, ttl.After)
	}
	if m.FixedValue > 0 && ttl.Enabled() {
		m.FixedValue += stampBytes
	}
	return m, nil
}

// Meta checks the descriptor.
func (d *ValueDescriptor[V]) Meta() (Meta, error) {
	return newMeta(KindValue, d.Name, &d.Codec, d.Namespace, d.TTL)
}

// Meta checks the descriptor.
func (d *ListDescriptor[E]) Meta() (Meta, error) {
	m, err := newMeta(KindList, d.Name, &d.Codec, d.Namespace, d.TTL)
	m.FixedValue = 0
	return m, err
}

// Meta checks the descriptor.
func (d *MapDescriptor[K, V]) Meta() (Meta, error) {
	m, err := newMeta(KindMap, d.Name, &d.Value, d.Namespace, d.TTL)
	if err == nil {
		if err = d.Key.check(); err != nil {
			err = fmt.Errorf("map state %q: keys: %w", d.Name, err)
		}
	}
	m.KeyCodec, m.FixedKey = d.Key.Name, d.Key.Fixed
	switch {
	case d.Value.Absent != nil:
		m.FixedValue = 0
	case m.FixedValue > 0:
		m.FixedValue++ // the byte that tells an absent value
	}
	return m, err
}

// Meta checks the descriptor.
func (d *ReducingDescriptor[V]) Meta() (Meta, error) {
	m, err := newMeta(KindReducing, d.Name, &d.Codec, d.Namespace, d.TTL)
	if err == nil && d.Reduce == nil {
		err = fmt.Errorf("reducing state %q: no Reduce function", d.Name)
	}
	return m, err
}

// Meta checks the descriptor.
func (d *AggregatingDescriptor[In, Acc, Out]) Meta() (Meta, error) {
	m, err := newMeta(KindAggregating, d.Name, &d.Codec, d.Namespace, d.TTL)
	if err == nil && (d.Create == nil || d.Add == nil || d.Result == nil) {
		err = fmt.Errorf("aggregating state %q: Create, Add and Result are needed", d.Name)
	}
	return m, err
}

// ErrIncompatible is wrapped by the errors of CheckCompatible.
var ErrIncompatible = errors.New("incompatible")

// CheckCompatible refuses to read a stored state with a descriptor that does not fit, before anything is read.
func CheckCompatible(stored, wanted Meta) error {
	differ := func(what string, s, w any) error {
		return fmt.Errorf("state %q is %w: stored with %s %v, the descriptor has %v", wanted.Name, ErrIncompatible, what, s, w)
	}
	switch {
	case stored.Kind != wanted.Kind:
		return differ("kind", stored.Kind, wanted.Kind)
	case stored.Codec != wanted.Codec:
		return differ("codec", stored.Codec, wanted.Codec)
	case stored.KeyCodec != wanted.KeyCodec:
		return differ("key codec", stored.KeyCodec, wanted.KeyCodec)
	case stored.Namespace != wanted.Namespace:
		return differ("namespace", namespaceName(stored.Namespace), namespaceName(wanted.Namespace))
	case stored.TTL.Enabled() != wanted.TTL.Enabled():
		return differ("time to live", stored.TTL.Enabled(), wanted.TTL.Enabled())
	case stored.FixedValue != wanted.FixedValue || stored.FixedKey != wanted.FixedKey:
		return differ("sizes", [2]int{stored.FixedKey, stored.FixedValue}, [2]int{wanted.FixedKey, wanted.FixedValue})
	}
	return nil
}

func namespaceName(n NamespaceKind) string {
	if n == WindowNamespace {
		return "window"
	}
	return "none"
}
