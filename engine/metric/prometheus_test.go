package metric

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

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
		Life: Life{RunningMs: 37974, LastCompleted: &LastCheckpoint{CompletedAtMs: 1795979328554, MetadataBytes: 1552,
			Checkpoint: Checkpoint{ID: 8, EndToEndDurationMs: 700, CheckpointedBytes: 530, StateBytes: 530, ProcessedBytes: 110427}}},
		TaskManagers: []TaskManager{{ID: 0, SegmentBytes: 32768, TotalSegments: 2048, AvailableSegments: 2026, ClaimedSegments: 20, ManagedBytes: 1 << 27}},
		Channels: []Channel{
			{From: End{"source", 0}, To: End{"slow-map", 0}, Kind: "local", Producer: ProducerEnd{Buffers: 2, Bytes: 900, Fill: []int{800, -1, 100}}},
			{From: End{"source", 0}, To: End{"slow-map", 1}, Kind: "remote", Producer: ProducerEnd{Buffers: 4, Bytes: 4000},
				Consumer: &ConsumerEnd{Queued: 7, QueuedBytes: 7000}},
		},
	}
	for _, v := range []struct{ id, name string }{{"source", "Source: source"}, {"slow-map", "slow-map -> discard: Writer"}} {
		vertex := Vertex{ID: v.id, Name: v.name, Parallelism: 2, Operators: strings.Split(v.name, " -> ")}
		for i := range 2 {
			t := Subtask{Index: i, TaskManager: i, DebloatedBufferSize: 4096, EstimatedTimeToConsumeBuffers: 1302,
				LatencyMs: &Latency{P50: 702, P95: 1209.4, P99: 1300, Max: 1400, Count: 31}, Accumulated: &Accumulated{Busy: 37359}}
			t.NumRecordsIn, t.Rates.NumRecordsIn, t.Recent.NumRecordsIn = 33756, 504.75, 1000
			t.Reported = &Reported{NumBytesInLocal: 71991.85, NumBytesInRemote: 69185.2, NumMails: 3.5, NumFiredTimers: 6, InitializationMs: 139, SourceIdleMs: 70}
			for k := range vertex.Operators {
				t.Reported.Operators = append(t.Reported.Operators, OperatorRecords{In: int64(100 + k), Out: int64(101 + k), InPerSecond: 504.75})
			}
			vertex.Subtasks = append(vertex.Subtasks, t)
		}
		s.Vertices = append(s.Vertices, vertex)
	}
	return s
}

// What public dashboards ask for is written, as far as the engine has it, and each family stands once for all jobs.
func TestPrometheusFamilies(t *testing.T) {
	var b strings.Builder
	err := Prometheus(&b, []JobReadings{
		{ID: FlinkID("a"), Name: "MetricNames", Snapshot: flagship()},
		{ID: FlinkID("b"), Snapshot: flagship()}, {ID: "none yet"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`
		flink_jobmanager_job_uptime flink_jobmanager_job_numRestarts flink_jobmanager_job_lastCheckpointDuration
		flink_jobmanager_job_lastCheckpointSize flink_jobmanager_job_numberOfFailedCheckpoints
		flink_taskmanager_job_task_isBackPressured flink_taskmanager_job_task_busyTimeMsPerSecond
		flink_taskmanager_job_task_backPressuredTimeMsPerSecond flink_taskmanager_job_task_numRecordsInPerSecond
		flink_taskmanager_job_task_Shuffle_Netty_Input_Buffers_inputQueueLength
		flink_taskmanager_job_task_Shuffle_Netty_Input_0_debloatedBufferSize
		flink_taskmanager_job_task_checkpointAlignmentTime`) {
		if n := strings.Count(b.String(), "# TYPE "+name+" "); n != 1 {
			t.Errorf("family %s stands %d times", name, n)
		}
	}
	samples := map[string]bool{}
	for line := range strings.Lines(b.String()) {
		name, _, _ := strings.Cut(line, "} ")
		if samples[name] {
			t.Errorf("a sample stands twice: %s", name)
		}
		samples[name] = true
	}
}

func TestPrometheusValues(t *testing.T) {
	var b strings.Builder
	id := FlinkID("job")
	if err := Prometheus(&b, []JobReadings{{ID: id, Name: "Metric Names", Snapshot: flagship()}}); err != nil {
		t.Fatal(err)
	}
	task := func(vertex, name string, i int) string {
		return fmt.Sprintf(`{job_id="%s",task_id="%s",task_attempt_id="%s_%s_%d_1",host="",task_name="%s",task_attempt_num="1",`+
			`job_name="Metric_Names",tm_id="%s_%d",subtask_index="%d",}`,
			id, FlinkID(vertex), FlinkID(id), FlinkID(vertex), i, name, id, i, i)
	}
	slow0, slow1 := task("slow-map", "slow_map____discard:_Writer", 0), task("slow-map", "slow_map____discard:_Writer", 1)
	source0 := task("source", "Source:_source", 0)
	operator := func(task, id, name string) string {
		return strings.Replace(task, `host="",`, `host="",operator_id="`+FlinkID(id)+`",operator_name="`+name+`",`, 1)
	}
	writer0 := operator(slow0, "slow-map discard: Writer", "discard:_Writer")
	tm := `{host="",tm_id="` + id + `_0",}`
	for _, line := range []string{
		`flink_jobmanager_job_numberOfCompletedCheckpoints{job_id="` + id + `",host="localhost",job_name="Metric_Names",} 8.0`,
		`flink_jobmanager_job_lastCheckpointCompletedTimestamp{job_id="` + id + `",host="localhost",job_name="Metric_Names",} 1.795979328554E12`,
		`flink_taskmanager_job_task_numRecordsIn` + slow0 + ` 33756.0`,
		`flink_taskmanager_job_task_numRecordsInPerSecond` + slow0 + ` 504.75`,
		`flink_taskmanager_job_task_checkpointAlignmentTime` + slow0 + ` 2.17188719E8`,
		`flink_taskmanager_job_task_checkpointStartDelayNanos` + slow0 + ` 7.05E8`,
		`flink_taskmanager_job_task_currentInputWatermark` + slow0 + ` -9.223372036854776E18`,
		`flink_jobmanager_job_uptime{job_id="` + id + `",host="localhost",job_name="Metric_Names",} 37974.0`,
		`flink_jobmanager_job_lastCheckpointMetadataSize{job_id="` + id + `",host="localhost",job_name="Metric_Names",} 1552.0`,
		`flink_jobmanager_job_lastCheckpointRestoreTimestamp{job_id="` + id + `",host="localhost",job_name="Metric_Names",} -1.0`,
		`flink_taskmanager_job_task_numBytesInPerSecond` + slow0 + ` 141177.05`,
		`flink_taskmanager_job_task_Shuffle_Netty_Input_numBytesInRemotePerSecond` + slow0 + ` 69185.2`,
		`flink_taskmanager_job_task_mailboxLatencyMs_count` + slow0 + ` 0.0`,
		`flink_taskmanager_job_task_operator_numRecordsIn` + operator(slow0, "slow-map", "slow_map") + ` 100.0`,
		`flink_taskmanager_job_task_operator_numRecordsIn` + writer0 + ` 101.0`,
		`flink_taskmanager_job_task_operator_currentInputWatermark` + writer0 + ` -9.223372036854776E18`,
		`flink_taskmanager_job_task_operator_sourceIdleTime` + operator(source0, "source", "Source:_source") + ` 70.0`,
		`flink_taskmanager_Status_Shuffle_Netty_UsedMemory` + tm + ` 720896.0`,
		`flink_taskmanager_Status_Shuffle_Netty_AvailableMemory` + tm + ` 6.6387968E7`,
		`flink_taskmanager_Status_Shuffle_Netty_RequestedMemoryUsage` + tm + ` 0.0`,
		`flink_taskmanager_Status_Flink_Memory_Managed_Total` + tm + ` 1.34217728E8`,
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

// The quantiles are those of the last sixty waits, and the count is that of all.
func TestWaits(t *testing.T) {
	var w Waits
	if l := w.Summary(); l.Count != 0 || !math.IsNaN(l.P50) {
		t.Errorf("without a wait %+v", l)
	}
	w.Record(3e6)
	if l := w.Summary(); l.Count != 1 || l.P50 != 3 || l.Quantiles != [...]float64{3, 3, 3, 3, 3, 3} {
		t.Errorf("after one wait %+v", l)
	}
	w.Record(9e9) // leaves the window
	for i := range lastWaits {
		w.Record(int64(lastWaits-i) * 1e6)
	}
	l := w.Summary()
	if want := [...]float64{31, 46, 58, 59, 60, 60}; l.Count != 62 || w.Count() != 62 || l.Max != 60 || l.Quantiles != want || l.P99 != 60 {
		t.Errorf("%+v, expected %v", l, want)
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
