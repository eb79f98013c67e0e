package labs

import (
	"strings"
	"testing"

	"weir/engine/metric"
)

// subtask has recent times in ms/s.
func subtask(i int, busy, pressed float64) metric.Subtask {
	t := metric.Subtask{Index: i}
	t.Recent.Busy, t.Recent.BackPressured, t.Recent.Idle = busy, pressed, 1000-busy-pressed
	return t
}

func vertices(v ...metric.Vertex) *metric.Snapshot {
	return &metric.Snapshot{State: "RUNNING", Vertices: v}
}

func TestDiagnose(t *testing.T) {
	flagship, _ := Get("backpressure")
	v := flagship.Defaults()
	two := func(id string, a, b metric.Subtask) metric.Vertex {
		return metric.Vertex{ID: id, Subtasks: []metric.Subtask{a, b}}
	}
	for _, c := range []struct {
		name       string
		s          *metric.Snapshot
		bottleneck string
		roles      string
		says       string
	}{
		{"the flagship", vertices(two("source", subtask(0, 0, 1000), subtask(1, 0, 1000)), two("slow-map", subtask(0, 1000, 0), subtask(1, 998, 0))),
			"slow-map", "source=victim slow-map=cause", "slow-map 0 is busy for 1,000 ms/s and back-pressured for 0"},
		{"one hot subtask among idle ones", vertices(two("source", subtask(0, 0, 1000), subtask(1, 20, 980)), two("slow-map", subtask(0, 0, 0), subtask(1, 996, 0))),
			"slow-map", "source=victim slow-map=cause", "slow-map 1"},
		{"pressure passes through the middle", vertices(two("source", subtask(0, 0, 1000), subtask(1, 0, 990)), two("slow-map", subtask(0, 100, 900), subtask(1, 80, 920)), two("sink", subtask(0, 990, 0), subtask(1, 985, 0))),
			"sink", "source=victim slow-map=victim sink=cause", "sink 0"},
		{"a light load", vertices(two("source", subtask(0, 10, 0), subtask(1, 10, 0)), two("slow-map", subtask(0, 400, 0), subtask(1, 420, 0))),
			"", "", "No vertex is back-pressured"},
		{"busy, yet nobody waits", vertices(two("source", subtask(0, 10, 0), subtask(1, 10, 0)), two("slow-map", subtask(0, 800, 0), subtask(1, 820, 0))),
			"", "", "No vertex is back-pressured"},
		{"an unlimited source", vertices(two("source", subtask(0, 990, 10), subtask(1, 970, 30)), two("slow-map", subtask(0, 300, 0), subtask(1, 300, 0))),
			"source", "source=cause", "sets the pace itself"},
		{"half busy behind a pressed source", vertices(two("source", subtask(0, 400, 600), subtask(1, 400, 600)), two("slow-map", subtask(0, 700, 0), subtask(1, 690, 0))),
			"slow-map", "source=victim slow-map=cause", "slow-map 0"},
		{"pressed by nobody", vertices(two("source", subtask(0, 100, 900), subtask(1, 100, 900)), two("slow-map", subtask(0, 100, 0), subtask(1, 90, 0))),
			"", "", "no vertex behind it is busy"},
		{"finished", &metric.Snapshot{State: "FINISHED"}, "", "", "nothing to diagnose"},
	} {
		d := Diagnose(c.s, v)
		var roles []string
		for i := range c.s.Vertices {
			if r := d.Roles[c.s.Vertices[i].ID]; r != "" {
				roles = append(roles, c.s.Vertices[i].ID+"="+r)
			}
		}
		if got := strings.Join(roles, " "); d.Bottleneck != c.bottleneck || got != c.roles || !strings.Contains(d.Because.String(), c.says) {
			t.Errorf("%s: bottleneck %q, roles %q, because %q", c.name, d.Bottleneck, got, d.Because)
		}
		if zh := d.Because.In("zh"); strings.Contains(zh, "%!") || strings.Contains(d.Because.String(), "%!") {
			t.Errorf("%s: figures do not fit: %s / %s", c.name, d.Because, zh)
		}
	}
}

func TestDiagnosisAdvises(t *testing.T) {
	l, _ := Get("backpressure")
	s := vertices(
		metric.Vertex{ID: "source", Subtasks: []metric.Subtask{subtask(0, 0, 1000), subtask(1, 0, 1000)}},
		metric.Vertex{ID: "slow-map", Subtasks: []metric.Subtask{subtask(0, 1000, 0), subtask(1, 1000, 0)}})
	s.Checkpoints = []metric.Checkpoint{{ID: 4, Status: "IN_PROGRESS"}, {ID: 3, Status: "COMPLETED", EndToEndDurationMs: 2500}}
	d := Diagnose(s, l.Defaults())
	d.annotate(s)
	if len(s.Diagnosis.Advice) != 2 || !strings.Contains(s.Diagnosis.Advice[0], "asynchronous") || !strings.Contains(s.Diagnosis.Advice[1], "Checkpoint 3 took 2,500 ms") {
		t.Errorf("advice %q", s.Diagnosis.Advice)
	}
	if s.Vertices[0].Role != RoleVictim || s.Vertices[0].BackpressureLevel != LevelHigh || s.Vertices[1].Role != RoleCause || s.Vertices[1].BackpressureLevel != LevelOK {
		t.Errorf("vertices %+v", s.Vertices)
	}
	s.Vertices[1].Subtasks[1] = subtask(1, 10, 0)
	if d = Diagnose(s, l.Defaults()); !strings.Contains(d.Advice[0].String(), "spread the keys") {
		t.Errorf("skew: %v", d.Advice)
	}
}

func TestLevel(t *testing.T) {
	for ms, want := range map[float64]string{0: LevelOK, 100: LevelOK, 101: LevelLow, 500: LevelLow, 501: LevelHigh, 1000: LevelHigh} {
		if got := metric.BackpressureLevel(ms); got != want {
			t.Errorf("%v ms/s: %s, want %s", ms, got, want)
		}
	}
}

func TestExplainCheckpoint(t *testing.T) {
	at := func(start, align, sync, async float64) *metric.Checkpoint {
		return &metric.Checkpoint{ID: 7, Status: "COMPLETED", Subtasks: []metric.SubtaskCheckpoint{
			{Vertex: "source", Acknowledged: true, SyncMs: 1, AsyncMs: 2},
			{Vertex: "slow-map", Subtask: 1, Acknowledged: true, StartDelayMs: start, AlignmentMs: align, SyncMs: sync, AsyncMs: async},
			{Vertex: "slow-map", StartDelayMs: 99999},
		}}
	}
	for _, c := range []struct {
		c           *metric.Checkpoint
		phase, says string
	}{
		{at(2000, 300, 5, 10), "startDelay", "2,000 ms to arrive, 86 % of the time"},
		{at(100, 900, 5, 10), "alignment", "skew"},
		{at(10, 20, 300, 10), "sync", "access to state"},
		{at(10, 20, 3, 400), "async", "storage"},
		{at(1, 2, 3, 4), "", "nothing to gain"},
		{&metric.Checkpoint{ID: 7, Status: "IN_PROGRESS"}, "", "first acknowledgement"},
		{&metric.Checkpoint{ID: 7, Status: "FAILED", Failure: "expired"}, "", "expired"},
	} {
		e := ExplainCheckpoint(c.c)
		if e.Phase != c.phase || !strings.Contains(e.Message.String(), c.says) || strings.Contains(e.Message.In("zh"), "%!") {
			t.Errorf("%s: %+v %s / %s", c.phase, e, e.Message, e.Message.In("zh"))
		}
		if c.phase != "" && (e.Vertex != "slow-map" || e.Subtask != 1) {
			t.Errorf("%s: at %s %d", c.phase, e.Vertex, e.Subtask)
		}
	}
}
