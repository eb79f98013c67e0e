package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"weir/engine/metric"
)

// metrics answers as Flink's Prometheus reporter does, for all jobs of this server.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	var jobs []metric.JobReadings
	for _, sess := range s.sessions.listOf(callerOf(r.Context())) {
		if sess.ended() {
			continue
		}
		snap := sess.run.Snapshot()
		jobs = append(jobs, metric.JobReadings{ID: sess.id, Snapshot: snap})
	}
	var b bytes.Buffer
	if err := metric.Prometheus(&b, jobs); err != nil {
		problemOf(err).write(w)
		return
	}
	s.streamReadings(&b)
	s.courseReadings(&b)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes())
}

// reading is a figure of the server itself, beside those of its jobs.
type reading struct {
	name, kind, help string
	value            int64
}

// writeReadings writes readings in Prometheus' text format. w is a buffer: nothing fails.
func writeReadings(w io.Writer, all ...reading) {
	for _, r := range all {
		_, _ = fmt.Fprintf(w, "# HELP %[1]s %[2]s\n# TYPE %[1]s %[3]s\n%[1]s %[4]d\n", r.name, r.help, r.kind, r.value)
	}
}
