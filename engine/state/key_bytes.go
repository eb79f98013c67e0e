package state

import (
	"encoding/binary"
	"fmt"

	"weir/engine/serde"
)

// KeyBytes is how many bytes a key takes in the canonical format.
func KeyBytes(t serde.KeyType, k serde.Key) int {
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
		return appendText(b, k.Str)
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
	n := KeyBytes(t, serde.Key{})
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
