// Package kit has what every exercise is made of: its description, its checks, a learner's work, and the verdicts. The
// exercises themselves lie in the folders beside it, one each; package exercises lists them.
package kit

import (
	"context"
	"io/fs"

	"weir/labs"
)

// Kind is how an exercise is solved.
type Kind string

// The kinds of exercise.
const (
	Predict Kind = "predict" // commit to an answer, then the run decides
	Live    Kind = "live"    // reach a goal on a running job; judged from its record
	Code    Kind = "code"    // write a core; judged by calling it
)

// Exercise is one task with its checker.
type Exercise struct {
	ID      string // such as "debloater"
	Kind    Kind
	Lab     string // the lab that it belongs to
	Title   labs.Text
	Summary labs.Text // one sentence
	Minutes int
	Level   string // intro core deep
	// Hints go from a nudge to nearly the answer.
	Hints [3]labs.Text
	// Files has task.en.md and task.zh.md; for code also api/ (the interface, standard library only) and starter/core.go;
	// for predict question.json; for live starter/run.json if there is something to begin with.
	Files fs.FS
	// Checks run in this order.
	Checks []Def
	// Knobs are those of a live exercise that may move. All others must stand as the lab has them, or as Fixed says.
	Knobs []string
	Fixed map[string]any
	// Question is that of a predict exercise.
	Question *Question
}

// MaxPoints is the sum over all checks.
func (e *Exercise) MaxPoints() int {
	sum := 0
	for i := range e.Checks {
		sum += e.Checks[i].Points
	}
	return sum
}

// Question is what a learner commits to in a predict exercise, before the run decides.
type Question struct {
	// Fields are answered one by one, such as the checkpoint size of each mode.
	Fields []Field
	// Lab and Knobs are the run that decides.
	Lab   string
	Knobs map[string]any
}

// Field is one part of an answer: a choice if there are Choices, else a number.
type Field struct {
	Name    string // in answer.json
	Label   labs.Text
	Choices []Choice
	Unit    labs.Text // of a number
}

// Choice is one of the answers to choose from.
type Choice struct {
	Value string // in answer.json
	Label labs.Text
}

// Def is one check of an exercise.
type Def struct {
	Name   labs.Text
	ID     string // short, for Needs and for --check
	Hidden bool   // its name is not shown before it ran; it counts all the same
	Points int
	// Needs are the ids of earlier checks; if one of them did not pass, this one is not run.
	Needs []string
	// Seeds is how many seeds it runs with; 0 is once, without.
	Seeds int
	// Run judges. Nil is passed. It must return soon after ctx is done. The runner adds what went wrong in the learner's
	// core itself (it panicked, took too long, …), which goes before what Run says.
	Run func(ctx context.Context, w *Work, seed uint64) *Finding
}

// Finding is why a check did not pass. All four are sentences for a learner.
type Finding struct {
	Expected, Seen, Where, Try labs.Text
	// NotJudged says that the machine, not the work, was at fault, such as a run that stalled.
	NotJudged bool
}

// Work is what a learner hands in; a field that the kind does not have is nil.
type Work struct {
	Core   Core                                                                              // of a code exercise
	Answer map[string]any                                                                    // answer.json of a predict exercise: string or float64 by field
	Record *labs.Record                                                                      // run.weir of a live exercise, and the deciding run of a predict exercise
	Run    func(ctx context.Context, lab string, knobs map[string]any) (*labs.Record, error) // runs a lab now; of a predict exercise
}

// Core is a learner's core in its sandbox. Calls may come from any goroutine, one at a time.
type Core interface {
	// Call has the core do one thing. After the first failure (a panic, the deadline, no memory) it answers nil at once, so
	// that a proxy must read an empty answer as zeros; Err says what happened.
	Call(method uint32, args []byte) []byte
	Err() error
	// Reset begins anew with a fresh instance, and forgets the failure.
	Reset() error
}
