package checkpoint

import (
	"errors"
	"fmt"
	"time"

	"weir/engine/metric"
)

// Config is how a job checkpoints. It may change while the job runs.
type Config struct {
	Interval time.Duration // between two triggers; 0 is off
	MinPause time.Duration // from the end of a completed checkpoint to the next periodic trigger
	Timeout  time.Duration // from the trigger until it expires; 0 is never
	// ToleratedFailures is how many checkpoints may fail one after another before the job fails.
	ToleratedFailures int
	// Retained is how many completed checkpoints are kept; at least 1.
	Retained int
	// Unaligned lets barriers overtake data in flight; savepoints, and the checkpoint that a job stops with, are aligned all
	// the same. With an AlignedTimeout above 0 a checkpoint is aligned until so long after its trigger.
	Unaligned      bool
	AlignedTimeout time.Duration
}

// CoordinatedVertex is what the coordinator knows of a vertex.
type CoordinatedVertex struct {
	ID                    string
	Parallelism           int
	MaxParallelism        int
	MaxParallelismDerived bool
	// Source is set when no vertex comes before it: its subtasks are triggered by mail.
	Source bool
}

// Past is what goes on when a job restarts: ids, history, and the checkpoints to be discarded some day.
type Past struct {
	NextID   int64 // 1 if zero
	Retained []*Completed
	History  []metric.Checkpoint // newest first
	Counts   metric.CheckpointCounts
	Last     *metric.LastCheckpoint // that was completed
}

// Coordinator decides when a checkpoint is triggered, follows its acknowledgements, and completes it or gives it up. One
// runs at a time. It follows Flink's CheckpointCoordinator, with its request decider, failure manager, and history.
//
// It has no goroutine, clock or disk: its shell calls it with the time, carries out the commands it answers, and calls
// Tick at NextDeadline. It is not safe for concurrent use.
//
// A subtask that has ended counts as having acknowledged each later checkpoint, with its last state, which is stored
// anew in each, so that each stands alone.
type Coordinator struct {
	cfg      Config
	vertices []CoordinatedVertex
	tasks    []coordinatedTask
	index    map[TaskID]int
	jobStart time.Time

	nextID   int64
	pending  *pendingCheckpoint
	queued   *request
	due      time.Time // of the next periodic trigger; zero is off
	stopping int64     // id of the checkpoint the job stops with, or 0
	ended    bool

	lastCompletion time.Time
	failures       int // one after another
	retained       []*Completed
	history        []*metric.Checkpoint // newest first
	counts         metric.CheckpointCounts
	last           *metric.LastCheckpoint // that was completed; never changed in place
}

type coordinatedTask struct {
	TaskID
	source   bool
	finished bool
	state    *TaskState
}

type request struct {
	id   int64
	typ  string
	stop bool
}

// NewCoordinator returns the coordinator of a job. jobStart is the zero of the job's time, now that of this attempt: the
// first periodic checkpoint comes one interval after it. (Flink waits a random time up to the interval.)
func NewCoordinator(cfg Config, vertices []CoordinatedVertex, past Past, jobStart, now time.Time) *Coordinator {
	c := &Coordinator{vertices: vertices, index: map[TaskID]int{}, jobStart: jobStart, nextID: max(past.NextID, 1), counts: past.Counts, last: past.Last}
	for _, v := range vertices {
		for i := range v.Parallelism {
			id := TaskID{v.ID, i}
			c.index[id] = len(c.tasks)
			c.tasks = append(c.tasks, coordinatedTask{TaskID: id, source: v.Source})
		}
	}
	c.retained = append(c.retained, past.Retained...)
	for i := range past.History {
		cp := past.History[i]
		c.history = append(c.history, &cp)
	}
	c.configure(cfg, now)
	return c
}

// Past is what the next attempt of the job goes on from.
func (c *Coordinator) Past(now time.Time) Past {
	return Past{NextID: c.nextID, Retained: append([]*Completed(nil), c.retained...), History: c.History(now), Counts: c.Counts(), Last: c.last}
}

// Counts are how many checkpoints there have been, over all attempts.
func (c *Coordinator) Counts() metric.CheckpointCounts { return c.counts }

// LastCompleted is the last checkpoint that was completed, over all attempts; nil before the first.
func (c *Coordinator) LastCompleted() *metric.LastCheckpoint { return c.last }

// Retained are the completed checkpoints that are kept, oldest first.
func (c *Coordinator) Retained() []*Completed { return append([]*Completed(nil), c.retained...) }

// Latest is the newest retained checkpoint, or nil.
func (c *Coordinator) Latest() *Completed {
	if len(c.retained) == 0 {
		return nil
	}
	return c.retained[len(c.retained)-1]
}

// Configure changes the settings. A new interval counts from now; a new timeout counts for a running checkpoint too.
func (c *Coordinator) Configure(cfg Config, now time.Time) []Command {
	c.configure(cfg, now)
	return c.Tick(now)
}

func (c *Coordinator) configure(cfg Config, now time.Time) {
	cfg.Retained = max(cfg.Retained, 1)
	if cfg.Interval != c.cfg.Interval {
		c.due = time.Time{}
		if cfg.Interval > 0 {
			c.due = now.Add(cfg.Interval)
		}
	}
	c.cfg = cfg
}

// NextDeadline is when Tick must be called next; ok is false when nothing waits for a time.
func (c *Coordinator) NextDeadline() (at time.Time, ok bool) {
	if p := c.pending; p != nil {
		if p.finalizing || c.cfg.Timeout <= 0 {
			return time.Time{}, false
		}
		return p.triggered.Add(c.cfg.Timeout), true
	}
	if c.due.IsZero() || c.stopping != 0 || !c.running() {
		return time.Time{}, false
	}
	at, _ = c.earliest()
	return at, true
}

// earliest is when the next periodic checkpoint may be triggered, and whether the minimum pause is what it waits for.
func (c *Coordinator) earliest() (at time.Time, paused bool) {
	if c.cfg.MinPause > 0 && !c.lastCompletion.IsZero() {
		if pause := c.lastCompletion.Add(c.cfg.MinPause); pause.After(c.due) {
			return pause, true
		}
	}
	return c.due, false
}

// running tells whether there is a task left to take a checkpoint.
func (c *Coordinator) running() bool {
	if c.ended {
		return false
	}
	for i := range c.tasks {
		if !c.tasks[i].finished {
			return true
		}
	}
	return false
}

// Tick lets time pass: a checkpoint expires, or the next one is triggered.
func (c *Coordinator) Tick(now time.Time) []Command {
	var cmds []Command
	if p := c.pending; p != nil && !p.finalizing && c.cfg.Timeout > 0 && !now.Before(p.triggered.Add(c.cfg.Timeout)) {
		cmds = c.fail(Expired, fmt.Sprintf("after %d ms, %s", now.Sub(p.triggered).Milliseconds(), c.waitingFor()), now)
	}
	return append(cmds, c.next(now)...)
}

// errEnded refuses a checkpoint of a job that is over.
var errEnded = errors.New("no checkpoint: the job has ended")

// Trigger takes a checkpoint or savepoint by hand and returns its id. It minds neither the interval nor the minimum pause.
// While another one runs it waits for its end; a second call meanwhile gets the id of the one that waits.
func (c *Coordinator) Trigger(typ string, now time.Time) (int64, []Command, error) {
	if !c.running() {
		return 0, nil, errEnded
	}
	if c.stopping != 0 {
		return 0, nil, fmt.Errorf("no checkpoint: the job is stopping with checkpoint %d", c.stopping)
	}
	if typ != TypeCheckpoint && typ != TypeSavepoint {
		return 0, nil, fmt.Errorf("checkpoint type %q, expected %s or %s", typ, TypeCheckpoint, TypeSavepoint)
	}
	if c.queued == nil || c.queued.typ != typ {
		if c.queued != nil {
			return 0, nil, fmt.Errorf("no %s: a %s waits to be taken as %d", typ, c.queued.typ, c.queued.id)
		}
		c.queued = &request{id: c.takeID(), typ: typ}
	}
	id := c.queued.id
	return id, c.next(now), nil
}

// Stop takes a last checkpoint after which the sources pause; StopJob follows when it is complete. A running one is given
// up for it, unless it only lacks its metadata. If it fails the job goes on.
func (c *Coordinator) Stop(now time.Time) (int64, []Command, error) {
	if !c.running() {
		return 0, nil, errEnded
	}
	if c.stopping != 0 {
		return c.stopping, nil, nil
	}
	// What waits is overtaken, and lends its id, so that ids come in the order of their triggers.
	if c.queued == nil {
		c.queued = &request{id: c.takeID()}
	}
	c.queued.typ, c.queued.stop = TypeCheckpoint, true
	c.stopping = c.queued.id
	var cmds []Command
	if p := c.pending; p != nil && !p.finalizing {
		cmds = c.fail(BySubsumption, fmt.Sprintf("checkpoint %d", c.stopping), now)
	}
	return c.stopping, append(cmds, c.next(now)...), nil
}

func (c *Coordinator) takeID() int64 {
	id := c.nextID
	c.nextID++
	return id
}

// next triggers what is due, if nothing runs.
func (c *Coordinator) next(now time.Time) []Command {
	if c.pending != nil || !c.running() {
		return nil
	}
	if r := c.queued; r != nil {
		c.queued = nil
		return c.trigger(*r, now)
	}
	if c.due.IsZero() || c.stopping != 0 {
		return nil
	}
	at, paused := c.earliest()
	if now.Before(at) {
		return nil
	}
	// The rhythm goes on however long a checkpoint took, and of several missed beats one is made up for; only the
	// minimum pause shifts it.
	if paused {
		c.due = now
	}
	c.due = c.due.Add((now.Sub(c.due)/c.cfg.Interval + 1) * c.cfg.Interval)
	return c.trigger(request{id: c.takeID(), typ: TypeCheckpoint}, now)
}

// MetadataWritten completes the checkpoint: Storage.Complete has returned.
func (c *Coordinator) MetadataWritten(id int64, now time.Time) []Command {
	p := c.pending
	if p == nil || p.id != id || !p.finalizing {
		// It was given up while the metadata was being written.
		if c.keeps(id) {
			return nil
		}
		return []Command{{Kind: Discard, ID: id}}
	}
	c.pending = nil
	c.failures = 0
	c.lastCompletion = now
	p.record.Status = "COMPLETED"
	c.counts.InProgress--
	c.counts.Completed++
	p.record.EndToEndDurationMs = p.lastAck.Sub(p.triggered).Milliseconds()
	p.record.Path = p.completed.Path
	c.last = &metric.LastCheckpoint{Checkpoint: *p.record, CompletedAtMs: p.lastAck.UnixMilli(), MetadataBytes: p.completed.MetadataBytes}
	cmds := []Command{{Kind: NotifyComplete, ID: id, Completed: p.completed, Stop: p.stop}}
	if p.typ == TypeCheckpoint {
		c.retained = append(c.retained, p.completed)
		for len(c.retained) > c.cfg.Retained {
			cmds = append(cmds, Command{Kind: Discard, ID: c.retained[0].ID})
			c.forgetPath(c.retained[0].ID)
			c.retained = c.retained[1:]
		}
	}
	if p.stop {
		c.ended = true
		return append(cmds, Command{Kind: StopJob, ID: id, Completed: p.completed})
	}
	return append(cmds, c.next(now)...)
}

// NotificationLost notes that no task heard of the completion of a checkpoint.
func (c *Coordinator) NotificationLost(id int64) {
	for _, h := range c.history {
		if h.ID == id {
			h.NotificationLost = true
		}
	}
}

// forgetPath takes the path of a discarded checkpoint out of the history: nothing is there any more.
func (c *Coordinator) forgetPath(id int64) {
	for _, h := range c.history {
		if h.ID == id {
			h.Path = ""
		}
	}
}

// Decline takes a subtask's refusal of a checkpoint; err may be nil.
func (c *Coordinator) Decline(id int64, t TaskID, why Reason, err error, now time.Time) []Command {
	p := c.pending
	if p == nil || p.id != id || p.finalizing {
		return nil
	}
	detail := t.String()
	if err != nil {
		detail += ": " + err.Error()
	}
	cmds := c.fail(why, detail, now)
	return append(cmds, c.next(now)...)
}

// Failed tells that the shell could not carry a checkpoint on: BeginFailed or FinalizeFailed.
func (c *Coordinator) Failed(id int64, why Reason, err error, now time.Time) []Command {
	p := c.pending
	if p == nil || p.id != id {
		return nil
	}
	detail := ""
	if err != nil {
		detail = err.Error()
	}
	cmds := c.fail(why, detail, now)
	return append(cmds, c.next(now)...)
}

// Shutdown ends the coordinator: what runs is given up, and nothing more is triggered.
func (c *Coordinator) Shutdown(now time.Time) []Command {
	c.ended = true
	c.queued = nil
	if c.pending == nil {
		return nil
	}
	return c.fail(JobEnded, "", now)
}
