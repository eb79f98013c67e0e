package labs

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"weir/engine/metric"
)

// SessionsOptions say what to measure: how many learners can run the flagship at once in one process.
type SessionsOptions struct {
	// Counts are the numbers of runs to measure, rising; the first gives the pace that the others are held to.
	Counts []int
	// Seconds are measured at each number, after a warm-up of as many.
	Seconds float64
	// MemoryBytes the process may have resident; 0 is no limit.
	MemoryBytes int64
	// PastBreak goes on to the last number although one broke.
	PastBreak bool
	// Progress is told each step when it is done; nil is allowed.
	Progress func(SessionsStep)
}

// SessionsStep is what was measured with so many runs at once.
type SessionsStep struct {
	Sessions int `json:"sessions"`
	// RecordsPerSecond of a run, in the mean and of the slowest.
	RecordsPerSecond float64 `json:"recordsPerSecond"`
	Slowest          float64 `json:"slowestRecordsPerSecond"`
	// BackPressured is the least time that a source subtask of any run was back-pressured, ms/s.
	BackPressured float64 `json:"backPressuredMsPerSecond"`
	// CheckpointMs is the median end-to-end duration of the checkpoints that completed, LongestMs the longest.
	CheckpointMs int64 `json:"checkpointMs"`
	LongestMs    int64 `json:"longestCheckpointMs"`
	Checkpoints  int   `json:"checkpoints"` // that completed
	// Cores is CPU time by time; it includes the measuring.
	Cores         float64 `json:"cores"`
	ResidentBytes int64   `json:"residentBytes"`
	Goroutines    int     `json:"goroutines"`
	Healthy       int     `json:"healthy"` // runs of which nothing is broken
	// Broken says in which regard runs are not healthy, the most frequent first.
	Broken []SessionsFault `json:"broken"`
}

// SessionsFault is one way in which runs are not healthy.
type SessionsFault struct {
	// What: pace, backpressure, checkpoint (none completed or one failed), checkpoint time, ended, start; memory is of the process.
	What     string `json:"what"`
	Sessions int    `json:"sessions"`
	Example  string `json:"example"`
}

// SessionsResult is the curve.
type SessionsResult struct {
	Lab   string         `json:"lab"`
	CPUs  int            `json:"cpus"`
	Steps []SessionsStep `json:"steps"`
	// Most is the largest number at which all were healthy.
	Most int `json:"most"`
	// First is what broke first; empty if nothing did.
	First string `json:"first"`
}

// The limits of a healthy run, beside those of one that runs alone.
const (
	paceSlack       = 0.10 // records/s may differ by so much
	leastPressed    = 950  // ms/s of a source
	checkpointSlack = 0.25 // a checkpoint may take so much longer
	checkpointGrain = 500  // ms that it may take longer in any case: a checkpoint starts anywhere between two records
)

// BenchSessions runs more and more flagships at once in this process, without a server and without viewers, until they
// are no longer healthy. The runs start spread over a checkpoint interval, as those of a class do.
func BenchSessions(ctx context.Context, o SessionsOptions) (SessionsResult, error) {
	r := SessionsResult{Lab: "backpressure", CPUs: runtime.GOMAXPROCS(0), Steps: []SessionsStep{}}
	dir, err := os.MkdirTemp("", "weir-bench-sessions-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var runs []*Run
	defer func() {
		var closing sync.WaitGroup
		for _, run := range runs {
			closing.Go(run.Close)
		}
		closing.Wait()
	}()
	var alone *SessionsStep
	for _, n := range o.Counts {
		var startErr error
		from := len(runs)
		for len(runs) < n && startErr == nil {
			var run *Run
			run, startErr = Start(StartOptions{Lab: r.Lab, CheckpointDir: filepath.Join(dir, strconv.Itoa(len(runs))), Logger: slog.New(slog.DiscardHandler)})
			if startErr != nil {
				break
			}
			runs = append(runs, run)
			if !sleep(ctx, 5*time.Second/time.Duration(n-from)) {
				return r, ctx.Err()
			}
		}
		if len(runs) == from && startErr != nil {
			return r, fmt.Errorf("starting run %d: %w", from+1, startErr)
		}
		step, err := measureSessions(ctx, runs, o, alone)
		if err != nil {
			return r, err
		}
		if startErr != nil {
			step.Broken = append([]SessionsFault{{"start", n - len(runs), startErr.Error()}}, step.Broken...)
		}
		r.Steps = append(r.Steps, step)
		if alone == nil {
			alone = &step
		}
		if o.Progress != nil {
			o.Progress(step)
		}
		switch {
		case len(step.Broken) == 0:
			if r.First == "" {
				r.Most = n
			}
		case r.First == "":
			r.First = step.Broken[0].What
		}
		if r.First != "" && !o.PastBreak || startErr != nil {
			break
		}
	}
	return r, nil
}

// sleep waits; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// measureSessions reads the runs before and after a while; alone is nil for the step that sets the pace.
func measureSessions(ctx context.Context, runs []*Run, o SessionsOptions, alone *SessionsStep) (SessionsStep, error) {
	s := SessionsStep{Sessions: len(runs), Broken: []SessionsFault{}}
	while := time.Duration(o.Seconds * float64(time.Second))
	if !sleep(ctx, while) {
		return s, ctx.Err()
	}
	runtime.GC() // what starting left behind is not what running takes
	before := make([]*metric.Snapshot, len(runs))
	for i, run := range runs {
		before[i] = run.Snapshot()
	}
	cpu, began := ProcessCPU(), time.Now()
	if !sleep(ctx, while) {
		return s, ctx.Err()
	}
	s.Cores = (ProcessCPU() - cpu).Seconds() / time.Since(began).Seconds()
	s.ResidentBytes, s.Goroutines = ResidentBytes(), runtime.NumGoroutine()

	faults := map[string]*SessionsFault{}
	var durations []int64
	s.BackPressured = 1000
	for i, run := range runs {
		now := run.Snapshot()
		v := judgeSession(before[i], now, alone)
		s.RecordsPerSecond += v.pace / float64(len(runs))
		if i == 0 || v.pace < s.Slowest {
			s.Slowest = v.pace
		}
		s.BackPressured = min(s.BackPressured, v.pressed)
		durations = append(durations, v.durations...)
		if len(v.faults) == 0 {
			s.Healthy++
		}
		for _, f := range v.faults {
			if faults[f.What] == nil {
				faults[f.What] = &SessionsFault{What: f.What, Example: f.Example}
			}
			faults[f.What].Sessions++
		}
	}
	slices.Sort(durations)
	if s.Checkpoints = len(durations); s.Checkpoints > 0 {
		s.CheckpointMs, s.LongestMs = durations[len(durations)/2], durations[len(durations)-1]
	}
	for _, f := range faults {
		s.Broken = append(s.Broken, *f)
	}
	if o.MemoryBytes > 0 && s.ResidentBytes > o.MemoryBytes {
		s.Broken = append(s.Broken, SessionsFault{"memory", len(runs), fmt.Sprintf("%d MB resident of %d allowed", s.ResidentBytes>>20, o.MemoryBytes>>20)})
	}
	slices.SortFunc(s.Broken, func(a, b SessionsFault) int { return b.Sessions - a.Sessions })
	return s, nil
}

// sessionVerdict is what one run did between two pictures.
type sessionVerdict struct {
	pace, pressed float64
	durations     []int64
	faults        []SessionsFault
}

func judgeSession(before, now *metric.Snapshot, alone *SessionsStep) sessionVerdict {
	v := sessionVerdict{pressed: 1000}
	fault := func(what, format string, args ...any) {
		v.faults = append(v.faults, SessionsFault{What: what, Sessions: 1, Example: fmt.Sprintf(format, args...)})
	}
	v.pace = float64(now.Totals.RecordsProcessed-before.Totals.RecordsProcessed) / (float64(now.TimeMs-before.TimeMs) / 1000)
	for i := range now.Vertices {
		if now.Vertices[i].ID != "source" {
			continue
		}
		for j := range now.Vertices[i].Subtasks {
			v.pressed = min(v.pressed, now.Vertices[i].Subtasks[j].Recent.BackPressured)
		}
	}
	for i := range now.Checkpoints {
		c := &now.Checkpoints[i]
		switch {
		case c.TriggerMs+c.EndToEndDurationMs < before.TimeMs: // was over before
		case c.Status == "COMPLETED":
			v.durations = append(v.durations, c.EndToEndDurationMs)
		case c.Status == "FAILED":
			fault("checkpoint", "checkpoint %d failed: %s", c.ID, c.Failure)
		}
	}
	if now.State != "RUNNING" || now.Restarts > before.Restarts {
		fault("ended", "state %s after %d restarts: %s", now.State, now.Restarts, now.Failure)
		return v
	}
	if v.pressed < leastPressed {
		fault("backpressure", "a source was back-pressured for %.0f ms/s, not %d", v.pressed, leastPressed)
	}
	if len(v.durations) == 0 {
		fault("checkpoint", "none completed in %.1f s", float64(now.TimeMs-before.TimeMs)/1000)
	}
	if alone == nil {
		return v
	}
	if v.pace < alone.RecordsPerSecond*(1-paceSlack) {
		fault("pace", "%.0f records/s, alone %.0f", v.pace, alone.RecordsPerSecond)
	}
	if most := alone.LongestMs + max(int64(float64(alone.LongestMs)*checkpointSlack), checkpointGrain); len(v.durations) > 0 && slices.Max(v.durations) > most {
		fault("checkpoint time", "a checkpoint took %d ms, alone %d", slices.Max(v.durations), alone.LongestMs)
	}
	return v
}
