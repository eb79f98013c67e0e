package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"weir/engine/metric"
)

// mostCounts is how many counts by key the summary lists.
const mostCounts = 20

// shownKey is a key as one word of one line, whatever a file had in it: empty, a line's end, a terminal's command.
func shownKey(k string) string {
	if k == "" || strings.ContainsFunc(k, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(k)
	}
	return k
}

// printSummary writes a Snapshot for a reader without --json; kept says that its checkpoints are still there.
func printSummary(w io.Writer, s *metric.Snapshot, kept bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format, args...) }
	p("%s: %s after %s, %d records emitted, %d processed", s.Lab, s.State, secondsOf(s), s.Totals.RecordsEmitted, s.Totals.RecordsProcessed)
	if s.RestoredCheckpointID > 0 {
		p(", from checkpoint %d", s.RestoredCheckpointID)
	}
	if s.Restarts > 0 {
		p(", restarts: %d", s.Restarts)
	}
	p("\n")
	if s.Failure != "" {
		p("failure: %s\n", s.Failure)
	}
	p("\nsubtask\tbusy\tpressed\tidle ms/s\trecords in/s\tout/s\tbuffers in/s\tout pool\tin pool\tbuffer size\t\n")
	for i := range s.Vertices {
		v := &s.Vertices[i]
		for j := range v.Subtasks {
			b := &v.Subtasks[j]
			r := &b.Recent
			size := "-"
			if b.DebloatedBufferSize > 0 {
				size = fmt.Sprint(b.DebloatedBufferSize)
			}
			p("%s %d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f %%\t%.0f %%\t%s\t%s\n", v.ID, b.Index, r.Busy, r.BackPressured, r.Idle, r.NumRecordsIn, r.NumRecordsOut,
				r.NumBuffersInLocal+r.NumBuffersInRemote, 100*b.OutPoolUsage, 100*b.InPoolUsage, size, v.Role)
		}
	}
	if len(s.Checkpoints) > 0 {
		p("\ncheckpoint\tstatus\tms\tbytes\t\n")
		for _, c := range s.Checkpoints {
			if !kept {
				c.Path = ""
			}
			p("%d\t%s\t%d\t%d\t%s\n", c.ID, c.Status, c.EndToEndDurationMs, c.CheckpointedBytes, cmp.Or(c.Failure, c.Path))
		}
	}
	if s.Diagnosis != nil {
		p("\n%s\n", strings.Join(append([]string{s.Diagnosis.Because}, s.Diagnosis.Advice...), "\n"))
	}
	if counts := s.Totals.CountsByKey; len(counts) > 0 {
		keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
		})
		p("\nkey\tcount\t(%d keys)\n", len(keys))
		for _, k := range keys[:min(mostCounts, len(keys))] {
			p("%s\t%d\t\n", shownKey(k), counts[k])
		}
		if len(keys) > mostCounts {
			p("...\t\t\n")
		}
	}
	return t.Flush()
}
