package metric

import "sync"

// Meter is an average rate per second over a time span, computed from the counts at each update: Flink's MeterView.
// It starts full of zeros, so that a steady rate shows whole only after one span; RecentRate has no such lag.
type Meter struct {
	mu     sync.Mutex
	span   int64   // seconds
	counts []int64 // at each update; a ring one longer than the span has updates
	newest int
	rate   float64
}

// NewMeter makes a meter over a span of seconds, rounded down to a multiple of 5, at least 5. Flink uses 60.
func NewMeter(spanSeconds int) *Meter {
	span := max(updateIntervalSeconds, int64(spanSeconds)-int64(spanSeconds)%updateIntervalSeconds)
	return &Meter{span: span, counts: make([]int64, span/updateIntervalSeconds+1)}
}

// Update takes the counter's value. A job calls it each UpdateInterval.
func (m *Meter) Update(count int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newest = (m.newest + 1) % len(m.counts)
	m.counts[m.newest] = count
	oldest := m.counts[(m.newest+1)%len(m.counts)]
	m.rate = float64(count-oldest) / float64(m.span)
}

// Rate is the rate per second as of the last update.
func (m *Meter) Rate() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rate
}

// Rate60 is a counter's rate in both forms that a Snapshot has: Flink's over 60 s and the recent one over 1 s.
type Rate60 struct {
	meter  *Meter
	recent RecentRate
}

// NewRate60 makes a rate whose 60 s are full of zeros.
func NewRate60() *Rate60 { return &Rate60{meter: NewMeter(timeSpanSeconds)} }

// Update takes the counter's value. A job calls it each UpdateInterval.
func (r *Rate60) Update(count int64) { r.meter.Update(count) }

// Rate is Flink's rate per second.
func (r *Rate60) Rate() float64 { return r.meter.Rate() }

// Recent is the rate per second over the last second before now, in ns, of a counter that stands at count.
func (r *Rate60) Recent(now, count int64) float64 { return r.recent.Observe(now, count) }
