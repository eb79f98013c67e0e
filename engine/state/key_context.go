package state

import (
	"fmt"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/trace"
)

// KeyContext is the current key of one keyed backend: the task sets it before each record and clears it behind
// (Flink's setKeyContextElement; Flink never clears, so that an access outside a record silently reads the key of the
// last one). It belongs to its task's goroutine.
type KeyContext struct {
	_ [64]byte // what is written per record has its own cache lines

	key    serde.Key
	hash   int32
	group  int32
	turn   uint64
	active bool
	fired  int64 // timers
	owner  owner

	keyType        serde.KeyType
	maxParallelism int
	groups         keygroup.Range
	tracer         *trace.Tracer
	thread         string

	_ [64]byte
}

// Trace has the tracepoints of the state hit under the name of the task. It is called before the first record.
func (c *KeyContext) Trace(t *trace.Tracer, thread string) { c.tracer, c.thread = t, thread }

// Tracer is where the tracepoints of the state are hit, and the name of the task; a nil Tracer is off.
func (c *KeyContext) Tracer() (t *trace.Tracer, thread string) { return c.tracer, c.thread }

// NewKeyContext makes the context of a subtask that owns the key groups.
func NewKeyContext(t serde.KeyType, maxParallelism int, groups keygroup.Range) (*KeyContext, error) {
	if err := keygroup.CheckMaxParallelism(maxParallelism); err != nil {
		return nil, err
	}
	if groups.Size() > 0 && (groups.First < 0 || groups.Last >= maxParallelism) {
		return nil, fmt.Errorf("key groups %v, must lie in 0 to %d", groups, maxParallelism-1)
	}
	return &KeyContext{keyType: t, maxParallelism: maxParallelism, groups: groups, turn: 1}, nil
}

// Set makes key the current one; hash is its Java hash code. The key may be a view of a buffer that lives until Clear
// or the next Set: state clones what it keeps. A key of another subtask's key groups is refused, as in Flink, where it
// shows that the key does not hash to the same value each time.
func (c *KeyContext) Set(key serde.Key, hash int32) error {
	group := keygroup.Assign(hash, c.maxParallelism)
	if group < c.groups.First || group > c.groups.Last {
		return c.foreign(key, group)
	}
	c.key, c.hash, c.group, c.active = key, hash, int32(group), true
	c.turn++
	c.owner.take()
	if c.tracer.On(trace.KeyGroupComputed) {
		c.tracer.Hit(trace.KeyGroupComputed, c.thread, trace.Str("key", serde.FormatKey(c.keyType, key)), trace.Int("hash", hash), trace.Int("group", group),
			trace.Int("maxParallelism", c.maxParallelism))
	}
	return nil
}

func (c *KeyContext) foreign(key serde.Key, group int) error {
	return fmt.Errorf("key %s has key group %d, this subtask has %v", serde.FormatKey(c.keyType, key), group, c.groups)
}

// Clear ends the record: from here to the next Set there is no current key.
func (c *KeyContext) Clear() {
	c.active = false
	c.turn++
}

// Check is nil while there is a current key, else an error that names the rule. With build tag invariants it also
// refuses a goroutine other than the one that set the key.
func (c *KeyContext) Check() error {
	if !c.active {
		return ErrNoCurrentKey
	}
	return c.owner.check()
}

// Key is the current key; a string may be a view.
func (c *KeyContext) Key() serde.Key { return c.key }

// Fired is how many timers have fired, of all that the context is for.
func (c *KeyContext) Fired() int64 { return c.fired }

// Num is the Num of the current key.
func (c *KeyContext) Num() int64 { return c.key.Num }

// Hash is the Java hash code of the current key.
func (c *KeyContext) Hash() int32 { return c.hash }

// Group is the key group of the current key.
func (c *KeyContext) Group() int { return int(c.group) }

// Turn changes with each Set and Clear: what is remembered of the current key holds as long as Turn does. It is never 0.
func (c *KeyContext) Turn() uint64 { return c.turn }

// KeyType is the type of all keys.
func (c *KeyContext) KeyType() serde.KeyType { return c.keyType }

// MaxParallelism is the number of key groups of the job's vertex.
func (c *KeyContext) MaxParallelism() int { return c.maxParallelism }

// Groups are the key groups of this subtask.
func (c *KeyContext) Groups() keygroup.Range { return c.groups }

// stateError is an error with the sentence that a learner reads.
type stateError string

func (e stateError) Error() string { return string(e) }

// The rule of keyed state. Flink answers with the value of another key instead.
const (
	ErrNoCurrentKey   = stateError("keyed state was accessed outside a record: which key it belongs to is set before each record and cleared after it")
	ErrOtherGoroutine = stateError("keyed state was accessed from a goroutine other than its task's: only the task's own may touch it, since the current key is set there")
)
