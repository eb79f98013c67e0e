package state

import (
	"encoding/binary"
	"fmt"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
)

// The bytes of one key group's state:
//
//	1 byte   version, 1
//	1 byte   type of the keys: 0 long, 1 int, 2 string, 3 bool, 4 double
//	4 bytes  number of entries, big-endian
//	then for each entry its key and its value
//
// A key of type long or double is 8 bytes, int 4, bool 1, all big-endian as Flink writes them; a string is its length
// in bytes as an unsigned varint, then its UTF-8. A value is what the state's codec makes of it.
const (
	formatVersion = 1
	headerBytes   = 6
)

// Snapshot writes every key group that has keys, in order. The result shares nothing with the state.
func (v *Value[V]) Snapshot() []checkpoint.KeyGroupState {
	var out []checkpoint.KeyGroupState
	for g := range v.o.KeyGroups.Size() {
		n := v.sizeOf(g)
		if n == 0 {
			continue
		}
		size := headerBytes
		v.eachOf(g, func(k serde.Key, value V) bool {
			size += keySize(v.o.Key, k) + v.codec.size(value)
			return true
		})
		b := make([]byte, 0, size)
		b = append(b, formatVersion, byte(v.o.Key))
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		v.eachOf(g, func(k serde.Key, value V) bool {
			b = v.codec.Append(appendKey(b, v.o.Key, k), value)
			return true
		})
		out = append(out, checkpoint.KeyGroupState{KeyGroup: v.o.KeyGroups.First + g, Data: b})
	}
	return out
}

// Restore adds the keys of a snapshot to the state. Keys of key groups that are not this subtask's are counted and left
// out. Bytes that Snapshot cannot have written are an error that names the key group.
func (v *Value[V]) Restore(groups []checkpoint.KeyGroupState) error {
	for _, g := range groups {
		if err := v.restoreGroup(g); err != nil {
			return fmt.Errorf("state %q, key group %d: %w", v.o.Name, g.KeyGroup, err)
		}
	}
	return nil
}

func (v *Value[V]) restoreGroup(g checkpoint.KeyGroupState) error {
	b := g.Data
	if len(b) < headerBytes {
		return fmt.Errorf("%d bytes, expected at least %d", len(b), headerBytes)
	}
	if b[0] != formatVersion {
		return fmt.Errorf("format version %d, expected %d", b[0], formatVersion)
	}
	if serde.KeyType(b[1]) != v.o.Key {
		return fmt.Errorf("keys of type %v, expected %v", serde.KeyType(b[1]), v.o.Key)
	}
	n := binary.BigEndian.Uint32(b[2:])
	b = b[headerBytes:]
	inRange := v.o.KeyGroups.Contains(g.KeyGroup)
	for i := range n {
		key, rest, err := readKey(b, v.o.Key)
		if err != nil {
			return fmt.Errorf("entry %d of %d: %w", i+1, n, err)
		}
		value, rest, err := v.codec.Read(rest)
		if err != nil {
			return fmt.Errorf("entry %d of %d: %w", i+1, n, err)
		}
		b = rest
		hash := serde.HashKey(v.o.Key, key)
		if at := keygroup.Assign(hash, v.o.MaxParallelism); at != g.KeyGroup {
			return fmt.Errorf("entry %d of %d: key %q belongs to key group %d of %d", i+1, n, serde.FormatKey(v.o.Key, key), at, v.o.MaxParallelism)
		}
		if !inRange {
			v.stats.KeysOutOfRange++
			continue
		}
		if err := v.SetCurrentKey(key, hash); err != nil {
			return err
		}
		if _, twice := v.Get(); twice {
			return fmt.Errorf("entry %d of %d: key %q stands there twice", i+1, n, serde.FormatKey(v.o.Key, key))
		}
		v.insert(value)
		v.stats.RestoredKeys++
	}
	if len(b) != 0 {
		return fmt.Errorf("%d bytes behind the last of %d entries", len(b), n)
	}
	return nil
}

func keySize(t serde.KeyType, k serde.Key) int {
	switch t {
	case serde.String:
		n := 1
		for l := len(k.Str); l >= 0x80; l >>= 7 {
			n++
		}
		return n + len(k.Str)
	case serde.Int:
		return 4
	case serde.Bool:
		return 1
	}
	return 8
}

func appendKey(b []byte, t serde.KeyType, k serde.Key) []byte {
	switch t {
	case serde.String:
		return append(binary.AppendUvarint(b, uint64(len(k.Str))), k.Str...)
	case serde.Int:
		return binary.BigEndian.AppendUint32(b, uint32(k.Num))
	case serde.Bool:
		return append(b, byte(k.Num&1))
	}
	return binary.BigEndian.AppendUint64(b, uint64(k.Num))
}

// readKey reads a key; a string is a view of b.
func readKey(b []byte, t serde.KeyType) (serde.Key, []byte, error) {
	if t == serde.String {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return serde.Key{}, nil, errShort
		}
		return serde.Key{Str: view(b[w : w+int(n)])}, b[w+int(n):], nil
	}
	n := keySize(t, serde.Key{})
	if len(b) < n {
		return serde.Key{}, nil, errShort
	}
	var k serde.Key
	switch t {
	case serde.Int:
		k.Num = int64(int32(binary.BigEndian.Uint32(b)))
	case serde.Bool:
		if b[0] > 1 {
			return k, nil, fmt.Errorf("a bool key of %d, expected 0 or 1", b[0])
		}
		k.Num = int64(b[0])
	default:
		k.Num = int64(binary.BigEndian.Uint64(b))
	}
	return k, b[n:], nil
}
