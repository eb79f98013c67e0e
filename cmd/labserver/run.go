package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/engine/metric"
	"weir/labs"
)

// runFlags are the words of a run's command line.
type runFlags struct {
	set, at       []string
	length        time.Duration
	input, key    string
	restore       string
	checkpointDir string
	record        string
	json          bool
}

func newRun(s streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run LAB [--set KNOB=V]... [--at 20s:KNOB=V]... [--for 30s] [--input FILE --key COLUMN] [--restore DIR] [--checkpoint-dir DIR] [--record FILE] [--json]",
		Short: "Runs a lab's job without the page and prints its last readings",
		Long: "Runs a lab's job until its input ends, --for is over, or Ctrl-C, and prints its last readings.\n" +
			"--input flights takes the built-in flights. Of a knob that is set twice the last value counts.\n" +
			"labserver labs lists the labs with their knobs. The actions of --at are " + strings.Join(timedActions(), ", ") + ".",
		Example: "  labserver run backpressure --for 45s --at 20s:debloat=true\n" +
			"  labserver run key-groups --input flights --key dest --set parallelism=3 --json\n" +
			"  labserver run rescale --set backend=lsm --at 10s:parallelism=3 --for 20s --checkpoint-dir kept\n" +
			"  labserver run rescale --set backend=lsm --restore kept/chk-3 --for 10s\n" +
			"  labserver run skew --for 60s --at 5s:hotKeyShare=0.05 --record skew-cure/run.weir",
		Args:                  exactly("LAB"),
		ValidArgsFunction:     completeLab,
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("for") && f.length <= 0 {
				return usage("--for %s: give a time above 0, such as 30s, or leave it out to run until the input ends or Ctrl-C", f.length)
			}
			return runLab(c.Context(), args[0], &f, s)
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "`KNOB=VALUE` to start with; may be repeated")
	fl.StringArrayVar(&f.at, "at", nil, "`TIME:KNOB=VALUE` to change while it runs, such as 20s:debloat=true, or TIME:ACTION, such as 20s:checkpoint; may be repeated")
	fl.DurationVar(&f.length, "for", 0, "how long to run, a `TIME` such as 30s; without it until the input ends or Ctrl-C")
	fl.StringVar(&f.input, "input", "", "CSV or NDJSON `FILE` to read, plain or gzip")
	fl.StringVar(&f.key, "key", "", "the file's `COLUMN` to take as key")
	fl.StringVar(&f.restore, "restore", "", "`DIR` of the checkpoint to start from, such as kept/chk-3")
	fl.StringVar(&f.checkpointDir, "checkpoint-dir", "", "`DIR` to keep checkpoints in; without it they are deleted at the end")
	fl.StringVar(&f.record, "record", "", "`FILE` to write the run's record to, such as run.weir, for the exercises")
	fl.BoolVar(&f.json, "json", false, "print the last Snapshot as JSON")
	completeFlag(c, "set", completeKnob)
	completeFlag(c, "at", completeTimed)
	completeFolder(c, "restore", "checkpoint-dir")
	return c
}

// timedActions are the actions that need no argument: --at has none to give.
func timedActions() []string {
	return slices.DeleteFunc(slices.Clone(labs.Actions), func(a string) bool { return a == "rescale" })
}

// timedKnob is a --at: a knob that changes, or an action.
type timedKnob struct {
	word        string // as it was given
	at          time.Duration
	name, value string
	action      bool
}

// parseKnobs reads the KNOB=VALUE of --set.
func parseKnobs(words []string) (map[string]any, error) {
	knobs := make(map[string]any, len(words))
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, usage("--set %q: give KNOB=VALUE, such as --set debloat=true", w)
		}
		knobs[name] = value
	}
	return knobs, nil
}

// parseTimed reads the TIME:KNOB=VALUE and TIME:ACTION of --at, in the order of time.
func parseTimed(words []string) ([]timedKnob, error) {
	var all []timedKnob
	for _, w := range words {
		when, knob, ok := strings.Cut(w, ":")
		name, value, isKnob := strings.Cut(knob, "=")
		switch {
		case !ok || name == "":
			return nil, usage("--at %q: give TIME:KNOB=VALUE, such as --at 20s:debloat=true, or TIME:ACTION, such as --at 20s:checkpoint", w)
		case !isKnob && name == "rescale":
			return nil, usage("--at %q: give the number of subtasks, such as --at %s:parallelism=3", w, when)
		case !isKnob && !slices.Contains(labs.Actions, name):
			return nil, usage("--at %q: %q is no action, and a knob needs a value: give TIME:KNOB=VALUE, or TIME: and one of %s", w, name, strings.Join(timedActions(), ", "))
		}
		at, err := time.ParseDuration(when)
		if err != nil || at < 0 {
			return nil, usage("--at %q: %q is not a time: give one such as 20s or 1m30s", w, when)
		}
		all = append(all, timedKnob{w, at, name, value, !isKnob})
	}
	slices.SortStableFunc(all, func(a, b timedKnob) int { return int(a.at - b.at) })
	return all, nil
}

// startOptions turns the words into what to start, and refuses wrong ones before anything runs.
func startOptions(lab string, f *runFlags) (labs.StartOptions, []timedKnob, error) {
	o := labs.StartOptions{Lab: lab, CheckpointDir: f.checkpointDir, Restore: f.restore}
	l, err := labs.Find(lab)
	if err != nil {
		return o, nil, asUsage(err)
	}
	if o.Knobs, err = parseKnobs(f.set); err != nil {
		return o, nil, err
	}
	timed, err := parseTimed(f.at)
	if err != nil {
		return o, nil, err
	}
	if o.Input, err = openInput(f.input, f.key); err != nil {
		return o, nil, err
	}
	// Every change is tried now: a typing error must not show after ten minutes.
	v, err := l.Values(o.Knobs, o.Input)
	if err != nil {
		return o, nil, asUsage(err)
	}
	for _, t := range timed {
		if f.length > 0 && t.at >= f.length {
			return o, nil, usage("--at %s: the run is over by then: give a time below the %s of --for", t.word, f.length)
		}
		if t.action {
			continue
		}
		if v, err = l.With(v, map[string]any{t.name: t.value}); err != nil {
			return o, nil, usage("--at %s: %w", t.word, err)
		}
	}
	return o, timed, nil
}

func openInput(path, key string) (*labs.Input, error) {
	switch {
	case path == "" && key == "":
		return nil, nil
	case path == "":
		return nil, usage("--key %s needs a file: give --input FILE, or --input flights for the built-in one", key)
	}
	in := labs.SampleFlights
	if path != "flights" {
		opened, err := labs.OpenInput(path)
		if err != nil {
			return nil, asUsage(err)
		}
		in = func() *labs.Input { return opened }
	}
	file := in()
	if key == "" {
		return nil, usage("--input %s needs a key column: give --key, one of %s", path, strings.Join(file.Columns, ", "))
	}
	keyed, err := file.WithKey(key)
	return keyed, asUsage(err)
}

func runLab(ctx context.Context, lab string, f *runFlags, s streams) error {
	o, timed, err := startOptions(lab, f)
	if err != nil {
		return err
	}
	if err := recordable(f.record); err != nil {
		return err
	}
	begin := time.Now()
	r, err := labs.Start(o)
	if err != nil {
		return err
	}
	defer r.Close()
	follow := newProgress(s.err)
	failed := watch(ctx, r, begin, timed, f.length, follow)
	last := r.Snapshot()
	follow.end()
	if f.json {
		err = printJSON(s.out, last)
	} else {
		err = printSummary(s.out, last, f.checkpointDir != "")
	}
	if failed == nil {
		failed = r.Err()
	}
	if f.record != "" {
		err = errors.Join(err, r.Record().Save(f.record, nil))
	}
	if failed != nil {
		return fmt.Errorf("run %s: %w", lab, failed)
	}
	return err
}

// recordable refuses a place for the record that cannot be written to, before anything runs.
func recordable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return usage("--record %s: that is not a file: give one such as run.weir", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".run-*.weir")
	if err != nil {
		return usage("--record %s: %w: give a file in a folder that exists and can be written to", path, reason(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// reason is an error without the path that a line says already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// watch changes knobs at their times and returns when the job has ended, its time is over, or ctx is.
func watch(ctx context.Context, r *labs.Run, begin time.Time, timed []timedKnob, length time.Duration, p *progress) error {
	var over <-chan time.Time
	if length > 0 {
		t := time.NewTimer(time.Until(begin.Add(length)))
		defer t.Stop()
		over = t.C
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		var next <-chan time.Time
		var timer *time.Timer
		if len(timed) > 0 {
			timer = time.NewTimer(time.Until(begin.Add(timed[0].at)))
			next = timer.C
		}
		var err error
		doing := ""
		done := false
		select {
		case <-ctx.Done():
			done = true
		case <-r.Done():
			done = true
		case <-over:
			done = true
		case <-next:
			k := timed[0]
			timed, doing = timed[1:], k.word
			if k.action {
				_, err = r.Action(k.name, nil)
			} else {
				_, err = r.Set(map[string]any{k.name: k.value})
			}
			if errors.Is(err, labs.ErrEnded) {
				err = nil
			}
		case <-tick.C:
			p.show(r.Snapshot)
		}
		if timer != nil {
			timer.Stop()
		}
		if err != nil {
			return fmt.Errorf("--at %s: %w", doing, err)
		}
		if done {
			return nil
		}
	}
}

// secondsOf is a Snapshot's job time in words.
func secondsOf(s *metric.Snapshot) string {
	return (time.Duration(s.TimeMs) * time.Millisecond).Round(100 * time.Millisecond).String()
}
