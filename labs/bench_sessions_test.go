package labs

import (
	"slices"
	"testing"

	"weir/engine/metric"
)

func TestJudgeSession(t *testing.T) {
	at := func(ms, records int64, pressed float64, checkpoints ...metric.Checkpoint) *metric.Snapshot {
		s := &metric.Snapshot{State: "RUNNING", TimeMs: ms, Checkpoints: checkpoints, Vertices: []metric.Vertex{{ID: "source", Subtasks: []metric.Subtask{{}, {}}}, {ID: "slow-map"}}}
		s.Totals.RecordsProcessed = records
		s.Vertices[0].Subtasks[0].Recent.BackPressured = 1000
		s.Vertices[0].Subtasks[1].Recent.BackPressured = pressed
		return s
	}
	done := func(trigger, took int64) metric.Checkpoint {
		return metric.Checkpoint{ID: 1, Status: "COMPLETED", TriggerMs: trigger, EndToEndDurationMs: took}
	}
	alone := &SessionsStep{RecordsPerSecond: 2000, LongestMs: 2000}
	before := at(10_000, 20_000, 1000)
	ended := at(16_000, 32_000, 1000, done(11_000, 2000))
	ended.State = "FAILED"
	for _, c := range []struct {
		name string
		now  *metric.Snapshot
		want []string
	}{
		{"as alone", at(16_000, 32_000, 1000, done(11_000, 2000)), nil},
		{"within the limits", at(16_000, 30_900, 950, done(11_000, 2500)), nil},
		{"a tenth too slow", at(16_000, 30_700, 1000, done(11_000, 2000)), []string{"pace"}},
		{"not pressed", at(16_000, 32_000, 949, done(11_000, 2000)), []string{"backpressure"}},
		{"a long checkpoint", at(16_000, 32_000, 1000, done(11_000, 2501)), []string{"checkpoint time"}},
		{"a long one that was over before", at(16_000, 32_000, 1000, done(11_000, 2000), done(5_000, 4999)), nil},
		{"none", at(16_000, 32_000, 1000), []string{"checkpoint"}},
		{"a failed one", at(16_000, 32_000, 1000, done(11_000, 2000), metric.Checkpoint{Status: "FAILED", TriggerMs: 12_000}), []string{"checkpoint"}},
		{"the end", ended, []string{"ended"}},
	} {
		var got []string
		for _, f := range judgeSession(before, c.now, alone).faults {
			got = append(got, f.What)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if v := judgeSession(before, at(16_000, 32_000, 970, done(11_000, 2000)), nil); v.pace != 2000 || v.pressed != 970 || !slices.Equal(v.durations, []int64{2000}) {
		t.Errorf("read as %+v", v)
	}
}
