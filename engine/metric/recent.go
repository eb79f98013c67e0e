package metric

import (
	"sync"
	"time"
)

const (
	recentWindow = int64(time.Second)
	// recentGap keeps apart the samples that are kept, so that the ring reaches back over the window however often
	// a reader looks.
	recentGap     = recentWindow / 20
	recentSamples = 24
)

type sample struct{ at, count int64 }

// RecentRate is the rate of a counter over the last second. It has no clock: each reading is also a sample, and the
// rate is the difference to the newest sample that is a second old or older, or to the oldest there is. A job that
// samples each 100 ms so reads over 1.0 to 1.1 s. The zero value is ready; all methods are safe from any goroutine.
type RecentRate struct {
	mu     sync.Mutex
	kept   [recentSamples]sample // a ring
	oldest int
	n      int
	last   sample
	rate   float64
}

// Observe takes the counter's value at now, in ns, and answers the rate per second. The first observation answers 0,
// as does a clock that did not move before a second one did.
func (r *RecentRate) Observe(now, count int64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		r.keep(sample{now, count})
		r.last = sample{now, count}
		return 0
	}
	if now < r.last.at { // another reader was faster
		return r.rate
	}
	// The base stays the oldest of the ring: those before it can never be asked for again.
	for r.n > 1 && now-r.at(1).at >= recentWindow {
		r.oldest = (r.oldest + 1) % recentSamples
		r.n--
	}
	base := r.at(0)
	if now > base.at {
		r.rate = float64(count-base.count) * float64(time.Second) / float64(now-base.at)
	}
	if now-r.at(r.n-1).at >= recentGap {
		r.keep(sample{now, count})
	}
	r.last = sample{now, count}
	return r.rate
}

// Rate is what the last Observe answered.
func (r *RecentRate) Rate() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rate
}

func (r *RecentRate) at(i int) sample { return r.kept[(r.oldest+i)%recentSamples] }

func (r *RecentRate) keep(s sample) {
	if r.n == recentSamples {
		r.oldest = (r.oldest + 1) % recentSamples
		r.n--
	}
	r.kept[(r.oldest+r.n)%recentSamples] = s
	r.n++
}

// RecentTime is a share of time over the last second: RecentRate of a sum of ns, in ms per second. The zero value is
// ready.
type RecentTime struct{ rate RecentRate }

// Observe takes the sum in ns at now, in ns, and answers ms per second, 0 to 1000.
func (r *RecentTime) Observe(now, totalNs int64) float64 {
	return max(0, min(1000, r.rate.Observe(now, totalNs)/float64(nsPerMs)))
}

const (
	maxWindow = int64(5 * time.Second)
	maxSlots  = 20
)

// RecentMax is the highest value seen in the last 5 s, in steps of 250 ms. The zero value is ready.
type RecentMax struct {
	mu    sync.Mutex
	slots [maxSlots]struct {
		slot  int64
		value float64
		used  bool
	}
}

// Observe takes a value at now, in ns, and answers the highest of the last 5 s, this one included.
func (r *RecentMax) Observe(now int64, value float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	slot := now / (maxWindow / maxSlots)
	s := &r.slots[uint64(slot)%maxSlots]
	if !s.used || s.slot != slot {
		s.slot, s.value, s.used = slot, value, true
	}
	s.value = max(s.value, value)
	highest := value
	for i := range r.slots {
		if o := &r.slots[i]; o.used && o.slot <= slot && slot-o.slot < maxSlots {
			highest = max(highest, o.value)
		}
	}
	return highest
}
