package labs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/task"
)

// fakeJob records what a run asks of its job.
type fakeJob struct {
	o     job.Options
	begin time.Time

	mu       sync.Mutex
	settings task.Settings
	asked    []string
	hold     chan struct{} // Restart waits for it, if there is one
	err      error
	over     bool
	done     chan struct{}
}

func (f *fakeJob) ask(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what)
}

func (f *fakeJob) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.over, f.err = true, err
		close(f.done)
	}
}

func (f *fakeJob) Snapshot() *metric.Snapshot {
	return &metric.Snapshot{State: "RUNNING", TimeMs: time.Since(f.begin).Milliseconds()}
}

func (f *fakeJob) Apply(s task.Settings) error {
	f.ask("apply")
	f.settings = s
	return nil
}

func (f *fakeJob) Restart(_ job.Graph, s task.Settings) error {
	f.ask("restart")
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-f.done:
			return errors.New("cancelled")
		}
	}
	f.settings = s
	return nil
}

func (f *fakeJob) Inject(kind network.Fault, from, to int) error {
	f.ask(fmt.Sprintf("%s %d %d", kind, from, to))
	return nil
}

func (f *fakeJob) TriggerCheckpoint() (int64, error) { f.ask("checkpoint"); return 7, nil }
func (f *fakeJob) Savepoint() (string, error)        { f.ask("savepoint"); return "chk-7", nil }
func (f *fakeJob) FailNextCheckpoint()               { f.ask("failNextCheckpoint") }
func (f *fakeJob) LoseNextNotification()             { f.ask("loseNotification") }
func (f *fakeJob) Stop() (string, error)             { f.ask("stop"); f.end(nil); return "chk-8", nil }
func (f *fakeJob) Close()                            { f.ask("close"); f.end(nil) }
func (f *fakeJob) Done() <-chan struct{}             { return f.done }
func (f *fakeJob) Err() error                        { return f.err }

// startFake starts a run and returns the jobs that it starts.
func startFake(t *testing.T, o StartOptions) (*Run, *[]*fakeJob) {
	t.Helper()
	jobs := &[]*fakeJob{}
	r, err := startRun(o, func(_ job.Graph, s task.Settings, o job.Options) (engineJob, error) {
		f := &fakeJob{o: o, settings: s, begin: time.Now(), done: make(chan struct{})}
		*jobs = append(*jobs, f)
		return f, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, jobs
}

func TestSetAppliesWhatTakesEffectNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, jobs := startFake(t, StartOptions{Lab: "backpressure", Knobs: map[string]any{"rate": "100"}})
		defer r.Close()
		time.Sleep(3 * time.Second)
		v, err := r.Set(map[string]any{"debloat": true, "checkpointIntervalMs": 1000.0})
		if err != nil || v != 1 {
			t.Fatal(v, err)
		}
		j := (*jobs)[0]
		if len(*jobs) != 1 || strings.Join(j.asked, " ") != "apply" || !j.settings.Debloat || j.settings.Rate != 100 {
			t.Errorf("asked %v with %+v", j.asked, j.settings)
		}
		if v, err = r.Set(map[string]any{"debloat": "true"}); err != nil || v != 1 {
			t.Errorf("no change: version %d, %v", v, err)
		}
		if e := r.Events(); len(e) != 2 || e[0] != (KnobChange{3000, "debloat", false, true}) || e[1].Name != "checkpointIntervalMs" {
			t.Errorf("changes %+v", e)
		}
		if s := r.Snapshot(); s.Lab != "backpressure" || s.Knobs["debloat"] != true || s.Diagnosis == nil {
			t.Errorf("snapshot %+v", s)
		}
		var ke *KnobError
		if _, err := r.Set(map[string]any{"debloat": false, "rate": -1}); !errors.As(err, &ke) || !r.Values().Bool("debloat") {
			t.Errorf("half of a refused change was made: %v", err)
		}
	})
}

func TestARestartKnobRefusesOthersUntilTheJobRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, jobs := startFake(t, StartOptions{Lab: "backpressure"})
		defer r.Close()
		j := (*jobs)[0]
		j.hold = make(chan struct{})
		set := make(chan error)
		go func() {
			_, err := r.Action("rescale", map[string]any{"parallelism": 3.0})
			set <- err
		}()
		synctest.Wait()
		if _, err := r.Set(map[string]any{"rate": 1}); !errors.Is(err, ErrRestarting) {
			t.Errorf("during a restart: %v", err)
		}
		if _, err := r.Action("checkpoint", nil); !errors.Is(err, ErrRestarting) {
			t.Errorf("during a restart: %v", err)
		}
		if r.Snapshot().Knobs["parallelism"] != int64(2) {
			t.Error("the new parallelism shows before it runs")
		}
		close(j.hold)
		if err := <-set; err != nil {
			t.Fatal(err)
		}
		if len(*jobs) != 1 || j.settings.Parallelism != 3 || r.Values().Int("parallelism") != 3 {
			t.Errorf("%d jobs, %+v", len(*jobs), j.settings)
		}
		if _, err := r.Set(map[string]any{"rate": 1}); err != nil {
			t.Errorf("after the restart: %v", err)
		}
	})
}

func TestAnotherMaxParallelismStartsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r, jobs := startFake(t, StartOptions{Lab: "key-groups", CheckpointDir: dir})
		defer r.Close()
		time.Sleep(5 * time.Second)
		// Derived from parallelism 2 it is 128 again: no key changes its group.
		if _, err := r.Set(map[string]any{"maxParallelism": 0}); err != nil {
			t.Fatal(err)
		}
		if len(*jobs) != 1 || (*jobs)[0].asked[0] != "restart" {
			t.Fatalf("%d jobs, asked %v", len(*jobs), (*jobs)[0].asked)
		}
		if _, err := r.Set(map[string]any{"maxParallelism": 256}); err != nil {
			t.Fatal(err)
		}
		if len(*jobs) != 2 || (*jobs)[0].asked[1] != "close" || (*jobs)[1].settings.MaxParallelism != 256 {
			t.Fatalf("%d jobs, asked %v", len(*jobs), (*jobs)[0].asked)
		}
		if o := (*jobs)[1].o; o.CheckpointDir != filepath.Join(dir, "job-2") || o.RestorePath != "" {
			t.Errorf("options %+v", o)
		}
		time.Sleep(time.Second)
		if s := r.Snapshot(); s.TimeMs != 6000 {
			t.Errorf("the clock stands at %d ms", s.TimeMs)
		}
		select {
		case <-r.Done():
			t.Error("the run has ended with its first job")
		default:
		}
	})
}

func TestEndStopAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, jobs := startFake(t, StartOptions{Lab: "backpressure"})
		dir := (*jobs)[0].o.CheckpointDir
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		(*jobs)[0].end(errors.New("disk full"))
		<-r.Done()
		if r.Err() == nil || r.Err().Error() != "disk full" {
			t.Errorf("err %v", r.Err())
		}
		if _, err := r.Set(map[string]any{"rate": 1}); !errors.Is(err, ErrEnded) {
			t.Errorf("a knob of an ended job: %v", err)
		}
		r.Close()
		r.Close()
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("checkpoints left behind: %v", err)
		}
		if r.Snapshot() == nil {
			t.Error("no readings after the end")
		}

		r, _ = startFake(t, StartOptions{Lab: "backpressure", CheckpointDir: t.TempDir()})
		got, err := r.Action("stop", nil)
		if err != nil || got.(map[string]any)["path"] != "chk-8" {
			t.Errorf("stop: %v %v", got, err)
		}
		<-r.Done()
		r.Close()
	})
}

func TestActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := startFake(t, StartOptions{Lab: "backpressure"})
		defer r.Close()
		if got, err := r.Action("checkpoint", nil); err != nil || got.(map[string]any)["id"] != int64(7) {
			t.Errorf("checkpoint: %v %v", got, err)
		}
		if _, err := r.Action("restart", nil); err != nil {
			t.Error(err)
		}
		var ae *ActionError
		if _, err := r.Action("rescale", nil); !errors.As(err, &ae) || ae.Field != "parallelism" {
			t.Errorf("rescale to nothing: %v", err)
		}
		var ke *KnobError
		if _, err := r.Action("rescale", map[string]any{"parallelism": "many"}); !errors.As(err, &ke) {
			t.Errorf("rescale to many: %v", err)
		}
		if _, err := r.Action("restrat", nil); !errors.As(err, &ae) || !strings.Contains(err.Error(), "did you mean restart?") {
			t.Errorf("a mistyped action: %v", err)
		}
	})
}

func TestCloseDuringARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, jobs := startFake(t, StartOptions{Lab: "backpressure"})
		(*jobs)[0].hold = make(chan struct{})
		set := make(chan error)
		go func() {
			_, err := r.Set(map[string]any{"parallelism": 1})
			set <- err
		}()
		synctest.Wait()
		go r.Close()
		if err := <-set; err == nil {
			t.Error("the restart of a closed run succeeded")
		}
		<-r.Done()
		r.Close()
	})
}

func TestRefusedStartsLeaveNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	refuse := errors.New("Insufficient number of network buffers")
	none := func(job.Graph, task.Settings, job.Options) (engineJob, error) { return nil, refuse }
	if _, err := startRun(StartOptions{Lab: "backpressure"}, none); !errors.Is(err, refuse) {
		t.Errorf("err %v", err)
	}
	if _, err := startRun(StartOptions{Lab: "backpressure", Input: SampleFlights()}, none); err == nil || !strings.Contains(err.Error(), "takes no file") {
		t.Errorf("err %v", err)
	}
	if _, err := startRun(StartOptions{Lab: "key-groups", Input: SampleFlights()}, none); err == nil || !strings.Contains(err.Error(), "no key column") {
		t.Errorf("err %v", err)
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
