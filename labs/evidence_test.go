package labs

import (
	"fmt"
	"strings"
	"testing"

	"weir/engine/metric"
)

// flagship plays a flagship job whose figures are like real Flink's, a snapshot each second.
type flagship struct {
	t                *testing.T
	e                *Evidence
	v                Values
	changes          []KnobChange
	now              int64
	records, buffers int64
	checkpoints      []metric.Checkpoint
	pressed          float64
	onMs             int64
	rateOn           int64
}

func newFlagship(t *testing.T) *flagship {
	l, _ := Get("backpressure")
	return &flagship{t: t, e: NewEvidence(l), v: l.Defaults(), pressed: 1000, onMs: 1050, rateOn: 1870}
}

func (f *flagship) run(seconds int) {
	for range seconds {
		f.now += 1000
		on := f.v.Bool("debloat")
		took, size, estimate := int64(2500), 0, int64(0)
		if on {
			f.records, f.buffers = f.records+f.rateOn, f.buffers+18
			took, size, estimate = f.onMs, 13000, 990
		} else {
			f.records, f.buffers = f.records+1880, f.buffers+7
		}
		if f.now%5000 == 0 {
			c := metric.Checkpoint{ID: f.now / 5000, Status: "COMPLETED", TriggerMs: f.now, EndToEndDurationMs: took}
			c.Subtasks = []metric.SubtaskCheckpoint{{Vertex: "slow-map", Acknowledged: true, StartDelayMs: float64(took) - 100, AlignmentMs: 90, AsyncMs: 5}}
			f.checkpoints = append([]metric.Checkpoint{c}, f.checkpoints...)
			f.checkpoints = f.checkpoints[:min(10, len(f.checkpoints))]
		}
		source, slow := subtask(0, 0, f.pressed), subtask(0, 1000, 0)
		source.OutPoolUsage, slow.InPoolUsage = 1, 1
		slow.NumRecordsIn, slow.NumBuffersInLocal, slow.DebloatedBufferSize, slow.EstimatedTimeToConsumeBuffers = f.records, f.buffers, size, estimate
		s := vertices(metric.Vertex{ID: "source", Subtasks: []metric.Subtask{source}}, metric.Vertex{ID: "slow-map", Subtasks: []metric.Subtask{slow}})
		s.TimeMs, s.Checkpoints = f.now, f.checkpoints
		f.e.Observe(s, f.v, f.changes)
	}
}

func (f *flagship) set(name string, value any) {
	f.changes = append(f.changes, KnobChange{AtMs: f.now, Name: name, From: f.v[name], To: value})
	f.v = f.v.Clone()
	f.v[name] = value
}

func (f *flagship) expect(want string) {
	f.t.Helper()
	var b strings.Builder
	for _, s := range f.e.States() {
		fmt.Fprintf(&b, "%s %s\n", s.ID, s.State)
		if s.Reading.En == "" || s.Reading.Zh == "" || strings.Contains(s.Reading.En+s.Reading.Zh, "%!") {
			f.t.Errorf("%s: reading %q", s.ID, s.Reading)
		}
	}
	if got := strings.TrimSpace(b.String()); got != strings.TrimSpace(want) {
		f.t.Errorf("after %d s:\n%s\nwant:\n%s", f.now/1000, got, want)
	}
}

func TestFlagshipsClaimsAreShownInTurn(t *testing.T) {
	f := newFlagship(t)
	f.run(3)
	f.expect(`
source-pressed waiting
map-busy waiting
pools-full waiting
barrier-waits waiting
debloat-shortens waiting
same-rate waiting
more-buffers waiting
size-fits waiting`)
	f.run(17)
	f.expect(`
source-pressed shown
map-busy shown
pools-full shown
barrier-waits shown
debloat-shortens waiting
same-rate waiting
more-buffers waiting
size-fits waiting`)
	f.set("debloat", true)
	f.run(15)
	f.expect(`
source-pressed shown
map-busy shown
pools-full shown
barrier-waits shown
debloat-shortens shown
same-rate shown
more-buffers shown
size-fits shown`)
}

func TestClaimsAreContradictedByReadingsThatLast(t *testing.T) {
	f := newFlagship(t)
	f.onMs, f.rateOn, f.pressed = 2400, 900, 300
	f.run(8)
	if s := f.e.States()[0]; s.State != Waiting {
		t.Errorf("after 3 s of readings: %+v", s)
	}
	f.run(14)
	if s := f.e.States()[0]; s.State != Contradicted || !strings.Contains(s.Reading.En, "300") {
		t.Errorf("a source that is not pressed: %+v", s)
	}
	f.set("debloat", true)
	f.run(40)
	for i, id := range map[int]string{4: "debloat-shortens", 5: "same-rate"} {
		if s := f.e.States()[i]; s.ID != id || s.State != Contradicted {
			t.Errorf("%s: %+v", id, s)
		}
	}
	f.pressed = 1000
	f.run(1)
	if s := f.e.States()[0]; s.State != Shown {
		t.Errorf("pressed again: %+v", s)
	}
}

func TestALightLoadNeitherShowsNorContradicts(t *testing.T) {
	f := newFlagship(t)
	f.set("rate", 100.0)
	f.pressed = 0
	f.run(30)
	if s := f.e.States()[0]; s.State != Waiting || !strings.Contains(s.Reading.En, "100 records/s") {
		t.Errorf("%+v", s)
	}
}

func TestAnotherLoadForgetsWhatWasMeasured(t *testing.T) {
	f := newFlagship(t)
	f.run(20)
	f.set("workMs", 2.0)
	f.set("debloat", true)
	f.run(20)
	if s := f.e.States()[4]; s.State != Waiting {
		t.Errorf("checkpoints of two loads were compared: %+v", s)
	}
}

func TestKeyGroupsClaims(t *testing.T) {
	l, _ := Get("key-groups")
	e := NewEvidence(l)
	counts := map[string]int64{}
	for n := range 16 {
		counts[fmt.Sprint(n)] = 100
	}
	at := func(a, b int64, outside, restored int64, state string) *metric.Snapshot {
		one, two := subtask(0, 1, 0), subtask(1, 1, 0)
		one.NumRecordsIn, two.NumRecordsIn = a, b
		one.State, two.State = &metric.State{Keys: 7, KeysOutOfRange: outside, RestoredKeys: restored}, &metric.State{Keys: 9}
		s := vertices(metric.Vertex{ID: "source"}, metric.Vertex{ID: "count", MaxParallelism: 128, Subtasks: []metric.Subtask{one, two}})
		s.State, s.Totals = state, metric.Totals{RecordsEmitted: 1600, RecordsProcessed: a + b, CountsByKey: counts}
		return s
	}
	states := func() string {
		var b []string
		for _, s := range e.States() {
			b = append(b, s.State)
			if strings.Contains(s.Reading.En+s.Reading.Zh, "%!") {
				t.Errorf("%s: %v", s.ID, s.Reading)
			}
		}
		return strings.Join(b, " ")
	}
	e.Observe(at(700, 900, 0, 0, "RUNNING"), l.Defaults(), nil)
	if got := states(); got != "shown shown shown waiting waiting" {
		t.Errorf("running: %s", got)
	}
	if r := e.States()[1].Reading.En; r != "Keys 3 and 7 share group 113 of 128." {
		t.Errorf("shared: %s", r)
	}
	e.Observe(at(700, 900, 0, 7, "FINISHED"), l.Defaults(), []KnobChange{{Name: "parallelism", From: int64(2), To: int64(3)}})
	if got := states(); got != "shown shown shown shown shown" {
		t.Errorf("finished: %s", got)
	}
}
