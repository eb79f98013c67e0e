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
	FiredTimers                                   atomic.Int64
	// Begun is when the task began to restore and open its operators, Ready when it could take its first record; ns.
	Begun, Ready atomic.Int64
	_            [128]byte
}

// plainCounters are the task's own.
type plainCounters struct {
	recordsIn, recordsEmitted       int64
	bytesInLocal, bytesInRemote     int64
	buffersInLocal, buffersInRemote int64
}

// publishIfAsked stores the counters when someone wants to read them.
func (t *Task) publishIfAsked() {
	if t.Mailbox.publish.Swap(false) {
		t.Publish()
	}
}

// Publish stores the task's own counters where others read them. Only the task's goroutine may call it.
func (t *Task) Publish() {
	t.publishWatermarks()
	c := &t.Counters
	c.RecordsIn.Store(t.plain.recordsIn)
	c.RecordsEmitted.Store(t.plain.recordsEmitted)
	c.BytesInLocal.Store(t.plain.bytesInLocal)
	c.BytesInRemote.Store(t.plain.bytesInRemote)
	c.BuffersInLocal.Store(t.plain.buffersInLocal)
	c.BuffersInRemote.Store(t.plain.buffersInRemote)
	for i := range t.inner {
		t.passed[i].Store(t.inner[i].records)
	}
	if t.Writer != nil {
		w := t.Writer.Counters()
		c.RecordsOut.Store(w.Records)
		c.BytesOut.Store(w.Bytes)
		c.BuffersOut.Store(w.Buffers)
	}
}
