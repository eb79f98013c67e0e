package operator

import (
	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/task"
)

// KeyedCount counts the records of each key in keyed state.
type KeyedCount struct {
	t    serde.KeyType
	emit bool

	count   *state.Value[int64]
	restore []*checkpoint.OperatorState
	out     task.Output
	record  serde.Record
}

// MaxCounts is how many keys Counts returns at most; the Snapshot leaves longer lists out.
const MaxCounts = 1000

// NewKeyedCount counts keys of type t. With emit it sends each new count on: a record whose key is the count, a long.
func NewKeyedCount(t serde.KeyType, emit bool) *KeyedCount { return &KeyedCount{t: t, emit: emit} }

// Open makes the state, and fills it if Restore was called before.
func (c *KeyedCount) Open(ctx *task.Context, out task.Output) error {
	c.out = out
	count, err := state.NewValue(state.Options{Name: "count", Key: c.t, MaxParallelism: ctx.MaxParallelism, KeyGroups: ctx.KeyGroups}, state.Int64())
	if err != nil {
		return err
	}
	c.count = count
	for _, s := range c.restore {
		if err := count.Restore(s.Keyed); err != nil {
			return err
		}
	}
	c.restore = nil
	return nil
}

// Process counts.
func (c *KeyedCount) Process(r *serde.Record) error {
	if err := c.count.SetCurrentKey(r.Key, serde.HashKey(c.t, r.Key)); err != nil {
		return err
	}
	n, _ := c.count.Get()
	n++
	c.count.Put(n)
	if !c.emit {
		return nil
	}
	c.record.Key.Num = n
	return c.out.Collect(&c.record)
}

// Counts are the counts by key now, or nil if there are more than MaxCounts keys. Only the task's goroutine may call it.
func (c *KeyedCount) Counts() map[string]int64 {
	n := c.count.Stats().Keys
	if n > MaxCounts {
		return nil
	}
	m := make(map[string]int64, n)
	c.count.Each(func(_ int, k serde.Key, v int64) bool {
		m[serde.FormatKey(c.t, k)] = v
		return true
	})
	return m
}

// State is what the Snapshot tells of the state. Only the task's goroutine may call it.
func (c *KeyedCount) State() metric.State {
	s := c.count.Stats()
	return metric.State{Keys: s.Keys, Bytes: s.Bytes, RestoredKeys: s.RestoredKeys, KeysOutOfRange: s.KeysOutOfRange}
}

// SettingsChanged does nothing.
func (c *KeyedCount) SettingsChanged() {}

// Finish does nothing.
func (c *KeyedCount) Finish() error { return nil }

// Snapshot is the counts by key group.
func (c *KeyedCount) Snapshot() *checkpoint.OperatorState {
	return &checkpoint.OperatorState{Keyed: c.count.Snapshot()}
}

// Restore takes the counts of this subtask's key groups, before or after Open.
func (c *KeyedCount) Restore(s *checkpoint.OperatorState) error {
	if s == nil {
		return nil
	}
	if c.count == nil {
		c.restore = append(c.restore, s)
		return nil
	}
	return c.count.Restore(s.Keyed)
}

// Close does nothing.
func (c *KeyedCount) Close() error { return nil }
