package web

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"weir/class"
)

// storeBounds are the upper bounds of the histogram of the store's latency, in seconds.
var storeBounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}

// storeLatency counts how long the store took.
type storeLatency struct {
	mu     sync.Mutex
	counts [len(storeBounds) + 1]int64
	sum    time.Duration
	failed int64
}

func (l *storeLatency) observe(d time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := 0
	for i < len(storeBounds) && d.Seconds() > storeBounds[i] {
		i++
	}
	l.counts[i]++
	l.sum += d
	if errors.Is(err, class.ErrUnavailable) {
		l.failed++
	}
}

func (l *storeLatency) write(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprint(w, "# HELP weir_store_seconds How long a call of the class's store took.\n# TYPE weir_store_seconds histogram\n")
	total := int64(0)
	for i, n := range l.counts {
		total += n
		le := "+Inf"
		if i < len(storeBounds) {
			le = fmt.Sprint(storeBounds[i])
		}
		_, _ = fmt.Fprintf(w, "weir_store_seconds_bucket{le=%q} %d\n", le, total)
	}
	_, _ = fmt.Fprintf(w, "weir_store_seconds_sum %g\nweir_store_seconds_count %d\n", l.sum.Seconds(), total)
	writeReadings(w, reading{"weir_store_unavailable_total", "counter", "Calls that the store did not answer.", l.failed})
}

// courseReadings adds the readings of the server itself to its metrics.
func (s *Server) courseReadings(w io.Writer) {
	if s.course == nil {
		return
	}
	l := s.load()
	writeReadings(w,
		reading{"weir_sessions", "gauge", "Jobs that run on this server.", int64(l.Sessions)},
		reading{"weir_sessions_limit", "gauge", "Jobs that may run at once.", int64(l.Limit)},
		reading{"weir_viewers", "gauge", "Pages that follow a session.", int64(l.Viewers)},
		reading{"weir_queue", "gauge", "Learners that wait for a place.", int64(l.Queue)},
	)
	s.course.latency.write(w)
	s.course.disks.write(w)
	followed, viewers := s.course.others.follows.counts()
	writeReadings(w,
		reading{"weir_followed_sessions", "gauge", "Sessions of other servers that pages here follow.", int64(followed)},
		reading{"weir_followed_viewers", "gauge", "Pages that follow them.", int64(viewers)},
	)
}
