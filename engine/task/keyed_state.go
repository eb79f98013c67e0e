package task

import (
	"errors"
	"fmt"
	"strings"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/lsm"
	"weir/engine/trace"
)

// The state backends: values of Settings.Backend, and of Flink's state.backend.type (which calls the second rocksdb).
const (
	HashMap = "hashmap"
	LSM     = "lsm"
)

// StateEnv is what keyed state needs of where its task runs. The functions may be called by several tasks at a time.
type StateEnv struct {
	// Dir makes a local folder for the files of one operator of the task.
	Dir func(operator string) (string, error)
	// Memory is the budget that the operators of a task manager share.
	Memory func() (*lsm.Memory, error)
	// StateIDs numbers the states of an operator, for all its subtasks.
	StateIDs func(operator string) *lsm.StateIDs
	// Files are the shared files of the checkpoint that the job was restored from, if it was. Claimed says that it is the
	// job's own, so that later checkpoints may refer to them.
	Files   checkpoint.SharedFiles
	Claimed bool
	// Old are the key groups of the subtasks that the checkpoint was taken of, in their order.
	Old []keygroup.Range
}

// KeyedState is the keyed state of one operator of one subtask in the backend that the settings say.
type KeyedState struct {
	state.Backend
	ctx  *Context
	heap *heap.Backend // nil unless it is that
	lsm  *lsm.Backend
	path string // of the restore
	view heapViews
	from *metric.Restored
}

// KeyedOperator is implemented by operators whose state is keyed: it is taken by the sync phase and written beside the task.
type KeyedOperator interface {
	// Keyed is nil before Open.
	Keyed() *KeyedState
}

// OpenKeyed makes the backend of the operator that is being opened, and fills it with what Restore was given before: state
// of any backend, in the canonical format or as files.
func (c *Context) OpenKeyed(t serde.KeyType, restored []*checkpoint.OperatorState) (*KeyedState, error) {
	k := &KeyedState{ctx: c}
	var groups []checkpoint.KeyGroupState
	var files []checkpoint.IncrementalState
	for _, s := range restored {
		groups = append(groups, s.Keyed...)
		files = append(files, s.Incremental...)
	}
	for i := range files {
		if b := files[i].Backend; b != lsm.Name {
			return nil, fmt.Errorf("state of backend %q, expected %s", b, lsm.Name)
		}
	}
	var err error
	switch c.Settings.Backend {
	case HashMap, "":
		err = k.openHeap(t, files, &groups)
	case LSM:
		err = k.openLSM(t, files)
	default:
		err = unknownBackend(c.Settings.Backend)
	}
	if err != nil {
		return nil, err
	}
	k.Context().Trace(c.Tracer, c.Thread)
	if c.Tracer.On(trace.BackendLoaded) {
		c.Tracer.Hit(trace.BackendLoaded, c.Thread, trace.Str("backend", k.Name()), trace.Str("operator", c.Operator), trace.Str("keyGroups", span(c.KeyGroups)),
			trace.Int("restoredHandles", len(files)), trace.Int("restoredGroups", len(groups)))
	}
	if len(groups) > 0 {
		if err := k.Backend.Restore(groups); err != nil {
			return nil, errors.Join(err, k.Backend.Close())
		}
		k.path += fmt.Sprintf("read %d key groups", len(groups))
	}
	k.from = c.restoredFrom(k.lsm, files, groups)
	return k, nil
}

func unknownBackend(name string) error {
	return fmt.Errorf("state backend %q, must be one of %s, %s", name, HashMap, LSM)
}

func (k *KeyedState) openHeap(t serde.KeyType, files []checkpoint.IncrementalState, groups *[]checkpoint.KeyGroupState) error {
	c := k.ctx
	if len(files) > 0 {
		read, err := c.groupsOfFiles(t, files)
		if err != nil {
			return err
		}
		*groups = append(*groups, read...)
		k.path = "opened the files of the lsm backend and "
	}
	b, err := heap.New(heap.Options{Key: t, MaxParallelism: c.MaxParallelism, KeyGroups: c.KeyGroups, Copied: k.copied,
		Cleanup: func() int { return c.Settings.TtlCleanupEntries }})
	if err != nil {
		return err
	}
	k.Backend, k.heap = b, b
	return nil
}

// groupsOfFiles reads the state that lies in files of the lsm backend, for another backend.
func (c *Context) groupsOfFiles(t serde.KeyType, files []checkpoint.IncrementalState) ([]checkpoint.KeyGroupState, error) {
	o, err := c.lsmOptions(t)
	if err != nil {
		return nil, err
	}
	b, err := lsm.Restore(o, lsm.Source{States: files, Files: c.State.Files})
	if err != nil {
		return nil, err
	}
	groups, err := state.GroupBytes(b, 0)
	if cerr := b.Close(); err == nil {
		err = cerr
	}
	return groups, err
}

func (c *Context) lsmOptions(t serde.KeyType) (lsm.Options, error) {
	if c.State == nil {
		return lsm.Options{}, fmt.Errorf("the %s backend has no local folder here", LSM)
	}
	dir, err := c.State.Dir(c.Operator)
	if err != nil {
		return lsm.Options{}, err
	}
	memory, err := c.State.Memory()
	if err != nil {
		return lsm.Options{}, err
	}
	return lsm.Options{Dir: dir, Key: t, MaxParallelism: c.MaxParallelism, KeyGroups: c.KeyGroups, Memory: memory, StateIDs: c.State.StateIDs(c.Operator),
		Tracer: c.Tracer, Thread: c.Thread}, nil
}

func (k *KeyedState) openLSM(t serde.KeyType, files []checkpoint.IncrementalState) error {
	o, err := k.ctx.lsmOptions(t)
	if err != nil {
		return err
	}
	source := lsm.Source{States: files}
	if len(files) > 0 {
		source.Files, source.Claimed = k.ctx.State.Files, k.ctx.State.Claimed
	}
	b, err := lsm.Restore(o, source)
	if err != nil {
		return err
	}
	k.Backend, k.lsm = b, b
	if len(files) > 0 {
		k.path = restoreText(b.Path())
	}
	return nil
}

// span is a range of key groups as the lesson writes it.
func span(r keygroup.Range) string { return fmt.Sprintf("[%d,%d)", r.First, r.Last+1) }

// restoreText says which way files came back, such as "merged: opened [64,128), cut off [86,128); took [43,64) of [0,64) in
// by reference".
func restoreText(p lsm.RestorePath) string {
	var b strings.Builder
	b.WriteString(p.Path + ":")
	if p.Base >= 0 {
		fmt.Fprintf(&b, " opened %s", span(p.Sources[p.Base].KeyGroups))
	}
	for i, c := range p.Clips {
		if i == 0 {
			b.WriteString(", cut off")
		}
		fmt.Fprintf(&b, " [%d,%d)", c[0], c[1])
	}
	for i, s := range p.Sources {
		if i == p.Base {
			continue
		}
		how := "by reference"
		if s.How == lsm.HowCopied {
			how = "key by key"
		}
		if i > 0 && !(i == 1 && p.Base == 0 && len(p.Clips) == 0) || p.Base >= 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " took %s of %s in %s", span(s.Taken), span(s.KeyGroups), how)
	}
	return b.String()
}

// Completed tells that a checkpoint is complete.
func (k *KeyedState) Completed(id int64) {
	if k.lsm != nil {
		k.lsm.CheckpointCompleted(id)
	}
}

// Aborted tells that a checkpoint was given up.
func (k *KeyedState) Aborted(id int64) {
	if k.lsm != nil {
		k.lsm.CheckpointAborted(id)
	}
}

// Report is what the Snapshot tells of the state. Only the task's goroutine may call it.
func (k *KeyedState) Report() metric.State {
	s := k.Stats()
	m := metric.State{Keys: s.Keys, Bytes: s.Bytes, RestoredKeys: s.RestoredKeys, KeysOutOfRange: s.KeysOutOfRange, DroppedExpired: s.DroppedExpired, DroppedInBackground: s.DroppedInBackground,
		Restore: k.path, Restored: k.from, Backend: k.Name()}
	switch {
	case k.heap != nil:
		h := &metric.Heap{Snapshots: k.heap.SnapshotsOpen(), CopiedByReads: k.view.byReads, CopiedByWrites: k.view.byWrites}
		h.HeldEntries, h.HeldBytes = k.heap.Held()
		k.view.peak = max(k.view.peak, h.HeldEntries)
		h.PeakHeldEntries = k.view.peak
		for _, st := range s.States {
			for g := range k.ctx.KeyGroups.All() {
				if r, ok := k.heap.Readings(st.Name, g); ok {
					h.Version = max(h.Version, int64(r.Version))
					h.Copies += r.EntryCopies + r.ValueCopies
				}
			}
		}
		m.Heap = h
	case k.lsm != nil:
		m.LSM = lsmReport(k.lsm.LSM())
	}
	return m
}
