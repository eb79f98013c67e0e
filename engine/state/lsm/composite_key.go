package lsm

import (
	"encoding/binary"

	"weir/engine/serde"
)

// StateIDBytes is what the number of a state takes in a key.
const StateIDBytes = 2

// KeyGroupPrefixBytes is how many bytes the key group takes at the front of each key: one while the max parallelism is at
// most 128, else two. Flink's CompositeKeySerializationUtils.
func KeyGroupPrefixBytes(maxParallelism int) int {
	if maxParallelism > 128 {
		return 2
	}
	return 1
}

// AppendKeyGroup writes a key group, big-endian.
func AppendKeyGroup(dst []byte, group, prefixBytes int) []byte {
	if prefixBytes == 2 {
		return append(dst, byte(group>>8), byte(group))
	}
	return append(dst, byte(group))
}

// KeyGroupOf reads the key group at the front of a key; it is -1 if the key is too short.
func KeyGroupOf(key []byte, prefixBytes int) int {
	switch {
	case len(key) < prefixBytes:
		return -1
	case prefixBytes == 2:
		return int(key[0])<<8 | int(key[1])
	}
	return int(key[0])
}

// Namespace is a serialized namespace. The zero Namespace is not one: use VoidNamespace.
type Namespace struct {
	Bytes []byte
	// Variable tells that the namespace's type has no fixed length.
	Variable bool
}

// VoidNamespace is that of state without one: a single zero byte.
var VoidNamespace = Namespace{Bytes: []byte{0}}

// CompositeKey builds the keys of the DB:
//
//	[key group, 1 or 2 bytes][state id, 2 bytes][key][namespace][user key of a map]
//
// Group, key and namespace are as Flink's SerializedCompositeKeyBuilder writes them, which keeps each state in a column
// family of its own and so has no state id; NewFlinkKey leaves it out. When neither the key nor the namespace has a fixed
// length, the length of each follows it, or two pairs of them could give the same bytes.
//
// What belongs to the current key is built once in SetKey; each access appends its namespace behind it, and writes its
// state's id into the gap. The bytes that a method returns live until the next call.
type CompositeKey struct {
	buf         []byte
	prefixBytes int
	idBytes     int
	keyEnd      int
	keyBytes    int
	variable    bool // the key's type has no fixed length
}

// NewCompositeKey returns a builder of keys with state ids.
func NewCompositeKey(maxParallelism int) *CompositeKey {
	return &CompositeKey{buf: make([]byte, 0, 64), prefixBytes: KeyGroupPrefixBytes(maxParallelism), idBytes: StateIDBytes}
}

// NewFlinkKey returns a builder of keys as Flink has them.
func NewFlinkKey(prefixBytes int) *CompositeKey {
	return &CompositeKey{buf: make([]byte, 0, 64), prefixBytes: prefixBytes}
}

// SetKey makes a key the current one.
func (c *CompositeKey) SetKey(group int, t serde.KeyType, k serde.Key) {
	c.begin(group)
	n := len(c.buf)
	if t == serde.Long {
		c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(k.Num))
	} else {
		c.buf = serde.AppendKey(c.buf, t, k)
	}
	c.end(n, t == serde.String)
}

// SetKeyBytes makes a key of another type, already serialized, the current one.
func (c *CompositeKey) SetKeyBytes(group int, key []byte, variable bool) {
	c.begin(group)
	n := len(c.buf)
	c.buf = append(c.buf, key...)
	c.end(n, variable)
}

func (c *CompositeKey) begin(group int) {
	c.buf = AppendKeyGroup(c.buf[:0], group, c.prefixBytes)
	if c.idBytes > 0 {
		c.buf = append(c.buf, 0, 0)
	}
}

func (c *CompositeKey) end(start int, variable bool) {
	c.keyEnd, c.keyBytes, c.variable = len(c.buf), len(c.buf)-start, variable
}

// Namespace is the key of a state's value under the current key.
func (c *CompositeKey) Namespace(stateID uint16, ns Namespace) []byte {
	b := c.buf[:c.keyEnd]
	if c.idBytes > 0 {
		b[c.prefixBytes], b[c.prefixBytes+1] = byte(stateID>>8), byte(stateID)
	}
	both := c.variable && ns.Variable
	if both {
		b = appendLength(b, c.keyBytes)
	}
	b = append(b, ns.Bytes...)
	if both {
		b = appendLength(b, len(ns.Bytes))
	}
	c.buf = b
	return b
}

// UserKey is the key of one entry of a map under the current key; Namespace gives what all of the map's entries begin with.
func (c *CompositeKey) UserKey(stateID uint16, ns Namespace, userKey []byte) []byte {
	c.buf = append(c.Namespace(stateID, ns), userKey...)
	return c.buf
}

// appendLength writes a length as Flink's writeVariableIntBytes: its low byte first, and on while something is left.
func appendLength(dst []byte, n int) []byte {
	for {
		dst = append(dst, byte(n))
		if n >>= 8; n == 0 {
			return dst
		}
	}
}

// AppendTimer writes a timer as Flink's TimerSerializer: the timestamp in ms with its sign bit flipped, so that the order
// of the bytes is that of time, then the key and the namespace.
func AppendTimer(dst []byte, timestamp int64, key []byte, ns Namespace) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(timestamp)^1<<63)
	return append(append(dst, key...), ns.Bytes...)
}

// after is the first key behind all that begin with prefix; nil if there is none.
func after(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			b := append([]byte(nil), prefix[:i+1]...)
			b[i]++
			return b
		}
	}
	return nil
}
