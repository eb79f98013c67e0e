package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"weir/labs"
)

func newBenchSessions(s streams) *cobra.Command {
	o := labs.SessionsOptions{}
	memory, profile, asJSON := int64(0), "", false
	c := &cobra.Command{
		Use:   "sessions",
		Short: "How many learners can run the flagship at once, and what breaks first",
		Long: "Runs more and more flagships at once in this process, without a server and without viewers, until one is no\n" +
			"longer healthy: its pace within 10 % of a run alone, its sources back-pressured for 950 ms/s or more, its\n" +
			"checkpoints complete and not much longer than alone.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkSessions(&o, memory); err != nil {
				return err
			}
			o.MemoryBytes = memory << 20
			if !asJSON {
				sessionsHead(s.out)
				o.Progress = func(step labs.SessionsStep) { sessionsLine(s.out, step) }
			}
			stop, err := cpuProfile(profile)
			if err != nil {
				return err
			}
			r, err := labs.BenchSessions(c.Context(), o)
			stop()
			if errors.Is(err, context.Canceled) {
				return nil // cut short: the steps that were done are printed
			}
			if err != nil {
				return fmt.Errorf("bench sessions: %w", err)
			}
			if asJSON {
				return printJSON(s.out, r)
			}
			if r.First == "" {
				_, err = fmt.Fprintf(s.out, "nothing broke: %d at once are healthy on %d CPUs\n", r.Most, r.CPUs)
			} else {
				_, err = fmt.Fprintf(s.out, "%d at once are healthy on %d CPUs; first breaks: %s\n", r.Most, r.CPUs, r.First)
			}
			return err
		},
	}
	f := c.Flags()
	f.IntSliceVar(&o.Counts, "sessions", []int{1, 5, 10, 20, 40, 60, 80, 120, 160, 240}, "numbers of runs to measure, rising")
	f.Float64Var(&o.Seconds, "seconds", 6, "measured at each number, after a warm-up of as many")
	f.Int64Var(&memory, "memory", 1500, "MB the process may have resident; 0 is no limit")
	f.BoolVar(&o.PastBreak, "past-break", false, "go on after one number broke")
	f.StringVar(&profile, "cpuprofile", "", "file for a CPU profile")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func checkSessions(o *labs.SessionsOptions, memory int64) error {
	if err := rising("sessions", o.Counts, 1000); err != nil {
		return err
	}
	if !(o.Seconds >= 6 && o.Seconds <= 600) { // a checkpoint interval and one more second
		return usage("--seconds: %v is not from 6 to 600: a checkpoint comes each 5 s", o.Seconds)
	}
	if memory < 0 || memory > 1<<20 {
		return usage("--memory: %d is not from 0 to %d", memory, 1<<20)
	}
	return nil
}

// rising checks the numbers of a curve.
func rising(flag string, counts []int, most int) error {
	if len(counts) == 0 {
		return usage("--%s: give numbers that rise, such as --%s 1,10,40", flag, flag)
	}
	for i, n := range counts {
		if n < 1 || n > most || i > 0 && n <= counts[i-1] {
			return usage("--%s: %d does not rise, or is not from 1 to %d", flag, n, most)
		}
	}
	return nil
}

func sessionsHead(w io.Writer) {
	_, _ = fmt.Fprintf(w, "in this process, %d CPUs\n%8s %8s %10s %10s %9s %12s %12s %6s %8s %10s  %s\n", runtime.GOMAXPROCS(0),
		"sessions", "healthy", "records/s", "slowest", "pressed", "checkpoint", "longest ms", "cores", "MB", "goroutines", "broken")
}

func sessionsLine(w io.Writer, s labs.SessionsStep) {
	_, _ = fmt.Fprintf(w, "%8d %8d %10.0f %10.0f %9.0f %12d %12d %6.2f %8d %10d ", s.Sessions, s.Healthy, s.RecordsPerSecond, s.Slowest,
		s.BackPressured, s.CheckpointMs, s.LongestMs, s.Cores, s.ResidentBytes>>20, s.Goroutines)
	for _, f := range s.Broken {
		_, _ = fmt.Fprintf(w, " %s of %d (%s)", f.What, f.Sessions, f.Example)
	}
	_, _ = fmt.Fprintln(w)
}

// cpuProfile starts a profile, unless path is empty; the function ends it.
func cpuProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("--cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("--cpuprofile: %w", err)
	}
	return func() { pprof.StopCPUProfile(); _ = f.Close() }, nil
}
