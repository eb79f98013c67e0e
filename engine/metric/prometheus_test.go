package metric

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// parsed is an exposition: of each family its HELP and TYPE lines and the sets of label names of its samples.
type parsed struct {
	help, kind string
	labels     map[string]bool // sample name and label names in order
}

var sampleForm = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\S+)$`)
var labelForm = regexp.MustCompile(`([a-z_]+)="(?:[^"\\]|\\.)*",`)

func parseExposition(t *testing.T, text string) map[string]*parsed {
	t.Helper()
	families := map[string]*parsed{}
	var current string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			if families[name] != nil {
				t.Fatalf("family %s stands twice", name)
			}
			current = name
			families[name] = &parsed{help: help, labels: map[string]bool{}}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if name != current {
				t.Fatalf("TYPE of %s under HELP of %s", name, current)
			}
			families[name].kind = kind
			continue
		}
		m := sampleForm.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[1], current) {
			t.Fatalf("line %q does not belong to %s", line, current)
		}
		names := m[1]
		for _, l := range labelForm.FindAllStringSubmatch(m[2], -1) {
			names += " " + l[1]
		}
		families[current].labels[names] = true
	}
	return families
}

func flagship() *Snapshot {
	s := &Snapshot{
		Lab: "backpressure", State: "RUNNING", TimeMs: 37981, Restarts: 1,
		CheckpointCounts: &CheckpointCounts{Total: 9, Completed: 8, Failed: 1},
		Checkpoints: []Checkpoint{
			{ID: 9, Status: "IN_PROGRESS", Subtasks: []SubtaskCheckpoint{{Vertex: "slow-map", AlignmentMs: 99}}},
			{ID: 8, Status: "COMPLETED", EndToEndDurationMs: 700, CheckpointedBytes: 530, StateBytes: 530,
				ProcessedBytes: 110427, TriggerMs: 30000,
				Subtasks: []SubtaskCheckpoint{{Vertex: "slow-map", AlignmentMs: 217.188719, StartDelayMs: 705, Acknowledged: true}}},
		},
		Channels: []Channel{
			{From: End{"source", 0}, To: End{"slow-map", 0}, Kind: "local", Producer: ProducerEnd{Buffers: 2, Bytes: 900, Fill: []int{800, -1, 100}}},
			{From: End{"source", 0}, To: End{"slow-map", 1}, Kind: "remote", Producer: ProducerEnd{Buffers: 4, Bytes: 4000},
				Consumer: &ConsumerEnd{Queued: 7, QueuedBytes: 7000}},
		},
	}
	for _, v := range []struct{ id, name string }{{"source", "Source: source"}, {"slow-map", "slow-map -> discard: Writer"}} {
		vertex := Vertex{ID: v.id, Name: v.name, Parallelism: 2}
		for i := range 2 {
			t := Subtask{Index: i, TaskManager: i, DebloatedBufferSize: 4096, EstimatedTimeToConsumeBuffers: 1302,
				LatencyMs: &Latency{P50: 702, P95: 1209.4, P99: 1300, Max: 1400, Count: 31}, Accumulated: &Accumulated{Busy: 37359}}
			t.NumRecordsIn, t.Rates.NumRecordsIn, t.Recent.NumRecordsIn = 33756, 504.75, 1000
			vertex.Subtasks = append(vertex.Subtasks, t)
		}
		s.Vertices = append(s.Vertices, vertex)
	}
	return s
}

// Whatever is written has the name, the type, the help and the labels that Flink gives it.
func TestPrometheusGolden(t *testing.T) {
	golden, err := os.ReadFile("../../testdata/golden/prometheus_exposition.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := parseExposition(t, string(golden))
	var b strings.Builder
	err = Prometheus(&b, []JobReadings{
		{ID: FlinkID("a"), Name: "MetricNames", StartedAtMs: 1795979297854, Snapshot: flagship()},
		{ID: FlinkID("b"), Snapshot: flagship()}, {ID: "none yet"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := parseExposition(t, b.String())
	for name, g := range got {
		w := want[name]
		if w == nil {
			t.Errorf("Flink has no family %s", name)
			continue
		}
		if g.kind != w.kind || g.help != w.help {
			t.Errorf("%s: %s %q, Flink has %s %q", name, g.kind, g.help, w.kind, w.help)
		}
		for l := range g.labels {
			if !w.labels[l] {
				t.Errorf("sample %s: Flink has %v", l, w.labels)
			}
		}
	}
	// What public dashboards ask for, as far as the engine has it.
	for _, name := range strings.Fields(`
		flink_jobmanager_job_uptime flink_jobmanager_job_numRestarts flink_jobmanager_job_lastCheckpointDuration
		flink_jobmanager_job_lastCheckpointSize flink_jobmanager_job_numberOfFailedCheckpoints
		flink_taskmanager_job_task_isBackPressured flink_taskmanager_job_task_busyTimeMsPerSecond
		flink_taskmanager_job_task_backPressuredTimeMsPerSecond flink_taskmanager_job_task_numRecordsInPerSecond
		flink_taskmanager_job_task_Shuffle_Netty_Input_Buffers_inputQueueLength
		flink_taskmanager_job_task_Shuffle_Netty_Input_0_debloatedBufferSize
		flink_taskmanager_job_task_checkpointAlignmentTime`) {
		if got[name] == nil {
			t.Errorf("family %s is missing", name)
		}
	}
}

func TestPrometheusValues(t *testing.T) {
	var b strings.Builder
	id := FlinkID("job")
	if err := Prometheus(&b, []JobReadings{{ID: id, Name: "Metric Names", StartedAtMs: 1795979297854, Snapshot: flagship()}}); err != nil {
		t.Fatal(err)
	}
	task := func(vertex, name string, i int) string {
		return fmt.Sprintf(`{job_id="%s",task_id="%s",task_attempt_id="%s_%s_%d_1",host="",task_name="%s",task_attempt_num="1",`+
			`job_name="Metric_Names",tm_id="taskmanager_%d",subtask_index="%d",}`,
			id, FlinkID(vertex), FlinkID(id), FlinkID(vertex), i, name, i, i)
	}
	slow0, slow1 := task("slow-map", "slow_map____discard:_Writer", 0), task("slow-map", "slow_map____discard:_Writer", 1)
	source0 := task("source", "Source:_source", 0)
	for _, line := range []string{
		`flink_jobmanager_job_numberOfCompletedCheckpoints{job_id="` + id + `",host="localhost",job_name="Metric_Names",} 8.0`,
		`flink_jobmanager_job_lastCheckpointCompletedTimestamp{job_id="` + id + `",host="localhost",job_name="Metric_Names",} 1.795979328554E12`,
		`flink_taskmanager_job_task_numRecordsIn` + slow0 + ` 33756.0`,
		`flink_taskmanager_job_task_numRecordsInPerSecond` + slow0 + ` 504.75`,
		`flink_taskmanager_job_task_checkpointAlignmentTime` + slow0 + ` 2.17188719E8`,
		`flink_taskmanager_job_task_checkpointStartDelayNanos` + slow0 + ` 7.05E8`,
		`flink_taskmanager_job_task_currentInputWatermark` + slow0 + ` -9.223372036854776E18`,
		`flink_taskmanager_job_task_Shuffle_Netty_Input_Buffers_inputQueueLength` + slow0 + ` 3.0`,
		`flink_taskmanager_job_task_Shuffle_Netty_Input_Buffers_inputQueueSize` + slow1 + ` 7000.0`,
		`flink_taskmanager_job_task_Shuffle_Netty_Output_Buffers_outputQueueLength` + source0 + ` 7.0`,
		`flink_taskmanager_job_task_Shuffle_Netty_Output_Buffers_outputQueueSize` + source0 + ` 4900.0`,
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("line is missing: %s", line)
		}
	}
}

func TestJavaDouble(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", -1: "-1.0", 9.683333333333334: "9.683333333333334", 9999999: "9999999.0", 1e7: "1.0E7",
		0.001: "0.001", 0.00012: "1.2E-4", -9223372036854775808: "-9.223372036854776E18",
	} {
		if got := javaDouble(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("pipe is gone") }

func TestPrometheusReportsTheWriteError(t *testing.T) {
	if err := Prometheus(brokenWriter{}, []JobReadings{{ID: "x", Snapshot: flagship()}}); err == nil {
		t.Error("no error")
	}
}
