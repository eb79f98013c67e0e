package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"weir/engine/metric"
)

const (
	clearLine = "\r\x1b[K"
	// mostColumns keeps the line from wrapping, which would leave a trail of lines.
	mostColumns = 110
)

// progress is one line that is written anew while a job runs; on anything but a terminal it writes nothing.
type progress struct {
	w     io.Writer
	shown bool
}

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" {
			return &progress{w: w}
		}
	}
	return &progress{}
}

func (p *progress) show(snapshot func() *metric.Snapshot) {
	if p.w == nil {
		return
	}
	s := snapshot()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s  busy/pressed ms/s", secondsOf(s), s.State)
	var rate float64
	for i := range s.Vertices {
		v := &s.Vertices[i]
		busy, pressed, in := peaks(v)
		rate = in
		fmt.Fprintf(&b, "  %s %.0f/%.0f", v.ID, busy, pressed)
	}
	fmt.Fprintf(&b, "  %.0f records/s", rate)
	for i := range s.Checkpoints {
		if c := &s.Checkpoints[i]; c.Status == "COMPLETED" {
			fmt.Fprintf(&b, "  checkpoint %d %d ms", c.ID, c.EndToEndDurationMs)
			break
		}
	}
	p.say(b.String())
}

// say shows a line of its own words.
func (p *progress) say(line string) {
	if p.w == nil {
		return
	}
	_, _ = io.WriteString(p.w, clearLine+line[:min(len(line), mostColumns)])
	p.shown = true
}

// end takes the line away.
func (p *progress) end() {
	if p.shown {
		_, _ = io.WriteString(p.w, clearLine)
		p.shown = false
	}
}

// peaks are a vertex's highest times and its summed input rate over the last second.
func peaks(v *metric.Vertex) (busy, pressed, in float64) {
	for i := range v.Subtasks {
		r := &v.Subtasks[i].Recent
		busy, pressed = max(busy, r.Busy), max(pressed, r.BackPressured)
		in += r.NumRecordsIn
	}
	return busy, pressed, in
}
