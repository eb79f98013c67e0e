package job_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/network"
)

// scraped are the samples of one job, by family, task and operator: those of all subtasks added up.
type scraped map[string]float64

func scrape(t *testing.T, j *job.Job) scraped {
	t.Helper()
	var b bytes.Buffer
	if err := metric.Prometheus(&b, []metric.JobReadings{{ID: "job", Snapshot: j.Snapshot()}}); err != nil {
		t.Fatal(err)
	}
	s := scraped{}
	for line := range strings.Lines(b.String()) {
		name, rest, ok := strings.Cut(line, "{")
		if !ok || strings.Contains(rest, "quantile=") {
			continue
		}
		all, number, _ := strings.Cut(rest, "} ")
		key := strings.TrimPrefix(name, "flink_")
		for _, l := range []string{"operator_name", "task_name"} {
			if _, after, ok := strings.Cut(all, l+`="`); ok {
				value, _, _ := strings.Cut(after, `"`)
				key += " " + value
				break
			}
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			t.Fatal(line, err)
		}
		s[key] += v
	}
	return s
}

// near says that two readings differ by at most a twentieth: they are not taken at one moment, and tasks go on between.
func near(a, b float64) bool { return math.Abs(a-b) <= 0.05*max(math.Abs(a), math.Abs(b)) }

// What Flink's reporters tell moves with the job, and goes on over a change of its parallelism.
func TestReportedMovesWithTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := flagshipSettings()
		s.Transport = "memory"
		j := start(t, flagship(), s, job.Options{})
		time.Sleep(10*time.Second + time.Millisecond)
		before := scrape(t, j)
		time.Sleep(time.Minute)
		after := scrape(t, j)

		const (
			task      = "taskmanager_job_task_"
			input     = task + "Shuffle_Netty_Input_"
			slow      = " slow_map____Sink:_Writer"
			operators = task + "operator_"
			network   = "taskmanager_Status_Shuffle_Netty_"
		)
		// Flink's rates are those of the counters over the last minute.
		for _, m := range []struct{ rate, counter string }{
			{task + "numBytesInPerSecond" + slow, task + "numBytesIn" + slow},
			{task + "numBytesInLocalPerSecond" + slow, task + "numBytesInLocal" + slow},
			{input + "numBytesInRemotePerSecond" + slow, input + "numBytesInRemote" + slow},
			{operators + "numRecordsInPerSecond Sink:_Writer", operators + "numRecordsIn Sink:_Writer"},
			{operators + "numRecordsOutPerSecond Source:_source", operators + "numRecordsOut Source:_source"},
			{task + "mailboxMailsPerSecond" + slow, task + "mailboxLatencyMs_count" + slow},
		} {
			want := (after[m.counter] - before[m.counter]) / 60
			if got := after[m.rate]; want <= 0 || !near(got, want) {
				t.Errorf("%s is %g, and the counter went from %g to %g", m.rate, got, before[m.counter], after[m.counter])
			}
		}
		// The slow map works for 1 ms a record, and hands each on.
		in, out, sink := after[operators+"numRecordsIn slow_map"], after[operators+"numRecordsOut slow_map"], after[operators+"numRecordsIn Sink:_Writer"]
		if !near(out, sink) || !near(in, out) || !near(in, 140_000) || !near(after[task+"numRecordsIn"+slow], in) {
			t.Errorf("the slow map took %g records and gave %g, the sink took %g", in, out, sink)
		}
		for key, want := range map[string]float64{
			"jobmanager_job_uptime": 70_001, "jobmanager_job_runningTime": 70_001, "jobmanager_job_allSubTasksRunningOrFinishedTime": 70_001,
			"jobmanager_job_downtime": 0, "jobmanager_job_numRescales": 0, "jobmanager_job_lastCheckpointRestoreTimestamp": -1,
			network + "TotalMemory": float64(s.NetworkMemoryBytes) * float64(s.TaskManagers),
		} {
			if after[key] != want {
				t.Errorf("%s is %g, expected %g", key, after[key], want)
			}
		}
		if used, free := after[network+"UsedMemorySegments"], after[network+"AvailableMemorySegments"]; used <= 0 || used+free != after[network+"TotalMemorySegments"] {
			t.Errorf("%g segments are used and %g free, of %g", used, free, after[network+"TotalMemorySegments"])
		}
		last := j.Snapshot().Life.LastCompleted
		if last == nil || after["jobmanager_job_lastCompletedCheckpointId"] <= before["jobmanager_job_lastCompletedCheckpointId"] ||
			after["jobmanager_job_lastCheckpointMetadataSize"] <= 0 || after["jobmanager_job_lastCheckpointDuration"] <= 0 ||
			time.Since(time.UnixMilli(last.CompletedAtMs)) > 40*time.Second {
			t.Errorf("the last checkpoint is %+v", last)
		}

		wider := s
		wider.Parallelism = 3
		if err := j.Restart(flagship(), wider); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(2 * time.Second)
		again := scrape(t, j)
		if again["jobmanager_job_numRescales"] != 1 || again["jobmanager_job_numRestarts"] != 1 || again["jobmanager_job_uptime"] != 2000 ||
			again["jobmanager_job_lastCheckpointRestoreTimestamp"] != float64(began.UnixMilli()) ||
			again["jobmanager_job_lastCompletedCheckpointId"] <= after["jobmanager_job_lastCompletedCheckpointId"] {
			t.Errorf("after the rescale: %g rescales, %g restarts, up for %g ms, restored at %g, checkpoint %g", again["jobmanager_job_numRescales"],
				again["jobmanager_job_numRestarts"], again["jobmanager_job_uptime"], again["jobmanager_job_lastCheckpointRestoreTimestamp"],
				again["jobmanager_job_lastCompletedCheckpointId"])
		}
		if err := j.Restart(flagship(), wider); err != nil {
			t.Fatal(err)
		}
		if l := j.Snapshot().Life; l.Rescales != 1 {
			t.Errorf("a restart of the same parallelism counts as a rescale: %+v", l)
		}
	})
}

// Each result of a window was brought by one timer that fired, and watermarks come to the last operator of the chain.
func TestReportedTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runWindows(t, windowSettings(), func(j *job.Job, _ *results) {
			time.Sleep(2 * time.Second)
			s := scrape(t, j)
			const operators = "taskmanager_job_task_operator_"
			for _, key := range []string{"currentOutputWatermark source", "currentInputWatermark windows", "currentInputWatermark collect"} {
				if v := s[operators+key]; v <= 0 || v > 2*6000 {
					t.Errorf("%s is %g over two subtasks", key, v)
				}
			}
			if s[operators+"sourceIdleTime source"] < 0 || s[operators+"numRecordsIn windows"] <= s[operators+"numRecordsIn collect"] {
				t.Errorf("the windows took %g records and gave %g", s[operators+"numRecordsIn windows"], s[operators+"numRecordsIn collect"])
			}
			<-j.Done()
			var fired, results int64
			for _, x := range counts(j.Snapshot()).Subtasks {
				fired, results = fired+x.Reported.NumFiredTimers, results+x.EventTime.Windows.Results
			}
			if fired == 0 || fired != results {
				t.Errorf("%d timers fired for %d results", fired, results)
			}
		})
	})
}

// While a job waits to be started again it is down, and not up.
func TestReportedDowntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faultSettings("memory")
		s.RestartStrategy, s.RestartDelayMs, s.RestartAttempts = job.FixedDelay, 3_600_000, 5
		j := start(t, counting(0), s, job.Options{})
		time.Sleep(3 * time.Second)
		if l := j.Snapshot().Life; l.RunningMs != 3000 || l.AllRunningMs != 3000 || l.RestartingMs != 0 {
			t.Errorf("running: %+v", l)
		}
		if err := j.Inject(network.CutConnection, 0, 1); err != nil {
			t.Fatal(err)
		}
		until(t, j, "restarting", inState("RESTARTING"))
		before := j.Snapshot().Life
		time.Sleep(2 * time.Second)
		if l := j.Snapshot().Life; l.RunningMs != 0 || l.AllRunningMs != 0 || l.RestartingMs != before.RestartingMs+2000 || l.LastCompleted == nil {
			t.Errorf("restarting: %+v, before %+v", l, before)
		}
	})
}
