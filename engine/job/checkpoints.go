package job

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/task"
	"weir/engine/trace"
)

type logger = *slog.Logger

// checkpoints is the shell around the checkpoint coordinator of one attempt: one goroutine that calls the core with the
// time and carries out its commands in order, and one for each state that is being written.
type checkpoints struct {
	storage  checkpoint.Storage
	log      logger
	tracer   *trace.Tracer
	attempt  *attempt
	mailbox  *task.Mailbox
	jobStart time.Time
	writers  sync.WaitGroup
	done     chan struct{}
	quit     bool
	// recovering is how many tasks still read data in flight of the restored checkpoint. Barriers wait for them: held is
	// the trigger that does.
	recovering int
	held       *checkpoint.Command
	ending     chan struct{} // closed when nobody waits for data in flight any more

	mu   sync.Mutex // guards what follows, up to shared; the snapshot reads core too
	core *checkpoint.Coordinator
	// unanswered are the shared files of acknowledgements that the coordinator has not seen yet.
	unanswered map[*checkpoint.Ack][]checkpoint.StateFile
	writing    map[int64]writing // by checkpoint

	shared      *shared
	inlineBelow atomic.Int64
	waits       map[int64][]chan given // who waits for a checkpoint; of the coordinator's goroutine

	// stopped hears the end of a stop with a checkpoint: nil in case of success.
	stopped func(*checkpoint.Completed, error)
	// failJob hears that more checkpoints failed than are tolerated.
	failJob func(error)
}

func checkpointConfig(s *task.Settings) checkpoint.Config {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return checkpoint.Config{Interval: ms(s.CheckpointIntervalMs), MinPause: ms(s.MinPauseMs), Timeout: ms(s.CheckpointTimeoutMs),
		ToleratedFailures: s.ToleratedFailures, Retained: s.RetainedCheckpoints,
		Unaligned: s.CheckpointMode == "unaligned", AlignedTimeout: ms(s.AlignedTimeoutMs)}
}

// coordinate makes the shell of an attempt; run starts it.
func coordinate(a *attempt, storage checkpoint.Storage, sh *shared, past checkpoint.Past, jobStart time.Time, log logger) *checkpoints {
	var vertices []checkpoint.CoordinatedVertex
	for _, v := range a.graph.Vertices {
		vertices = append(vertices, checkpoint.CoordinatedVertex{ID: v.ID, Parallelism: a.sizes[v.ID].parallelism, MaxParallelism: a.sizes[v.ID].groups,
			MaxParallelismDerived: a.settings.MaxParallelism == 0, Source: v.Source != nil})
	}
	sh.configure(&a.settings)
	c := &checkpoints{storage: storage, shared: sh, log: log, unanswered: map[*checkpoint.Ack][]checkpoint.StateFile{}, jobStart: jobStart, tracer: a.tracer, writing: map[int64]writing{}, waits: map[int64][]chan given{},
		attempt: a, mailbox: task.NewMailbox(), done: make(chan struct{}), recovering: a.recovering, ending: make(chan struct{}),
		core: checkpoint.NewCoordinator(checkpointConfig(&a.settings), vertices, past, jobStart, time.Now())}
	c.inlineBelow.Store(a.settings.InlineThresholdBytes)
	return c
}

// run is the coordinator's goroutine.
func (c *checkpoints) run() {
	defer close(c.done)
	for {
		c.mailbox.Run()
		if c.quit {
			return
		}
		c.mu.Lock()
		at, ok := c.core.NextDeadline()
		c.mu.Unlock()
		if !ok {
			c.mailbox.Park(0)
			continue
		}
		if d := time.Until(at); d > 0 {
			c.mailbox.Park(d)
			continue
		}
		c.do(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command { return core.Tick(now) })
	}
}

// do calls the core and carries out what it answers, on the coordinator's goroutine.
func (c *checkpoints) do(event func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command) {
	c.mu.Lock()
	cmds := event(c.core, time.Now())
	c.mu.Unlock()
	for i, cmd := range cmds {
		if next, broken := c.carryOut(cmd); broken {
			c.do(next) // what was left of the answer is void
			return
		} else if next != nil {
			rest := cmds[i+1:]
			c.do(next)
			for _, cmd := range rest {
				c.carryOut(cmd)
			}
			return
		}
	}
}

// post calls the core from any goroutine.
func (c *checkpoints) post(event func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command) bool {
	return c.mailbox.Post(func() { c.do(event) })
}

type coreCall = func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command

// carryOut does one command. It may answer a call for the core; broken then says that the rest of the commands is void.
func (c *checkpoints) carryOut(cmd checkpoint.Command) (next coreCall, broken bool) {
	switch cmd.Kind {
	case checkpoint.TriggerSources:
		if err := c.storage.Begin(cmd.ID); err != nil {
			return func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
				return core.Failed(cmd.ID, checkpoint.BeginFailed, err, now)
			}, true
		}
		if c.recovering > 0 {
			c.held = &cmd
		} else {
			c.triggerSources(&cmd)
		}
	case checkpoint.WriteFinished:
		c.write(checkpoint.Ack{Checkpoint: cmd.ID, Task: cmd.Task}, cmd.State, nil, nil)
	case checkpoint.WriteMetadata:
		var err error
		if c.shared.failNext.Swap(false) { // no keyed state was stored that it could fail with
			err = ErrInjected
		} else {
			err = c.storage.Complete(cmd.Completed)
		}
		return func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
			if err != nil {
				return core.Failed(cmd.ID, checkpoint.FinalizeFailed, err, now)
			}
			return core.MetadataWritten(cmd.ID, now)
		}, false
	case checkpoint.NotifyComplete:
		c.log.Debug("checkpoint completed", "id", cmd.ID)
		c.overOf(cmd.ID)
		if c.shared.lost() {
			c.mu.Lock()
			c.core.NotificationLost(cmd.ID)
			c.mu.Unlock()
		} else {
			for _, r := range c.attempt.runners {
				r.NotifyCompleted(cmd.ID)
			}
		}
		c.tell(cmd.ID, given{completed: cmd.Completed})
	case checkpoint.NotifyAborted:
		c.log.Info("checkpoint aborted", "id", cmd.ID, "why", cmd.Detail)
		if c.held != nil && c.held.ID == cmd.ID {
			c.held = nil
		}
		c.overOf(cmd.ID)
		c.discardHandles(cmd.ID, becauseFailed, c.shared.registry.Aborted(cmd.ID))
		c.tell(cmd.ID, given{err: &CheckpointError{ID: cmd.ID, Why: cmd.Detail}})
		for _, r := range c.attempt.runners {
			r.NotifyAborted(cmd.ID, cmd.Stop)
		}
		if cmd.Stop && c.stopped != nil {
			c.stopped(nil, &CheckpointError{ID: cmd.ID, Why: cmd.Detail})
		}
	case checkpoint.Discard:
		if err := c.storage.Discard(cmd.ID); err != nil {
			c.log.Warn("discarding a checkpoint", "id", cmd.ID, "err", err)
		}
		c.discardUnused()
	case checkpoint.StopJob:
		if c.stopped != nil {
			c.stopped(cmd.Completed, nil)
		}
	case checkpoint.FailJob:
		c.failJob(&CheckpointError{Why: cmd.Detail})
	}
	return nil, false
}

// discardUnused deletes the shared files that only checkpoints before the retained ones referred to.
func (c *checkpoints) discardUnused() {
	c.mu.Lock()
	retained := c.core.Retained()
	c.mu.Unlock()
	if len(retained) > 0 {
		files, _ := c.shared.registry.Unused(retained[0].ID)
		c.discardHandles(retained[len(retained)-1].ID, becauseSubsumed, files)
	}
}

func (c *checkpoints) triggerSources(cmd *checkpoint.Command) {
	for _, id := range cmd.Tasks {
		c.attempt.runner(id.Vertex, id.Subtask).TriggerCheckpoint(cmd.Barrier, cmd.Stop)
	}
}

// Recovered implements task.Listener.
func (c *checkpoints) Recovered() {
	c.mailbox.Post(func() {
		if c.recovering--; c.recovering == 0 && c.held != nil {
			c.triggerSources(c.held)
			c.held = nil
		}
	})
}

// CheckpointError says why a checkpoint was given up.
type CheckpointError struct {
	ID  int64 // 0 where it is about more than one
	Why string
}

// Error implements error.
func (e *CheckpointError) Error() string { return "checkpoint failed: " + e.Why }

// await returns when the data in flight is there, or will not be.
func (c *checkpoints) await(f *checkpoint.InFlight) error {
	if f == nil {
		return nil
	}
	select {
	case <-f.Done():
		return f.Err()
	case <-c.ending:
		return checkpoint.ErrAborted
	}
}

// Declined implements task.Listener.
func (c *checkpoints) Declined(vertex string, subtask int, id int64, reason checkpoint.Reason, err error) {
	c.post(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
		return core.Decline(id, checkpoint.TaskID{Vertex: vertex, Subtask: subtask}, reason, err, now)
	})
}

// finished tells that a task has ended well.
func (c *checkpoints) finished(r *runner) {
	state, last := r.Final()
	c.post(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
		return core.Finished(checkpoint.TaskID{Vertex: r.vertex.ID, Subtask: r.Context.Index}, state, last, now)
	})
}

// configure applies changed knobs.
func (c *checkpoints) configure(s *task.Settings) {
	cfg := checkpointConfig(s)
	c.shared.configure(s)
	c.inlineBelow.Store(s.InlineThresholdBytes)
	c.post(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
		return core.Configure(cfg, now)
	})
}

// trigger takes a checkpoint by hand.
func (c *checkpoints) trigger(typ string) (id int64, err error) {
	answered := make(chan struct{})
	ok := c.post(func(core *checkpoint.Coordinator, now time.Time) (cmds []checkpoint.Command) {
		defer close(answered)
		id, cmds, err = core.Trigger(typ, now)
		return cmds
	})
	if !ok {
		return 0, ErrEnded
	}
	select {
	case <-answered:
		return id, err
	case <-c.done:
		return 0, ErrEnded
	}
}

// stop asks for a last checkpoint; c.stopped hears how it went.
func (c *checkpoints) stop(stopped func(*checkpoint.Completed, error)) bool {
	return c.mailbox.Post(func() {
		c.stopped = stopped
		c.do(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command {
			_, cmds, err := core.Stop(now)
			if err != nil {
				defer stopped(nil, err)
			}
			return cmds
		})
	})
}

// shutdown ends the coordinator: what runs is given up. It returns when no state is being written any more.
func (c *checkpoints) shutdown() checkpoint.Past {
	c.mailbox.Post(func() {
		c.do(func(core *checkpoint.Coordinator, now time.Time) []checkpoint.Command { return core.Shutdown(now) })
		c.quit = true
	})
	<-c.done
	c.mailbox.Close()
	close(c.ending)
	c.overOf(math.MaxInt64)
	c.writers.Wait()
	for ack, files := range c.unanswered { // their mail came too late
		c.discardFiles(coordinatorThread, ack.Checkpoint, becauseLate, &ack.Task, files)
	}
	return c.core.Past(time.Now())
}

// fill puts the history into a snapshot.
func (c *checkpoints) fill(s *metric.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.DeletedFiles = c.shared.deletions.newestFirst()
	s.Checkpoints = c.core.History(time.Now())
	counts := c.core.Counts()
	s.CheckpointCounts = &counts
	s.Life.LastCompleted = c.core.LastCompleted()
}
