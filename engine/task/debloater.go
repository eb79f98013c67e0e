package task

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// DebloatConfig is what a Debloater works with: Flink's BufferDebloatConfiguration. Sizes are in bytes.
type DebloatConfig struct {
	Enabled          bool
	Target           time.Duration // how long the buffers in flight should take to consume; whole ms count
	Start            int           // the first size
	Min, Max         int           // Max is the size of a segment
	ThresholdPercent int           // of the last announced size: a smaller change is not announced
	Samples          int           // of the moving average: alpha is 2/(Samples+1)
}

// DefaultDebloatConfig returns Flink 2.3's defaults.
func DefaultDebloatConfig() DebloatConfig {
	return DebloatConfig{
		Target: time.Second, Start: 1024, Min: 256, Max: 32 << 10, ThresholdPercent: 25, Samples: 20,
	}
}

// DebloatConfigOf takes the knobs. A segment smaller than Flink's minimum or start size lowers these.
func DebloatConfigOf(s *Settings) DebloatConfig {
	c := DefaultDebloatConfig()
	c.Enabled = s.Debloat
	c.Target = time.Duration(s.DebloatTargetMs) * time.Millisecond
	c.ThresholdPercent = s.DebloatThresholdPercent
	c.Max = s.SegmentBytes
	c.Start = min(c.Start, c.Max)
	c.Min = min(c.Min, c.Max)
	return c
}

// Validate refuses what Flink refuses.
func (c DebloatConfig) Validate() error {
	switch {
	case c.Max <= 0:
		return fmt.Errorf("segment size is %d bytes, must be above 0", c.Max)
	case c.Min <= 0:
		return fmt.Errorf("minimum segment size is %d bytes, must be above 0", c.Min)
	case c.Max < c.Min:
		return fmt.Errorf("minimum segment size is %d bytes, must be at most the segment size of %d", c.Min, c.Max)
	case c.Start <= 0 || c.Start > c.Max:
		return fmt.Errorf("starting segment size is %d bytes, must be 1 to the segment size of %d", c.Start, c.Max)
	case c.Samples <= 0:
		return fmt.Errorf("debloat samples are %d, must be above 0", c.Samples)
	case c.Target.Milliseconds() <= 0:
		return fmt.Errorf("debloat target is %v, must be at least 1ms", c.Target)
	}
	return nil
}

// With sets one option by its Flink key, such as taskmanager.network.memory.buffer-debloat.target to "500ms", and
// answers the new configuration if it is valid.
func (c DebloatConfig) With(key, value string) (DebloatConfig, error) {
	const debloat = "taskmanager.network.memory.buffer-debloat."
	var err error
	switch key {
	case debloat + "enabled":
		c.Enabled, err = strconv.ParseBool(value)
	case debloat + "target":
		c.Target, err = parseTarget(value)
	case debloat + "threshold-percentages":
		c.ThresholdPercent, err = strconv.Atoi(value)
	case debloat + "samples":
		c.Samples, err = strconv.Atoi(value)
	case "taskmanager.memory.segment-size":
		c.Max, err = parseBytes(value)
	case "taskmanager.memory.min-segment-size":
		c.Min, err = parseBytes(value)
	case "taskmanager.memory.starting-segment-size":
		c.Start, err = parseBytes(value)
	default:
		return c, fmt.Errorf("option %q is none of the debloater's", key)
	}
	if err != nil {
		return c, fmt.Errorf("Could not parse value '%s' for key '%s'.", value, key) //nolint:staticcheck // Flink's words
	}
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("option %s=%s: %w", key, value, err)
	}
	return c, nil
}

// parseTarget reads a duration such as 500ms or 1 s; a bare number is in ms, as in Flink.
func parseTarget(s string) (time.Duration, error) {
	s = strings.ReplaceAll(strings.ToLower(s), " ", "")
	if strings.TrimLeft(s, "0123456789") == "" {
		s += "ms"
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("duration %q is negative", s)
	}
	return d, err
}

// parseBytes reads a size such as 32768, 64kb or 1mb.
func parseBytes(s string) (int, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	factor, ok := map[string]int{"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20}[strings.TrimSpace(s[len(digits):])]
	n, err := strconv.Atoi(digits)
	if err != nil || !ok || n < 0 || n > math.MaxInt32/factor {
		return 0, fmt.Errorf("size %q is not a number of bytes, kb or mb below 2gb", s)
	}
	return n * factor, nil
}

// BufferSizeEMA is the exponential moving average of the buffer size: Flink's class of that name.
type BufferSizeEMA struct {
	min, max float64
	alpha    float64
	last     float64
}

// NewBufferSizeEMA starts the average at a size; all sizes are in bytes.
func NewBufferSizeEMA(start, maxSize, minSize, samples int) *BufferSizeEMA {
	return &BufferSizeEMA{
		min: float64(minSize), max: float64(maxSize), alpha: 2 / float64(samples+1), last: float64(start),
	}
}

// Calculate answers the new size of a buffer in bytes, given the bytes that all buffers should hold together and how
// many are in use. The wanted size counts at most as twice the last one, so that growing is no faster than shrinking.
func (e *BufferSizeEMA) Calculate(totalBytes int64, buffers int) (int, error) {
	if totalBytes < 0 {
		return 0, errors.New("Size of buffer should be non negative") //nolint:staticcheck // Flink's words
	}
	if buffers <= 0 {
		return 0, errors.New("Number of buffers should be positive") //nolint:staticcheck // Flink's words
	}
	wanted := min(float64(totalBytes)/float64(buffers), 2*e.last)
	// The conversion keeps the product from being fused with the sum on machines that could: the last bits matter.
	e.last += float64(e.alpha * (wanted - e.last))
	e.last = max(e.min, min(e.last, e.max))
	return int(math.Floor(e.last + 0.5)), nil // Java's Math.round
}

// Debloater sizes the buffers of one gate so that those in flight take the target time to consume: Flink's
// BufferDebloater. It is a core: the task calls it each debloat period and sends out what it announces.
type Debloater struct {
	config    DebloatConfig
	ema       *BufferSizeEMA
	lastSize  int   // as last announced
	estimate  int64 // ms
	threshold float64
	begun     bool // a size has been calculated
}

// NewDebloater starts at c.Start. When debloating is switched on in a running job, c.Start is the size in use, which
// is c.Max.
func NewDebloater(c DebloatConfig) (*Debloater, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Debloater{
		config: c, ema: NewBufferSizeEMA(c.Start, c.Max, c.Min, c.Samples),
		lastSize: c.Start, threshold: float64(c.ThresholdPercent) / 100,
	}, nil
}

// Reconfigure changes target, threshold, samples and limits and keeps the average and the last announced size. A limit
// that either now passes takes effect, and is announced, at the next Recalculate. A new start size counts only before
// the first.
func (d *Debloater) Reconfigure(c DebloatConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if !d.begun {
		d.ema.last, d.lastSize = float64(c.Start), c.Start
	}
	d.config = c
	d.threshold = float64(c.ThresholdPercent) / 100
	d.ema.min, d.ema.max = float64(c.Min), float64(c.Max)
	d.ema.alpha = 2 / float64(c.Samples+1)
	return nil
}

// Recalculate takes the throughput in bytes/s and the buffers in use, and answers the size to announce, if it is to be
// announced. No buffer in use counts as one, a negative throughput as 0.
func (d *Debloater) Recalculate(throughput int64, buffersInUse int) (size int, announce bool) {
	buffersInUse = max(1, buffersInUse)
	throughput = max(0, throughput)
	total := throughput * d.config.Target.Milliseconds() / 1000
	if total < 0 { // past 64 bits
		total = math.MaxInt64
	}
	size, err := d.ema.Calculate(total, buffersInUse)
	if err != nil { // not reached: both arguments were made valid above
		return d.lastSize, false
	}
	d.begun = true
	d.estimate = int64(size) * int64(buffersInUse) * 1000 / max(1, throughput)
	if d.skip(size) {
		return d.lastSize, false
	}
	d.lastSize = size
	return size, true
}

// skip says whether a size is too near to the announced one. The limits are always announced.
func (d *Debloater) skip(size int) bool {
	if size == d.lastSize {
		return true
	}
	if size <= d.config.Min || size >= d.config.Max {
		return false
	}
	return max(size-d.lastSize, d.lastSize-size) < int(float64(d.lastSize)*d.threshold)
}

// Config is the configuration in force.
func (d *Debloater) Config() DebloatConfig { return d.config }

// LastBufferSize is the size last announced, or the start size, in bytes.
func (d *Debloater) LastBufferSize() int { return d.lastSize }

// EstimatedTimeToConsumeMs is how long the buffers in use take to consume at the averaged size, in ms, as of the last
// Recalculate.
func (d *Debloater) EstimatedTimeToConsumeMs() int64 { return d.estimate }

// FloorReached says that the size cannot fall any further and the estimate is still above the target: the target is
// out of reach, which must not be shown as converged.
func (d *Debloater) FloorReached() bool {
	return d.lastSize <= d.config.Min && d.estimate > d.config.Target.Milliseconds()
}
