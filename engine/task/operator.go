package task

import (
	"time"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/trace"
)

// Context is what a source or an operator knows of where it runs. It belongs to the task's goroutine.
type Context struct {
	Vertex         string
	Index          int // subtask
	Parallelism    int
	MaxParallelism int
	KeyGroups      keygroup.Range
	// Settings is replaced, never changed in place, when a knob moves; read it anew for each use.
	Settings *Settings
	// ParkedNs counts the time that operators slept or waited inside a record. A worker that sleeps counts as busy.
	KeyGroup int // of the record being processed
	// Operator is the name of the operator whose Open runs.
	Operator string
	// State is what keyed state needs of where the task runs; nil has the hashmap backend only.
	State *StateEnv
	// Tracer has the job's tracepoints; nil has none. The task's own name there is Thread.
	Tracer *trace.Tracer
	Thread string
}

// Status is what a source has.
type Status uint8

// What Source.Next answers.
const (
	Ready Status = iota // r is filled
	Wait                // nothing now: ask again after the returned time
	End                 // no more records, ever
)

// Source makes records. Only its task's goroutine calls it.
type Source interface {
	// Open is called once, after Restore if there is state.
	Open(*Context) error
	// Next fills r. With Wait it says after how long to ask again; 0 lets waiting mail run first.
	Next(r *serde.Record) (Status, time.Duration)
	// Err is why Next answered End, if not because the input ended.
	Err() error
	// SettingsChanged tells that Context.Settings is a new value.
	SettingsChanged()
	Snapshot() *checkpoint.OperatorState
	Restore(*checkpoint.OperatorState) error
	Close() error
}

// Output takes the records that an operator emits: the next operator of the chain, or the record writer.
type Output interface {
	Collect(r *serde.Record) error
}

// Operator processes records. Only its task's goroutine calls it.
type Operator interface {
	Open(*Context, Output) error
	Process(r *serde.Record) error
	// Finish is called once when all input has ended.
	Finish() error
	SettingsChanged()
	Snapshot() *checkpoint.OperatorState
	Restore(*checkpoint.OperatorState) error
	Close() error
}

// SourceFactory makes the source of one subtask; OperatorFactory an operator. Name is unique in its vertex: state is
// stored under it.
type (
	SourceFactory struct {
		Name string
		New  func() Source
	}
	OperatorFactory struct {
		Name string
		New  func() Operator
	}
)

// StateReporter is implemented by operators that keep keyed state.
type StateReporter interface {
	// State tells about the state of this subtask.
	State() metric.State
	// Counts is a copy of the counts by key, or nil if there are too many to list.
	Counts() map[string]int64
}
