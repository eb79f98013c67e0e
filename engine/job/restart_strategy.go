package job

import (
	"fmt"
	"math/rand/v2"
	"time"

	"weir/engine/task"
)

// The restart strategies, by the names of Flink's restart-strategy.type.
const (
	NoRestart        = "none"
	FixedDelay       = "fixed-delay"
	ExponentialDelay = "exponential-delay"
)

// What Flink 2.3 has as defaults of restart-strategy.exponential-delay beside the initial backoff.
const (
	backoffMultiplier = 1.5
	maxBackoff        = time.Minute
	backoffJitter     = 0.1
	resetBackoffAfter = time.Hour // without a failure
)

// checkRestartStrategy refuses what backoff could not follow.
func checkRestartStrategy(s *task.Settings) error {
	switch s.RestartStrategy {
	case NoRestart:
		return nil
	case FixedDelay, ExponentialDelay:
		if s.RestartDelayMs < 0 || s.RestartAttempts < 0 {
			return fmt.Errorf("restart delay %d ms and attempts %d must not be below 0", s.RestartDelayMs, s.RestartAttempts)
		}
		return nil
	}
	return fmt.Errorf("restart strategy %q, must be one of %s, %s, %s", s.RestartStrategy, NoRestart, FixedDelay, ExponentialDelay)
}

// backoff remembers the failures of a job (Flink's RestartBackoffTimeStrategy).
type backoff struct {
	failures int // so far, for fixed-delay
	current  time.Duration
	last     time.Time
}

// next takes note of a failure and answers how long to wait before the restart; ok is false when there is to be none.
func (b *backoff) next(s *task.Settings, now time.Time) (delay time.Duration, ok bool) {
	first := time.Duration(s.RestartDelayMs) * time.Millisecond
	b.failures++
	switch s.RestartStrategy {
	case FixedDelay:
		return first, b.failures <= s.RestartAttempts
	case ExponentialDelay:
		first = min(first, maxBackoff)
		if b.last.IsZero() || now.Sub(b.last) >= resetBackoffAfter+b.current {
			b.current = first
		} else {
			b.current = max(first, min(time.Duration(float64(b.current)*backoffMultiplier), maxBackoff))
		}
		b.last = now
		spread := time.Duration(float64(b.current) * backoffJitter)
		return min(b.current+rand.N(2*spread+1)-spread, maxBackoff), true
	}
	return 0, false
}
