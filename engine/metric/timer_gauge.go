package metric

import (
	"sync"
	"time"
)

// UpdateInterval is how often a job updates its meters and time gauges. Flink's views assume it whatever the real time
// between two updates is, and so do these.
const UpdateInterval = 5 * time.Second

const (
	updateIntervalSeconds = int64(UpdateInterval / time.Second)
	nsPerMs               = int64(time.Millisecond)
)

// TimerGauge measures how much of the time a task is in one state, such as idle, in ms per second: Flink's TimerGauge.
// The value is the mean over the windows of the last time span, a window being one update; before the span is full it
// is the mean over the windows seen so far. A measurement under way counts up to the moment of the update.
//
// Every method takes the time in ns of one clock, which must never read 0: as in Flink a start at 0 stands for "not
// measuring" and is lost. The task marks, another goroutine updates, anyone reads.
type TimerGauge struct {
	mu sync.Mutex

	windows []int64 // ns of each window; a ring
	next    int
	full    bool // every window has been written once

	measurementStart int64 // of the measurement under way; 0 without one
	countedUntil     int64 // up to when the measurement under way is in count
	count            int64 // ns since the last update
	longest          int64 // ns of the longest measurement since the last update

	value       int64 // ms per second
	maxSingle   int64 // ns
	accumulated int64 // ns up to the last update
}

// NewTimerGauge makes a gauge over a span of seconds, rounded down to a multiple of the update interval of 5 s, at
// least one. Flink's tasks use 60.
func NewTimerGauge(spanSeconds int) *TimerGauge {
	return &TimerGauge{windows: make([]int64, max(1, spanSeconds/int(updateIntervalSeconds)))}
}

// MarkStart begins a measurement at now; inside one it does nothing.
func (g *TimerGauge) MarkStart(now int64) {
	g.mu.Lock()
	if g.measurementStart == 0 {
		g.measurementStart, g.countedUntil = now, now
	}
	g.mu.Unlock()
}

// MarkEnd ends the measurement under way at now; without one it does nothing.
func (g *TimerGauge) MarkEnd(now int64) {
	g.mu.Lock()
	if g.measurementStart != 0 {
		g.countUntil(now)
		g.measurementStart = 0
	}
	g.mu.Unlock()
}

// countUntil adds the time of the measurement under way since it was last counted.
func (g *TimerGauge) countUntil(now int64) {
	g.count += now - g.countedUntil
	g.countedUntil = now
	g.longest = max(g.longest, now-g.measurementStart)
}

// Update closes a window at now and computes the value anew. A job calls it each UpdateInterval.
func (g *TimerGauge) Update(now int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.measurementStart != 0 {
		g.countUntil(now)
	}
	g.windows[g.next] = g.count
	g.next++
	if g.next == len(g.windows) {
		g.next, g.full = 0, true
	}
	seen := g.next
	if g.full {
		seen = len(g.windows)
	}
	var total int64
	for _, w := range g.windows[:seen] {
		total += w
	}
	g.value = max(0, min(1000, total/nsPerMs/(updateIntervalSeconds*int64(seen))))
	g.maxSingle = g.longest
	g.accumulated += g.count
	g.count, g.longest = 0, 0
}

// Value is the share of the time span in ms per second, 0 to 1000, as of the last update.
func (g *TimerGauge) Value() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.value
}

// MaxSingleMeasurementMs is the longest measurement of the last window in ms, one that began in earlier windows
// counted from its beginning.
func (g *TimerGauge) MaxSingleMeasurementMs() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.maxSingle / nsPerMs
}

// AccumulatedMs is the time of all measurements up to the last update, in ms.
func (g *TimerGauge) AccumulatedMs() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accumulated / nsPerMs
}

// CountMs is the time measured since the last update in ms, without the measurement under way.
func (g *TimerGauge) CountMs() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count / nsPerMs
}

// Measuring says whether a measurement is under way.
func (g *TimerGauge) Measuring() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.measurementStart != 0
}

// Current is how long the measurement under way has lasted at now, in ns; 0 without one.
func (g *TimerGauge) Current(now int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.measurementStart == 0 {
		return 0
	}
	return max(0, now-g.measurementStart)
}

// Total is the time of all measurements in ns, the one under way counted up to now. It never falls while now does not.
func (g *TimerGauge) Total(now int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	total := g.accumulated + g.count
	if g.measurementStart != 0 {
		total += max(0, now-g.countedUntil)
	}
	return total
}
