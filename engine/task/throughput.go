package task

const throughputNotTracked = -1

// ThroughputCalculator measures how many bytes/s a task takes in while it has input: Flink's ThroughputCalculator.
// Time in which the task waits for input is paused and does not count, so that silence never looks like a low
// throughput. Times are in ns of one clock; only the task's goroutine calls it.
type ThroughputCalculator struct {
	throughput int64 // bytes/s of the last period that had time in it

	bytes         int64 // of this period
	measured      int64 // ns of this period
	measuredSince int64 // throughputNotTracked while paused
}

// NewThroughputCalculator makes one that is paused until the first data.
func NewThroughputCalculator() *ThroughputCalculator {
	return &ThroughputCalculator{measuredSince: throughputNotTracked}
}

// IncomingData counts received bytes, and resumes a paused measurement.
func (c *ThroughputCalculator) IncomingData(now int64, bytes int64) {
	c.Resume(now)
	c.bytes += bytes
}

// Pause stops the measured time at now: from here on there is no input.
func (c *ThroughputCalculator) Pause(now int64) {
	if c.measuredSince != throughputNotTracked {
		c.measured += now - c.measuredSince
	}
	c.measuredSince = throughputNotTracked
}

// Resume lets the measured time go on from now; while it runs it does nothing.
func (c *ThroughputCalculator) Resume(now int64) {
	if c.measuredSince == throughputNotTracked {
		c.measuredSince = now
	}
}

// Starved says that nothing came in this period and that the task waits for input.
func (c *ThroughputCalculator) Starved() bool {
	return c.bytes == 0 && c.measuredSince == throughputNotTracked
}

// Skip ends a period without measuring it, and answers what was measured last, in bytes/s.
func (c *ThroughputCalculator) Skip() int64 {
	c.bytes, c.measured = 0, 0
	return c.throughput
}

// Calculate ends the period at now and answers its throughput in bytes/s. A period without measured time repeats the
// last answer, and its bytes are dropped.
func (c *ThroughputCalculator) Calculate(now int64) int64 {
	if c.measuredSince != throughputNotTracked {
		c.measured += now - c.measuredSince
		c.measuredSince = now
	}
	if c.measured > 0 {
		// Flink divides by whole ms: with those this is the same arithmetic.
		ms := float64(c.measured) / 1e6
		c.throughput = int64(float64(c.bytes) / ms * 1000)
	}
	c.bytes, c.measured = 0, 0
	return c.throughput
}
