package memory

import "fmt"

// usageWarningPercent is the estimate from which the memory is said to be too small.
const usageWarningPercent = 100

// EstimatedRequested returns how many segments the registered pools could use: the maximum of a bounded pool, twice
// the required number of an unbounded one.
func (g *GlobalPool) EstimatedRequested() int {
	g.factory.Lock()
	defer g.factory.Unlock()
	return g.estimateLocked()
}

func (g *GlobalPool) estimateLocked() int {
	n := 0
	for _, p := range g.pools {
		if p.max < Unbounded {
			n += p.max
		} else {
			n += 2 * p.required
		}
	}
	return n
}

// RequestedUsagePercent returns EstimatedRequested in percent of the segments there are, rounded down; 0 for a pool
// without segments.
func (g *GlobalPool) RequestedUsagePercent() int {
	g.factory.Lock()
	defer g.factory.Unlock()
	return g.usageLocked()
}

func (g *GlobalPool) usageLocked() int {
	if total := g.Total(); total > 0 {
		return 100 * g.estimateLocked() / total
	}
	return 0
}

// UsageWarning returns what is to be logged about usage since the last call, "" for nothing: a warning when it is at
// 100 % or more and has changed, and one line when it is back below.
func (g *GlobalPool) UsageWarning() string {
	g.factory.Lock()
	defer g.factory.Unlock()
	usage, last := g.usageLocked(), g.lastUsage
	g.lastUsage = usage
	switch {
	case usage >= usageWarningPercent && usage != last:
		total, requested := g.Total()*g.segments.segmentBytes, g.estimateLocked()*g.segments.segmentBytes
		return fmt.Sprintf("Memory usage [%d%%] is too high to satisfy all of the requests. "+
			"This can severely impact network throughput. Please consider increasing available network memory, "+
			"or decreasing configured size of network buffer pools. (totalMemory=%s, requestedMemory=%s, missingMemory=%s)",
			usage, readableBytes(total), readableBytes(requested), readableBytes(requested-total))
	case usage < usageWarningPercent && last >= usageWarningPercent:
		return fmt.Sprintf("Memory usage [%d%%] went back to normal", usage)
	}
	return ""
}

// readableBytes writes a size as Flink's MemorySize does: the largest unit of which there is at least one.
func readableBytes(n int) string {
	for _, u := range []struct {
		name  string
		bytes int
	}{{"tb", 1 << 40}, {"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.3f%s (%d bytes)", float64(n)/float64(u.bytes), u.name, n)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
