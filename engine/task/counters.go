package task

import "sync/atomic"

// Counters are a task's counts as others see them. The task counts in plain variables and stores them here at every
// buffer, before it sleeps, and when it is asked to.
type Counters struct {
	_                                             [128]byte
	RecordsIn, RecordsOut, RecordsEmitted         atomic.Int64
	BytesInLocal, BytesInRemote                   atomic.Int64
	BytesOut, BuffersOut                          atomic.Int64
	BuffersInLocal, BuffersInRemote               atomic.Int64
	DebloatedSize, EstimatedTimeToConsume         atomic.Int64
	CheckpointStartDelayNs, CheckpointAlignmentNs atomic.Int64
	_                                             [128]byte
}

// plainCounters are the task's own.
type plainCounters struct {
	recordsIn, recordsEmitted       int64
	bytesInLocal, bytesInRemote     int64
	buffersInLocal, buffersInRemote int64
}
