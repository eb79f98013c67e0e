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
	// Debloater makes the gate's; nil is NewDebloater.
	Debloater func(DebloatConfig) (DebloatCore, error)
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
	inner     []inChain      // the operators behind the first
	passed    []atomic.Int64 // what they have counted

	record  serde.Record
	decoder []serde.Deserializer // one per channel, since a record may span buffers
	current *serde.Deserializer  // has an unfinished buffer
	channel int                  // that it is of
	buffer  network.Buffer

	watermarks watermarks
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
	keyed      atomic.Bool // an operator has keyed state
	firstKeyed atomic.Pointer[KeyedState]
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
	t.Context.Tracer, t.Context.Thread = c.Tracer, t.name
	n := 0
	if t.Gate != nil {
		n = t.Gate.Channels()
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
	t.watermarks.init(n)
	behind := max(0, len(t.Operators)-1)
	t.inner, t.passed = make([]inChain, behind), make([]atomic.Int64, behind)
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
	t.Counters.Begun.Store(nowNs())
	if err := t.open(); err != nil {
		return fmt.Errorf("task %s: %w", t.name, err)
	}
	if t.recovery == nil {
		t.Counters.Ready.Store(nowNs())
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
	t.startWatermarks()
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
	t.stopWatermarks()
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
		if k, ok := op.(KeyedOperator); ok {
			t.keyed.Store(true)
			t.firstKeyed.Store(k.Keyed())
		}
		if i > 0 {
			t.inner[i-1].op = op
			out = &t.inner[i-1]
		} else {
			out = chained{op}
		}
	}
	t.head = out
	if t.Config.Source != nil {
		src := t.Config.Source.New()
		t.source = src
		t.watermarks.source, _ = src.(EventTimeSource)
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
	t.Publish()
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
