package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"weir/class"
)

// anExport is the export of a class in which three handed code in: right, wrong but reported as passed, and right again
// with worse results that do not count.
func anExport(t *testing.T) string {
	t.Helper()
	right := string(rightCore(t))
	wrong, err := os.ReadFile("../../exercises/10-debloater/starter/core.go")
	if err != nil {
		t.Fatal(err)
	}
	r := &class.Records{Class: class.Class{ID: "c", Zone: "UTC"}, People: []class.Person{{ID: "a", Name: "Ana"}, {ID: "b", Name: "Bo\x1b[2J"}, {ID: "d", Name: "Di"}}}
	work := map[string]class.Work{}
	add := func(id, person, exercise string, points int, w class.Work) {
		status := "passed"
		if points == 0 {
			status = "failed"
		}
		r.Results = append(r.Results, class.Result{ID: id, Person: person, Exercise: exercise, Status: status, Points: points, MaxPoints: 17})
		work[id] = w
	}
	add("r1", "a", "debloater", 17, class.Work{Core: right})
	add("r2", "b", "debloater", 17, class.Work{Core: string(wrong)})
	add("r3", "d", "debloater", 17, class.Work{Core: right})
	add("r4", "d", "debloater", 0, class.Work{Core: "does not count"})
	add("r5", "d", "buffer-timeouts", 17, class.Work{Answer: json.RawMessage(`{}`)})
	add("r6", "d", "of-another-version", 17, class.Work{Core: "package x"})
	var b bytes.Buffer
	err = class.NewExport(class.NewGradeBook(r, nil), r, r.Class.Created).JSON(&b, func(id string) ([]byte, error) { return json.Marshal(work[id]) })
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "export.json", b.String())
}

func TestRegrade(t *testing.T) {
	file := anExport(t)
	for _, seeds := range []string{"usual", "fresh"} {
		out, errs, status := labserver(t, "", "regrade", "--seeds", seeds, "--json", file)
		if status != 1 || !strings.Contains(errs, "1 of 3 results come out otherwise") || !strings.Contains(errs, "1 results are of exercises that this program does not have") {
			t.Fatalf("%s: status %d: %s%s", seeds, status, out, errs)
		}
		d := json.NewDecoder(strings.NewReader(out))
		for _, want := range []struct {
			result, now string
			differs     bool
		}{{"r1", "passed", false}, {"r2", "failed", true}, {"r3", "passed", false}} {
			var r regraded
			if err := d.Decode(&r); err != nil || r.Result != want.result || r.Now.Status != want.now || r.Differs != want.differs || r.Differs && r.Check == "" {
				t.Errorf("%s: %v %+v", seeds, err, r)
			}
		}
	}
	out, _, status := labserver(t, "", "regrade", file)
	lines := strings.Split(out, "\n")
	if status != 1 || len(lines) != 3 || !strings.HasPrefix(lines[0], "Bo[2J: debloater: passed 17 of 17 -> failed ") ||
		lines[1] != "3 of 3 results with code were run: 2 as before, 1 otherwise, 0 could not be judged" {
		t.Errorf("status %d: %q", status, out)
	}
	for name, args := range map[string][]string{
		"no EXPORT":      {"regrade"},
		"no export":      {"regrade", "../../package.json"},
		"no JSON":        {"regrade", "regrade.go"},
		"strange seeds":  {"regrade", "--seeds", "7", file},
		"no such column": {"regrade", "--only", "debloatr", file},
	} {
		if _, errs, status := labserver(t, "", args...); status != 2 || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q", name, status, errs)
		}
	}
}
