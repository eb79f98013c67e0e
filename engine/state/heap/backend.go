package heap

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
)

// Options say where a backend stands.
type Options struct {
	Key            serde.KeyType
	MaxParallelism int
	KeyGroups      keygroup.Range // of the subtask
	// Clock is the time in ms for a TTL; nil is the wall clock.
	Clock func() int64
	// Cleanup is how many other entries each access to a value with a TTL looks at, to remove the expired; nil looks at none.
	Cleanup func() int
	// Copied, if set, is called for each copy that a write or a read makes because a snapshot is open. The map is whole then.
	Copied func(Copy)
}

// Copy tells of one copy on write.
type Copy struct {
	State    string
	KeyGroup int
	Key      serde.Key // a string is a view
	// Entry and Value are what was copied. A write copies the entry only, a read of what may change in place both.
	Entry, Value bool
	// Versions of the copy, and of the map.
	EntryVersion, ValueVersion, MapVersion uint32
}

// Backend keeps live values on the heap (Flink's HashMapStateBackend). It belongs to its task's goroutine.
type Backend struct {
	ctx     *state.KeyContext
	clock   func() int64
	cleanup func() int
	onCopy  func(Copy)
	tables  []anyTable
	byName  map[string]anyTable
	pending map[string]*pendingState
	timers  *state.TimerSet
	count   state.RestoreCounter
	dropped int64 // because a read found them expired
	swept   int64 // by Sweep

	// snapshots are those that collect has not freed.
	snapshots []*Snapshot
	// released counts releases that collect has not seen: they come from any goroutine.
	released atomic.Int32
	closed   atomic.Bool
}

// anyTable is a table whose types are not known.
type anyTable interface {
	metaOf() state.Meta
	stats() state.StateStats
	readings(group int) (MapReadings, bool)
	look(group, most int) (MapView, bool)
	held() (entries, bytes int64)
	snapshot() anySnapshot
	restore(r *state.CanonicalReader, group int, hash int32) error
}

type anySnapshot interface {
	size(group int) int
	writeGroup(w *state.CanonicalWriter, group int) error
	release()
}

// New makes an empty backend.
func New(o Options) (*Backend, error) {
	ctx, err := state.NewKeyContext(o.Key, o.MaxParallelism, o.KeyGroups)
	if err != nil {
		return nil, fmt.Errorf("heap state backend: %w", err)
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	return &Backend{
		ctx: ctx, clock: o.Clock, cleanup: o.Cleanup, onCopy: o.Copied, byName: map[string]anyTable{}, pending: map[string]*pendingState{}, timers: state.NewTimerSet(ctx),
	}, nil
}

// Name implements state.Backend.
func (b *Backend) Name() string { return "hashmap" }

// Context implements state.Backend.
func (b *Backend) Context() *state.KeyContext { return b.ctx }

// Expiry implements state.Backend.
func (b *Backend) Expiry(t state.TTL) state.Expiry {
	return state.NewExpiry(t, b.clock, &b.dropped).Cleaned(b.cleanup)
}

// Timers implements state.Backend.
func (b *Backend) Timers(name string, ns state.NamespaceKind) (*state.Timers, error) {
	return b.timers.Open(name, ns)
}

// SafeToReuse implements state.Backend: values are live.
func (b *Backend) SafeToReuse() bool { return false }

// Close implements state.Backend.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return nil
}

// add takes up a new table, and what was restored of it.
func (b *Backend) add(t anyTable) error {
	m := t.metaOf()
	if _, ok := b.byName[m.Name]; ok {
		return fmt.Errorf("state %q is there already: a name stands for one state of an operator", m.Name)
	}
	if p := b.pending[m.Name]; p != nil {
		if err := state.CheckCompatible(p.meta, m); err != nil {
			return err
		}
		if err := p.fill(t, b.ctx.KeyType()); err != nil {
			return err
		}
		delete(b.pending, m.Name)
	}
	b.byName[m.Name] = t
	b.tables = append(b.tables, t)
	return nil
}

// Value makes the table of a value, reducing or aggregating state.
func Value[V any](b *Backend, m state.Meta, c state.Codec[V]) (state.Table[V], error) {
	switch {
	case b.ctx.KeyType() != serde.String && m.Namespace == state.NoNamespace:
		return added(b, newTable[number](b, m, c))
	case b.ctx.KeyType() != serde.String:
		return added(b, newTable[numberInWindow](b, m, c))
	case m.Namespace == state.NoNamespace:
		return added(b, newTable[text](b, m, c))
	}
	return added(b, newTable[textInWindow](b, m, c))
}

// List makes the table of a list state; c is the codec of an element.
func List[E any](b *Backend, m state.Meta, c state.Codec[E]) (state.ListTable[E], error) {
	switch {
	case b.ctx.KeyType() != serde.String && m.Namespace == state.NoNamespace:
		return added(b, newListTable[number](b, m, c))
	case b.ctx.KeyType() != serde.String:
		return added(b, newListTable[numberInWindow](b, m, c))
	case m.Namespace == state.NoNamespace:
		return added(b, newListTable[text](b, m, c))
	}
	return added(b, newListTable[textInWindow](b, m, c))
}

// Map makes the table of a map state.
func Map[UK comparable, UV any](b *Backend, m state.Meta, k state.Codec[UK], v state.Codec[UV]) (state.MapTable[UK, UV], error) {
	switch {
	case b.ctx.KeyType() != serde.String && m.Namespace == state.NoNamespace:
		return added(b, newMapTable[number](b, m, k, v))
	case b.ctx.KeyType() != serde.String:
		return added(b, newMapTable[numberInWindow](b, m, k, v))
	case m.Namespace == state.NoNamespace:
		return added(b, newMapTable[text](b, m, k, v))
	}
	return added(b, newMapTable[textInWindow](b, m, k, v))
}

func added[T anyTable](b *Backend, t T) (T, error) { return t, b.add(t) }

// Stats implements state.Backend.
func (b *Backend) Stats() state.Stats {
	b.collect()
	s := state.Stats{DroppedExpired: b.dropped + b.swept, DroppedInBackground: b.swept}
	s.RestoredKeys, s.KeysOutOfRange = b.count.Figures()
	for _, t := range b.tables {
		s.States = append(s.States, t.stats())
	}
	for _, p := range b.pending {
		s.States = append(s.States, p.stats)
	}
	for _, t := range s.States {
		s.Keys = max(s.Keys, t.Keys)
		s.Bytes += t.Bytes
	}
	slices.SortFunc(s.States, func(a, b state.StateStats) int { return cmpText(a.Name, b.Name) })
	for _, t := range b.timers.Stats() {
		s.States = append(s.States, t)
		s.Bytes += t.Bytes
	}
	return s
}

// Readings are the figures of the map of one state and key group.
func (b *Backend) Readings(name string, group int) (MapReadings, bool) {
	b.collect()
	t, ok := b.byName[name]
	if !ok {
		return MapReadings{}, false
	}
	return t.readings(group)
}

// Restore implements state.Backend.
func (b *Backend) Restore(groups []checkpoint.KeyGroupState) error {
	r := restoring{b: b}
	return state.ReadGroups(b.ctx, groups, &b.count, r.begin, r.entry, r.end)
}

// copied tells of a copy of an entry of the current key.
func (b *Backend) copied(c Copy) {
	if b.onCopy != nil {
		c.KeyGroup, c.Key = b.ctx.Group(), b.ctx.Key()
		b.onCopy(c)
	}
}
