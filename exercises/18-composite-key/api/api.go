// Package api is what you write against: the bytes of a key in the LSM store.
package api

import "weir/exercises/kit/wire"

// Part is one part of a key, serialized already. Variable says that its type has no fixed length, such as a string's.
type Part struct {
	Bytes    []byte
	Variable bool
}

// Entry is what a key of the store stands for.
type Entry struct {
	Group     int    // the key group
	State     uint16 // the number of the state
	Key       Part
	Namespace Part   // of state without one: a single zero byte, not variable
	UserKey   []byte // of map state; empty else
}

// Keys writes keys. In Flink: SerializedCompositeKeyBuilder, CompositeKeySerializationUtils, TimerSerializer.
type Keys interface {
	// PrefixBytes is how many bytes the key group takes, 1 or 2.
	PrefixBytes(maxParallelism int) int
	// Key is the key of an entry: group, state, key, namespace, user key.
	Key(maxParallelism int, e Entry) []byte
	// Bounds enclose the keys of the key groups [first,end): from <= key < to, in the order of unsigned bytes. end is at most
	// maxParallelism.
	Bounds(maxParallelism, first, end int) (from, to []byte)
	// Timer is the key of a timer: its time in ms, the key, the namespace. The order of the bytes is that of time.
	Timer(timestamp int64, key, namespace []byte) []byte
}

// The methods of a call.
const (
	Begin = iota // anew
	PrefixBytes
	Key
	Bounds
	Timer
)

// Dispatch makes the function that takes the checker's calls. A call has the arguments of as many calls as it likes.
func Dispatch(newKeys func() Keys) func(method uint32, args []byte) []byte {
	keys := newKeys()
	return func(method uint32, args []byte) []byte {
		r, w := &wire.Reader{B: args}, wire.Writer{}
		if method == Begin {
			keys = newKeys()
		}
		for len(r.B) > 0 {
			switch method {
			case PrefixBytes:
				w.Int(int64(keys.PrefixBytes(int(r.Int()))))
			case Key:
				most, e := int(r.Int()), Entry{Group: int(r.Int()), State: uint16(r.Int())}
				e.Key, e.Namespace = part(r), part(r)
				e.UserKey = bytes(r)
				w.Bytes(keys.Key(most, e))
			case Bounds:
				most, first, end := int(r.Int()), int(r.Int()), int(r.Int())
				from, to := keys.Bounds(most, first, end)
				w.Bytes(from)
				w.Bytes(to)
			case Timer:
				at, key := r.Int(), bytes(r)
				w.Bytes(keys.Timer(at, key, bytes(r)))
			default:
				return nil
			}
		}
		return w.B
	}
}

func part(r *wire.Reader) Part { return Part{bytes(r), r.Bool()} }

// bytes takes bytes out of a call, so that nobody writes over what follows them.
func bytes(r *wire.Reader) []byte {
	b := r.Bytes()
	return b[:len(b):len(b)]
}
