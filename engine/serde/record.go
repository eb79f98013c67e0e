// Package serde writes and reads values, records and events in the bytes of Flink 2.3.
//
// On the wire an element is `[4-byte length][tag][payload]`, big-endian: what Flink's RecordWriter makes of a
// StreamElement. PutRecord writes one straight into a segment, Deserializer reads them from the buffers of a channel;
// neither allocates per record. Events are not elements: each has a buffer of its own (MarshalEvent).
//
// A Java string is a row of UTF-16 code units. In Go it is UTF-8, and a surrogate that stands alone is written as its
// three bytes (WTF-8), so that every Java string comes back as it went out.
package serde

import (
	"errors"

	"weir/engine/keygroup"
)

// KeyType says which Java type a record's key has; it decides the key's bytes and its hash.
type KeyType uint8

// The key types that the engine knows.
const (
	Long KeyType = iota
	Int
	String
	Bool
	Double
)

// Key is the key of a record: Num for Long, Int, Bool (0 or 1) and Double (its IEEE 754 bits), Str for String.
// Str may be a view of a network buffer: it lives until the next record is read, so state clones it on insert.
type Key struct {
	Num int64
	Str string
}

// Record is the element that flows: Flink's Tuple2<K, String>, or K alone where the Schema has no payload.
// Strings may be views of a network buffer and live until the next record is read.
type Record struct {
	Key     Key
	Payload string
	// Timestamp is the event time in ms; it is written only when HasTimestamp is set.
	Timestamp    int64
	HasTimestamp bool
}

// Schema says what the records of one exchange look like.
type Schema struct {
	Key     KeyType
	Payload bool
}

// MaxRecordBytes is the longest element, without its length, that a Deserializer takes.
const MaxRecordBytes = 256 << 20

// HashKey is the Java hash code of a key.
func HashKey(t KeyType, k Key) int32 {
	switch t {
	case Int:
		return keygroup.HashInt(int32(k.Num))
	case String:
		return keygroup.HashString(k.Str)
	case Bool:
		return keygroup.HashBool(k.Num != 0)
	case Double:
		return keygroup.HashLong(doubleToLongBits(k.Num))
	default:
		return keygroup.HashLong(k.Num)
	}
}

// The errors of AssignKey, in the words of the exceptions that Flink throws.
var (
	ErrNoKey            = errors.New("Assigned key must not be null!")
	ErrNoMaxParallelism = errors.New("/ by zero")
)

// AssignKey gives the key group of a key, with the errors of Flink's assignToKeyGroup: there must be a key, and a
// maximum parallelism. On the way of a record use keygroup.Assign.
func AssignKey(t KeyType, k *Key, maxParallelism int) (int, error) {
	if k == nil {
		return 0, ErrNoKey
	}
	if maxParallelism == 0 {
		return 0, ErrNoMaxParallelism
	}
	if err := keygroup.CheckParallelism(maxParallelism); err != nil {
		return 0, err
	}
	return keygroup.Assign(HashKey(t, *k), maxParallelism), nil
}

// doubleToLongBits makes all NaNs one, as Java's Double.doubleToLongBits does.
func doubleToLongBits(bits int64) int64 {
	if bits&0x7fffffffffffffff > 0x7ff0000000000000 {
		return 0x7ff8000000000000
	}
	return bits
}
