package exercises

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/exercises/kit"
	"weir/exercises/kit/livetest"
	"weir/exercises/kit/runner"
	"weir/exercises/kit/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.RunChild()
	os.Exit(m.Run())
}

// fewestWrong is how many wrong solutions an exercise has at least.
const fewestWrong = 4

// refusedBy names, at the top of a wrong core.go, the check that refuses it.
var refusedBy = regexp.MustCompile(`(?m)^// refused by: (\S+)$`)

// folderOf finds the folder of an exercise, such as 10-debloater.
func folderOf(t *testing.T, e *kit.Exercise) string {
	t.Helper()
	found, err := filepath.Glob("[0-9][0-9]-" + e.ID)
	if err != nil || len(found) != 1 {
		t.Fatalf("folders of exercise %s: %v %v", e.ID, found, err)
	}
	return found[0]
}

// TestSolutions holds every code exercise to its solutions, through the sandbox: the starter does not pass; the right one
// does, with every seed; a wrong one is refused by the check that its first lines name, with every seed.
func TestSolutions(t *testing.T) {
	seeds := 20
	if livetest.Raced || testing.Short() {
		seeds = 2
	}
	for _, e := range All() {
		if e.Kind != kit.Code {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			starter, err := kit.Starter(e)
			if err != nil {
				t.Fatal(err)
			}
			r := runner.Check(t.Context(), e, &runner.Submission{Core: starter}, runner.Options{})
			if r.Status != kit.Failed || r.Problem.En != "" {
				t.Errorf("the starter: %s %s", r.Status, r.Problem.En)
			}
			cores, err := filepath.Glob(filepath.Join(folderOf(t, e), "solutions", "*", kit.CoreFile))
			if err != nil {
				t.Fatal(err)
			}
			if len(cores) < 1+fewestWrong {
				t.Errorf("%d solutions, expected a right one and %d wrong ones", len(cores), fewestWrong)
			}
			for _, file := range cores {
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				name := filepath.Base(filepath.Dir(file))
				if name == "right" {
					holdRight(t, e, source, seeds)
				} else {
					holdWrong(t, e, name, source, seeds)
				}
			}
		})
	}
}

func holdRight(t *testing.T, e *kit.Exercise, source []byte, seeds int) {
	r := runner.Check(t.Context(), e, &runner.Submission{Core: source}, runner.Options{Seeds: seeds})
	if r.Status != kit.Passed || r.Points != r.MaxPoints || r.MaxPoints == 0 {
		t.Errorf("right: %s, %d of %d points. %s", r.Status, r.Points, r.MaxPoints, r.Problem.En)
	}
	for _, c := range r.Checks {
		if c.Status != kit.Passed {
			t.Errorf("right: check %s, seed %d: %s\n%s\n%s", c.ID, c.Seed, c.Status, c.Expected.En, c.Seen.En)
		}
	}
}

func holdWrong(t *testing.T, e *kit.Exercise, name string, source []byte, seeds int) {
	m := refusedBy.FindSubmatch(source)
	if m == nil {
		t.Errorf("%s does not say which check refuses it", name)
		return
	}
	id := string(m[1])
	i := slices.IndexFunc(e.Checks, func(d kit.Def) bool { return d.ID == id })
	if i < 0 {
		t.Errorf("%s is refused by %s, which is no check", name, id)
		return
	}
	if e.Checks[i].Seeds == 0 {
		seeds = 1
	}
	for seed := range seeds {
		r := runner.Check(t.Context(), e, &runner.Submission{Core: source}, runner.Options{Only: []string{id}, Seed: uint64(seed + 1)})
		c := r.Checks[i]
		if c.Status != kit.Failed {
			t.Errorf("%s, seed %d: check %s is %s. %s", name, seed+1, id, c.Status, r.Problem.En+c.Seen.En)
			return
		}
		for what, text := range map[string]string{
			"expected": c.Expected.En, "seen": c.Seen.En, "where": c.Where.En, "try": c.Try.En,
			"expected zh": c.Expected.Zh, "seen zh": c.Seen.Zh, "where zh": c.Where.Zh, "try zh": c.Try.Zh,
		} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: check %s says nothing as %s", name, id, what)
			}
		}
	}
}

// TestExercises holds what all kinds have in common.
func TestExercises(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		if seen[e.ID] {
			t.Errorf("exercise %s is there twice", e.ID)
		}
		seen[e.ID] = true
		folderOf(t, e)
		for what, text := range map[string]string{
			"title": e.Title.En, "title zh": e.Title.Zh, "summary": e.Summary.En, "summary zh": e.Summary.Zh, "level": e.Level,
			"hint 1": e.Hints[0].En, "hint 2": e.Hints[1].En, "hint 3": e.Hints[2].En,
			"hint 1 zh": e.Hints[0].Zh, "hint 2 zh": e.Hints[1].Zh, "hint 3 zh": e.Hints[2].Zh,
		} {
			if text == "" {
				t.Errorf("exercise %s has no %s", e.ID, what)
			}
		}
		for _, lang := range []string{"en", "zh"} {
			if b, err := fs.ReadFile(e.Files, "task."+lang+".md"); err != nil || len(b) < 200 {
				t.Errorf("exercise %s: task.%s.md has %d bytes: %v", e.ID, lang, len(b), err)
			}
		}
		if e.Minutes <= 0 || e.MaxPoints() <= 0 {
			t.Errorf("exercise %s: %d minutes, %d points", e.ID, e.Minutes, e.MaxPoints())
		}
		if e.Kind == kit.Code && !slices.ContainsFunc(e.Checks, func(d kit.Def) bool { return d.Hidden }) {
			t.Errorf("exercise %s has no hidden check", e.ID)
		}
		if err := checksProblem(e); err != nil {
			t.Errorf("exercise %s: %v", e.ID, err)
		}
	}
}

// checksProblem sees that ids are different and that needs name earlier checks.
func checksProblem(e *kit.Exercise) error {
	var ids []string
	for _, d := range e.Checks {
		if d.ID == "" || d.Name.En == "" || d.Name.Zh == "" || d.Run == nil {
			return fmt.Errorf("check %q is not whole", d.ID)
		}
		if slices.Contains(ids, d.ID) {
			return fmt.Errorf("check %s is there twice", d.ID)
		}
		for _, need := range d.Needs {
			if !slices.Contains(ids, need) {
				return fmt.Errorf("check %s needs %s, which is not before it", d.ID, need)
			}
		}
		ids = append(ids, d.ID)
	}
	return nil
}
