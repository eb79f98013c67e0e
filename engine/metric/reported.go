package metric

import (
	"math"
	"slices"
	"sync"
)

// What stands here is told under the names of Flink's reporters only: pages and records do not show it, so it is no part
// of a Snapshot's JSON.

// Life is how a job fares, as Flink's job manager tells it. Times are in ms.
type Life struct {
	RunningMs     int64 // since it went to RUNNING; 0 in another state, as are the next two
	RestartingMs  int64
	AllRunningMs  int64 // since the last of its tasks was ready for its first record
	Rescales      int64 // restarts in which a vertex got another parallelism
	RestoredAtMs  int64 // Unix time of the last restore from a checkpoint; 0 without one
	LastCompleted *LastCheckpoint
}

// LastCheckpoint is the last one that was completed, which may have left the history.
type LastCheckpoint struct {
	Checkpoint
	CompletedAtMs int64 // Unix time
	MetadataBytes int64
}

// TaskManager is what the tasks on a task manager share.
type TaskManager struct {
	ID, SegmentBytes                                  int
	TotalSegments, AvailableSegments, ClaimedSegments int64 // claimed is what its pools may take in all
	ManagedBytes, ManagedUsedBytes                    int64
}

// Reported are a subtask's. Rates are over 60 s.
type Reported struct {
	NumBytesInLocal, NumBytesInRemote float64 // per second
	NumMails, NumFiredTimersPerSecond float64 // per second
	NumFiredTimers                    int64
	InitializationMs                  int64
	SourceIdleMs                      int64 // since a source ran out of records; 0 while it has some
	MailboxLatency                    Latency
	Operators                         []OperatorRecords // as the vertex names them
}

// OperatorRecords are the records that went through an operator of a chain.
type OperatorRecords struct {
	In, Out                   int64
	InPerSecond, OutPerSecond float64
}

// summaryQuantiles are those of a summary in Flink's text form.
var summaryQuantiles = [...]float64{0.5, 0.75, 0.95, 0.98, 0.99, 0.999}

// setQuantiles fills what a Latency has of quantiles.
func (l *Latency) setQuantiles(quantile func(q float64) float64) {
	for i, q := range summaryQuantiles {
		l.Quantiles[i] = quantile(q)
	}
	l.P50, l.P95, l.P99 = l.Quantiles[0], l.Quantiles[2], l.Quantiles[4]
}

// lastWaits is how many waits a summary is made of. It is the window of Flink's histogram of the mailbox.
const lastWaits = 60

// Waits keeps the last waits and counts all. The zero value is ready; its methods are safe from any goroutine.
type Waits struct {
	mu    sync.Mutex
	last  [lastWaits]int64 // ns; a ring
	count int64
}

// Record takes one wait in ns.
func (w *Waits) Record(ns int64) {
	w.mu.Lock()
	w.last[w.count%lastWaits] = ns
	w.count++
	w.mu.Unlock()
}

// Count is how many waits there have been.
func (w *Waits) Count() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Summary are the quantiles of the last waits in ms; they are no numbers before the first.
func (w *Waits) Summary() Latency {
	w.mu.Lock()
	last, count := w.last, w.count
	w.mu.Unlock()
	waits := last[:min(count, lastWaits)]
	slices.Sort(waits)
	l := Latency{Count: count}
	l.setQuantiles(func(q float64) float64 {
		if len(waits) == 0 {
			return math.NaN()
		}
		return float64(waits[min(int(q*float64(len(waits))), len(waits)-1)]) / 1e6
	})
	if len(waits) > 0 {
		l.Max = float64(waits[len(waits)-1]) / 1e6
	}
	return l
}
