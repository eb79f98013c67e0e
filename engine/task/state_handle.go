package task

import (
	"context"
	"io"
	"sync"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/state"
	"weir/engine/state/lsm"
)

// StateHandle is the keyed state of one operator after its sync phase: as it was then, while the task goes on. One goroutine
// beside the task's stores it.
type StateHandle interface {
	// Store is the async phase. What it returns may still hold a Stream, which ends when ctx does. A backend that was closed
	// answers state.ErrClosed.
	Store(ctx context.Context, to StateStore) (*StoredState, error)
	// Release gives back what the handle holds, once what Store returned has been written. A second call does nothing.
	Release()
}

// StateStore is where a StateHandle stores files.
type StateStore struct {
	Files checkpoint.SharedFiles
	// InlineBelow is the length from which on a file is stored by itself; shorter ones lie in the checkpoint.
	InlineBelow int64
}

// StoredState is the outcome of Store. Vertex and Subtask of the files are not filled.
type StoredState struct {
	State *checkpoint.OperatorState
	Files []metric.SharedFile
}

// OperatorHandle is the handle of an operator by its name.
type OperatorHandle struct {
	Operator string
	StateHandle
}

// Take is the sync phase of a checkpoint. Files are taken by a backend that has them, if checkpoints are incremental; else,
// and always of a savepoint, the canonical format, which every backend restores.
func (k *KeyedState) Take(id int64, savepoint bool) (StateHandle, error) {
	if k.lsm != nil && k.ctx.Settings.Incremental && !savepoint {
		s, err := k.lsm.SnapshotFiles(id)
		if err != nil {
			return nil, err
		}
		return filesHandle{s}, nil
	}
	s, err := k.Backend.Snapshot(id)
	if err != nil {
		return nil, err
	}
	return canonicalHandle{s, k.ctx.Settings.SnapshotCompression}, nil
}

// canonicalHandle is written by key group, straight into the state file.
type canonicalHandle struct {
	state.Snapshot
	compressed bool
}

func (h canonicalHandle) Store(ctx context.Context, _ StateStore) (*StoredState, error) {
	if h.compressed {
		ctx = state.Compressed(ctx)
	}
	write := func(w io.Writer) ([]checkpoint.KeyGroupOffset, error) {
		offsets, err := h.Write(ctx, w)
		out := make([]checkpoint.KeyGroupOffset, len(offsets))
		for i, o := range offsets {
			out[i] = checkpoint.KeyGroupOffset(o)
		}
		return out, err
	}
	return &StoredState{State: &checkpoint.OperatorState{Stream: write}}, nil
}

// filesHandle stores the files that no earlier checkpoint has.
type filesHandle struct{ *lsm.FilesSnapshot }

func (h filesHandle) Store(ctx context.Context, to StateStore) (*StoredState, error) {
	u, err := h.Upload(ctx, to.Files, to.InlineBelow)
	if err != nil {
		return nil, err
	}
	s := &StoredState{State: &checkpoint.OperatorState{Incremental: []checkpoint.IncrementalState{u.State}}}
	for _, f := range u.Files {
		s.Files = append(s.Files, metric.SharedFile{Name: f.Name, Origin: f.Origin, File: f.File, Bytes: f.Bytes, State: string(f.State), FirstCheckpoint: f.FirstCheckpoint})
	}
	return s, nil
}

// writes counts the handles of a task that are not released.
type writes struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n comes to 0; nil if nobody waits
}

func (w *writes) begin() {
	w.mu.Lock()
	w.n++
	w.mu.Unlock()
}

func (w *writes) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// ended is closed when nothing is being written.
func (w *writes) ended() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	c := w.idle
	if w.n == 0 {
		close(w.idle)
		w.idle = nil
	}
	return c
}

// counted tells the task when it is released.
type counted struct {
	StateHandle
	w    *writes
	once *sync.Once
}

func (c counted) Release() {
	c.once.Do(func() {
		c.StateHandle.Release()
		c.w.end()
	})
}

// take is the sync phase: the state of all operators now, that of keyed ones as handles.
func (t *Task) take(id int64, savepoint bool) (*checkpoint.TaskState, []OperatorHandle, error) {
	s := &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{}}
	if t.source != nil {
		s.Operators[t.Config.Source.Name] = t.source.Snapshot()
	}
	var handles []OperatorHandle
	for i, op := range t.operators {
		name := t.Operators[i].Name
		if k, ok := op.(KeyedOperator); ok {
			// The mail may still be on its way, and what an upload may leave out goes by the last completion.
			k.Keyed().Completed(t.completed.Load())
			h, err := k.Keyed().Take(id, savepoint)
			if err != nil {
				for _, h := range handles {
					h.Release()
				}
				return nil, nil, err
			}
			t.writes.begin()
			handles = append(handles, OperatorHandle{name, counted{h, &t.writes, &sync.Once{}}})
			continue
		}
		if st := op.Snapshot(); st != nil {
			s.Operators[name] = st
		}
	}
	return s, handles, nil
}

// awaitWrites lets what is still being written of the task's state be written before its backends are closed.
func (t *Task) awaitWrites() error {
	select {
	case <-t.writes.ended():
		return nil
	case <-t.canceled:
		return ErrCanceled
	}
}

// NotifyCompleted tells the task, as mail, that a checkpoint is complete.
func (t *Task) NotifyCompleted(id int64) {
	if t.keyed.Load() {
		t.completed.Store(id)
		t.Mailbox.Post(func() { t.eachKeyed(func(k *KeyedState) { k.Completed(id) }) })
	}
}

func (t *Task) eachKeyed(f func(*KeyedState)) {
	for _, op := range t.operators {
		if k, ok := op.(KeyedOperator); ok {
			f(k.Keyed())
		}
	}
}
