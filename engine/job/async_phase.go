package job

import (
	"context"
	"errors"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/network"
	"weir/engine/state"
	"weir/engine/task"
)

// Snapshotted implements task.Listener: the async phase begins.
func (c *checkpoints) Snapshotted(s task.Snapshotted) {
	c.write(checkpoint.Ack{Checkpoint: s.CheckpointID, Task: checkpoint.TaskID{Vertex: s.Vertex, Subtask: s.Subtask},
		StartDelayNs: int64(s.StartDelay), AlignmentNs: int64(s.Alignment), SyncNs: int64(s.Sync), ProcessedBytes: s.ProcessedBytes}, s.State, s.Keyed, s.InFlight)
}

// write stores a state on a goroutine of its own and acknowledges it, once the data in flight is complete.
func (c *checkpoints) write(ack checkpoint.Ack, s *checkpoint.TaskState, keyed []task.OperatorHandle, f *checkpoint.InFlight) {
	ctx := c.contextOf(ack.Checkpoint)
	c.writers.Go(func() {
		began := time.Now()
		err := c.store(ctx, &ack, s, keyed, f)
		for _, h := range keyed {
			h.Release()
		}
		mine := storedBy(s, ack.Checkpoint)
		if err != nil {
			c.discardFiles(asyncThread(ack.Task, ack.Checkpoint), ack.Checkpoint, becauseFailed, &ack.Task, mine)
		}
		if errors.Is(err, checkpoint.ErrAborted) || errors.Is(err, state.ErrClosed) {
			return
		}
		ack.AsyncNs = int64(time.Since(began))
		if err != nil {
			why := checkpoint.WriteFailed
			if errors.Is(err, network.ErrReleased) {
				why = checkpoint.TaskClosing // the attempt is ending, for a reason of its own
			}
			c.post(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
				return core.Decline(ack.Checkpoint, ack.Task, why, err, now)
			})
			return
		}
		c.acknowledge(ack, s, mine)
	})
}

// store is the async phase.
func (c *checkpoints) store(ctx context.Context, ack *checkpoint.Ack, s *checkpoint.TaskState, keyed []task.OperatorHandle, f *checkpoint.InFlight) error {
	if err := c.await(f); err != nil {
		return err
	}
	if f != nil {
		ack.PersistedBytes, ack.AlignmentNs, ack.ProcessedBytes = f.Result(s)
	}
	files := faulty{c.shared.files, c.shared, func(h checkpoint.SharedHandle) error {
		return c.discardFile(asyncThread(ack.Task, ack.Checkpoint), ack.Checkpoint, becauseFailed, &ack.Task, &checkpoint.StateFile{SharedHandle: h})
	}}
	for _, h := range keyed {
		stored, err := h.Store(ctx, task.StateStore{Files: files, InlineBelow: c.inlineBelow.Load()})
		if err != nil {
			return err
		}
		if stored.State.Stream != nil {
			stored.State.Stream = c.shared.pacedStream(ctx, c.shared.faultyStream(stored.State.Stream))
		}
		s.Operators[h.Operator] = stored.State
		for _, file := range stored.Files {
			file.Vertex, file.Subtask = ack.Task.Vertex, ack.Task.Subtask
			ack.SharedFiles = append(ack.SharedFiles, file)
			if file.File == "" {
				continue
			}
			ack.SharedBytes += file.Bytes
			if file.FirstCheckpoint == ack.Checkpoint {
				ack.UploadedBytes += file.Bytes
			}
		}
	}
	// Only now, when the files are there: what becomes of them is what a failure shows.
	if len(keyed) > 0 && c.shared.failNext.CompareAndSwap(true, false) {
		return ErrInjected
	}
	h, err := c.storage.WriteState(ack.Checkpoint, ack.Task, s)
	ack.Handle = h
	return err
}

// storedBy are the shared files that were stored for a subtask's part of a checkpoint.
func storedBy(s *checkpoint.TaskState, id int64) []checkpoint.StateFile {
	var mine []checkpoint.StateFile
	for _, o := range s.Operators {
		if o == nil {
			continue
		}
		for _, in := range o.Incremental {
			for _, f := range in.Files {
				if f.First == id && f.File != "" {
					mine = append(mine, f)
				}
			}
		}
	}
	return mine
}

// acknowledge hands a stored state to the coordinator. One that comes too late leaves nothing.
func (c *checkpoints) acknowledge(ack checkpoint.Ack, s *checkpoint.TaskState, mine []checkpoint.StateFile) {
	c.mu.Lock()
	c.unanswered[&ack] = mine
	c.mu.Unlock()
	c.mailbox.Post(func() {
		c.mu.Lock()
		delete(c.unanswered, &ack)
		c.mu.Unlock()
		accepted := false
		c.do(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
			if core.Accepts(ack) {
				if err := c.shared.registry.RegisterState(s, ack.Checkpoint); err != nil {
					return core.Decline(ack.Checkpoint, ack.Task, checkpoint.WriteFailed, err, now)
				}
				accepted = true
			}
			return core.Ack(ack, now)
		})
		if !accepted {
			c.discardFiles(coordinatorThread, ack.Checkpoint, becauseLate, &ack.Task, mine)
		}
	})
}

// contextOf ends when the checkpoint is given up.
func (c *checkpoints) contextOf(id int64) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.writing[id]; ok {
		return w.ctx
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.writing[id] = writing{ctx, cancel}
	return ctx
}

// writing is what the writers of one checkpoint go by.
type writing struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// overOf ends the writing of a checkpoint that is complete or given up, and of older ones.
func (c *checkpoints) overOf(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for old, w := range c.writing {
		if old <= id {
			w.cancel()
			delete(c.writing, old)
		}
	}
}

// given is what a checkpoint that somebody waits for came to.
type given struct {
	completed *checkpoint.Completed
	err       error
}

// savepoint takes a savepoint and waits for its end.
func (c *checkpoints) savepoint() (string, error) {
	answer := make(chan given, 1)
	ok := c.post(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
		id, cmds, err := core.Trigger(checkpoint.TypeSavepoint, now)
		if err != nil {
			answer <- given{err: err}
			return nil
		}
		c.waits[id] = append(c.waits[id], answer)
		return cmds
	})
	if !ok {
		return "", ErrEnded
	}
	select {
	case g := <-answer:
		if g.err != nil {
			return "", g.err
		}
		return g.completed.Path, nil
	case <-c.done:
		select {
		case g := <-answer:
			if g.err == nil {
				return g.completed.Path, nil
			}
			return "", g.err
		default:
			return "", ErrEnded
		}
	}
}

// tell answers those who wait for a checkpoint, on the coordinator's goroutine.
func (c *checkpoints) tell(id int64, g given) {
	for _, w := range c.waits[id] {
		w <- g
	}
	delete(c.waits, id)
}
