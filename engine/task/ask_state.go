package task

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrNoKeyedState is the answer of a task whose operators have none.
var ErrNoKeyedState = errors.New("the task has no keyed state")

// Toucher is implemented by operators that can be made to do what the rule of keyed state forbids.
type Toucher interface {
	// TouchOutsideRecord reads keyed state while no record is being processed, and returns what that gave.
	TouchOutsideRecord() error
}

// ask runs a question on the task's goroutine, as mail, and waits for its end at most so long.
func (t *Task) ask(patience time.Duration, question func() error) error {
	answered := make(chan error, 1)
	if !t.Mailbox.Post(func() { answered <- question() }) {
		return ErrNoView
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-answered:
		return err
	case <-timer.C:
		return ErrNoView
	}
}

// TouchOutsideRecord has the first operator that can do so read its keyed state between two records, and returns the error
// that it was given. ErrNoKeyedState says that none can.
func (t *Task) TouchOutsideRecord(patience time.Duration) error {
	return t.ask(patience, func() error {
		for _, op := range t.operators {
			if o, ok := op.(Toucher); ok {
				return o.TouchOutsideRecord()
			}
		}
		return ErrNoKeyedState
	})
}

// DropExpired has the backends of the task drop the values whose time to live has passed, as a compaction does, and tells
// how many they were. ErrNoCompaction says that the backend has no compaction.
func (t *Task) DropExpired(patience time.Duration) (dropped int64, err error) {
	var count atomic.Int64 // who gave up waiting must not read what the task still writes
	err = t.ask(patience, func() error {
		found := false
		var failed error
		t.eachKeyed(func(k *KeyedState) {
			found = true
			if k.lsm == nil {
				failed = errors.Join(failed, ErrNoCompaction)
				return
			}
			n, err := k.lsm.RewriteExpired()
			count.Add(n)
			failed = errors.Join(failed, err)
		})
		if !found {
			return ErrNoKeyedState
		}
		return failed
	})
	return count.Load(), err
}

// ErrNoCompaction is the answer of the heap.
var ErrNoCompaction = errors.New("the hashmap backend has no files to compact: it drops what has expired when it is read, and by incremental cleanup")
