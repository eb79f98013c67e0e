package class

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// gradescopePerson is one person's grades as the results.json of a Gradescope autograder.
type gradescopePerson struct {
	Name    string            `json:"name"`
	ID      string            `json:"id"`
	Results gradescopeResults `json:"results"`
}

type gradescopeResults struct {
	Score      int              `json:"score"`
	Output     string           `json:"output"`
	Format     string           `json:"output_format"`
	Visibility string           `json:"visibility"`
	Tests      []gradescopeTest `json:"tests"`
}

type gradescopeTest struct {
	Name     string            `json:"name"`
	Number   string            `json:"number"`
	Score    int               `json:"score"`
	MaxScore int               `json:"max_score"`
	Status   string            `json:"status"`
	Output   string            `json:"output,omitempty"`
	Extra    map[string]string `json:"extra_data,omitempty"`
}

// Gradescope writes a JSON list with one entry a person, whose results are a whole results.json of Gradescope: a test for
// each exercise, with the points after the penalty.
func (g *GradeBook) Gradescope(w io.Writer) error {
	all := []gradescopePerson{}
	for i := range g.Rows {
		r := &g.Rows[i]
		p := gradescopePerson{Name: r.Person.Name, ID: r.Person.ID, Results: gradescopeResults{
			Score: r.Total, Format: "text", Visibility: "visible", Tests: []gradescopeTest{},
			Output: fmt.Sprintf("%d of %d points in %s", r.Total, r.Max, g.Class.Name),
		}}
		for j, e := range g.Exercises {
			p.Results.Tests = append(p.Results.Tests, g.gradescopeTest(j, e, &r.Grades[j]))
		}
		all = append(all, p)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(all)
}

func (g *GradeBook) gradescopeTest(j int, e Exercise, grade *Grade) gradescopeTest {
	t := gradescopeTest{Name: e.ID, Number: strconv.Itoa(j + 1), Score: grade.Points, MaxScore: e.MaxPoints, Status: "failed", Output: "nothing was handed in"}
	if grade.Result == nil {
		return t
	}
	if grade.Result.Status == "passed" {
		t.Status = "passed"
	}
	t.Output = fmt.Sprintf("%s, %s, received %s", grade.Result.Status, grade.Result.Judged(), ShowTime(grade.Result.Received, g.Class.Zone))
	if grade.Result.Late {
		t.Output += fmt.Sprintf(", late: %d of %d points count", grade.Points, grade.Result.Points)
	}
	t.Extra = map[string]string{"result": grade.Result.ID, "digest": grade.Result.Digest}
	return t
}
