package checkpoint

import (
	"errors"
	"fmt"
	"sync"
)

// Storage keeps the state of checkpoints. Its methods may be called from any goroutine: tasks write their state while
// the coordinator begins, completes and discards.
//
// A checkpoint is begun, gets the state of its subtasks, and is completed or discarded. Only a completed one can be
// loaded. Storage discards only what it began (or was told to own); it never touches another's checkpoint.
type Storage interface {
	// Begin opens a checkpoint. An id that is there already is refused.
	Begin(id int64) error
	// WriteState stores the state of one subtask. It answers ErrNotOpen when the checkpoint has not been begun, is
	// complete, or was discarded meanwhile; then nothing stays. State without bytes gives the zero Handle.
	WriteState(id int64, t TaskID, s *TaskState) (Handle, error)
	// Complete makes c durable and sets its Path. When it fails the checkpoint is discarded.
	Complete(c *Completed) error
	// Discard removes a checkpoint. What is not there, or is not this storage's, is no error. While a task still
	// writes to it, the removal happens when the write ends.
	Discard(id int64) error
	// Load reads the metadata of a completed checkpoint and sees that the state it names is there.
	Load(path string) (*Completed, error)
	// HighestID is the highest id of a checkpoint that is there, complete or not, and 0 when there is none. A job begins
	// with the next, so that no name is ever used for two attempts.
	HighestID() (int64, error)
}

// ErrNotOpen is what WriteState answers when the checkpoint takes no state, or no longer.
var ErrNotOpen = errors.New("the checkpoint is not open")

// attempts tracks which checkpoints a storage owns, and who writes to them.
type attempts struct {
	mu sync.Mutex
	m  map[int64]*attempt
}

type attempt struct {
	writers   int
	complete  bool
	discarded bool
}

func (a *attempts) begin(id int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m[id] != nil {
		return fmt.Errorf("checkpoint %d was begun already", id)
	}
	if a.m == nil {
		a.m = map[int64]*attempt{}
	}
	a.m[id] = &attempt{}
	return nil
}

// own takes over a complete checkpoint.
func (a *attempts) own(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[int64]*attempt{}
	}
	a.m[id] = &attempt{complete: true}
}

func (a *attempts) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.m, id)
}

// enter registers a writer.
func (a *attempts) enter(id int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.m[id]
	if t == nil || t.discarded || t.complete {
		return fmt.Errorf("checkpoint %d: %w", id, ErrNotOpen)
	}
	t.writers++
	return nil
}

// leave ends a write. alive is false when the checkpoint was discarded meanwhile, last when nobody writes any more: then
// the caller removes it.
func (a *attempts) leave(id int64) (alive, last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.m[id]
	t.writers--
	return !t.discarded, t.discarded && t.writers == 0
}

// discard marks a checkpoint and tells whether the caller removes it now.
func (a *attempts) discard(id int64) (now bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.m[id]
	if t == nil {
		return false
	}
	t.discarded = true
	return t.writers == 0
}

// complete closes a checkpoint to further state. It registers a writer, that of the metadata, so that a discard meanwhile
// does not race it; leave ends that.
func (a *attempts) complete(id int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.m[id]
	if t == nil || t.discarded || t.complete {
		return fmt.Errorf("checkpoint %d: %w", id, ErrNotOpen)
	}
	if t.writers > 0 {
		return fmt.Errorf("checkpoint %d cannot be completed: %d subtasks still write to it", id, t.writers)
	}
	t.complete = true
	t.writers = 1
	return nil
}

// completed ends a completion that complete began; err is how it went. A checkpoint that failed, or was discarded
// meanwhile, is removed and the error says so.
func (a *attempts) completed(id int64, err error, remove func(id int64)) error {
	if err != nil {
		a.discard(id)
	}
	alive, last := a.leave(id)
	if last {
		remove(id)
	}
	switch {
	case err != nil:
		return fmt.Errorf("checkpoint %d: %s: %w", id, MetadataName, err)
	case !alive:
		return fmt.Errorf("checkpoint %d: %w", id, ErrNotOpen)
	}
	return nil
}

// doomed lists the checkpoints that were discarded and could not be removed.
func (a *attempts) doomed() []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []int64
	for id, t := range a.m {
		if t.discarded && t.writers == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}
