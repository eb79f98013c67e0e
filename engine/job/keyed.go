package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"weir/engine/checkpoint"
	"weir/engine/state/lsm"
	"weir/engine/task"
)

// shared is what the attempts of a job have in common for keyed state: the files that checkpoints share, who refers to them,
// and the numbers of the states.
type shared struct {
	files checkpoint.SharedFiles
	// registry belongs to the coordinator's goroutine of the attempt that runs.
	registry SharedRegistry

	mu  sync.Mutex
	ids map[string]*lsm.StateIDs // by vertex and operator

	// Faults that are asked for.
	failEvery atomic.Int64
	// bytesPerSecond is how fast each subtask's state is written; 0 is as fast as it goes.
	bytesPerSecond atomic.Int64
	stored         atomic.Int64
	failNext       atomic.Bool
	loseAlways     atomic.Bool
	loseNext       atomic.Bool

	deletions deletions
}

func newShared(s checkpoint.Storage, registry SharedRegistry) *shared {
	sh := &shared{registry: registry, ids: map[string]*lsm.StateIDs{}}
	switch s := s.(type) {
	case *checkpoint.FileStorage:
		sh.files = s.Shared()
	case *checkpoint.MemoryStorage:
		sh.files = s.Shared()
	}
	return sh
}

func (s *shared) configure(t *task.Settings) {
	s.failEvery.Store(int64(t.FailUploadEvery))
	s.loseAlways.Store(t.LoseNotifications)
	s.bytesPerSecond.Store(t.SnapshotBytesPerSecond)
}

// stateIDs numbers the states of an operator.
func (s *shared) stateIDs(vertex, operator string) *lsm.StateIDs {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := vertex + "\x00" + operator
	if s.ids[name] == nil {
		s.ids[name] = lsm.NewStateIDs()
	}
	return s.ids[name]
}

// lost tells, once for each checkpoint, whether its notification is lost.
func (s *shared) lost() bool { return s.loseNext.Swap(false) || s.loseAlways.Load() }

// ErrInjected is how an upload fails that was told to.
var ErrInjected = errors.New("the upload failed, as it was told to")

// upload counts what is stored of keyed state, and fails when it is its turn.
func (s *shared) upload() error {
	every := s.failEvery.Load()
	if n := s.stored.Add(1); every > 0 && n%every == 0 {
		return ErrInjected
	}
	return nil
}

// faulty fails the uploads that are to fail.
type faulty struct {
	checkpoint.SharedFiles
	s       *shared
	discard func(checkpoint.SharedHandle) error
}

// Discard deletes what an upload stored that failed behind it.
func (f faulty) Discard(h checkpoint.SharedHandle) error { return f.discard(h) }

func (f faulty) Put(ctx context.Context, r io.Reader) (checkpoint.SharedHandle, error) {
	if err := f.s.upload(); err != nil {
		return checkpoint.SharedHandle{}, err
	}
	return f.SharedFiles.Put(ctx, r)
}

// faultyStream fails likewise.
func (s *shared) faultyStream(write func(io.Writer) ([]checkpoint.KeyGroupOffset, error)) func(io.Writer) ([]checkpoint.KeyGroupOffset, error) {
	return func(w io.Writer) ([]checkpoint.KeyGroupOffset, error) {
		if err := s.upload(); err != nil {
			return nil, err
		}
		return write(w)
	}
}

// Savepoint takes a savepoint, in the format that every backend restores, and returns its path when it is complete.
func (j *Job) Savepoint() (path string, err error) {
	j.mu.Lock()
	c, state := j.checkpoints, j.state
	j.mu.Unlock()
	switch {
	case state.Ended():
		return "", ErrEnded
	case state == Restarting:
		return "", ErrRestarting
	}
	return c.savepoint()
}

// FailNextCheckpoint has the next state that is stored for a checkpoint fail.
func (j *Job) FailNextCheckpoint() { j.shared.failNext.Store(true) }

// LoseNextNotification keeps the completion of the next checkpoint from the tasks.
func (j *Job) LoseNextNotification() { j.shared.loseNext.Store(true) }

// stateFolder is the local folder of an attempt, made when the first task asks for it.
type stateFolder struct {
	once sync.Once
	dir  string
	err  error
}

func (f *stateFolder) make() (string, error) {
	f.once.Do(func() {
		if f.dir, f.err = os.MkdirTemp("", "weir-state-"); f.err != nil {
			f.err = fmt.Errorf("local folder of keyed state: %w", f.err)
		}
	})
	return f.dir, f.err
}

func (f *stateFolder) remove(log logger) {
	if f.dir == "" {
		return
	}
	if err := os.RemoveAll(f.dir); err != nil {
		log.Warn("removing the local folder of keyed state", "dir", f.dir, "err", err)
	}
}

// stateMemory is the budget of one task manager, divided when the first task asks for it.
type stateMemory struct {
	once   sync.Once
	memory *lsm.Memory
	err    error
	used   atomic.Int64 // bytes of the budget that are divided
}

func (m *stateMemory) make(budget int64, dbs int) (*lsm.Memory, error) {
	m.once.Do(func() {
		if m.memory, m.err = lsm.NewMemory(budget, dbs); m.err == nil {
			m.used.Store(budget)
		}
	})
	return m.memory, m.err
}

func (m *stateMemory) close() {
	if m.memory != nil {
		m.memory.Close()
	}
}

// stateEnv is what the keyed state of a task needs of where it runs.
func (a *attempt) stateEnv(tm *taskManager, v *Vertex, sub int) *task.StateEnv {
	e := &task.StateEnv{
		Dir: func(operator string) (string, error) {
			base, err := a.folder.make()
			return filepath.Join(base, url.QueryEscape(fmt.Sprintf("%s-%d-%s", v.ID, sub, operator))), err
		},
		Memory: func() (*lsm.Memory, error) {
			return tm.state.make(a.settings.MemoryBudgetBytes, max(1, a.operatorsOn(tm)))
		},
		StateIDs: func(operator string) *lsm.StateIDs { return a.shared.stateIDs(v.ID, operator) },
	}
	if a.restored != nil {
		e.Files, e.Claimed, e.Old = a.restoredFiles(), a.claimed, oldRanges(a.restored, v.ID)
	}
	return e
}

// operatorsOn is how many operators, and so at most how many stores, a task manager has.
func (a *attempt) operatorsOn(tm *taskManager) int {
	n := 0
	for i := range a.graph.Vertices {
		v := &a.graph.Vertices[i]
		for sub := range a.sizes[v.ID].parallelism {
			if a.taskManagerOf(v, sub) == tm {
				n += len(v.Operators)
			}
		}
	}
	return n
}

// restoredFiles are those that the restored checkpoint shares with others.
func (a *attempt) restoredFiles() checkpoint.SharedFiles {
	if _, memory := a.shared.files.(*checkpoint.MemoryShared); memory || a.claimed {
		return a.shared.files
	}
	return checkpoint.SharedOf(a.restored.Path)
}

// checkFiles sees that the files that a vertex's state refers to are there, before any task starts, and when the job itself
// starts that they are whole: a damaged one should be refused, not tried again and again.
func (a *attempt) checkFiles(vertex string, dealt *checkpoint.Assignment) error {
	files, ok := a.restoredFiles().(*checkpoint.FileShared)
	if !ok {
		return nil
	}
	check := files.Check
	if a.number == 0 {
		check = func(h checkpoint.SharedHandle) error {
			_, err := files.Get(h)
			return err
		}
	}
	seen := map[string]bool{}
	for _, s := range dealt.Subtasks {
		for _, h := range s.SharedFiles() {
			if seen[h.File] {
				continue
			}
			seen[h.File] = true
			if err := check(h); err != nil {
				return fmt.Errorf("checkpoint %d: state of vertex %q: %w", a.restored.ID, vertex, err)
			}
		}
	}
	return nil
}
