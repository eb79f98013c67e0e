package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"weir/exercises/kit"
	"weir/exercises/kit/sandbox"
	"weir/exercises/kit/wire"
	"weir/labs"
)

func TestMain(m *testing.M) {
	sandbox.RunChild()
	goleak.VerifyTestMain(m)
}

func text(s string) labs.Text { return labs.Text{En: s, Zh: "中" + s} }

// predict is an exercise with one question, whose checks are given.
func predict(checks ...kit.Def) *kit.Exercise {
	for i := range checks {
		checks[i].Name = text("check " + checks[i].ID)
	}
	return &kit.Exercise{ID: "guess", Kind: kit.Predict, Lab: "backpressure", Title: text("A guess"), Checks: checks, Question: &kit.Question{
		Fields: []kit.Field{{Name: "size", Label: text("size"), Unit: labs.Text{En: "ms", Zh: "毫秒"}}, {Name: "mode", Label: text("mode"), Choices: []kit.Choice{{Value: "a"}, {Value: "b"}}}},
	}}
}

func pass(context.Context, *kit.Work, uint64) *kit.Finding { return nil }

func refuse(context.Context, *kit.Work, uint64) *kit.Finding {
	return &kit.Finding{Expected: text("one"), Seen: text("two"), Where: text("here"), Try: text("three")}
}

func answered() *Submission { return &Submission{Answer: []byte(`{"size": 3, "mode": "b"}`)} }

func statuses(r *kit.Result) string {
	var list []string
	for _, c := range r.Checks {
		list = append(list, fmt.Sprintf("%s %s %d/%d", c.ID, c.Status, c.Points, c.Max))
	}
	return strings.Join(list, ", ")
}

func TestChecksAreJudgedInOrder(t *testing.T) {
	e := predict(
		kit.Def{ID: "a", Points: 2, Run: pass},
		kit.Def{ID: "b", Points: 3, Run: refuse, Needs: []string{"a"}},
		kit.Def{ID: "c", Points: 4, Run: pass, Needs: []string{"b"}},
		kit.Def{ID: "d", Points: 5, Run: pass, Needs: []string{"c"}, Hidden: true},
		kit.Def{ID: "e", Points: 6, Run: pass, Hidden: true},
		kit.Def{ID: "f", Points: 7, Run: func(context.Context, *kit.Work, uint64) *kit.Finding { panic("a bug of ours") }},
		kit.Def{ID: "g", Points: 8, Run: func(context.Context, *kit.Work, uint64) *kit.Finding {
			return &kit.Finding{Seen: text("a stall"), NotJudged: true}
		}},
	)
	var steps []string
	r := Check(t.Context(), e, answered(), Options{Progress: func(s Step) { steps = append(steps, s.Check.ID) }})
	if got, want := statuses(r), "a passed 2/2, b failed 0/3, c not run 0/4, d not run 0/5, e passed 6/6, f error 0/7, g not judged 0/8"; got != want {
		t.Errorf("checks:\n%s, want\n%s", got, want)
	}
	if r.Status != kit.Failed || r.Points != 8 || r.MaxPoints != 35 || !slices.Equal(steps, []string{"a", "b", "e", "f", "g"}) {
		t.Errorf("%s, %d of %d points, steps %v", r.Status, r.Points, r.MaxPoints, steps)
	}
	if c := r.Checks[5]; !strings.Contains(c.Seen.En, "a bug of ours") {
		t.Errorf("the panic: %+v", c)
	}
	report := NewReport([]*kit.Result{r}, "zh").Exercises[0]
	if d, e := report.Checks[3], report.Checks[4]; d.Name != "" || d.ID != "" || !d.Hidden || e.Name != "中check e" || !e.Hidden {
		t.Errorf("hidden checks: %+v %+v", d, e)
	}
	if b := report.Checks[1]; b.Expected != "中one" || b.Seen != "中two" || b.Where != "中here" || b.Try != "中three" || b.Command != "labserver check guess --only b" {
		t.Errorf("the finding: %+v", b)
	}

	r = Check(t.Context(), e, answered(), Options{Only: []string{"c"}})
	if got := statuses(r); !strings.Contains(got, "a not run 0/2, b not run 0/3, c passed 4/4") {
		t.Errorf("c alone: %s", got)
	}
}

// TestSeeds has a check that fails from its third seed on.
func TestSeeds(t *testing.T) {
	var ran []uint64
	e := predict(kit.Def{ID: "a", Points: 1, Seeds: 5, Run: func(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
		ran = append(ran, seed)
		if seed >= 3 {
			return refuse(ctx, w, seed)
		}
		return nil
	}})
	r := Check(t.Context(), e, answered(), Options{Dir: "my work"})
	if c := r.Checks[0]; c.Seed != 3 || c.Command != "labserver check guess --dir 'my work' --only a --seed 3" || !slices.Equal(ran, []uint64{1, 2, 3}) {
		t.Errorf("%+v after seeds %v", c, ran)
	}
	ran = nil
	if r = Check(t.Context(), e, answered(), Options{Seed: 2}); r.Status != kit.Passed || !slices.Equal(ran, []uint64{2}) {
		t.Errorf("seed 2: %s after %v", r.Status, ran)
	}
	ran = nil
	if r = Check(t.Context(), e, answered(), Options{Seeds: 2}); r.Status != kit.Passed || !slices.Equal(ran, []uint64{1, 2}) {
		t.Errorf("two seeds: %s after %v", r.Status, ran)
	}
}

// TestInterrupted ends the context inside of a check: what it says counts for nothing.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := predict(kit.Def{ID: "a", Points: 1, Run: pass}, kit.Def{ID: "b", Points: 1, Run: func(c context.Context, w *kit.Work, seed uint64) *kit.Finding {
		cancel()
		<-c.Done()
		return refuse(c, w, seed)
	}}, kit.Def{ID: "c", Points: 1, Run: pass})
	r := Check(ctx, e, answered(), Options{})
	if got := statuses(r); got != "a passed 1/1, b not run 0/1, c not run 0/1" || r.Status != kit.NotRun || r.Points != 1 {
		t.Errorf("%s: %s", r.Status, got)
	}
}

func TestWorkThatCannotBeJudged(t *testing.T) {
	e := predict(kit.Def{ID: "a", Points: 1, Run: pass})
	live := &kit.Exercise{ID: "goal", Kind: kit.Live, Lab: "skew", Checks: e.Checks}
	for _, c := range []struct {
		e      *kit.Exercise
		s      Submission
		status kit.Status
		says   string
	}{
		{e, Submission{}, kit.NotRun, "no guess/answer.json yet"},
		{e, Submission{Answer: []byte(`[1]`)}, kit.Failed, "not a JSON object: it must begin with {"},
		{e, Submission{Answer: []byte(`null`)}, kit.NotRun, "not a JSON object"},
		{e, Submission{Answer: []byte("{\n  \"size\": 3,\n  \"mode\": a\n}")}, kit.Failed, "answer.json line 3 is not JSON: invalid character 'a'"},
		{e, Submission{Answer: []byte(`{"size": null, "mode": "a"}`)}, kit.NotRun, `"size" has no answer yet`},
		{e, Submission{Answer: []byte(`{"size": "3", "mode": "a"}`)}, kit.Failed, "expected a number of ms"},
		{e, Submission{Answer: []byte(`{"size": 3, "mode": "c"}`)}, kit.Failed, `one of ["a" "b"]`},
		{live, Submission{}, kit.NotRun, "labserver run skew --record"},
		{live, Submission{Record: []byte("nonsense")}, kit.Failed, "run.weir: "},
	} {
		r := Check(t.Context(), c.e, &c.s, Options{})
		if r.Status != c.status || !strings.Contains(r.Problem.En, c.says) || r.Problem.Zh == "" || r.Points != 0 || r.Checks[0].Status != kit.NotRun {
			t.Errorf("%+v: %s %q, want %q", c.s, r.Status, r.Problem.En, c.says)
		}
	}
	a, b := Submission{Answer: []byte("1")}, Submission{Answer: []byte("2")}
	if a.Digest() == b.Digest() || a.Digest() == "" || (&Submission{}).Digest() != "" {
		t.Errorf("digests %s %s", a.Digest(), b.Digest())
	}
}

// code is the exercise of the sandbox's tests, whose core is to answer n+1.
func code() *kit.Exercise {
	ask := func(w *kit.Work, n int64) int64 {
		var a wire.Writer
		a.Int(n)
		r := wire.Reader{B: w.Core.Call(1, a.B)}
		return r.Int()
	}
	run := func(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
		if got := ask(w, 41); got != 42 {
			return &kit.Finding{Expected: text("42"), Seen: text(fmt.Sprint(got)), Where: text("Do"), Try: text("add")}
		}
		return nil
	}
	return &kit.Exercise{ID: "echo", Kind: kit.Code, Files: os.DirFS("../sandbox/testdata/echo"), Checks: []kit.Def{
		{ID: "a", Name: text("a"), Points: 1, Run: run}, {ID: "b", Name: text("b"), Points: 1, Run: run},
		{ID: "c", Name: text("c"), Points: 1, Run: pass}, // calls nothing
	}}
}

// TestCores sees that how a core ended goes before what a check saw of it, and that the checks after it begin anew.
func TestCores(t *testing.T) {
	for _, c := range []struct {
		core     string
		statuses string
		seen     string
		where    string
	}{
		{"good", "a passed 1/1, b passed 1/1, c passed 1/1", "", ""},
		{"panics", "a failed 0/1, b failed 0/1, c passed 1/1", "The core panicked at core.go:15: runtime error: index out of range [41] with length 0", "core.go:15"},
		{"exits", "a failed 0/1, b failed 0/1, c passed 1/1", "exit status 0", "core.go"},
		{"prints-a-verdict", "a failed 0/1, b failed 0/1, c passed 1/1", "-1", `The core printed: {"version"`},
	} {
		source, err := os.ReadFile("../sandbox/testdata/hostile/" + c.core + "/core.go")
		if err != nil {
			t.Fatal(err)
		}
		r := Check(t.Context(), code(), &Submission{Core: source}, Options{})
		if got := statuses(r); got != c.statuses {
			t.Errorf("%s: %s. %s", c.core, got, r.Problem.En)
		}
		a := r.Checks[0]
		if !strings.Contains(a.Seen.En, c.seen) || !strings.Contains(a.Where.En, c.where) {
			t.Errorf("%s: seen %q, where %q", c.core, a.Seen.En, a.Where.En)
		}
		if c.seen != "" && (a.Expected.En != "42" || a.Try.Zh == "") {
			t.Errorf("%s: %+v", c.core, a)
		}
	}
}

func TestCoreThatCannotBeBuilt(t *testing.T) {
	r := Check(t.Context(), code(), &Submission{Core: []byte("package core\n\nvar x = y\n")}, Options{})
	if r.Status != kit.Failed || !strings.Contains(r.Problem.En, "core.go:3:") {
		t.Errorf("%s: %s", r.Status, r.Problem.En)
	}
	t.Setenv("PATH", t.TempDir())
	r = Check(t.Context(), code(), &Submission{Core: []byte("package core\n")}, Options{})
	if r.Status != kit.Error || !strings.Contains(r.Problem.En, "no go command") {
		t.Errorf("without Go: %s: %s", r.Status, r.Problem.En)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = Check(ctx, code(), &Submission{Core: []byte("package core\n")}, Options{})
	if r.Status == kit.Passed || r.Points > 0 {
		t.Errorf("interrupted: %s", r.Status)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	e := code()
	if s, err := Load(dir, e, true); err != nil || s.Core != nil {
		t.Errorf("an empty folder: %+v %v", s, err)
	}
	if err := os.WriteFile(dir+"/core.go", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(dir, e, false); err != nil || s.Core != nil {
		t.Errorf("with others: %+v %v", s, err)
	}
	if s, err := Load(dir, e, true); err != nil || string(s.Core) != "x" {
		t.Errorf("alone: %+v %v", s, err)
	}
	if err := os.MkdirAll(dir+"/echo/core.go", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/answer.json", []byte("\xEF\xBB\xBF{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(dir, predict(), true); err != nil || string(s.Answer) != "{}" {
		t.Errorf("a byte order mark: %q %v", s.Answer, err)
	}
	var at *os.PathError
	if _, err := Load(dir, e, true); err == nil || errors.As(err, &at) || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder called core.go: %v", err)
	}
}

// TestReportShape holds the names that scripts rely on.
func TestReportShape(t *testing.T) {
	e := predict(kit.Def{ID: "a", Points: 2, Seeds: 1, Run: refuse})
	r := NewReport([]*kit.Result{Check(t.Context(), e, answered(), Options{})}, "en")
	var b strings.Builder
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal([]byte(b.String()), &top); err != nil {
		t.Fatal(err)
	}
	one, _ := top["exercises"].([]any)[0].(map[string]any)
	check, _ := one["checks"].([]any)[0].(map[string]any)
	for _, name := range []string{"version", "engine"} {
		if top[name] == nil || top[name] == "" {
			t.Errorf("no %s in %s", name, b.String())
		}
	}
	for _, name := range []string{"id", "kind", "status", "points", "maxPoints", "checks"} {
		if one[name] == nil {
			t.Errorf("an exercise has no %s in %s", name, b.String())
		}
	}
	for _, name := range []string{"name", "hidden", "status", "expected", "seen", "where", "try", "seed", "command"} {
		if check[name] == nil {
			t.Errorf("a check has no %s in %s", name, b.String())
		}
	}
}
