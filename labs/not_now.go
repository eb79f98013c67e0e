package labs

import (
	"errors"

	"weir/engine/job"
)

// NotNow tells whether an error says that the job cannot do what it is asked as it is now: it restarts, by a caller's wish
// or after a failure, has ended, or has no checkpoint to stop with.
func NotNow(err error) bool {
	for _, e := range []error{ErrRestarting, ErrEnded, job.ErrRestarting, job.ErrEnded, job.ErrNothingToStop} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
