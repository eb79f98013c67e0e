package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
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

func (l *storeLatency) write(b *bytes.Buffer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprint(b, "# HELP weir_store_seconds How long a call of the class's store took.\n# TYPE weir_store_seconds histogram\n")
	total := int64(0)
	for i, n := range l.counts {
		total += n
		le := "+Inf"
		if i < len(storeBounds) {
			le = fmt.Sprint(storeBounds[i])
		}
		fmt.Fprintf(b, "weir_store_seconds_bucket{le=%q} %d\n", le, total)
	}
	fmt.Fprintf(b, "weir_store_seconds_sum %g\nweir_store_seconds_count %d\n", l.sum.Seconds(), total)
	fmt.Fprintf(b, "# HELP weir_store_unavailable_total Calls that the store did not answer.\n# TYPE weir_store_unavailable_total counter\nweir_store_unavailable_total %d\n", l.failed)
}

// courseReadings adds the readings of the server itself to its metrics.
func (s *Server) courseReadings(b *bytes.Buffer) {
	if s.course == nil {
		return
	}
	l := s.load()
	for _, g := range []struct {
		name, help string
		value      int
	}{
		{"weir_sessions", "Jobs that run on this server.", l.Sessions},
		{"weir_sessions_limit", "Jobs that may run at once.", l.Limit},
		{"weir_viewers", "Pages that follow a session.", l.Viewers},
		{"weir_queue", "Learners that wait for a place.", l.Queue},
	} {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n%s %d\n", g.name, g.help, g.name, g.name, g.value)
	}
	s.course.latency.write(b)
	s.course.disks.write(b)
	followed, viewers := s.course.others.follows.counts()
	_, _ = fmt.Fprintf(b, "# HELP weir_followed_sessions Sessions of other servers that pages here follow.\n# TYPE weir_followed_sessions gauge\nweir_followed_sessions %d\n", followed)
	_, _ = fmt.Fprintf(b, "# HELP weir_followed_viewers Pages that follow them.\n# TYPE weir_followed_viewers gauge\nweir_followed_viewers %d\n", viewers)
}

// readyz says whether this server can do all it is there for: a balancer sends nobody to one that cannot.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.course != nil {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := s.course.store.Ping(ctx); err != nil {
			p := newProblem(http.StatusServiceUnavailable, "store", "it does not answer now")
			p.retryAfter = 2
			p.write(w)
			return
		}
	}
	if s.ctx.Err() != nil {
		newProblem(http.StatusServiceUnavailable, "", "the server is stopping").write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(`{"status":"ready"}` + "\n"))
}
