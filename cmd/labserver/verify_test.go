package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goldenFolder = "../../testdata/golden"

// All golden files of the folder in one go, each with a line that says that none is wrong.
func TestVerifyFolder(t *testing.T) {
	out, errs, status := labserver(t, "", "verify", goldenFolder, "--json")
	if status != 0 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	seen := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var v verified
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if err := json.Unmarshal([]byte(line), &fields); err != nil || len(fields) != 4 || v.Cases == 0 || v.Wrong != 0 || v.FirstWrong != "" {
			t.Errorf("%s (%v)", line, err)
		}
		seen[filepath.Base(v.File)] = true
	}
	for _, name := range []string{"keygroups.json", "keygroup_ranges.json", "serialized_records.json", "redistribute.json", "local_buffer_pool.json",
		"debloater.json", "timer_gauge.json", "netty_frames.json", "metric_names.json", "prometheus_exposition.txt",
		"composite_key.json", "operator_state_repartition.json", "experiments.json"} {
		if !seen[name] {
			t.Errorf("%s was not verified: %v", name, seen)
		}
	}
}

// Files of another sort in a folder are named, and left out.
func TestVerifyLeavesOutOtherFiles(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(goldenFolder, "timer_gauge.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"mine.json": string(data), "other.json": `{"a":1}`, "README.txt": "words"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, status := labserver(t, "", "verify", dir)
	if want := filepath.Join(dir, "mine.json") + ": 22 cases, none wrong\n"; status != 0 || out != want {
		t.Errorf("status %d, %q, expected %q", status, out, want)
	}
	if !strings.Contains(errs, "left out") || !strings.Contains(errs, "other.json") || !strings.Contains(errs, "README.txt") || strings.Contains(errs, "mine.json") {
		t.Errorf("%q", errs)
	}
}

// A changed value is reported with its case, beside a file that is right.
func TestVerifyReportsAChangedValue(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(goldenFolder, "netty_frames.json"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), "5b49", "5b48", 1) // a buffer size of 23369
	path := write(t, "mine.json", changed)
	good := filepath.Join(goldenFolder, "timer_gauge.json")

	out, errs, status := labserver(t, "", "verify", good, path)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 1 || len(lines) != 2 || lines[0] != good+": 22 cases, none wrong" ||
		!strings.HasPrefix(lines[1], path+": 55 cases, 1 wrong; first case 2: ") || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, path) {
		t.Errorf("status %d, %s\n%s", status, out, errs)
	}
	out, _, status = labserver(t, "", "verify", path, "--json")
	var v verified
	if err := json.Unmarshal([]byte(out), &v); err != nil || status != 1 || v.File != path || v.Cases != 55 || v.Wrong != 1 || !strings.HasPrefix(v.FirstWrong, "case 2: ") {
		t.Errorf("status %d, %v, %s", status, err, out)
	}
}

func TestVerifyRefusals(t *testing.T) {
	broken := write(t, "netty_frames.json", `{"cases":[{`)
	other := write(t, "other.json", `{"a":1}`)
	both := filepath.Dir(write(t, "netty_frames.json", `{"cases":[{`))
	if err := os.WriteFile(filepath.Join(both, "other.json"), []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"no path", nil, 2, []string{"needs a PATH"}},
		{"a path that is none", []string{"nosuch"}, 2, []string{"nosuch"}},
		{"an unknown flag", []string{"--jsonn", other}, 2, []string{"--jsonn", "labserver verify --help"}},
		{"an empty folder", []string{t.TempDir()}, 2, []string{"no .json"}},
		{"a folder with nothing golden", []string{filepath.Dir(other)}, 2, []string{"nothing was verified"}},
		{"a file of another sort", []string{other}, 1, []string{other, "no golden file of a known sort", "netty_frames.json"}},
		{"a damaged file", []string{broken}, 1, []string{broken, "unexpected end of JSON"}},
		{"two bad files", []string{broken, other}, 1, []string{broken, other}},
		{"a damaged file beside one that is left out", []string{both}, 1, []string{"netty_frames.json: ", "unexpected end of JSON", "left out", "other.json"}},
		{"a damaged file in a folder", []string{filepath.Dir(broken)}, 1, []string{broken, "unexpected end of JSON"}},
	} {
		out, errs, status := labserver(t, "", append([]string{"verify"}, c.args...)...)
		if status != c.status || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q, %q", c.name, status, out, errs)
		}
		for _, s := range c.says {
			if !strings.Contains(errs, s) {
				t.Errorf("%s: %q does not say %q", c.name, errs, s)
			}
		}
	}
}
