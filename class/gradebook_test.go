package class

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// records are of a class in which everything happened.
func records() *Records {
	r := &Records{
		Class: Class{ID: "c", Name: "Streams", Zone: "Europe/Berlin", Code: "SECRETCD", TokenHash: []byte("secret hash")},
		People: []Person{
			{ID: "p1", Name: "王小明", TokenHash: []byte("secret hash")}, {ID: "p2", Name: "=HYPERLINK(\"x\")", Alias: "@fox"}, {ID: "p3", Name: "Ana, the 1st", Alias: "owl"},
			{ID: "p4", Name: "gone", Merged: "p1"},
		},
		Deadlines:  []Deadline{{Class: "c", Exercise: "e1", Due: due, Penalty: 50}},
		Extensions: []Extension{{Class: "c", Exercise: "e1", Person: "p3", Due: due.Add(time.Hour)}},
		Questions:  []Question{{ID: "q", Text: "Which?", Choices: []string{"a", "b"}, Asked: due}},
		Answers:    []Answer{{Question: "q", Person: "p1", Choice: 1, At: due}},
		Audit:      []Audited{{Class: "c", At: due, Who: "instructor", What: "merge", About: "p4"}},
	}
	add := func(person, exercise string, points int, verified, late bool, at time.Duration, source string) {
		r.Results = append(r.Results, Result{
			ID: fmt.Sprintf("r%d", len(r.Results)), Class: "c", Person: person, Exercise: exercise, Status: map[bool]string{true: "passed", false: "failed"}[points == 10],
			Points: points, MaxPoints: 10, Verified: verified, Late: late, Received: due.Add(at), Source: source, Report: json.RawMessage(`{"id":"` + exercise + `"}`),
		})
	}
	add("p1", "e1", 10, true, true, time.Minute, "s1")     // r0: 5 count
	add("p1", "e1", 6, false, false, -time.Hour, "s2")     // r1: counts
	add("p1", "e1", 6, true, false, -time.Minute, "s2")    // r2: verified, so this one
	add("p2", "e1", 10, false, false, -2*time.Hour, "s1")  // r3
	add("p3", "e9", 3, true, false, 0, "")                 // r4: no column was asked for
	add("p3", "e9", 3, true, false, -time.Hour, "")        // r5: the first of equal ones
	add("p4", "e1", 10, true, false, -24*time.Hour, "s1")  // of somebody who is no longer there
	add("p3", "e1", 0, false, false, 30*time.Minute, "s3") // r7: in time by the extension
	return r
}

func TestGradeBook(t *testing.T) {
	r := records()
	g := NewGradeBook(r, []Exercise{{"e2", 5}, {"e1", 10}})
	type want struct {
		name       string
		total, max int
		results    string
	}
	for i, w := range []want{{"=HYPERLINK(\"x\")", 10, 25, "- r3 -"}, {"Ana, the 1st", 3, 25, "- r7 r5"}, {"王小明", 6, 25, "- r2 -"}} {
		row := g.Rows[i]
		var ids []string
		for _, grade := range row.Grades {
			id := "-"
			if grade.Result != nil {
				id = grade.Result.ID
			}
			ids = append(ids, id)
		}
		if got := (want{row.Person.Name, row.Total, row.Max, strings.Join(ids, " ")}); got != w {
			t.Errorf("got %+v, expected %+v", got, w)
		}
	}
	if len(g.Rows) != 3 || g.Rows[2].Grades[1].Tries != 3 {
		t.Errorf("%+v", g.Rows)
	}
	if names := g.equalTo("p1", "e1"); fmt.Sprint(names) != `[=HYPERLINK("x") p4]` {
		t.Errorf("equal to %q", names)
	}
	// A late result that has the most points after its penalty counts.
	r.Deadlines[0].Penalty = 10
	if late := NewGradeBook(r, nil).Rows[2]; late.Total != 9 || late.Grades[0].Result.ID != "r0" {
		t.Errorf("%+v", late)
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := NewGradeBook(records(), []Exercise{{"e1", 10}}).CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"name|alias|id|total|max|e1|e1 max|e1 judged|e1 late|e1 tries|e9|e9 max|e9 judged|e9 late|e9 tries|equal sources",
		`'=HYPERLINK("x")|'@fox|p2|10|20|10|10|reported|no|1||10|||0|e1: p4, 王小明`,
		"Ana, the 1st|owl|p3|3|20|0|10|reported|no|1|3|10|verified|no|2|",
		`王小明||p1|6|20|6|10|verified|no|3||10|||0|e1: =HYPERLINK("x"), p4`,
	} {
		if got := strings.Join(rows[i], "|"); got != want {
			t.Errorf("row %d:\n%s\n%s", i, got, want)
		}
	}
	for text, want := range map[string]string{
		"=1": "'=1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\t=1": "\"'\t=1\"", " =1": "' =1", "\r": "\"'\r\"", "＝1": "'＝1", "|x": `"'|x"`,
		"a=1": "a=1", "a;=1": `"a;=1"`, `a"b`: `"a""b"`, "": "", "王": "王", "'=1": "'=1", "a ": `"a "`,
	} {
		if got := cell(text); got != want {
			t.Errorf("%q becomes %s, expected %s", text, got, want)
		}
	}
}

func TestExport(t *testing.T) {
	r := records()
	g := NewGradeBook(r, []Exercise{{"e1", 10}})
	var b bytes.Buffer
	err := NewExport(g, r, due).JSON(&b, func(id string) ([]byte, error) {
		if id == "r0" {
			return nil, ErrNotFound
		}
		return json.Marshal(Work{Core: "package " + id, Record: []byte{0xff}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte("SECRET")) || bytes.Contains(b.Bytes(), []byte("c2Vjc")) {
		t.Error("a code or a token is in the export")
	}
	var x Export
	if err := json.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	if x.Format != ExportFormat || len(x.People) != 3 || x.Questions[0].Answers["p1"] != 1 || x.Audit[0].What != "merge" ||
		x.Deadlines[0].Shown != "Fri 2026-03-27 23:59 CET (UTC+01:00)" || !x.Deadlines[0].Extensions["p3"].Equal(due.Add(time.Hour)) {
		t.Errorf("%+v", x)
	}
	p := x.People[2]
	if p.Name != "王小明" || p.Total != 6 || p.Grades[0].Judged != "verified" || len(p.Results) != 3 || p.Results[0].Work != nil ||
		p.Results[1].Work.Core != "package r1" || p.Results[1].Judged != "reported" || string(p.Results[1].Report) != `{"id":"e1"}` {
		t.Errorf("%+v", p)
	}
	broken := errors.New("broken")
	if err := NewExport(g, r, due).JSON(&b, func(string) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	b.Reset()
	empty := &Records{Class: r.Class}
	if err := NewExport(NewGradeBook(empty, nil), empty, due).JSON(&b, nil); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("%v: %s", err, b.Bytes())
	}
}

func TestGradescope(t *testing.T) {
	var b bytes.Buffer
	r := records()
	r.Deadlines[0].Penalty = 10
	if err := NewGradeBook(r, []Exercise{{"e1", 10}, {"e2", 5}}).Gradescope(&b); err != nil {
		t.Fatal(err)
	}
	var all []gradescopePerson
	if err := json.Unmarshal(b.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	last := all[2]
	if last.Name != "王小明" || last.Results.Score != 9 || len(last.Results.Tests) != 3 {
		t.Fatalf("%+v", last)
	}
	one := last.Results.Tests[0]
	if one.Score != 9 || one.MaxScore != 10 || one.Status != "passed" || one.Output != "passed, verified, received Sat 2026-03-28 00:00 CET (UTC+01:00), late: 9 of 10 points count" {
		t.Errorf("%+v", one)
	}
	if two := last.Results.Tests[1]; two.Status != "failed" || two.MaxScore != 5 || two.Output != "nothing was handed in" {
		t.Errorf("%+v", two)
	}
}
