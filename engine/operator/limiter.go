// Package operator holds the sources and operators that the labs' jobs are made of.
package operator

import (
	"math"
	"runtime"
	"time"

	"weir/engine/task"
)

// limiter lets records through at a rate, as the SmoothBursty limiter of Guava does behind Flink's GuavaRateLimiter:
// the permits lie on a schedule, the first at once and each next one 1/rate later; permits that were not asked for are
// saved, one second's worth at most, and then go at once. So a source that was back-pressured sends at most one second
// of records in a burst. The clock is read once for several permits, never per record.
type limiter struct {
	rate    float64 // records/s; 0 is unlimited
	permits int64   // granted and not yet used
	batch   float64 // the most permits granted at one look at the clock
	// alone keeps records that are due at once, as the timer is coarser than the schedule, from sharing a buffer although
	// each is flushed. Flink's source waits for its limiter's thread before each record; here it parks for a moment, in
	// which what was sent is read and credit for it comes back, and then lets those run who are ready.
	alone bool
	sent  bool // a record, since the source last parked
	late  bool // by more than mostParked: it does not park

	started bool
	base    time.Time
	// The next permit is due at anchor plus taken/rate, in ns since base.
	anchor float64
	taken  float64
}

const (
	second = float64(time.Second)
	// burst is Guava's maxBurstSeconds.
	burst = second
	// shortestWait is what the runtime's timers can do; above 1,000 records/s several permits fall due meanwhile.
	shortestWait = time.Millisecond
	longestWait  = time.Hour
	// aMoment is as short as the runtime still looks at the sockets, and does not yet go to sleep for 1 ms.
	aMoment = 5 * time.Microsecond
	// mostParked is how late the moments may make a record.
	mostParked = 10 * time.Millisecond
)

// setRate changes the rate from now on. What was saved stays saved in terms of time, as in Guava; a long wait that the
// old rate had begun is cut to one of the new.
func (l *limiter) setRate(rate float64) {
	if rate == l.rate && l.started {
		return
	}
	if l.started && l.rate > 0 {
		l.anchor, l.taken = l.due()-float64(l.permits)*second/l.rate, 0
	}
	l.permits = 0
	l.rate = rate
	// As many as fall due in 2 ms: less than a rate change would let one notice, enough to read the clock rarely.
	l.batch = math.Max(1, math.Floor(rate/500))
	if !l.started || rate <= 0 {
		return
	}
	now := l.now()
	l.anchor = math.Min(math.Max(l.anchor, now-burst), now+second/rate)
}

func (l *limiter) now() float64 { return float64(time.Since(l.base)) }

func (l *limiter) due() float64 { return l.anchor + l.taken*second/l.rate }

// take uses one permit; if there is none it says after how long to ask again.
func (l *limiter) take() (wait time.Duration, ok bool) {
	if l.permits == 0 {
		if wait := l.grant(); wait > 0 {
			l.sent = false
			return wait, false
		}
	}
	if l.alone && l.sent && !l.late {
		l.sent = false
		return aMoment, false
	}
	l.sent = true
	l.permits--
	if l.alone {
		runtime.Gosched()
	}
	return 0, true
}

// follow applies the knobs; share is the part of the rate that this source has.
func (l *limiter) follow(s *task.Settings, share float64) {
	l.setRate(s.Rate * share)
	l.alone = s.Rate > 0 && s.BufferTimeoutMs == 0
}

// giveBack returns a permit that was taken last and not used.
func (l *limiter) giveBack() { l.permits++ }

// grant looks at the clock and grants the permits that are due, or says how long until the next one is.
func (l *limiter) grant() time.Duration {
	if l.rate <= 0 {
		// Started now, should a rate be set later: nothing is saved while there is no limit.
		l.permits, l.started = math.MaxInt64, false
		return 0
	}
	if !l.started {
		l.started, l.base, l.anchor, l.taken = true, time.Now(), 0, 0
	}
	now, due := l.now(), l.due()
	if due < now-burst {
		due = now - burst
		l.anchor, l.taken = due, 0
	}
	now += 0.5 // what rounding may have taken from a permit that is due exactly now
	if due > now {
		wait := time.Duration(math.Ceil(math.Min(due-now, float64(longestWait))))
		if second/l.rate < float64(shortestWait) {
			wait = max(wait, shortestWait)
		}
		return wait
	}
	l.late = now-due > float64(mostParked)
	n := math.Min(math.Floor((now-due)*l.rate/second)+1, l.batch)
	l.taken += n
	l.permits = int64(n)
	return 0
}
