package class

import (
	"slices"
	"strings"
	"time"
)

// Exercise is a column of the grade book.
type Exercise struct {
	ID        string `json:"id"`
	MaxPoints int    `json:"maxPoints"`
}

// GradeBook is who has how many points for what.
type GradeBook struct {
	Class     Class
	Exercises []Exercise
	Rows      []GradeRow // by name
	Equal     []Equal
}

// GradeRow is one person's.
type GradeRow struct {
	Person Person
	Grades []Grade // one for each exercise
	Total  int
	Max    int
}

// Grade is what counts of one person's results for an exercise.
type Grade struct {
	// Result counts; nil if nothing was handed in.
	Result *Result
	// Points are those after the penalty for a late result.
	Points int
	Tries  int
}

// Judged is "verified" for a result that this server judged, and "reported" for one that was judged where it came from.
func (r *Result) Judged() string {
	if r.Verified {
		return "verified"
	}
	return "reported"
}

// Records are all that a class has, without the work.
type Records struct {
	Class      Class
	People     []Person
	Results    []Result
	Deadlines  []Deadline
	Extensions []Extension
	Questions  []Question
	Answers    []Answer
	Audit      []Audited
}

// NewGradeBook makes the grade book of a class. Its columns are the exercises given, in their order, and then others that
// somebody handed in. Of several results the one with the most points after the penalty counts; of equal ones a verified
// one, and then the first. known are digests of sources that tell nothing when they are equal.
func NewGradeBook(r *Records, exercises []Exercise, known ...string) *GradeBook {
	g := &GradeBook{Class: r.Class, Exercises: slices.Clone(exercises), Equal: EqualSources(r.Results, known...)}
	columns := map[string]int{}
	for i, e := range g.Exercises {
		columns[e.ID] = i
	}
	results := slices.Clone(r.Results)
	slices.SortStableFunc(results, func(a, b Result) int { return a.Received.Compare(b.Received) })
	var others []Exercise
	for _, one := range results {
		if _, ok := columns[one.Exercise]; !ok {
			columns[one.Exercise] = -1
			others = append(others, Exercise{ID: one.Exercise})
		}
	}
	slices.SortFunc(others, func(a, b Exercise) int { return strings.Compare(a.ID, b.ID) })
	for _, e := range others {
		columns[e.ID] = len(g.Exercises)
		g.Exercises = append(g.Exercises, e)
	}
	rows := map[string]int{}
	for _, p := range r.People {
		if p.Merged == "" {
			rows[p.ID] = len(g.Rows)
			g.Rows = append(g.Rows, GradeRow{Person: p, Grades: make([]Grade, len(g.Exercises))})
		}
	}
	rules := newRules(r.Deadlines, r.Extensions)
	for i := range results {
		one, column := &results[i], columns[results[i].Exercise]
		g.Exercises[column].MaxPoints = max(g.Exercises[column].MaxPoints, one.MaxPoints)
		if row, ok := rows[one.Person]; ok {
			g.Rows[row].Grades[column].add(one, rules.of(one))
		}
	}
	for i := range g.Rows {
		for j := range g.Exercises {
			g.Rows[i].Total += g.Rows[i].Grades[j].Points
			g.Rows[i].Max += g.Exercises[j].MaxPoints
		}
	}
	slices.SortStableFunc(g.Rows, func(a, b GradeRow) int {
		return strings.Compare(NameKey(a.Person.Name), NameKey(b.Person.Name))
	})
	return g
}

func (g *Grade) add(r *Result, rule LateRule) {
	points := r.Points
	if r.Late {
		points = rule.pointsLeft(points)
	}
	g.Tries++
	if g.Result == nil || points > g.Points || points == g.Points && r.Verified && !g.Result.Verified {
		g.Result, g.Points = r, points
	}
}

// rules finds the rule of a result.
type rules struct {
	deadlines  map[string]Deadline
	extensions map[[2]string]time.Time
}

func newRules(deadlines []Deadline, extensions []Extension) rules {
	r := rules{map[string]Deadline{}, map[[2]string]time.Time{}}
	for _, d := range deadlines {
		r.deadlines[d.Exercise] = d
	}
	for _, e := range extensions {
		r.extensions[[2]string{e.Exercise, e.Person}] = e.Due
	}
	return r
}

func (r rules) of(one *Result) LateRule {
	return RuleFor(r.deadlines[one.Exercise], r.extensions[[2]string{one.Exercise, one.Person}])
}

// name finds a person's name by the ID.
func (g *GradeBook) name(id string) string {
	for i := range g.Rows {
		if g.Rows[i].Person.ID == id {
			return g.Rows[i].Person.Name
		}
	}
	return id
}

// equalTo names, for one person and exercise, the others who handed in equal code.
func (g *GradeBook) equalTo(person, exercise string) (names []string) {
	for _, e := range g.Equal {
		if e.Exercise != exercise || !slices.Contains(e.People, person) {
			continue
		}
		for _, other := range e.People {
			if name := g.name(other); other != person && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
