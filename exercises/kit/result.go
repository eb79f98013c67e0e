package kit

import "weir/labs"

// Status of a check or of an exercise.
type Status string

// The statuses.
const (
	Passed    Status = "passed"
	Failed    Status = "failed"
	NotRun    Status = "not run"    // a check that it needs did not pass
	NotJudged Status = "not judged" // the machine was at fault
	Error     Status = "error"      // the checker itself could not work, such as without Go
)

// Check is what came of one check.
type Check struct {
	ID       string
	Name     labs.Text
	Hidden   bool
	Status   Status
	Points   int // given
	Max      int
	Expected labs.Text
	Seen     labs.Text
	Where    labs.Text
	Try      labs.Text
	Seed     uint64 // that it failed with; 0 without
	Command  string // runs this check with this seed again
}

// Result is what came of an exercise.
type Result struct {
	Exercise  *Exercise
	Status    Status
	Points    int
	MaxPoints int
	Checks    []Check
	// Digest names the work that was judged: equal work has an equal one. Empty without work.
	Digest string
	// Problem is why nothing could be checked, such as a core that does not compile or no answer yet.
	Problem labs.Text
}
