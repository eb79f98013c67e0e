package runner

import (
	"encoding/json"
	"io"
	"runtime/debug"

	"weir/exercises/kit"
	"weir/labs"
)

// Report is what came of all exercises that were checked, as JSON has it.
type Report struct {
	Version   string           `json:"version"` // of the program
	Engine    string           `json:"engine"`
	Exercises []ExerciseReport `json:"exercises"`
}

// ExerciseReport is what came of one, in one language.
type ExerciseReport struct {
	ID        string        `json:"id"`
	Title     string        `json:"title"`
	Kind      kit.Kind      `json:"kind"`
	Status    kit.Status    `json:"status"`
	Points    int           `json:"points"`
	MaxPoints int           `json:"maxPoints"`
	Problem   string        `json:"problem,omitempty"` // why nothing could be checked
	Work      string        `json:"work,omitempty"`    // digest of what was judged
	Checks    []CheckReport `json:"checks"`
}

// CheckReport is what came of one check.
type CheckReport struct {
	ID        string     `json:"id,omitempty"` // both empty while a hidden check was not run
	Name      string     `json:"name"`
	Hidden    bool       `json:"hidden"`
	Status    kit.Status `json:"status"`
	Points    int        `json:"points"`
	MaxPoints int        `json:"maxPoints"`
	Expected  string     `json:"expected"`
	Seen      string     `json:"seen"`
	Where     string     `json:"where"`
	Try       string     `json:"try"`
	Seed      uint64     `json:"seed"`
	Command   string     `json:"command"`
}

// NewReport puts results into one language, en or zh.
func NewReport(results []*kit.Result, lang string) *Report {
	r := &Report{Version: version(), Engine: labs.EngineVersion(), Exercises: []ExerciseReport{}}
	for _, one := range results {
		r.Exercises = append(r.Exercises, exercise(one, lang))
	}
	return r
}

func exercise(r *kit.Result, lang string) ExerciseReport {
	e := ExerciseReport{
		ID: r.Exercise.ID, Title: r.Exercise.Title.In(lang), Kind: r.Exercise.Kind, Status: r.Status, Points: r.Points,
		MaxPoints: r.MaxPoints, Problem: r.Problem.In(lang), Work: r.Digest, Checks: []CheckReport{},
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		k := CheckReport{
			ID: c.ID, Name: c.Name.In(lang), Hidden: c.Hidden, Status: c.Status, Points: c.Points, MaxPoints: c.Max,
			Expected: c.Expected.In(lang), Seen: c.Seen.In(lang), Where: c.Where.In(lang), Try: c.Try.In(lang),
			Seed: c.Seed, Command: c.Command,
		}
		if c.Hidden && c.Status == kit.NotRun {
			k.ID, k.Name = "", ""
		}
		e.Checks = append(e.Checks, k)
	}
	return e
}

// Passed counts the exercises that are.
func (r *Report) Passed() int {
	n := 0
	for i := range r.Exercises {
		if r.Exercises[i].Status == kit.Passed {
			n++
		}
	}
	return n
}

// Sum is the points given, and those there are.
func (r *Report) Sum() (points, maxPoints int) {
	for i := range r.Exercises {
		points += r.Exercises[i].Points
		maxPoints += r.Exercises[i].MaxPoints
	}
	return points, maxPoints
}

// JSON writes the report in the shape that scripts rely on.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// version is that of the program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
