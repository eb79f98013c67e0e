package job

import (
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/task"
	"weir/engine/trace"
)

// State is where a job is in its life.
type State uint8

// The states, after Flink's JobStatus. Stopped is ended with a checkpoint.
const (
	Created State = iota
	Running
	Restarting
	Finished
	Failed
	Canceled
	Stopped
)

var stateNames = [...]string{"CREATED", "RUNNING", "RESTARTING", "FINISHED", "FAILED", "CANCELED", "STOPPED"}

func (s State) String() string { return stateNames[s] }

// Ended says that no task runs and none will.
func (s State) Ended() bool { return s >= Finished }

// Options are what a job needs beside its graph and its settings.
type Options struct {
	// Lab is the name that a Snapshot carries.
	Lab string
	// CheckpointDir is where file checkpoints go. Empty is a temporary folder that Close removes.
	CheckpointDir string
	// RestorePath is a completed checkpoint to start from.
	RestorePath string
	Tracer      *trace.Tracer
	// Frames keeps the frames between task managers, if there is one and it is on.
	Frames *network.FrameTap
	Logger logger
	// Cores replaces parts of the engine.
	Cores Cores
	// Disk is where file checkpoints go; nil is the machine's. A write that it refuses fails the checkpoint with its reason.
	Disk checkpoint.FileSystem
}

// Errors of a job that cannot do what it is asked as it is now.
var (
	ErrEnded         = errors.New("the job has ended")
	ErrRestarting    = errors.New("the job is restarting: try again when it runs")
	ErrNothingToStop = errors.New("the job has no completed checkpoint to stop with: cancel it instead")
)

// Job is a running job. Its methods may be called from any goroutine.
type Job struct {
	options Options
	log     logger
	storage checkpoint.Storage
	shared  *shared
	tempDir string
	made    folders // of checkpoints, by Start
	start   time.Time
	done    chan struct{}

	mu          sync.Mutex
	state       State
	since       time.Time // it has been in that state
	rescales    int64
	restoredAt  int64 // Unix ms of the last restore; 0 without one
	graph       Graph
	settings    task.Settings
	attempt     *attempt
	checkpoints *checkpoints
	past        checkpoint.Past
	restarts    int
	base        *checkpoint.Completed // what the job was started from
	backoff     backoff
	pause       *pause // between a failure and the restart; nil else
	canceling   bool
	failure     error // that ended the job
	survived    error // the last one that it was restarted after
	end         time.Time
	final       *metric.Snapshot
	next        *plan // what to do when the attempt has ended
}

// plan is what comes after an attempt that is being stopped with a checkpoint.
type plan struct {
	graph    Graph
	settings task.Settings
	restart  bool // else the job ends as Stopped
	from     *checkpoint.Completed
	running  chan struct{} // closed when it is done, or has failed
	err      error
}

// Start builds a job and runs it. An error means that nothing runs and nothing is left.
func Start(g Graph, s task.Settings, o Options) (*Job, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	if err := checkSettings(&s); err != nil {
		return nil, err
	}
	j := &Job{options: o, log: o.Logger, graph: g, settings: s, start: time.Now(), done: make(chan struct{})}
	if j.log == nil {
		j.log = discardLogger()
	}
	if err := j.openStorage(&s); err != nil {
		return nil, err
	}
	j.options.Cores = o.Cores.withDefaults()
	j.shared = newShared(j.storage, j.options.Cores.Registry)
	var restored *checkpoint.Completed
	err := error(nil)
	if o.RestorePath != "" {
		restored, err = j.storage.Load(o.RestorePath)
		if err == nil {
			j.past.NextID = max(j.past.NextID, restored.ID+1)
			j.base = restored
			if s.ClaimMode == task.Claim {
				err = j.claim(restored)
			}
		}
	}
	if err == nil {
		err = j.begin(g, s, restored, j.owns(restored))
	}
	if err != nil {
		j.removeTemp()
		j.made.remove()
		return nil, err
	}
	return j, nil
}

// begin makes an attempt and starts it. claimed says that its tasks' checkpoints may refer to the files of what is restored.
func (j *Job) begin(g Graph, s task.Settings, restored *checkpoint.Completed, claimed bool) error {
	number := 0
	if j.attempt != nil {
		number = j.attempt.number + 1
	}
	a, err := newAttempt(number, &g, s, restored, claimed, j.shared, &j.options, j.log)
	if err != nil {
		return err
	}
	c := coordinate(a, j.storage, j.shared, j.past, j.start, j.log)
	c.failJob = func(err error) { j.fail(a, err) }
	a.setListener(c)
	j.mu.Lock()
	if j.attempt != nil {
		j.restarts++
		if !maps.Equal(j.attempt.sizes, a.sizes) {
			j.rescales++
		}
	}
	if restored != nil {
		j.restoredAt = time.Now().UnixMilli()
	}
	j.enter(Running)
	j.graph, j.settings, j.attempt, j.checkpoints, j.final = g, s, a, c, nil
	canceling := j.canceling
	j.mu.Unlock()
	go c.run()
	a.start(func(r *runner) {
		switch {
		case r.err == nil:
			c.finished(r)
		case !errors.Is(r.err, task.ErrCanceled):
			a.cancel()
		}
	})
	go j.supervise(a, c)
	if canceling {
		a.cancel()
	}
	return nil
}

// supervise waits for an attempt's end and goes on as planned.
func (j *Job) supervise(a *attempt, c *checkpoints) {
	sampling := make(chan struct{})
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		a.sample(sampling)
	}()
	err := a.wait()
	close(sampling)
	<-sampled
	if cause := a.failure(); cause != nil {
		err = cause
	}
	j.giveUpPlan(err)
	past := c.shutdown()

	j.mu.Lock()
	j.past = past
	next := j.next
	j.next = nil
	if next != nil && next.restart && next.from != nil {
		j.enter(Restarting)
		j.mu.Unlock()
		a.release(j.log)
		next.err = j.resume(next)
		close(next.running)
		return
	}
	j.mu.Unlock()

	stopped := next != nil && next.from != nil // with its last checkpoint: what failed after that does not matter
	failed := err != nil && !stopped && !errors.Is(err, task.ErrCanceled)
	if next != nil && !stopped {
		next.err = ErrEnded
		close(next.running)
	}
	if failed && j.restartAfter(a, err) {
		return
	}

	last := a.lastReadings(j.options.Lab)
	a.release(j.log)
	j.mu.Lock()
	switch {
	case err == nil:
		j.conclude(Finished, nil, last)
	case failed:
		j.conclude(Failed, err, last)
	case stopped:
		j.conclude(Stopped, nil, last)
	default:
		j.conclude(Canceled, nil, last)
	}
	j.mu.Unlock()
	if stopped {
		close(next.running)
	}
	close(j.done)
}

// resume starts the attempt that was planned; if that cannot run, the old one is started again from the same checkpoint.
func (j *Job) resume(p *plan) error {
	j.mu.Lock()
	graph, settings := j.graph, j.settings
	j.mu.Unlock()
	err := j.begin(p.graph, p.settings, p.from, j.claims(p))
	if err != nil {
		if again := j.begin(graph, settings, p.from, j.owns(p.from)); again != nil {
			j.mu.Lock()
			j.conclude(Failed, again, &metric.Snapshot{Lab: j.options.Lab})
			j.mu.Unlock()
			close(j.done)
		}
	}
	return err
}

// fail ends an attempt for a reason that no task has.
func (j *Job) fail(a *attempt, err error) {
	a.setFailure(err)
	a.cancel()
}

// Apply gives the running job new settings; what needs a restart must not differ. It returns when they are on their
// way: each task takes them between two records.
func (j *Job) Apply(s task.Settings) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state.Ended() {
		return ErrEnded
	}
	if j.pause != nil && j.next == nil {
		j.settings = s // for the attempt that begins after the pause
		return nil
	}
	if j.state == Restarting || j.next != nil {
		return ErrRestarting
	}
	j.settings = s
	shared := s
	for _, r := range j.attempt.runners {
		r.Apply(&shared)
	}
	j.checkpoints.configure(&shared)
	j.attempt.wire().SetRate(s.WireBytesPerSecond)
	return nil
}

// Restart stops the job with a checkpoint and starts it again from there with another graph and settings. It returns
// when the job runs; with an error it runs as before, or has ended.
func (j *Job) Restart(g Graph, s task.Settings) error {
	if err := g.validate(); err != nil {
		return err
	}
	if err := checkSettings(&s); err != nil {
		return err
	}
	if err := j.check(&g, &s); err != nil {
		return err
	}
	_, err := j.stopWith(&plan{graph: g, settings: s, restart: true, running: make(chan struct{})})
	return err
}

// check refuses, before anything is stopped, what a restart could not start.
func (j *Job) check(g *Graph, s *task.Settings) error {
	j.mu.Lock()
	sizes := j.attempt.sizes
	j.mu.Unlock()
	for i := range g.Vertices {
		v := &g.Vertices[i]
		old, ok := sizes[v.ID]
		if !ok {
			continue
		}
		p := v.Parallelism
		if p == 0 {
			p = s.Parallelism
		}
		state := checkpoint.VertexState{ID: v.ID, MaxParallelism: old.groups}
		if err := state.CheckParallelism("that its state was made with", p, s.MaxParallelism); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the job with a last checkpoint and returns its path.
func (j *Job) Stop() (path string, err error) {
	p := &plan{running: make(chan struct{})}
	return j.stopWith(p)
}

func (j *Job) stopWith(p *plan) (string, error) {
	j.mu.Lock()
	switch {
	case j.state.Ended():
		j.mu.Unlock()
		return "", ErrEnded
	case j.next == nil && j.pause != nil:
		return j.stopPaused(p)
	case j.next != nil || j.state != Running:
		j.mu.Unlock()
		return "", ErrRestarting
	}
	j.next = p
	a, c := j.attempt, j.checkpoints
	j.mu.Unlock()
	result := make(chan error, 1)
	ok := c.stop(func(done *checkpoint.Completed, err error) {
		if err == nil {
			j.mu.Lock()
			p.from = done
			j.mu.Unlock()
			a.cancel()
		}
		select {
		case result <- err:
		default:
		}
	})
	if !ok {
		return "", ErrEnded
	}
	select {
	case err := <-result:
		if err != nil {
			select {
			case <-p.running: // the job failed, and the checkpoint with it
				return p.result()
			default:
			}
			j.mu.Lock()
			if j.next == p {
				j.next = nil
			}
			j.mu.Unlock()
			return "", err
		}
		<-p.running
	case <-p.running: // the job ended meanwhile
	}
	return p.result()
}

// TriggerCheckpoint takes a checkpoint now and returns its id.
func (j *Job) TriggerCheckpoint() (int64, error) { return j.trigger(checkpoint.TypeCheckpoint) }

func (j *Job) trigger(typ string) (int64, error) {
	j.mu.Lock()
	c, state := j.checkpoints, j.state
	j.mu.Unlock()
	if state.Ended() {
		return 0, ErrEnded
	}
	if state == Restarting {
		return 0, ErrRestarting
	}
	return c.trigger(typ)
}

// Cancel ends the job at once, without a checkpoint.
func (j *Job) Cancel() {
	j.mu.Lock()
	a := j.attempt
	j.canceling = true
	if j.next != nil {
		j.next.restart = false
	}
	j.pause.end()
	j.mu.Unlock()
	a.cancel()
}

// Close cancels the job if it runs, waits for its end, and removes what it kept in a temporary folder.
func (j *Job) Close() {
	j.Cancel()
	<-j.done
	if s, ok := j.storage.(*checkpoint.FileStorage); ok {
		s.Sweep()
	}
	j.removeTemp()
}

// Done is closed when the job has ended.
func (j *Job) Done() <-chan struct{} { return j.done }

// Err is why the job failed; nil if it did not.
func (j *Job) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure
}

// State is where the job is in its life.
func (j *Job) State() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Settings are those in force.
func (j *Job) Settings() task.Settings {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.settings
}

func discardLogger() logger { return slog.New(slog.DiscardHandler) }

// elapsed is the job's time; the lock is held.
func (j *Job) elapsed() time.Duration {
	if !j.end.IsZero() {
		return j.end.Sub(j.start)
	}
	return time.Since(j.start)
}
