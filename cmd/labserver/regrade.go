package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/class"
	"weir/exercises"
	"weir/exercises/kit"
	"weir/exercises/kit/runner"
)

// freshRounds is how many new seeds code is run with.
const freshRounds = 3

// regradeFlags are the words of a regrade's command line.
type regradeFlags struct {
	seeds  string
	all    bool
	asJSON bool
	only   []string
}

func newRegrade(s streams) *cobra.Command {
	var f regradeFlags
	c := &cobra.Command{
		Use:   "regrade [--seeds usual|fresh] [--all] [--json] EXPORT",
		Short: "Runs the code of a class's export again and prints what differs",
		Long: "Runs the code that learners handed in again, from an EXPORT of the class as JSON with the work, and prints each result that\n" +
			"comes out otherwise than it was graded. Of each learner and exercise it takes the result that counts.\n" +
			"--seeds fresh runs with seeds that nobody has seen, which code that was fitted to the usual ones fails.\n" +
			"The exit status is 1 if a result differs or could not be judged. Predictions and records are not run.",
		Example:               "  labserver regrade --seeds fresh class.json",
		Args:                  exactly("EXPORT"),
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			if f.seeds != "usual" && f.seeds != "fresh" {
				return usage("--seeds %q: give usual or fresh", f.seeds)
			}
			for _, id := range f.only {
				if _, err := exercises.Find(id); err != nil {
					return usage("--only: %w", err)
				}
			}
			x, err := readExport(args[0])
			if err != nil {
				return asUsage(err)
			}
			return regrade(c.Context(), x, &f, s)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.seeds, "seeds", "usual", "`WHICH`: usual, those of labserver check, or fresh, new random ones")
	fl.BoolVar(&f.all, "all", false, "every result with code, not only those that count")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object for each result, also for those as before")
	fl.StringSliceVar(&f.only, "only", nil, "the `EXERCISE` to run alone; may be repeated")
	return c
}

func readExport(path string) (*class.Export, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var x class.Export
	if err := json.NewDecoder(bufio.NewReader(file)).Decode(&x); err != nil {
		return nil, fmt.Errorf("EXPORT %s is not the JSON of a class: %w", path, err)
	}
	if x.Format != class.ExportFormat {
		return nil, fmt.Errorf("EXPORT %s: the format is %q, expected %q", path, x.Format, class.ExportFormat)
	}
	return &x, nil
}

// regraded is one result, as it was and as it comes out now.
type regraded struct {
	Person   string     `json:"person"`
	Name     string     `json:"name"`
	Exercise string     `json:"exercise"`
	Result   string     `json:"result"`
	Was      verdict    `json:"was"`
	Now      verdict    `json:"now"`
	Differs  bool       `json:"differs"`
	Check    string     `json:"check,omitempty"` // that does not pass now
	Seed     uint64     `json:"seed,omitempty"`  // with which
	Seen     string     `json:"seen,omitempty"`
	core     string     // the code
	status   kit.Status // now
	exercise *kit.Exercise
}

type verdict struct {
	Status string `json:"status"`
	Points int    `json:"points"`
	Max    int    `json:"maxPoints"`
}

func (v verdict) String() string { return fmt.Sprintf("%s %d of %d", v.Status, v.Points, v.Max) }

// codeOf lists the results with code that are to be run, and counts what is left out.
func codeOf(x *class.Export, f *regradeFlags) (list []*regraded, strange int) {
	known := map[string]*kit.Exercise{}
	for _, e := range exercises.All() {
		known[e.ID] = e
	}
	for i := range x.People {
		p := &x.People[i]
		counts := map[string]bool{}
		for _, g := range p.Grades {
			counts[g.Result] = true
		}
		for j := range p.Results {
			r := &p.Results[j]
			if r.Work == nil || r.Work.Core == "" || !f.all && !counts[r.ID] || len(f.only) > 0 && !slices.Contains(f.only, r.Exercise) {
				continue
			}
			e := known[r.Exercise]
			if e == nil || e.Kind != kit.Code {
				strange++
				continue
			}
			list = append(list, &regraded{
				Person: p.ID, Name: p.Name, Exercise: r.Exercise, Result: r.ID, Was: verdict{r.Status, r.Points, r.MaxPoints}, core: r.Work.Core, exercise: e,
			})
		}
	}
	return list, strange
}

func regrade(ctx context.Context, x *class.Export, f *regradeFlags, s streams) error {
	list, strange := codeOf(x, f)
	if strange > 0 {
		_, _ = fmt.Fprintf(s.err, "labserver: %d results are of exercises that this program does not have\n", strange)
	}
	seeds := []uint64{0}
	if f.seeds == "fresh" {
		seeds = freshSeeds()
	}
	// Equal code is run once.
	type key struct{ exercise, core string }
	done := map[key]*kit.Result{}
	differ, unjudged, ran := 0, 0, 0
	for _, r := range list {
		k := key{r.Exercise, r.core}
		result := done[k]
		if result == nil {
			result = worst(ctx, r.exercise, []byte(r.core), seeds)
			if ctx.Err() != nil {
				break // what was seen of this one says nothing
			}
			done[k] = result
		}
		r.judge(result)
		ran++
		switch {
		case r.status == kit.NotJudged || r.status == kit.Error || r.status == kit.NotRun:
			unjudged++
		case r.Differs:
			differ++
		}
		if err := r.print(s.out, f.asJSON); err != nil {
			return err
		}
	}
	if !f.asJSON {
		_, err := fmt.Fprintf(s.out, "%d of %d results with code were run: %d as before, %d otherwise, %d could not be judged\n",
			ran, len(list), ran-differ-unjudged, differ, unjudged)
		if err != nil {
			return err
		}
	}
	if ctx.Err() == nil && differ+unjudged > 0 {
		return fmt.Errorf("regrade: %d of %d results come out otherwise, %d could not be judged", differ, ran, unjudged)
	}
	return nil
}

// freshSeeds are random ones that JSON's numbers hold exactly, and none of the usual small ones.
func freshSeeds() (seeds []uint64) {
	for range freshRounds {
		seeds = append(seeds, 1<<20+rand.Uint64N(1<<52))
	}
	return seeds
}

// worst runs code with each seed, up to the first with which it does not pass, and gives the result with the fewest points. The
// seed 0 stands for those that the checks ask for.
func worst(ctx context.Context, e *kit.Exercise, core []byte, seeds []uint64) (least *kit.Result) {
	for _, seed := range seeds {
		r := runner.Check(ctx, e, &runner.Submission{Core: core}, runner.Options{Seed: seed})
		if least == nil || r.Points < least.Points || least.Status == kit.Passed && r.Status != kit.Passed {
			least = r
		}
		if r.Status != kit.Passed || ctx.Err() != nil {
			break
		}
	}
	return least
}

// judge notes what came out now.
func (r *regraded) judge(result *kit.Result) {
	r.status = result.Status
	r.Now = verdict{string(result.Status), result.Points, result.MaxPoints}
	r.Differs = r.Now.Status != r.Was.Status || r.Now.Points != r.Was.Points
	r.Seen = result.Problem.En
	for _, c := range result.Checks {
		if c.Status != kit.Passed && c.Status != kit.NotRun {
			r.Check, r.Seed, r.Seen = c.ID, c.Seed, c.Seen.En
			break
		}
	}
}

// print writes a result that differs as a line, or any as JSON.
func (r *regraded) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSONLine(w, r)
	}
	if !r.Differs {
		return nil
	}
	name, err := class.CleanName(r.Name) // a file may have anything, also what steers a terminal
	if err != nil {
		name = r.Person
	}
	why := ""
	if r.Check != "" {
		why = " (check " + r.Check
		if r.Seed != 0 {
			why += fmt.Sprintf(", seed %d", r.Seed)
		}
		why += ")"
	}
	if line, _, _ := strings.Cut(r.Seen, "\n"); line != "" {
		why += fmt.Sprintf(": %q", line)
	}
	_, err = fmt.Fprintf(w, "%s: %s: %v -> %v%s\n", name, r.Exercise, r.Was, r.Now, why)
	return err
}
