package job

import (
	"errors"
	"fmt"
	"time"

	"weir/engine/task"
)

// answerWithin is how long a task is waited for that is asked something between two records.
const answerWithin = 400 * time.Millisecond

// keyedTasks are the tasks of the running attempt that have an operator.
func (j *Job) keyedTasks() ([]*runner, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.state.Ended():
		return nil, ErrEnded
	case j.state == Restarting:
		return nil, ErrRestarting
	}
	var list []*runner
	for _, r := range j.attempt.runners {
		if len(r.vertex.Operators) > 0 {
			list = append(list, r)
		}
	}
	return list, nil
}

// ViewHeap looks into the heap backend of a subtask of the first vertex that has keyed state there.
func (j *Job) ViewHeap(subtask int, q task.HeapQuestion) (*task.HeapView, error) {
	list, err := j.keyedTasks()
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.Context.Index != subtask {
			continue
		}
		v, err := r.ViewHeap(q, answerWithin)
		if errors.Is(err, task.ErrNoHeap) {
			continue
		}
		return v, err
	}
	return nil, fmt.Errorf("subtask %d: %w", subtask, task.ErrNoHeap)
}

// TouchOutsideRecord has an operator read its keyed state between two records, and returns the error that it was given.
func (j *Job) TouchOutsideRecord() error {
	list, err := j.keyedTasks()
	if err != nil {
		return err
	}
	for _, r := range list {
		switch err := r.TouchOutsideRecord(answerWithin); {
		case err == nil:
			return nil
		case !errors.Is(err, task.ErrNoKeyedState):
			return fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	return task.ErrNoKeyedState
}

// DropExpired has all backends drop the values whose time to live has passed, as a compaction does, and tells how many they
// were. The tasks do it one after the other, each between two records.
func (j *Job) DropExpired() (dropped int64, err error) {
	list, err := j.keyedTasks()
	if err != nil {
		return 0, err
	}
	found := false
	for _, r := range list {
		n, err := r.DropExpired(10 * time.Second)
		if errors.Is(err, task.ErrNoKeyedState) {
			continue
		}
		found = true
		if dropped += n; err != nil {
			return dropped, fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	if !found {
		return 0, task.ErrNoKeyedState
	}
	return dropped, nil
}
