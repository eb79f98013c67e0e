package labs

import (
	"errors"

	"weir/engine/metric"
	"weir/engine/task"
)

// stateJob is what the actions and the looks of the state labs need of a job.
type stateJob interface {
	ViewHeap(subtask int, q task.HeapQuestion) (*task.HeapView, error)
	TouchOutsideRecord() error
	DropExpired() (dropped int64, err error)
}

var errNoState = errors.New("this job has no keyed state to look at")

// stateAction does the actions on keyed state; known is false for any other.
func (r *Run) stateAction(j engineJob, name string) (out any, known bool, err error) {
	s, ok := j.(stateJob)
	switch {
	case name != "compact" && name != "touchOutsideRecord":
		return nil, false, nil
	case !ok:
		return nil, true, errNoState
	case name == "compact":
		dropped, err := s.DropExpired()
		switch {
		case errors.Is(err, task.ErrNoCompaction):
			return nil, true, &ActionError{"backend", task.ErrNoCompaction.Error()}
		case err != nil:
			return nil, true, err
		}
		return map[string]any{"dropped": dropped}, true, nil
	}
	err = s.TouchOutsideRecord()
	if errors.Is(err, task.ErrNoKeyedState) || errors.Is(err, task.ErrNoView) {
		return nil, true, err
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	r.mu.Lock()
	r.evidence.o.touched = text
	r.mu.Unlock()
	return map[string]any{"error": text}, true, nil
}

// ViewHeap looks at a copy-on-write map of a subtask's keyed state. It costs the task one mail.
func (r *Run) ViewHeap(subtask int, q task.HeapQuestion) (*task.HeapView, error) {
	r.mu.Lock()
	if err := r.ready(); err != nil {
		r.mu.Unlock()
		return nil, err
	}
	j, ok := r.job.(stateJob)
	r.mu.Unlock()
	if !ok {
		return nil, errNoState
	}
	return j.ViewHeap(subtask, q)
}

// sumState sums up a reading of the keyed state of a vertex's subtasks.
func (o *observed) sumState(vertex string, read func(*metric.State) int64) (sum int64, any bool) {
	subtasks := o.subtasksOf(vertex)
	for i := range subtasks {
		if st := subtasks[i].State; st != nil {
			sum += read(st)
			any = true
		}
	}
	return sum, any
}
