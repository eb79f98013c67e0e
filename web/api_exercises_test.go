package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/exercises"
	"weir/exercises/kit"
)

func post(t *testing.T, h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// lastLine is the result of a check.
func lastLine(t *testing.T, b *bytes.Buffer) (status, problem string, lines int) {
	t.Helper()
	var last struct {
		Result *struct{ Status, Problem string }
	}
	for s := bufio.NewScanner(b); s.Scan(); lines++ {
		last.Result = nil
		if err := json.Unmarshal(s.Bytes(), &last); err != nil {
			t.Fatalf("%s: %v", s.Bytes(), err)
		}
	}
	if last.Result == nil {
		t.Fatal("a check without a result")
	}
	return last.Result.Status, last.Result.Problem, lines
}

func TestChecksSayWhatIsMissing(t *testing.T) {
	s := newFakeServer(t)
	if w := post(t, s, "POST", "/api/v1/exercises/nothing/checks", "{}"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown exercise answers %d", w.Code)
	}
	if w := post(t, s, "POST", "/api/v1/exercises/debloater/checks", "{"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("half a body answers %d", w.Code)
	}
	if w := post(t, s, "POST", "/api/v1/exercises/under-target/checks", `{"session":"gone"}`); w.Code != http.StatusNotFound {
		t.Errorf("a session that there is not answers %d", w.Code)
	}
	for _, id := range []string{"debloater", "under-target", "max-parallelism"} {
		w := post(t, s, "POST", "/api/v1/exercises/"+id+"/checks", "{}")
		if status, problem, _ := lastLine(t, w.Body); w.Code != http.StatusOK || status != string(kit.NotRun) || problem == "" {
			t.Errorf("%s without work: %d %q %q", id, w.Code, status, problem)
		}
	}
	w := post(t, s, "POST", "/api/v1/exercises/under-target/checks", `{"record":"AAAA"}`)
	if status, problem, _ := lastLine(t, w.Body); status != string(kit.Failed) || !strings.Contains(problem, "run.weir") {
		t.Errorf("a record that is none: %q %q", status, problem)
	}
}

// Every exercise has its page in both languages, and stands in the list.
func TestExercisePages(t *testing.T) {
	s := newFakeServer(t)
	if !s.assets.built() {
		t.Fatal("the pages are not built: run make pages first")
	}
	for _, lang := range []string{"en", "zh"} {
		list := post(t, s, "GET", "/exercises?lang="+lang, "").Body.String()
		for _, e := range exercises.All() {
			if !strings.Contains(list, `data-exercise="`+e.ID+`"`) || !strings.Contains(list, html.EscapeString(e.Title.In(lang))) {
				t.Errorf("%s: the list lacks %s", lang, e.ID)
			}
			w := post(t, s, "GET", "/exercises/"+e.ID+"?lang="+lang, "")
			page := w.Body.String()
			if w.Code != http.StatusOK || !strings.HasSuffix(page, "</html>") || !strings.Contains(page, html.EscapeString(e.Title.In(lang))) {
				t.Errorf("%s: the page of %s answers %d and ends with %.80q", lang, e.ID, w.Code, page[max(0, len(page)-80):])
			}
			if n := strings.Count(page, `<li class="check"`); n != len(e.Checks) {
				t.Errorf("%s: the page of %s lists %d checks of %d", lang, e.ID, n, len(e.Checks))
			}
			if missing := regexp.MustCompile(`\[[a-z]+\.[a-z.]+\]`).FindString(page); missing != "" {
				t.Errorf("%s: the page of %s has no text for %s", lang, e.ID, missing)
			}
			for i := range e.Checks {
				if e.Checks[i].Hidden && strings.Contains(page, html.EscapeString(e.Checks[i].Name.In(lang))) {
					t.Errorf("%s: the page of %s tells the hidden check %q", lang, e.ID, e.Checks[i].Name.In(lang))
				}
			}
		}
	}
}

func TestProgressIsKeptAndMerged(t *testing.T) {
	dir := t.TempDir()
	f, err := openProgress(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := &Progress{Version: 1, Labs: map[string]LabProgress{"credit": {Step: "run", Done: []string{"predict"}, AtMs: 10}, "no-lab": {}},
		Exercises: map[string]ExerciseProgress{
			"debloater":       {Status: kit.Failed, Points: 5, MaxPoints: 17, Core: "old", AtMs: 10},
			"max-parallelism": {Answer: map[string]any{"what": "a"}, AnsweredMs: 10},
			"no-exercise":     {Points: 1}}}
	second := &Progress{Version: 1, Labs: map[string]LabProgress{"credit": {Step: "explain", Done: []string{"run", "nonsense"}, AtMs: 20}},
		Exercises: map[string]ExerciseProgress{
			"debloater":       {Status: kit.Failed, Points: 3, MaxPoints: 17, Core: "new", AtMs: 20},
			"max-parallelism": {Answer: map[string]any{"what": "b"}, AnsweredMs: 20}}}
	for _, p := range []*Progress{first, second, first} {
		if err := f.change(func(mine *Progress) { mine.merge(p) }); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openProgress(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := again.get()
	if l := p.Labs["credit"]; l.Step != "explain" || strings.Join(l.Done, " ") != "predict run" || len(p.Labs) != 1 {
		t.Errorf("labs %+v", p.Labs)
	}
	if e := p.Exercises["debloater"]; e.Points != 5 || e.Core != "new" {
		t.Errorf("the best result and the newest core stay: %+v", e)
	}
	if e := p.Exercises["max-parallelism"]; e.Answer["what"] != "a" || len(p.Exercises) != 2 {
		t.Errorf("the first answer stays: %+v", p.Exercises)
	}
	if err := os.WriteFile(filepath.Join(dir, "progress.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openProgress(dir); err == nil || !strings.Contains(err.Error(), "progress.json") {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestChineseTasksHaveNoSpacesOfLineEnds: a paragraph that is written on several lines reads as one.
func TestChineseTasksHaveNoSpacesOfLineEnds(t *testing.T) {
	between := regexp.MustCompile(`\p{Han}[\p{Han}，。：；、]?\n[\p{Han}，。：；、]`)
	s := newFakeServer(t)
	for _, e := range exercises.All() {
		page := post(t, s, "GET", "/exercises/"+e.ID+"?lang=zh", "").Body.String()
		if _, task, ok := strings.Cut(page, "<h1"); !ok || !strings.Contains(page, `lang="zh`) {
			t.Errorf("exercise %s: no Chinese page", e.ID)
		} else if m := between.FindString(task); m != "" {
			t.Errorf("exercise %s: a line ends between %q", e.ID, m)
		}
	}
}

// A line's end in a task is a space in English, at a comma too, and in Chinese only beside a Latin word.
func TestLineEndsOfTasks(t *testing.T) {
	for _, c := range []struct{ lang, text, want string }{
		{"en", "Rate, work,\nparallelism", "<p>Rate, work,\nparallelism</p>\n"},
		{"zh", "每一秒，\n每一条", "<p>每一秒，每一条</p>\n"},
		{"zh", "并行度和\nbuffer 数，\nx 与\n`y`\n**都**\n不变", "<p>并行度和\nbuffer 数，x 与\n<code>y</code>\n<strong>都</strong>不变</p>\n"},
	} {
		var html bytes.Buffer
		if err := exerciseText[c.lang].Convert([]byte(c.text), &html); err != nil || html.String() != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.lang, html.String(), c.want, err)
		}
	}
}
