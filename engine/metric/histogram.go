package metric

import (
	"math/bits"
	"sync"
	"time"
)

const (
	// A bucket is a sixteenth of an octave of µs, so that a quantile is at most 6.25 % off.
	octaveBits    = 4
	octaveBuckets = 1 << octaveBits
	octaves       = 27 // the last bucket is open above some 2^26 µs · 2, two minutes
	buckets       = octaves * octaveBuckets

	histogramSlots = 5
	histogramSlot  = int64(time.Second)
)

// Histogram is a distribution of latencies over the last five seconds, in buckets on a log scale. The zero value is
// ready; all methods are safe from any goroutine and take now in ns. Recording costs an uncontended lock: sample
// records, or record once a buffer.
type Histogram struct {
	mu    sync.Mutex
	slots [histogramSlots]histogramSecond
	count int64
}

type histogramSecond struct {
	second int64
	counts [buckets]uint32
	max    int64 // µs
}

// Bucket is how many latencies are above the bucket before it and at most at its upper bound.
type Bucket struct {
	UpToMs float64 `json:"upToMs"`
	Count  int64   `json:"count"`
}

// Record counts n latencies of so many ns at now. A negative latency, from clocks that disagree, counts as 0.
func (h *Histogram) Record(now, latencyNs int64, n int) {
	if n <= 0 {
		return
	}
	us := max(0, latencyNs) / int64(time.Microsecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	second := now / histogramSlot
	s := &h.slots[uint64(second)%histogramSlots]
	if s.second != second {
		*s = histogramSecond{second: second}
	}
	s.counts[bucketOf(us)] += uint32(n)
	s.max = max(s.max, us)
	h.count += int64(n)
}

// bucketOf puts values below 16 µs in a bucket each, those above by their octave and its sixteenths.
func bucketOf(us int64) int {
	if us < octaveBuckets {
		return int(us)
	}
	shift := bits.Len64(uint64(us)) - 1 - octaveBits
	return min(buckets-1, (shift+1)<<octaveBits+int(us>>shift)&(octaveBuckets-1))
}

// bucketBounds are the lowest value of a bucket and that of the next one, in µs.
func bucketBounds(i int) (low, high int64) {
	if i < octaveBuckets {
		return int64(i), int64(i) + 1
	}
	shift := i>>octaveBits - 1
	low = int64(octaveBuckets+i&(octaveBuckets-1)) << shift
	return low, low + 1<<shift
}

// merged adds up the seconds that are still in the window.
func (h *Histogram) merged(now int64) (counts [buckets]int64, total, highest, ever int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	second := now / histogramSlot
	for i := range h.slots {
		s := &h.slots[i]
		if s.second > second || second-s.second >= histogramSlots {
			continue
		}
		for b, n := range s.counts {
			counts[b] += int64(n)
			total += int64(n)
		}
		highest = max(highest, s.max)
	}
	return counts, total, highest, h.count
}

// Summary are the quantiles and the maximum over the window in ms, or nil if nothing was recorded in it.
func (h *Histogram) Summary(now int64) *Latency {
	counts, total, highest, ever := h.merged(now)
	if total == 0 {
		return nil
	}
	quantile := func(q float64) float64 {
		rank := int64(q * float64(total)) // how many may lie before it
		for b, n := range counts {
			if rank -= n; rank < 0 {
				low, high := bucketBounds(b)
				return float64(min(highest*1000, (low+high)*500)) / 1e6
			}
		}
		return float64(highest) / 1e3
	}
	l := &Latency{Max: float64(highest) / 1e3, Count: ever}
	l.setQuantiles(quantile)
	return l
}

// Buckets are the buckets of the window that are not empty, in rising order: what a page draws.
func (h *Histogram) Buckets(now int64) []Bucket {
	counts, _, _, _ := h.merged(now)
	var list []Bucket
	for b, n := range counts {
		if n > 0 {
			_, high := bucketBounds(b)
			list = append(list, Bucket{UpToMs: float64(high) / 1e3, Count: n})
		}
	}
	return list
}
