package state

import (
	"context"
	"io"

	"weir/engine/checkpoint"
	"weir/engine/serde"
)

// Backend holds the keyed state of one operator of one subtask (Flink's KeyedStateBackend). All methods but those of a
// Snapshot belong to the task's goroutine.
type Backend interface {
	// Name is hashmap, lsm or remote: the value of Flink's state.backend.type.
	Name() string
	// Context is where the task sets the current key.
	Context() *KeyContext
	// Expiry is what a state with the TTL goes by: the backend's clock, and where it counts what was dropped.
	Expiry(TTL) Expiry
	// Timers makes or finds timers by name.
	Timers(name string, ns NamespaceKind) (*Timers, error)
	// Snapshot is the synchronous phase: what it returns holds the state as it is now, in the canonical format.
	Snapshot(id int64) (Snapshot, error)
	// Restore adds key groups in the canonical format. It may run before the states are made, or after, but not once
	// records were processed. Key groups that are not this subtask's are counted and left out.
	Restore(groups []checkpoint.KeyGroupState) error
	Stats() Stats
	// SafeToReuse tells whether what a state returns may be changed without the state seeing it.
	SafeToReuse() bool
	// Close ends the backend. Snapshots still being written end with ErrClosed.
	Close() error
}

// Snapshot is a state as it was. Write and Release may be called from any one goroutine at a time beside the task's.
type Snapshot interface {
	ID() int64
	// Write writes the canonical format, in the order of key groups; key groups without entries are left out.
	Write(ctx context.Context, w io.Writer) ([]GroupOffset, error)
	// Release gives back what the snapshot holds. A second call does nothing.
	Release()
}

// GroupOffset is where a key group stands in what Snapshot.Write wrote (Flink's KeyGroupRangeOffsets).
type GroupOffset struct {
	KeyGroup       int
	Offset, Length int64
}

// How the asynchronous phase of a snapshot may end, beside errors of the writer.
const (
	ErrClosed   = stateError("the snapshot was cancelled: its state backend was closed")
	ErrReleased = stateError("the snapshot was released before it was written")
)

// ByteBackend is a backend that stores bytes.
type ByteBackend interface {
	Backend
	// OpenStore makes the store of a state, or opens what was restored under its name if that is compatible. A name
	// that is open already is an error.
	OpenStore(m Meta) (Store, error)
}

// Store is one state of a ByteBackend, for the current key of the backend's KeyContext. Each method checks first that
// there is one (KeyContext.Check), but for Each, Keys and Entries. Bytes that are passed in are not kept; bytes that are
// returned, or given to a function, are a view that lives until the next call.
type Store interface {
	Get(ns Window) (value []byte, ok bool, err error)
	Put(ns Window, value []byte) error
	// Append adds to the end of the value, which need not exist: the elements of a list.
	Append(ns Window, more []byte) error
	// Remove removes the value, of a map all entries. There need not be one.
	Remove(ns Window) error

	// A map has one entry per user key.
	GetEntry(ns Window, userKey []byte) (value []byte, ok bool, err error)
	PutEntry(ns Window, userKey, value []byte) error
	RemoveEntry(ns Window, userKey []byte) error
	// EachEntry goes through the entries of the current key in the order of their user keys' bytes, until f returns
	// false. f may remove the entry that it was given.
	EachEntry(ns Window, f func(userKey, value []byte) bool) error

	// Each goes through all keys by key group, until f returns false. userKey is nil but for a map. f must not change
	// the store.
	Each(f func(group int, key serde.Key, ns Window, userKey, value []byte) bool) error
	// Keys are the keys that have a value in the namespace, each once, safe to keep.
	Keys(ns Window) ([]serde.Key, error)
	// Entries is the number of values, or of entries of maps.
	Entries() int64
}

// Stats are what the Snapshot tells of a backend. Bytes are those of keys, namespaces and values as they stand in a
// savepoint, without headers; a value that is changed in place counts as it was last written.
type Stats struct {
	// Keys is that of the state with the most: in one with windows a key counts once a window.
	Keys  int64
	Bytes int64
	// RestoredKeys and KeysOutOfRange count the same way. A key is out of range when a restore offers it but it is of
	// another subtask's key groups.
	RestoredKeys   int64
	KeysOutOfRange int64
	DroppedExpired int64 // values removed because their time to live had passed
	// DroppedInBackground are those of them that no read came upon: cleanup or compaction removed them.
	DroppedInBackground int64
	States              []StateStats
}

// StateStats are the figures of one state.
type StateStats struct {
	Name    string
	Kind    Kind
	Keys    int64
	Entries int64 // as Keys, but each of a map's entries and of a list's elements counts on a backend that knows them
	Bytes   int64
}
