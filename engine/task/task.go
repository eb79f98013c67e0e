package task

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/serde"
	"weir/engine/trace"
)

// Listener hears what a task has done for a checkpoint. The task's goroutine calls it.
type Listener interface {
	// Snapshotted hands over the state taken in the sync phase; the listener stores it and acknowledges (async phase).
	Snapshotted(s Snapshotted)
	// Declined says that the task gave a checkpoint up; err may be nil.
	Declined(vertex string, subtask int, checkpointID int64, reason checkpoint.Reason, err error)
	// Recovered says, once for each task that has a Recovery, that it has read all of it.
	Recovered()
}

// Snapshotted is a task's part of a checkpoint after its sync phase.
type Snapshotted struct {
	Vertex       string
	Subtask      int
	CheckpointID int64
	State        *checkpoint.TaskState
	// Keyed is the keyed state, which is not in State yet. The listener releases each handle.
	Keyed      []OperatorHandle
	StartDelay time.Duration
	Alignment  time.Duration
	Sync       time.Duration
	// ProcessedBytes came in during the alignment.
	ProcessedBytes int64
	// InFlight is still gathering the data in flight of the checkpoint, and knows what the alignment took in the end; nil
	// if there can be none.
	InFlight *checkpoint.InFlight
}

// Config is what a task is made of.
type Config struct {
	Vertex      string
	Context     Context
	TaskManager int
	Source      *SourceFactory
	Operators   []OperatorFactory
	Gate        *network.Gate // nil for a source
	Local       []bool        // which of the gate's channels are local
	Input       serde.Schema
	Writer      *network.RecordWriter // nil for a last task
	Partition   *network.ResultPartition
	Restore     *checkpoint.TaskState
	// UnalignedOutput: barriers may overtake in the output, since data in flight there can be restored.
	UnalignedOutput bool
	Recovery        *Recovery // nil without data in flight to be read first
	Mailbox         *Mailbox
	Times           *metric.TaskTimes
	Tracer          *trace.Tracer
	Logger          *slog.Logger
	Listener        Listener
}

// ErrCanceled is what a cancelled task ends with.
var ErrCanceled = errors.New("task: canceled")

// Task is one subtask: a goroutine that alone runs the operators and touches their state (Flink's StreamTask).
type Task struct {
	Config
	Counters Counters

	name      string // as a thread is named: "slow-map 1"
	source    Source
	operators []Operator
	head      Output

	record  serde.Record
	decoder []serde.Deserializer // one per channel, since a record may span buffers
	current *serde.Deserializer  // has an unfinished buffer
	buffer  network.Buffer

	barriers   *checkpoint.BarrierHandler
	inFlight   inFlight
	recovery   *recovery // nil once it is over
	taken      checkpoint.Subtask
	failed     error                 // of a mail
	final      *checkpoint.TaskState // at the end of the input
	openInputs int
	suspended  bool // stopped with a checkpoint: no more records
	plain      plainCounters
	quitting   bool
	keyed      atomic.Bool  // an operator has keyed state
	completed  atomic.Int64 // newest checkpoint that is known to be complete
	writes     writes
	canceled   chan struct{}
	cancelOnce sync.Once

	flusher  *outputFlusher
	debloat  *debloatShell
	ticks    []*time.Timer
	latency  latency
	reported reportedState
}

// New makes a task; Run runs it.
func New(c Config) *Task {
	t := &Task{Config: c, name: fmt.Sprintf("%s %d", c.Vertex, c.Context.Index), canceled: make(chan struct{})}
	if t.Gate != nil {
		n := t.Gate.Channels()
		t.openInputs = n
		t.decoder = make([]serde.Deserializer, n)
		for i := range t.decoder {
			t.decoder[i] = serde.NewDeserializer(c.Input)
		}
		t.barriers = checkpoint.NewBarrierHandler(n)
		t.Gate.SetOnPriority(t.Mailbox.WakeForPriority)
		if c.Recovery != nil {
			t.recovery = newRecovery(c.Recovery, t)
		}
	}
	return t
}

// Name is the task's name as a thread.
func (t *Task) Name() string { return t.name }

// Cancel ends the task as soon as its goroutine looks up; Run then returns ErrCanceled. A wait for a buffer inside a
// record ends by the Quit channel of the writer.
func (t *Task) Cancel() {
	t.cancelOnce.Do(func() { close(t.canceled) })
	t.Mailbox.Post(func() { t.quitting = true })
	t.Mailbox.Wake()
}

// Run opens, runs and closes the task. A panic in an operator is an error that names the task.
func (t *Task) Run() (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.Logger.Error("task panicked", "task", t.name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("task %s: panic: %v", t.name, p)
		}
	}()
	defer t.close()
	if err := t.open(); err != nil {
		return fmt.Errorf("task %s: %w", t.name, err)
	}
	t.report()
	t.startShells()
	defer t.stopShells()
	if err := t.loop(); err != nil {
		if errors.Is(err, ErrCanceled) {
			return err
		}
		return fmt.Errorf("task %s: %w", t.name, err)
	}
	return nil
}

func (t *Task) startShells() {
	if t.Writer != nil {
		t.Writer.SetFlushAlways(t.Context.Settings.BufferTimeoutMs == 0)
		t.flusher = startOutputFlusher(t.Partition, t.Context.Settings.BufferTimeoutMs, t.Tracer, "OutputFlusher for "+t.name)
	}
	if t.Gate != nil {
		t.debloat = newDebloatShell(t)
		t.debloat.configure(t.Context.Settings, true)
	}
	t.latency.configure(t.Context.Settings)
	t.startTicks()
}

func (t *Task) stopShells() {
	if t.flusher != nil {
		t.flusher.stop()
	}
	if t.debloat != nil {
		t.debloat.stop()
	}
	for _, timer := range t.ticks {
		timer.Stop()
	}
}

// open restores and opens the chain from its end, so that an operator's output is open before it.
func (t *Task) open() error {
	var out Output = discard{}
	if t.Writer != nil {
		out = t.Writer
	}
	t.operators = make([]Operator, len(t.Operators))
	for i := len(t.Operators) - 1; i >= 0; i-- {
		f := t.Operators[i]
		op := f.New()
		t.operators[i] = op
		t.Context.Operator = f.Name
		if s := t.restored(f.Name); s != nil {
			if err := op.Restore(s); err != nil {
				return fmt.Errorf("restore %s: %w", f.Name, err)
			}
		}
		if err := op.Open(&t.Context, out); err != nil {
			return fmt.Errorf("open %s: %w", f.Name, err)
		}
		if _, ok := op.(KeyedOperator); ok {
			t.keyed.Store(true)
		}
		out = chained{op}
	}
	t.head = out
	if t.Config.Source != nil {
		src := t.Config.Source.New()
		t.source = src
		if s := t.restored(t.Config.Source.Name); s != nil {
			if err := src.Restore(s); err != nil {
				return fmt.Errorf("restore %s: %w", t.Config.Source.Name, err)
			}
		}
		if err := src.Open(&t.Context); err != nil {
			return fmt.Errorf("open %s: %w", t.Config.Source.Name, err)
		}
	}
	return nil
}

// restored is the state that an operator starts from: nil in a job that begins anew, and empty where a restored job has
// none for this subtask.
func (t *Task) restored(operator string) *checkpoint.OperatorState {
	if t.Restore == nil {
		return nil
	}
	if s := t.Restore.Operators[operator]; s != nil {
		return s
	}
	return &checkpoint.OperatorState{}
}

// close leaves nothing behind: open buffers, the buffer being read, operators.
func (t *Task) close() {
	t.Mailbox.Close()
	if t.inFlight.timer != nil {
		t.inFlight.timer.Stop()
	}
	if f := t.inFlight.data; f != nil && t.final == nil {
		f.Fail(checkpoint.ErrAborted)
	}
	t.report()
	t.publish()
	t.buffer.Recycle()
	if t.Writer != nil {
		t.Writer.Close()
	}
	for _, op := range t.operators {
		if op == nil {
			continue
		}
		if err := op.Close(); err != nil {
			t.Logger.Warn("closing an operator", "task", t.name, "err", err)
		}
	}
	if t.source != nil {
		if err := t.source.Close(); err != nil {
			t.Logger.Warn("closing the source", "task", t.name, "err", err)
		}
	}
}

// outcome is what a stretch of the default action ended with.
type outcome uint8

const (
	more    outcome = iota // mail waits, or the writer is pressed
	noInput                // ask again when woken, or after a while
	ended                  // all input has ended
)

// loop is the mailbox loop: mail first, then records until there is mail, no input, or no buffer to write into.
func (t *Task) loop() error {
	for {
		if t.Mailbox.Pending() {
			t.publishIfAsked()
			t.Mailbox.Run()
			if t.quitting {
				return ErrCanceled
			}
			if t.failed != nil {
				return t.failed
			}
			if t.Mailbox.priority.Swap(false) {
				if err := t.processPriority(); err != nil {
					return err
				}
			}
		}
		if t.suspended {
			t.park(0, nil)
			continue
		}
		if t.Writer != nil && !t.Writer.Available() {
			if t.Tracer.On(trace.SoftBackPressureBegan) {
				t.traceSoft()
			}
			t.park(0, &t.Times.SoftBackPressured)
			continue
		}
		var (
			got  outcome
			wait time.Duration
			err  error
		)
		if t.source != nil {
			got, wait, err = t.emit()
		} else {
			got, err = t.process()
		}
		switch {
		case err != nil:
			return err
		case got == ended:
			return t.finish()
		case got == noInput:
			t.park(wait, &t.Times.Idle)
		}
	}
}

// park sleeps until woken, on account of one of the time gauges.
func (t *Task) park(d time.Duration, timer *metric.Timer) {
	t.publish()
	if timer == nil {
		t.Mailbox.Park(d)
		return
	}
	timer.MarkStart(nowNs())
	t.Mailbox.Park(d)
	timer.MarkEnd(nowNs())
}

// emit takes records from the source until something else is to be done.
func (t *Task) emit() (outcome, time.Duration, error) {
	r := &t.record
	for {
		status, wait := t.source.Next(r)
		switch status {
		case Ready:
			if t.latency.on || r.HasTimestamp {
				t.latency.stamp(r)
			}
			if err := t.head.Collect(r); err != nil {
				return more, 0, err
			}
			t.plain.recordsEmitted++
		case Wait:
			if wait <= 0 { // it only lets the mail through
				return more, 0, nil
			}
			return noInput, wait, nil
		case End:
			return ended, 0, t.source.Err()
		}
		if t.Mailbox.Pending() || (t.Writer != nil && t.Writer.Pressed()) {
			return more, 0, nil
		}
	}
}

// process takes records from the gate until something else is to be done.
func (t *Task) process() (outcome, error) {
	if t.recovery != nil {
		if got, done, err := t.processRecovered(); !done || err != nil {
			return got, err
		}
	}
	r := &t.record
	for {
		if c := t.current; c != nil {
			for {
				kind, ok, err := c.Next(r)
				if err != nil {
					return more, err
				}
				if !ok {
					break
				}
				if kind != serde.KindRecord {
					continue
				}
				t.plain.recordsIn++
				if t.latency.on {
					t.latency.observe(r)
				}
				if err := t.head.Collect(r); err != nil {
					return more, err
				}
				if t.Mailbox.Pending() || (t.Writer != nil && t.Writer.Pressed()) {
					return more, nil
				}
			}
			t.buffer.Recycle()
			t.current = nil
		}
		b, channel, ok, err := t.Gate.Poll()
		if err != nil {
			return more, err
		}
		if !ok {
			t.debloat.pause()
			return noInput, nil
		}
		t.count(b, channel)
		if b.IsData() {
			t.barriers.Processed(len(b.Bytes))
			t.buffer = b
			t.current = &t.decoder[channel]
			t.current.SetBuffer(b.Bytes)
			t.publish()
			continue
		}
		err = t.event(b, channel)
		b.Recycle()
		if err != nil {
			return more, err
		}
		if t.openInputs == 0 {
			return ended, nil
		}
		if t.Mailbox.Pending() || t.suspended {
			return more, nil
		}
	}
}

// count counts a buffer that was taken from the gate.
func (t *Task) count(b network.Buffer, channel int) {
	t.debloat.received(len(b.Bytes))
	if t.Local[channel] {
		t.plain.buffersInLocal++
		t.plain.bytesInLocal += int64(len(b.Bytes))
	} else {
		t.plain.buffersInRemote++
		t.plain.bytesInRemote += int64(len(b.Bytes))
	}
}

// finish ends the operators and then the output.
func (t *Task) finish() error {
	for _, op := range t.operators {
		if err := op.Finish(); err != nil {
			return err
		}
	}
	t.final = t.state()
	if t.Writer == nil {
		return t.awaitWrites()
	}
	if err := t.Writer.BroadcastEvent(serde.EndOfDataEvent{Drain: true}, false); err != nil {
		return err
	}
	if err := t.Writer.Finish(); err != nil {
		return err
	}
	return t.awaitWrites()
}

// chained hands records to the next operator of the chain.
type chained struct{ op Operator }

func (c chained) Collect(r *serde.Record) error { return c.op.Process(r) }

// discard is the output of a chain that ends in a sink.
type discard struct{}

func (discard) Collect(*serde.Record) error { return nil }

// publishIfAsked stores the counters when someone wants to read them.
func (t *Task) publishIfAsked() {
	if t.Mailbox.publish.Swap(false) {
		t.publish()
	}
}

// Publish stores the task's own counters where others read them. Only the task's goroutine may call it.
func (t *Task) Publish() { t.publish() }

// publish is Publish.
func (t *Task) publish() {
	c := &t.Counters
	c.RecordsIn.Store(t.plain.recordsIn)
	c.RecordsEmitted.Store(t.plain.recordsEmitted)
	c.BytesInLocal.Store(t.plain.bytesInLocal)
	c.BytesInRemote.Store(t.plain.bytesInRemote)
	c.BuffersInLocal.Store(t.plain.buffersInLocal)
	c.BuffersInRemote.Store(t.plain.buffersInRemote)
	if t.Writer != nil {
		w := t.Writer.Counters()
		c.RecordsOut.Store(w.Records)
		c.BytesOut.Store(w.Bytes)
		c.BuffersOut.Store(w.Buffers)
	}
}

// Apply gives the task new settings, between two records.
func (t *Task) Apply(s *Settings) bool {
	return t.Mailbox.Post(func() {
		t.Context.Settings = s
		t.latency.configure(s)
		if t.source != nil {
			t.source.SettingsChanged()
		}
		for _, op := range t.operators {
			op.SettingsChanged()
		}
		if t.flusher != nil {
			t.Writer.SetFlushAlways(s.BufferTimeoutMs == 0)
			t.flusher.setTimeout(s.BufferTimeoutMs)
			t.Writer.FlushAll() // what the old timeout left lying
		}
		if t.debloat != nil {
			t.debloat.configure(s, false)
		}
	})
}

// StateReporter is implemented by operators that keep keyed state.
type StateReporter interface {
	// State tells about the state of this subtask.
	State() metric.State
	// Counts is a copy of the counts by key, or nil if there are too many to list.
	Counts() map[string]int64
}
