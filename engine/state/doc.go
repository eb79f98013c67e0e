// Package state is what an operator sees of keyed state: descriptors, the five kinds of state, timers, the current key,
// time to live, and the one format in which every backend hands its state on. It depends on no backend.
//
// # From a descriptor to a state
//
// An operator describes a state and asks package keyed for it, giving the backend of its subtask:
//
//	count, err := keyed.Value(backend, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})
//	...
//	n, err := count.Value() // of the current key
//	err = count.Update(n + 1)
//
// A state (ValueState, ListState, MapState, ReducingState, AggregatingState) is one object for the whole subtask, as in
// Flink: whose value it reads is decided by the KeyContext, which the task sets before each record and clears behind it.
//
// # Two kinds of backends
//
// Go cannot make a generic type from behind an interface, so the two kinds of backends meet the states in two ways:
//
//   - A backend that keeps live values (package heap) exports generic constructors of a Table, ListTable and MapTable.
//     The tables hold values of type V as they are; nothing is boxed or serialized on access. What a table returns is
//     the object itself: changing it in place is seen by the next read, as on Flink's heap.
//   - A backend that stores bytes (package lsm) implements ByteBackend: it opens a Store per state, which knows bytes
//     only. Encoded, EncodedList and EncodedMap in this package make tables of it with the state's codecs. What such a
//     table returns is a new value each time: changing it in place is not seen until it is updated.
//
// Package keyed chooses between the two once, when a state is made. It is the only package that knows both; imports go
// operator -> keyed -> heap, state and lsm -> state.
//
// # Time to live
//
// With a TTL the table holds Stamped values (8 bytes of time in ms before the value, as Flink's TtlSerializer writes
// them) and a wrapper hides and removes what has expired. The time comes from the backend's clock, which is read only
// by states that have a TTL.
//
// # Snapshots
//
// Backend.Snapshot is the synchronous phase. The Snapshot that it returns is written by any goroutine while the task
// goes on, and holds what the state was at that moment. What it writes is the canonical format (canonical.go), by key
// group with offsets; Restore takes it back in any backend, before or after the states are made.
package state
