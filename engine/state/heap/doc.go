// Package heap keeps keyed state as live values on the heap: for each state and key group a CopyOnWriteMap (Flink's
// HashMapStateBackend, its StateTable and CopyOnWriteStateMap).
//
// A read gives the value itself, so that changing it in place is seen by the next read. A snapshot copies the slots
// of the entries and nothing else; while it is open, the first write to an entry that it holds copies that
// entry, and the first read of a value that may change in place copies the value too.
package heap
