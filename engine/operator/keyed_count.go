package operator

import (
	"fmt"
	"strconv"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
	"weir/engine/task"
)

// KeyedCount counts the records of each key in keyed state.
type KeyedCount struct {
	t    serde.KeyType
	emit bool
	sum  bool // a record counts as often as its payload says

	backend state.Backend
	keys    *state.KeyContext
	count   *state.ValueState[int64]
	failed  error // of a snapshot, told with the next record
	restore []*checkpoint.OperatorState
	out     task.Output
	record  serde.Record
}

// MaxCounts is how many keys Counts returns at most; the Snapshot leaves longer lists out.
const MaxCounts = 1000

// NewKeyedCount counts keys of type t. With emit it sends each new count on: a record whose key is the count, a long.
func NewKeyedCount(t serde.KeyType, emit bool) *KeyedCount { return &KeyedCount{t: t, emit: emit} }

// NewKeyedSum is the second of two stages: it adds up the counts that PreCount sends.
func NewKeyedSum(t serde.KeyType, emit bool) *KeyedCount {
	return &KeyedCount{t: t, emit: emit, sum: true}
}

// Open makes the state, and fills it if Restore was called before.
func (c *KeyedCount) Open(ctx *task.Context, out task.Output) error {
	c.out = out
	backend, err := heap.New(heap.Options{Key: c.t, MaxParallelism: ctx.MaxParallelism, KeyGroups: ctx.KeyGroups})
	if err != nil {
		return err
	}
	count, err := keyed.Value(backend, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})
	if err != nil {
		return err
	}
	c.backend, c.keys, c.count = backend, backend.Context(), count
	for _, s := range c.restore {
		if err := backend.Restore(s.Keyed); err != nil {
			return err
		}
	}
	c.restore = nil
	return nil
}

// Process counts.
func (c *KeyedCount) Process(r *serde.Record) error {
	if err := c.keys.Set(r.Key, serde.HashKey(c.t, r.Key)); err != nil {
		return err
	}
	n, err := c.add(r)
	c.keys.Clear()
	if err != nil {
		return err
	}
	if !c.emit {
		return nil
	}
	c.record.Key.Num = n
	return c.out.Collect(&c.record)
}

// add adds what the record says to the count of the current key.
func (c *KeyedCount) add(r *serde.Record) (int64, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	n, err := c.count.Value()
	if err != nil {
		return 0, err
	}
	if c.sum {
		more, err := strconv.ParseInt(r.Payload, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("key %s: the count %q is not a number", serde.FormatKey(c.t, r.Key), r.Payload)
		}
		n += more
	} else {
		n++
	}
	return n, c.count.Update(n)
}

// Counts are the counts by key now, or nil if there are more than MaxCounts keys. Only the task's goroutine may call it.
func (c *KeyedCount) Counts() map[string]int64 {
	n := c.count.Entries()
	if n > MaxCounts {
		return nil
	}
	m := make(map[string]int64, n)
	err := c.count.Each(func(_ int, k serde.Key, _ state.Window, v int64) bool {
		m[serde.FormatKey(c.t, k)] = v
		return true
	})
	if err != nil {
		return nil
	}
	return m
}

// State is what the Snapshot tells of the state. Only the task's goroutine may call it.
func (c *KeyedCount) State() metric.State {
	s := c.backend.Stats()
	return metric.State{Keys: s.Keys, Bytes: s.Bytes, RestoredKeys: s.RestoredKeys, KeysOutOfRange: s.KeysOutOfRange}
}

// SettingsChanged does nothing.
func (c *KeyedCount) SettingsChanged() {}

// Finish does nothing.
func (c *KeyedCount) Finish() error { return nil }

// Snapshot is the counts by key group.
func (c *KeyedCount) Snapshot() *checkpoint.OperatorState {
	groups, err := state.GroupBytes(c.backend, 0)
	if err != nil {
		c.failed = err
	}
	return &checkpoint.OperatorState{Keyed: groups}
}

// Restore takes the counts of this subtask's key groups, before or after Open.
func (c *KeyedCount) Restore(s *checkpoint.OperatorState) error {
	if s == nil {
		return nil
	}
	if c.backend == nil {
		c.restore = append(c.restore, s)
		return nil
	}
	return c.backend.Restore(s.Keyed)
}

// Close gives the state up.
func (c *KeyedCount) Close() error {
	if c.backend == nil {
		return nil
	}
	return c.backend.Close()
}
