package operator

import (
	"errors"
	"fmt"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/task"
)

// StateCount counts the records of each key in an array, as one keeps a mutable object in Flink's ValueState<long[]>: what
// it reads may be the live object, and Settings.InPlaceUpdate changes that and does not put it back. Beside each new count it
// keeps a payload of Settings.StateBytesPerKey characters. All its values have the settings' time to live.
type StateCount struct {
	t    serde.KeyType
	last bool

	ctx     *task.Context
	state   *task.KeyedState
	keys    *state.KeyContext
	count   *state.ValueState[[]int64]
	payload *state.ValueState[string] // nil without StateBytesPerKey
	seen    *state.ValueState[int64]  // nil unless last
	records int64
	text    string // of the payload
	opened  time.Time
	ttl     metric.TTL
	inPlace metric.InPlace
	oldest  [2]int64 // of the time slice that runs, and of the one before
	slice   int64
	failed  error // of a snapshot, told with the next record
	restore []*checkpoint.OperatorState
}

// What stands in the array: the count, and, with a time to live, when it was written, in ms.
const (
	counted = iota
	writtenAt
)

// mostAged bounds the values that a report looks through.
const mostAged = 20_000

// NewStateCount counts keys of type t. With last it also writes, without ever reading it, the number of each key's last
// record of this subtask into a state of its own.
func NewStateCount(t serde.KeyType, last bool) *StateCount { return &StateCount{t: t, last: last} }

// Open makes the states, and fills them if Restore was called before.
func (c *StateCount) Open(ctx *task.Context, _ task.Output) error {
	c.ctx, c.text, c.opened = ctx, payload(ctx.Settings.StateBytesPerKey), time.Now()
	s, err := ctx.OpenKeyed(c.t, c.restore)
	if err != nil {
		return err
	}
	c.restore = nil
	set := ctx.Settings
	ttl := state.TTL{After: time.Duration(set.TtlMs) * time.Millisecond, OnRead: set.TtlUpdate == task.TTLOnRead}
	c.count, err = keyed.Value(s.Backend, state.ValueDescriptor[[]int64]{Name: "count", Codec: state.List(state.Int64()), TTL: ttl})
	if err == nil && set.StateBytesPerKey > 0 {
		c.payload, err = keyed.Value(s.Backend, state.ValueDescriptor[string]{Name: "payload", Codec: state.String(), TTL: ttl})
	}
	if err == nil && c.last {
		c.seen, err = keyed.Value(s.Backend, state.ValueDescriptor[int64]{Name: "last", Codec: state.Int64(), TTL: ttl})
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	c.state, c.keys = s, s.Context()
	return nil
}

// Keyed implements task.KeyedOperator.
func (c *StateCount) Keyed() *task.KeyedState { return c.state }

// Process counts.
func (c *StateCount) Process(r *serde.Record) error {
	hash := serde.HashKey(c.t, r.Key)
	if err := c.keys.Set(r.Key, hash); err != nil {
		return err
	}
	err := c.failed
	if err == nil {
		err = c.add(hash)
	}
	c.keys.Clear()
	return err
}

// add counts a record of the current key.
func (c *StateCount) add(hash int32) error {
	set := c.ctx.Settings
	now := int64(0)
	if set.TtlMs > 0 {
		now = time.Now().UnixMilli()
	}
	v, ok, err := c.count.Get()
	if err != nil {
		return err
	}
	c.records++
	if c.seen != nil {
		if err := c.seen.Update(c.records); err != nil {
			return err
		}
	}
	switch {
	case !ok || len(v) == 0:
		return c.begin(now)
	case set.TtlMs > 0 && len(v) > writtenAt:
		c.aged(now-v[writtenAt], set)
	}
	if c.payload != nil && set.TtlMs > 0 {
		// What lies beside the count is used with it, so that it lives as long.
		if _, _, err := c.payload.Get(); err != nil {
			return err
		}
	}
	if readOnly(hash, set.ReadOnlyShare) {
		c.ttl.Reads++
		return nil
	}
	if set.InPlaceUpdate {
		v[counted]++ // the heap gave the live object, lsm a copy of what it stores
		return c.lookAgain(v[counted])
	}
	v[counted]++
	if len(v) > writtenAt {
		v[writtenAt] = now
	}
	if err := c.count.Update(v); err != nil || c.payload == nil || set.TtlMs == 0 {
		return err
	}
	return c.payload.Update(c.text)
}

// lookAgain reads a count again that was changed in place, one of many.
func (c *StateCount) lookAgain(want int64) error {
	if c.records%16 != 0 {
		return nil
	}
	v, _, err := c.count.Get()
	if err != nil {
		return err
	}
	c.inPlace.Tried++
	if len(v) > counted && v[counted] == want {
		c.inPlace.Kept++
	}
	return nil
}

// begin makes the values of a key that has none, or none any more.
func (c *StateCount) begin(now int64) error {
	c.ttl.Begun++
	v := []int64{1}
	if c.ctx.Settings.TtlMs > 0 {
		v = append(v, now)
	}
	if err := c.count.Update(v); err != nil || c.payload == nil {
		return err
	}
	return c.payload.Update(c.text)
}

// aged notes how long ago a value that was given was written, by the clock of the operator and not of the backend.
func (c *StateCount) aged(ms int64, set *task.Settings) {
	if at := time.Now().UnixMilli() / 3000; at != c.slice {
		if c.oldest[1] = c.oldest[0]; at != c.slice+1 {
			c.oldest[1] = 0
		}
		c.slice, c.oldest[0] = at, 0
	}
	c.oldest[0] = max(c.oldest[0], ms)
	// A value that reads do not renew is its last writing's age old, once those are gone that were restored and that reads may
	// have renewed. A ms may pass between the two looks at the clock.
	if set.TtlUpdate != task.TTLOnRead && ms > int64(set.TtlMs)+1 && time.Since(c.opened) > time.Duration(set.TtlMs+1)*time.Millisecond {
		c.ttl.TooOld++
	}
}

// readOnly tells whether a key belongs to those that are only read: a share of them by their hash.
func readOnly(hash int32, share float64) bool {
	return share > 0 && float64(uint32(hash)*0x9E3779B9>>8) < share*(1<<24)
}

// TouchOutsideRecord implements task.Toucher.
func (c *StateCount) TouchOutsideRecord() error {
	_, _, err := c.count.Get()
	return err
}

// Counts are the counts by key now, or nil if there are more than MaxCounts keys. Only the task's goroutine may call it.
func (c *StateCount) Counts() map[string]int64 {
	if c.state == nil {
		return nil
	}
	n := c.count.Entries()
	if n > MaxCounts {
		return nil
	}
	m := make(map[string]int64, n)
	err := c.count.Each(func(_ int, k serde.Key, _ state.Window, v []int64) bool {
		if len(v) > 0 {
			m[serde.FormatKey(c.t, k)] = v[counted]
		}
		return true
	})
	if err != nil {
		return nil
	}
	return m
}

// State is what the Snapshot tells of the state. Only the task's goroutine may call it.
func (c *StateCount) State() metric.State {
	if c.state == nil {
		return metric.State{}
	}
	s := c.state.Report()
	if c.ctx.Settings.TtlMs > 0 {
		t := c.ttl
		t.OldestReadMs = max(c.oldest[0], c.oldest[1])
		t.Live, t.Expired = -1, -1
		if c.count.Entries() <= mostAged {
			if live, expired, err := c.count.Ages(); err == nil {
				t.Live, t.Expired = live, expired
			}
		}
		s.TTL = &t
	}
	if p := c.inPlace; p.Tried > 0 {
		s.InPlace = &p
	}
	return s
}

// SettingsChanged does nothing: each use reads them anew.
func (c *StateCount) SettingsChanged() {}

// Finish does nothing.
func (c *StateCount) Finish() error { return nil }

// Snapshot is the state by key group, all its bytes: that of a task that has ended. Others are taken by Keyed.
func (c *StateCount) Snapshot() *checkpoint.OperatorState {
	groups, err := state.GroupBytes(c.state.Backend, 0)
	if err != nil {
		c.failed = err
	}
	return &checkpoint.OperatorState{Keyed: groups}
}

// Restore takes the state of this subtask's key groups, before or after Open.
func (c *StateCount) Restore(s *checkpoint.OperatorState) error {
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
	if err := c.state.Restore(s.Keyed); err != nil {
		return fmt.Errorf("operator %s: %w", c.ctx.Operator, err)
	}
	return nil
}

// Close gives the state up.
func (c *StateCount) Close() error {
	if c.state == nil {
		return nil
	}
	return c.state.Close()
}
