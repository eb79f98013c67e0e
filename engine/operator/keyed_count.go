package operator

import (
	"errors"
	"fmt"
	"strconv"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/task"
)

// KeyedCount counts the records of each key in keyed state, and keeps a payload of Settings.StateBytesPerKey characters
// beside each count that is new: the state of the published experiment.
type KeyedCount struct {
	t    serde.KeyType
	emit bool
	sum  bool // a record counts as often as its payload says

	ctx     *task.Context
	state   *task.KeyedState
	keys    *state.KeyContext
	count   *state.ValueState[int64]
	payload *state.ValueState[string] // nil without StateBytesPerKey
	failed  error                     // of a snapshot, told with the next record
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
	c.ctx, c.out = ctx, out
	s, err := ctx.OpenKeyed(c.t, c.restore)
	if err != nil {
		return err
	}
	c.restore = nil
	count, err := keyed.Value(s.Backend, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})
	if err == nil && ctx.Settings.StateBytesPerKey > 0 {
		c.payload, err = keyed.Value(s.Backend, state.ValueDescriptor[string]{Name: "payload", Codec: state.String()})
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	c.state, c.keys, c.count = s, s.Context(), count
	return nil
}

// Keyed implements task.KeyedOperator.
func (c *KeyedCount) Keyed() *task.KeyedState { return c.state }

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
	if n == 0 && c.payload != nil {
		if err := c.payload.Update(payload(c.ctx.Settings.StateBytesPerKey)); err != nil {
			return 0, err
		}
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
	if c.state == nil {
		return nil
	}
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
	if c.state == nil {
		return metric.State{}
	}
	return c.state.Report()
}

// SettingsChanged does nothing.
func (c *KeyedCount) SettingsChanged() {}

// Finish does nothing.
func (c *KeyedCount) Finish() error { return nil }

// Snapshot is the counts by key group, all their bytes: those of a task that has ended. Others are taken by Keyed.
func (c *KeyedCount) Snapshot() *checkpoint.OperatorState {
	groups, err := state.GroupBytes(c.state.Backend, 0)
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
	if c.state == nil {
		c.restore = append(c.restore, s)
		return nil
	}
	if len(s.Incremental) > 0 {
		return errors.New("keyed state in files was given after the operator was opened")
	}
	return c.state.Restore(s.Keyed)
}

// Close gives the state up.
func (c *KeyedCount) Close() error {
	if c.state == nil {
		return nil
	}
	return c.state.Close()
}
