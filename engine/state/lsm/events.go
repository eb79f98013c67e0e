package lsm

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// EventKind is what a DB did.
type EventKind uint8

// The events.
const (
	Flushed EventKind = iota
	Compacted
	TableCreated
	TableDeleted
	TableIngested
	WriteStalled
	WriteResumed
	BackgroundFailed
	Corrupted
)

var eventKinds = [...]string{"flushed", "compacted", "table created", "table deleted", "table ingested", "write stalled", "write resumed", "background failed", "corrupted"}

func (k EventKind) String() string {
	if int(k) < len(eventKinds) {
		return eventKinds[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is one thing that a DB did.
type Event struct {
	Kind EventKind
	// Table is the name of the file of a table event.
	Table string
	// FromLevel, ToLevel, InBytes and OutBytes are those of a compaction; a flush has OutBytes.
	FromLevel, ToLevel int
	InBytes, OutBytes  int64
	// Detail says why, in one line.
	Detail string
}

// listener counts a DB's events, passes them on, and keeps what must fail the task.
type listener struct {
	on func(Event)

	flushes, compactions, created, deleted, ingested, stalls atomic.Int64
	compactedIn, compactedOut, flushedOut                    atomic.Int64

	failed atomic.Pointer[error] // sticky: the DB can no longer be trusted

	mu       sync.Mutex
	flushErr error         // the last failure of a flush, which is tried again
	failure  chan struct{} // closed at the next one
}

func (l *listener) emit(e Event) {
	if l.on != nil {
		l.on(e)
	}
}

// err is why the DB can no longer be used; nil if it can.
func (l *listener) err() error {
	if p := l.failed.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *listener) fail(err error) { l.failed.CompareAndSwap(nil, &err) }

// nextFailure is closed when the next attempt at a flush fails.
func (l *listener) nextFailure() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure = make(chan struct{})
	}
	return l.failure
}

func (l *listener) flushFailed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushErr = err
	if l.failure != nil {
		close(l.failure)
		l.failure = nil
	}
}

func (l *listener) lastFailure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushErr
}

func (l *listener) pebble() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { l.emit(Event{Kind: BackgroundFailed, Detail: err.Error()}) },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			l.fail(fmt.Errorf("state file %s is damaged: %v", i.Path, i.Details))
			l.emit(Event{Kind: Corrupted, Table: i.Path, Detail: i.Details.Error()})
		},
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err != nil {
				l.flushFailed(i.Err)
				return
			}
			var n int64
			for _, t := range i.Output {
				n += int64(t.Size)
			}
			l.flushes.Add(1)
			l.flushedOut.Add(n)
			l.emit(Event{Kind: Flushed, OutBytes: n, Detail: i.Reason})
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			if i.Err != nil {
				return
			}
			e := Event{Kind: Compacted, ToLevel: i.Output.Level, Detail: i.Reason}
			for n, level := range i.Input {
				if n == 0 {
					e.FromLevel = level.Level
				}
				for _, t := range level.Tables {
					e.InBytes += int64(t.Size)
				}
			}
			for _, t := range i.Output.Tables {
				e.OutBytes += int64(t.Size)
			}
			l.compactions.Add(1)
			l.compactedIn.Add(e.InBytes)
			l.compactedOut.Add(e.OutBytes)
			l.emit(e)
		},
		TableCreated: func(i pebble.TableCreateInfo) {
			l.created.Add(1)
			l.emit(Event{Kind: TableCreated, Table: i.FileNum.String() + ".sst", Detail: i.Reason})
		},
		TableDeleted: func(i pebble.TableDeleteInfo) {
			l.deleted.Add(1)
			l.emit(Event{Kind: TableDeleted, Table: i.FileNum.String() + ".sst"})
		},
		TableIngested: func(i pebble.TableIngestInfo) {
			l.ingested.Add(1)
			l.emit(Event{Kind: TableIngested})
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			l.stalls.Add(1)
			l.emit(Event{Kind: WriteStalled, Detail: i.Reason})
		},
		WriteStallEnd: func() { l.emit(Event{Kind: WriteResumed}) },
	}
}

// The listener is also Pebble's logger: what would end the process there fails the task here.

// Infof drops what is only of interest to Pebble's authors.
func (l *listener) Infof(string, ...any) {}

// Errorf drops it too: errors come as events.
func (l *listener) Errorf(string, ...any) {}

// Fatalf keeps the first fault from which Pebble cannot go on, such as a manifest that could not be written.
func (l *listener) Fatalf(format string, args ...any) {
	l.fail(fmt.Errorf("the state store failed: "+format, args...))
}
