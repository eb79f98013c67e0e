// Package lsm keeps keyed state in a log-structured merge tree on the local disk: Pebble in the place that RocksDB has in
// Flink's EmbeddedRocksDBStateBackend. Each subtask has one DB. A value is serialized on each access; what is written goes
// to a memtable, from there to sorted tables (SSTs) that never change, and compaction merges those.
//
// A checkpoint flushes and hard-links the tables; then those that no earlier checkpoint has stored are uploaded beside the
// running task (snapshot.go, uploads.go). A restore opens the files in a fresh DB, cuts off what lies outside the key groups,
// and takes tables of other subtasks in by reference (restore.go, import.go).
//
// The write-ahead log is off, as in Flink: what counts is the last checkpoint.
package lsm
