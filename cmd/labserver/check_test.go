package main

import (
	"archive/zip"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/exercises"
	"weir/exercises/kit"
	"weir/exercises/kit/runner"
	"weir/exercises/kit/sandbox"
)

// asLabserver in the environment has this program be labserver.
const asLabserver = "TEST_AS_LABSERVER"

func TestMain(m *testing.M) {
	sandbox.RunChild()
	if os.Getenv(asLabserver) != "" {
		main()
	}
	os.Exit(m.Run())
}

// rightCore is a right solution, as a learner would have it.
func rightCore(t *testing.T) []byte {
	t.Helper()
	source, err := os.ReadFile("../../exercises/10-debloater/solutions/right/core.go")
	if err != nil {
		t.Fatal(err)
	}
	return kit.Local(source)
}

func TestNewWritesAModuleThatNeedsNothing(t *testing.T) {
	dir := t.TempDir()
	out, errs, status := labserver(t, "", "new", "debloater", "--dir", dir)
	folder := filepath.Join(dir, "debloater")
	if status != 0 || errs != "" || out != folder+"\n" {
		t.Fatalf("new: %d %q %q", status, out, errs)
	}
	for _, name := range []string{"core.go", "go.mod", "api/api.go", "wire/wire.go", "task.en.md", "task.zh.md"} {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || len(b) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(string(b), `"weir/`) {
			t.Errorf("%s imports ours", name)
		}
	}

	core := filepath.Join(folder, kit.CoreFile)
	if err := os.WriteFile(core, []byte("package core // mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, status = labserver(t, "", "new", "debloater", "--dir", dir)
	if b, _ := os.ReadFile(core); status != 0 || !strings.Contains(errs, "kept") || !strings.Contains(errs, "core.go") || !strings.Contains(string(b), "mine") {
		t.Errorf("again: %d %q, core.go: %s", status, errs, b)
	}
	_, errs, status = labserver(t, "", "new", "debloater", "--dir", dir, "--force")
	if b, _ := os.ReadFile(core); status != 0 || !strings.Contains(errs, "overwritten") || strings.Contains(string(b), "mine") {
		t.Errorf("with --force: %d %q, core.go: %s", status, errs, b)
	}
}

// TestCheckAllSaysWhatIsMissing has no work at all: every exercise says what it waits for.
func TestCheckAllSaysWhatIsMissing(t *testing.T) {
	out, errs, status := labserver(t, "", "check", "all", "--dir", t.TempDir(), "--format", "json")
	var r runner.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 1 {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	if len(r.Exercises) != len(exercises.All()) || r.Engine == "" || r.Version == "" || !strings.Contains(errs, "not passed") {
		t.Errorf("%d exercises, engine %q, version %q, said %q", len(r.Exercises), r.Engine, r.Version, errs)
	}
	for _, e := range r.Exercises {
		file := map[kit.Kind]string{kit.Code: "core.go", kit.Predict: "answer.json", kit.Live: "run.weir"}[e.Kind]
		if e.Status != kit.NotRun || !strings.Contains(e.Problem, file) || len(e.Checks) == 0 || e.MaxPoints == 0 || e.Points != 0 {
			t.Errorf("%s: %s %q, %d of %d points", e.ID, e.Status, e.Problem, e.Points, e.MaxPoints)
		}
		for _, c := range e.Checks {
			if c.Hidden && (c.Name != "" || c.ID != "") {
				t.Errorf("%s tells of the hidden check %s %s", e.ID, c.ID, c.Name)
			}
		}
	}
}

// TestCheckJudges goes through a starter, a right solution, and each format.
func TestCheckJudges(t *testing.T) {
	dir := t.TempDir()
	if _, errs, status := labserver(t, "", "new", "debloater", "--dir", dir); status != 0 {
		t.Fatal(errs)
	}
	out, errs, status := labserver(t, "", "check", "--dir", dir, "--lang", "en")
	for _, s := range []string{"debloater: failed", "expected", "seen", "where", "try", "again    labserver check debloater --dir ", "not run", "a hidden check", "0 of 1 exercises passed"} {
		if !strings.Contains(out, s) {
			t.Errorf("the text report does not say %q: %s", s, out)
		}
	}
	if status != 1 || !strings.Contains(errs, "not passed: 1 of 1") {
		t.Errorf("the starter: status %d, %q", status, errs)
	}
	if out, _, _ = labserver(t, "", "check", "--dir", dir, "--lang", "zh"); !strings.Contains(out, "期望") || !strings.Contains(out, "未运行") || !strings.Contains(out, "隐藏检查") {
		t.Errorf("in Chinese: %s", out)
	}

	out, _, _ = labserver(t, "", "check", "debloater", "--dir", dir, "--format", "junit")
	var suites struct {
		Tests, Failures, Skipped int `xml:",attr"`
		Suites                   []struct {
			Cases []struct {
				Failure *struct{} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(strings.NewReplacer("tests=", "Tests=", "failures=", "Failures=", "skipped=", "Skipped=").Replace(out)), &suites); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	failed, skipped := 0, 0
	for _, c := range suites.Suites[0].Cases {
		if c.Failure != nil {
			failed++
		}
		if c.Skipped != nil {
			skipped++
		}
	}
	if failed == 0 || skipped == 0 || failed != suites.Failures || skipped != suites.Skipped || suites.Tests != len(suites.Suites[0].Cases) {
		t.Errorf("JUnit: %d failures and %d skipped of %+v", failed, skipped, suites)
	}

	if err := os.WriteFile(filepath.Join(dir, "debloater", kit.CoreFile), rightCore(t), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, status = labserver(t, "", "check", "debloater", "--dir", dir, "--format", "gradescope", "--only", "average")
	var g struct {
		Score int
		Tests []struct {
			Status          string
			Score, MaxScore int
		}
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(out, "max_score", "maxScore")), &g); err != nil || status != 1 {
		t.Fatalf("%d %v: %s%s", status, err, out, errs)
	}
	if i := slices.IndexFunc(g.Tests, func(c struct {
		Status          string
		Score, MaxScore int
	}) bool {
		return c.Status == "passed"
	}); i < 0 || g.Score != g.Tests[i].MaxScore || g.Score == 0 {
		t.Errorf("Gradescope: %+v", g)
	}
	if out, errs, status = labserver(t, "", "check", "debloater", "--dir", dir); status != 0 || !strings.Contains(out, "1 of 1 exercises passed") {
		t.Errorf("the right solution: %d %s%s", status, out, errs)
	}
	// A single exercise's file may lie in the folder itself.
	if out, _, status = labserver(t, "", "check", "debloater", "--dir", filepath.Join(dir, "debloater")); status != 0 {
		t.Errorf("inside of its folder: %d %s", status, out)
	}
}

func TestCheckRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		says []string
	}{
		{"check debloatr --dir " + dir, []string{`no exercise "debloatr"`, "did you mean debloater?"}},
		{"check --dir " + dir, []string{"no folder of an exercise", "labserver new"}},
		{"check all debloater --dir " + dir, []string{"all is every exercise"}},
		{"check debloater --dir " + dir + "/none", []string{"--dir", "exists"}},
		{"check debloater --format xml", []string{"--format", `"xml"`, "junit"}},
		{"check debloater --lang fr", []string{"--lang", "zh"}},
		{"check debloater --only nothing", []string{"--only", "nothing", "average"}},
		{"check all --only average", []string{"--only"}},
		{"check debloater --submit http://x", []string{"--token"}},
		{"check debloater --submit class --token t", []string{"--submit", "http://"}},
		{"check --autograder x.zip", []string{"--autograder", "EXERCISE"}},
		{"new", []string{"needs an EXERCISE"}},
		{"new debloatr", []string{"did you mean debloater?"}},
	} {
		out, errs, status := labserver(t, "", strings.Fields(c.args)...)
		if status != 2 || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: %d %q %q", c.args, status, out, errs)
		}
		for _, s := range c.says {
			if !strings.Contains(errs, s) {
				t.Errorf("%s: %q does not say %q", c.args, errs, s)
			}
		}
	}
}

// TestCheckReportsToAClass has a server that fails at first: the result comes again with the same id.
func TestCheckReportsToAClass(t *testing.T) {
	defer func(d time.Duration) { submitPause = d }(submitPause)
	submitPause = time.Millisecond
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, kit.CoreFile), []byte("package core\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []map[string]any
	answers := []int{http.StatusBadGateway, http.StatusTooManyRequests, http.StatusCreated, http.StatusUnauthorized}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var one map[string]any
		b, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(b, &one); err != nil || r.URL.Path != "/api/v1/class/results" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		got = append(got, one)
		w.WriteHeader(answers[len(got)-1])
	}))
	defer server.Close()
	_, errs, _ := labserver(t, "", "check", "debloater", "--dir", dir, "--submit", server.URL, "--token", "secret")
	if len(got) != 3 || !strings.Contains(errs, "not passed") {
		t.Fatalf("%d tries: %s", len(got), errs)
	}
	last := got[2]
	if last["id"] == "" || got[0]["id"] != last["id"] || got[1]["id"] != last["id"] {
		t.Errorf("ids %v %v %v", got[0]["id"], got[1]["id"], last["id"])
	}
	work, _ := last["work"].(map[string]any)
	if last["exercise"] != "debloater" || last["status"] != "failed" || last["points"] != 0.0 || last["maxPoints"] == 0.0 || work["core"] != "package core\n" || work["digest"] == "" {
		t.Errorf("%v", last)
	}
	_, errs, status := labserver(t, "", "check", "debloater", "--dir", dir, "--submit", server.URL, "--token", "secret")
	if status != 1 || len(got) != 4 || !strings.Contains(errs, "does not know this token") {
		t.Errorf("with a token that is none: %d, %d tries, %s", status, len(got), errs)
	}
}

func TestAutograder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grader.zip")
	if _, errs, status := labserver(t, "", "check", "debloater", "--autograder", file); status != 0 {
		t.Skipf("not on this machine: %s", errs)
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	names := map[string]bool{}
	for _, f := range z.File {
		names[f.Name] = true
		if f.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be run", f.Name)
		}
		if f.Name == "labserver" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil || strings.Contains(string(b), "@") && strings.Contains(string(b), "@EXERCISES@") || !strings.Contains(string(b), "debloater") {
			t.Errorf("%s: %v %s", f.Name, err, b)
		}
	}
	if !names["setup.sh"] || !names["run_autograder"] || !names["labserver"] {
		t.Errorf("the zip has %v", names)
	}
	if _, errs, status := labserver(t, "", "check", "debloater", "--autograder", file); status != 2 || !strings.Contains(errs, "already") {
		t.Errorf("again: %d %s", status, errs)
	}
}
