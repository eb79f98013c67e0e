package labs

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/keygroup"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/task"
	"weir/engine/trace"
)

// Errors of a run that cannot do what it is asked now.
var (
	ErrRestarting = errors.New("the job is restarting: try again when it runs")
	ErrEnded      = errors.New("the job has ended: start a new one")
)

// StartOptions say what to start.
type StartOptions struct {
	Lab string
	// Knobs are those that differ from the lab's defaults.
	Knobs map[string]any
	// Input is where the records come from; nil is the generator.
	Input *Input
	// CheckpointDir is where checkpoints go; empty is a folder that Close removes.
	CheckpointDir string
	// Restore is the folder of the checkpoint to start from; empty starts without state.
	Restore string
	// Disk is what checkpoints are written to; nil is the machine's disk. It may refuse what is too much.
	Disk   checkpoint.FileSystem
	Logger *slog.Logger // nil discards
}

// engineJob is what a run needs of a job. *job.Job is the one implementation; tests have another.
type engineJob interface {
	Snapshot() *metric.Snapshot
	Apply(task.Settings) error
	Restart(job.Graph, task.Settings) error
	TriggerCheckpoint() (int64, error)
	Savepoint() (path string, err error)
	FailNextCheckpoint()
	LoseNextNotification()
	Inject(f network.Fault, from, to int) error
	Stop() (path string, err error)
	// Close cancels the job, waits for its end and removes what it kept.
	Close()
	Done() <-chan struct{}
	Err() error
}

// Run is a lab's job while it runs, and its last readings after it has ended. All methods may be called at any time from
// any goroutine.
type Run struct {
	lab    *Lab
	input  *Input
	dir    string
	ownDir bool
	log    *slog.Logger
	tracer *trace.Tracer
	disk   checkpoint.FileSystem
	start  func(job.Graph, task.Settings, job.Options) (engineJob, error)

	quit chan struct{} // ends the observer
	done chan struct{} // the job has ended for good
	over sync.WaitGroup

	frames *network.FrameTap // nil where the lab has no panel for it

	mu         sync.Mutex
	job        engineJob
	probes     *probes // of the running job
	values     Values
	version    int64
	changes    []KnobChange
	evidence   *Evidence
	record     recorder
	offsetMs   int64 // job time that earlier jobs of this run used up
	jobs       int   // started so far
	restarting bool
	ended      bool
	closed     bool
	err        error
}

// Start starts a lab's job. A *KnobError tells of a knob that was refused.
func Start(o StartOptions) (*Run, error) {
	return startRun(o, func(g job.Graph, s task.Settings, o job.Options) (engineJob, error) {
		j, err := job.Start(g, s, o)
		if err != nil {
			return nil, err // not a nil *job.Job in an interface
		}
		return j, nil
	})
}

func startRun(o StartOptions, start func(job.Graph, task.Settings, job.Options) (engineJob, error)) (*Run, error) {
	l, err := Find(o.Lab)
	if err != nil {
		return nil, err
	}
	values, err := l.Values(o.Knobs, o.Input)
	if err != nil {
		return nil, err
	}
	r := &Run{
		lab: l, input: o.Input, values: values, dir: o.CheckpointDir, log: o.Logger, tracer: trace.New(), disk: o.Disk, start: start,
		evidence: NewEvidence(l), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if slices.Contains(l.Panels, "sequence") {
		r.frames = network.NewFrameTap()
		r.frames.SetOn(true)
		r.evidence.tap = r.frames
	}
	if r.dir == "" && values.String("checkpointStorage") == "file" {
		if r.dir, err = os.MkdirTemp("", "weir-checkpoints-"); err != nil {
			return nil, fmt.Errorf("no folder for checkpoints: %w: give one, or checkpointStorage=memory", err)
		}
		r.ownDir = true
	}
	r.record.head = Record{Engine: EngineVersion(), Lab: l.ID, Restored: o.Restore != "", Knobs: values.Clone()}
	if o.Input != nil {
		r.record.head.Input = cut(filepath.Base(o.Input.Name))
	}
	if err := r.startJob(values, o.Restore); err != nil {
		r.removeDir()
		return nil, err
	}
	r.over.Go(r.observe)
	return r, nil
}

// Values are the lab's defaults, for a file if there is one, with the given knobs set.
func (l *Lab) Values(given map[string]any, in *Input) (Values, error) {
	base := l.Defaults()
	if in != nil {
		if !l.AcceptsInput {
			return nil, fmt.Errorf("lab %s makes its own records: it takes no file", l.ID)
		}
		maps.Copy(base, l.inputKnobs)
	}
	return l.With(base, given)
}

// startJob starts a job and has its end watched. r.mu is held, or nobody else knows r yet.
func (r *Run) startJob(v Values, restore string) error {
	p := &probes{}
	g, err := r.lab.build(v, r.input, p)
	if err != nil {
		return err
	}
	dir := r.dir
	if r.jobs > 0 && dir != "" {
		// The checkpoints of a job that started empty do not belong to the earlier ones.
		dir = filepath.Join(dir, fmt.Sprintf("job-%d", r.jobs+1))
	}
	j, err := r.start(g, v.Settings(), job.Options{Lab: r.lab.ID, CheckpointDir: dir, RestorePath: restore, Disk: r.disk, Tracer: r.tracer, Frames: r.frames, Logger: r.log})
	if err != nil {
		return err
	}
	r.job, r.probes = j, p
	r.jobs++
	r.over.Go(func() { r.await(j) })
	return nil
}

// await notes the end of a job, unless another one took its place.
func (r *Run) await(j engineJob) {
	<-j.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.job == j && !r.restarting && !r.ended {
		r.endLocked(j.Err())
	}
}

func (r *Run) endLocked(err error) {
	r.ended, r.err = true, err
	r.look()
	if err != nil {
		r.mark(MarkFailure, "", err.Error())
	}
	r.mark(MarkEnd, r.job.Snapshot().State, "")
	close(r.done)
}

// observe shows the evidence a snapshot each second.
func (r *Run) observe() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-r.quit:
			return
		case <-r.done:
			return
		case <-t.C:
			r.mu.Lock()
			r.look()
			r.mu.Unlock()
		}
	}
}

func (r *Run) look() {
	s := r.snapshotLocked()
	if r.restarting { // the sources stand still until the last checkpoint is taken: that is no rate of these knobs
		r.evidence.Pause()
	} else {
		r.evidence.Observe(s, r.values, r.changes)
	}
	r.record.sample(s)
}

// Lab returns the lab.
func (r *Run) Lab() *Lab { return r.lab }

// Snapshot returns the readings of now, with the lab, its knobs, the levels, the roles and the diagnosis.
func (r *Run) Snapshot() *metric.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.snapshotLocked()
	d := Diagnose(s, r.values)
	d.annotate(s)
	return s
}

func (r *Run) snapshotLocked() *metric.Snapshot {
	s := r.job.Snapshot()
	s.Lab, s.Knobs = r.lab.ID, r.values.Clone()
	s.TimeMs += r.offsetMs
	for i := range s.Checkpoints {
		s.Checkpoints[i].TriggerMs += r.offsetMs
	}
	return s
}

// Values returns the knobs as they are now.
func (r *Run) Values() Values {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.values.Clone()
}

// Diagnosis returns the diagnosis of now, as sentences for either language.
func (r *Run) Diagnosis() Diagnosis {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Diagnose(r.snapshotLocked(), r.values)
}

// Evidence returns the lab's claims as judged at the last look, at most a second ago.
func (r *Run) Evidence() []EvidenceState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evidence.States()
}

// Events returns the changes of knobs so far, oldest first.
func (r *Run) Events() []KnobChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes)
}

// Tracer returns the job's tracepoints.
func (r *Run) Tracer() *trace.Tracer { return r.tracer }

// Done is closed when the job has ended: finished, failed, stopped or cancelled.
func (r *Run) Done() <-chan struct{} { return r.done }

// Err returns why the job failed; nil while it runs and when it ended well.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Set changes knobs, all of them or none, and returns the version of the knobs. What takes effect now or at the next
// checkpoint has been sent to the tasks when it returns; a knob that needs a restart has it return when the job runs
// again. The error is a *KnobError for a refused value.
func (r *Run) Set(given map[string]any) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.lab.With(r.values, given)
	if err != nil {
		return r.version, err
	}
	if err := r.ready(); err != nil {
		return r.version, err
	}
	how := Now
	empty := false
	var names []string
	for i := range r.lab.Knobs {
		k := &r.lab.Knobs[i]
		if next[k.Name] == r.values[k.Name] {
			continue
		}
		names = append(names, k.Name)
		if k.TakesEffect == Restart {
			how = Restart
			empty = empty || k.StartsEmpty && !sameMaxParallelism(k.Name, r.values, next)
		}
	}
	if len(names) == 0 {
		return r.version, nil
	}
	switch {
	case how != Restart:
		err = r.job.Apply(next.Settings())
	case empty:
		err = r.startAnew(next)
	default:
		err = r.restart(next)
	}
	if err != nil {
		r.mark(MarkRefused, strings.Join(names, ", "), err.Error())
		return r.version, err
	}
	at := r.job.Snapshot().TimeMs + r.offsetMs
	for _, n := range names {
		r.changes = append(r.changes, KnobChange{AtMs: at, Name: n, From: r.values[n], To: next[n]})
	}
	r.values = next
	r.version++
	return r.version, nil
}

// sameMaxParallelism tells whether a change of maxParallelism is one of words only, such as from derived to what was
// derived: keys then stay in their groups.
func sameMaxParallelism(name string, a, b Values) bool {
	number := func(v Values) int {
		if n := v.Int("maxParallelism"); n > 0 {
			return n
		}
		return keygroup.DefaultMaxParallelism(v.Int("parallelism"))
	}
	return name == "maxParallelism" && number(a) == number(b)
}

// ready tells why the job cannot be acted on now. r.mu is held.
func (r *Run) ready() error {
	switch {
	case r.restarting:
		return ErrRestarting
	case r.ended || r.closed:
		return ErrEnded
	}
	return nil
}

// unlocked runs a step that takes a while without r.mu, while restarting keeps others from acting on the job.
func (r *Run) unlocked(step func() error) error {
	r.restarting = true
	r.mu.Unlock()
	err := step()
	r.mu.Lock()
	r.restarting = false
	return err
}

// restart stops the job with a checkpoint and starts it from there. r.mu is held.
func (r *Run) restart(v Values) error {
	p := &probes{}
	g, err := r.lab.build(v, r.input, p)
	if err != nil {
		return err
	}
	j := r.job
	if err = r.unlocked(func() error { return j.Restart(g, v.Settings()) }); err == nil {
		r.probes = p
		r.record.restarts = j.Snapshot().Restarts
		r.mark(MarkRestart, "", "")
	}
	return r.afterRestart(j, err)
}

// afterRestart notes a job that ended while it was being restarted; await left that to us.
func (r *Run) afterRestart(j engineJob, err error) error {
	select {
	case <-j.Done():
		if !r.ended {
			r.endLocked(j.Err())
		}
		if err == nil {
			err = ErrEnded
		}
	default:
	}
	return err
}

// startAnew ends the job and starts another one without its state. r.mu is held.
func (r *Run) startAnew(v Values) error {
	// A graph that cannot be built must not cost the running job.
	if _, err := r.lab.build(v, r.input, &probes{}); err != nil {
		return err
	}
	old := r.job
	_ = r.unlocked(func() error {
		old.Close()
		return nil
	})
	if r.frames != nil {
		r.frames.Reset()
	}
	offset := r.offsetMs
	r.offsetMs += old.Snapshot().TimeMs
	if r.closed {
		r.offsetMs = offset
		return r.afterRestart(old, ErrEnded)
	}
	if err := r.startJob(v, ""); err != nil {
		r.offsetMs = offset
		r.ended, r.err = true, err
		close(r.done)
		return err
	}
	r.record.restarts = 0
	r.mark(MarkAnew, "", "")
	return nil
}

// Stop ends the job with a last checkpoint and returns where that is. The readings stay.
func (r *Run) Stop() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ready(); err != nil {
		return "", err
	}
	j := r.job
	var path string
	err := r.unlocked(func() (err error) {
		path, err = j.Stop()
		return err
	})
	if aerr := r.afterRestart(j, err); err != nil {
		return path, aerr
	}
	return path, nil
}

// Close ends the job, if it runs, and leaves no goroutine and, unless its folder was given, no file behind. Snapshot
// keeps answering with the last readings.
func (r *Run) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		r.over.Wait()
		return
	}
	r.closed = true
	close(r.quit)
	j := r.job
	r.mu.Unlock()
	r.tracer.Close() // lets go of threads that wait at a breakpoint
	j.Close()
	r.over.Wait()
	r.removeDir()
}

func (r *Run) removeDir() {
	if r.ownDir {
		if err := os.RemoveAll(r.dir); err != nil {
			r.log.Warn("checkpoint folder not removed", "dir", r.dir, "error", err)
		}
	}
}
