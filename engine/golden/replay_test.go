package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One value of each real file is changed, and the file renamed: the case is named, and what is wrong with it.
func TestReplayNamesTheCaseThatWasChanged(t *testing.T) {
	for _, c := range []struct{ file, old, changed, says string }{
		{"keygroups.json", `"murmur":68075478`, `"murmur":68075479`, "the murmur is 68075478, expected 68075479"},
		{"keygroup_ranges.json", `"error":{"class":"java.lang.IllegalArgumentException"`, `"error":{"class":"java.lang.Error"`, "java.lang.Error"},
		{"serialized_records.json", `"dataType":"END_OF_DATA"`, `"dataType":"EVENT_BUFFER"`, "the data type is END_OF_DATA"},
		{"redistribute.json", `"sizes":[5,5]`, `"sizes":[6,4]`, "case 0: step 1 create: the size of pool 0 is 5, expected 6"},
		{"redistribute.json", `"subpartitions":1,"min":2`, `"subpartitions":1,"min":3`, "case 34: the least and the most"},
		{"local_buffer_pool.json", `{"op":["request",1,1],"state":[1,2,3,1,12,`, `{"op":["request",1,1],"state":[1,2,3,1,13,`, "case 0: step 2 "},
		{"local_buffer_pool.json", `["request",0,null]`, `["request",0,7777]`, "granted: false, expected true"},
		{"debloater.json", `[64000,10,24069,24069,3760]`, `[64000,10,24069,24069,3761]`, "case 25: step 3"},
		{"debloater.json", `Size of buffer should be non negative`, `Size of buffer must not be negative`, "case 14: the error"},
		{"timer_gauge.json", `["update",250,2500,2500,0,0]`, `["update",250,2500,2500,1,0]`, "case 0: step 5"},
		{"netty_frames.json", `"bufferSize":23369`, `"bufferSize":23370`, "case 2: what was decoded"},
		{"netty_frames.json", `"payload":"b18f3a52ad71"`, `"payload":"b18f3a52ad"`, "case 8: "},
		{"metric_names.json", `"busyTimeMsPerSecond",`, `"busyMsPerSecond",`, "case 0: "},
		{"metric_names.json", `"isBackPressured",`, ``, "case 0: the number of names is 89, expected 90"},
		{"composite_key.json", `"maxParallelism":129,"bytes":2`, `"maxParallelism":129,"bytes":1`, "the number of bytes is 2, expected 1"},
		{"composite_key.json", `"5e00000000000000000003756b"`, `"5e00000000000000000003756c"`, "the bytes is 5e00000000000000000003756b"},
		{"composite_key.json", `"keyGroup":94,"keyType":"Long","key":"0"`, `"keyGroup":93,"keyType":"Long","key":"0"`, "the key group is 94, expected 93"},
		{"composite_key.json", `"serializer":"StringSerializer","getLength":-1`, `"serializer":"StringSerializer","getLength":8`, "the length is -1, expected 8"},
		{"operator_state_repartition.json", `"result":[{"s":[[0,0],[0,1]]}`, `"result":[{"s":[[0,0],[1,1]]}`, "what new subtask 0 gets is map[s:[0,0 0,1]], expected map[s:[0,0 1,1]]"},
		{"experiments.json", `"keysPerSubtask":[510,490]`, `"keysPerSubtask":[500,500]`, "hashmap: the number of keys of each subtask is [510 490], expected [500 500]"},
		{"experiments.json", `"keysPerSubtask":[359,311,330]`, `"keysPerSubtask":[359,330,311]`, "hashmap: the number of keys of each subtask is [359 311 330]"},
		{"experiments.json", `"stateBytes":1058746`, `"stateBytes":1258746`, "hashmap: the size of a checkpoint"},
		{"experiments.json", `128 to 256 is refused`, `128 to 128 is refused`, "max parallelism 128 is taken for 128"},
		{"prometheus_exposition.txt", "# TYPE flink_taskmanager_job_task_isBackPressured gauge", "# TYPE flink_taskmanager_job_task_isBackPressured counter", "the type is gauge, expected counter, in flink_taskmanager_job_task_isBackPressured"},
		{"prometheus_exposition.txt", "flink_jobmanager_job_uptime", "flink_jobmanager_job_upTime", "the file has no family flink_jobmanager_job_uptime"},
	} {
		t.Run(c.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(files, c.file))
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			if strings.HasSuffix(c.file, ".json") { // however the file is laid out
				var compact bytes.Buffer
				if err := json.Compact(&compact, data); err != nil {
					t.Fatal(err)
				}
				text = compact.String()
			}
			n := 1
			if strings.HasSuffix(c.file, ".txt") {
				n = -1
			}
			changed := strings.Replace(text, c.old, c.changed, n)
			if changed == text {
				t.Fatalf("the file has no %s", c.old)
			}
			report, err := Replay(put(t, "renamed"+filepath.Ext(c.file), changed))
			if err != nil {
				t.Fatal(err)
			}
			if report.Wrong < 1 || !strings.HasPrefix(report.FirstWrong, "case ") || !strings.Contains(report.FirstWrong, c.says) {
				t.Errorf("%+v, expected %q", report, c.says)
			}
		})
	}
}

func put(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayRefuses(t *testing.T) {
	for _, c := range []struct {
		name, content string
		unknown       bool
		says          string
	}{
		{"x.json", `{"cases":[{"kind":"Long"}]}`, true, "keygroups.json, "},
		{"x.json", `[]`, true, "no golden file of a known sort"},
		{"x.json", `{}`, true, "no golden file of a known sort"},
		{"x.json", ``, false, "no JSON"},
		{"x.json", `{"cases":[{"kind":"ema"`, false, "no JSON: unexpected end of JSON input at byte 23"},
		{"README.md", `# Golden vectors`, true, "no golden file of a known sort"},
		{"debloater.json", `{"cases":[{"kind":"ema"`, false, "unexpected end of JSON input"},
		{"debloater.json", `{"cases":[]}`, false, "it has no cases"},
		{"x.json", `{"runs":[],"state":7}`, false, "its state experiment"},
		{"experiments.json", `{}`, false, "it has no state experiment"},
		{"debloater.json", `{}`, false, "it has no cases"},
		{"prometheus_exposition.txt", "<html>", false, `line 1 "<html>": expected HELP`},
		{"x.txt", "# HELP flink_a b\n# TYPE flink_b gauge\n", false, "line 2"},
		{"x.txt", "# HELP flink_a b\nflink_b 7\n", false, "line 2"},
		{"x.txt", "# HELP flink_a b\n# HELP flink_a b\n", false, "the family stands twice"},
	} {
		path := put(t, c.name, c.content)
		_, err := Replay(path)
		if err == nil || errors.Is(err, ErrUnknown) != c.unknown || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s %q: %v", c.name, c.content, err)
		}
	}
	if _, err := Replay(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Replay(put(t, "large.json", strings.Repeat(" ", maxFileBytes+1))); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// The name decides where the content does not: each case of such a file is wrong.
func TestReplayByName(t *testing.T) {
	report, err := Replay(put(t, "timer_gauge.json", `{"cases":[{"steps":[]},{"a":1}]}`))
	if err != nil || report.Cases != 2 || report.Wrong != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}

// FuzzReplay: whatever a file holds, there is a report or an error.
func FuzzReplay(f *testing.F) {
	for _, s := range sorts {
		f.Add(s.name, []byte(`{"cases":[{"kind":"pools","total":3,"segmentSize":9,"steps":[{"op":"create","required":1,"max":-1}]}]}`))
		f.Add(s.name, []byte(fmt.Sprintf(`{"cases":[{"kind":%q,"steps":[["advance",1],[1,2,3],{}]}]}`, append(s.kinds, "")[0])))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		s, err := sortOf(name, data)
		if err != nil {
			return
		}
		if report, err := s.replay(data); err == nil && (report.Wrong > 0) != (report.FirstWrong != "") {
			t.Errorf("%+v", report)
		}
	})
}
