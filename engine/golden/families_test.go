package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// notHere are the families of real Flink that the engine has nothing to tell of, by what their names begin with.
var notHere = map[string][]string{
	"Java's machine": {"jobmanager_Status_JVM_", "taskmanager_Status_JVM_"},
	"slots":          {"jobmanager_taskSlots"},
	"states that a job is never seen in": {"jobmanager_job_createdTime", "jobmanager_job_deployingTime", "jobmanager_job_initializingTime",
		"jobmanager_job_cancellingTime", "jobmanager_job_failingTime"},
	"an enumerator, which deals splits while the job runs": {"jobmanager_job_operator_coordinator_enumerator_"},
	"the changelog state backend":                          {"taskmanager_job_task_changelogBusyTimeMsPerSecond"},
	"event times that are times of the day":                {"taskmanager_job_task_operator_currentEmitEventTimeLag"},
	"gauges of a single split":                             {"taskmanager_job_task_operator_split_watermark_"},
	"what connectors count of another system": {"taskmanager_job_task_operator_numBytes", "taskmanager_job_task_operator_numRecordsInErrors",
		"taskmanager_job_task_operator_numRecordsOutErrors", "taskmanager_job_task_operator_numRecordsSend"},
}

// Each family of real Flink is either written or left out for a reason that stands above, and no reason is idle.
func TestEveryFamilyIsDecided(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(files, "prometheus_exposition.txt"))
	if err != nil {
		t.Fatal(err)
	}
	flink, _, err := parseExposition(string(data))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := emitted()
	if err != nil {
		t.Fatal(err)
	}
	written, used := map[string]bool{}, map[string]bool{}
	for _, f := range ours {
		written[f.name] = true
	}
	for _, f := range flink {
		left := ""
		for why, prefixes := range notHere {
			for _, p := range prefixes {
				if strings.HasPrefix(f.name, "flink_"+p) {
					left, used[p] = why, true
				}
			}
		}
		if written[f.name] == (left != "") {
			t.Errorf("%s is written: %v, left out: %q; expected one of the two", f.name, written[f.name], left)
		}
	}
	for why, prefixes := range notHere {
		for _, p := range prefixes {
			if !used[p] {
				t.Errorf("no family begins with %s (%s)", p, why)
			}
		}
	}
	if len(flink) != 185 {
		t.Errorf("the file has %d families, expected 185", len(flink))
	}
}
