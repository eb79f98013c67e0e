// Package runner has checks judge a learner's work, the same for the page, the command line and a grader, and writes what
// came of it.
package runner

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"weir/exercises/kit"
	"weir/exercises/kit/sandbox"
	"weir/labs"
)

// checkTime is how long one check may take with one seed.
const checkTime = 60 * time.Second

// Options say how to check.
type Options struct {
	// Only are the ids of the checks to run; none is all. They run whether what they need passed or not.
	Only []string
	// Seed is the one seed to run with; 0 is as many as a check asks for, from 1 on.
	Seed uint64
	// Seeds runs checks that have seeds with this many; 0 is as many as they ask for.
	Seeds int
	// Dir is the learner's folder as it stands in the command to paste; empty leaves it out.
	Dir string
	// Trusted are the keys that a record may be signed with.
	Trusted []ed25519.PublicKey
	// Run runs a lab now, for exercises whose checks want to.
	Run func(ctx context.Context, lab string, knobs map[string]any) (*labs.Record, error)
	// Progress is called before each step, on the goroutine of Check.
	Progress func(Step)
}

// Step is what a check of an exercise is about to do.
type Step struct {
	Exercise *kit.Exercise
	Building bool     // the core; Check is nil
	Check    *kit.Def // hidden ones too: Name is for those that are not
	Index    int      // of Check, from 0
	Seed     uint64
}

// Check judges the work handed in for one exercise. When ctx ends, what was not judged yet is not run.
func Check(ctx context.Context, e *kit.Exercise, s *Submission, o Options) *kit.Result {
	r := &kit.Result{Exercise: e, Status: kit.NotRun, MaxPoints: e.MaxPoints(), Digest: s.Digest()}
	for i := range e.Checks {
		d := &e.Checks[i]
		r.Checks = append(r.Checks, kit.Check{ID: d.ID, Name: d.Name, Hidden: d.Hidden, Status: kit.NotRun, Max: d.Points})
	}
	if r.Problem = s.missing(e); r.Problem != (labs.Text{}) {
		return r
	}
	w, problem := s.work(e, o.Trusted)
	if problem != (labs.Text{}) {
		r.Problem = problem
		if !s.unanswered(e) {
			r.Status = kit.Failed
		}
		return r
	}
	w.Run = o.Run
	if e.Kind == kit.Code {
		o.progress(Step{Exercise: e, Building: true})
		core, status, problem := open(ctx, e, s.Core)
		if core == nil {
			r.Problem, r.Status = problem, status
			return r
		}
		defer core.Close()
		w.Core = core
	}
	for i := range e.Checks {
		if !o.wants(e.Checks[i].ID) || ctx.Err() != nil || !met(e, r, i, len(o.Only) > 0) {
			continue
		}
		judge(ctx, r, i, w, &o)
	}
	sum(r)
	return r
}

func (o *Options) progress(s Step) {
	if o.Progress != nil {
		o.Progress(s)
	}
}

func (o *Options) wants(id string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, id) }

// open builds a core and starts it. Without one, the status and the reason say why.
func open(ctx context.Context, e *kit.Exercise, source []byte) (*sandbox.Core, kit.Status, labs.Text) {
	wasm, err := sandbox.Build(ctx, e, source)
	var core *sandbox.Core
	if err == nil {
		core, err = sandbox.Open(ctx, wasm)
	}
	var refused *sandbox.BuildError
	switch {
	case err == nil:
		return core, "", labs.Text{}
	case ctx.Err() != nil:
		return nil, kit.NotRun, labs.Text{En: "The check was interrupted.", Zh: "检查被中断了。"}
	case errors.As(err, &refused) && !refused.NoGo:
		return nil, kit.Failed, refused.Text
	case errors.As(err, &refused):
		return nil, kit.Error, refused.Text
	}
	return nil, kit.Error, checkerFailed(err.Error())
}

func checkerFailed(why string) labs.Text {
	return labs.Text{En: "The checker itself could not work: " + why, Zh: "检查器自身无法工作：" + why}
}

// met says whether all that a check needs has passed.
func met(e *kit.Exercise, r *kit.Result, i int, regardless bool) bool {
	for _, need := range e.Checks[i].Needs {
		j := slices.IndexFunc(r.Checks, func(c kit.Check) bool { return c.ID == need })
		if !regardless && (j < 0 || r.Checks[j].Status != kit.Passed) {
			return false
		}
	}
	return true
}

// judge runs one check with its seeds, up to the first that does not pass.
func judge(ctx context.Context, r *kit.Result, i int, w *kit.Work, o *Options) {
	d, c := &r.Exercise.Checks[i], &r.Checks[i]
	for _, seed := range o.seeds(d) {
		if ctx.Err() != nil {
			return
		}
		o.progress(Step{Exercise: r.Exercise, Check: d, Index: i, Seed: seed})
		status, f := once(ctx, d, w, seed)
		if ctx.Err() != nil {
			return // what was seen says nothing
		}
		if status == kit.Passed {
			continue
		}
		c.Status, c.Seed = status, seed
		c.Expected, c.Seen, c.Where, c.Try = f.Expected, f.Seen, f.Where, f.Try
		c.Command = o.command(r.Exercise.ID, d.ID, seed)
		return
	}
	c.Status, c.Points = kit.Passed, d.Points
}

func (o *Options) seeds(d *kit.Def) []uint64 {
	n := d.Seeds
	switch {
	case n == 0:
		return []uint64{0}
	case o.Seed != 0:
		return []uint64{o.Seed}
	case o.Seeds > 0:
		n = o.Seeds
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	return seeds
}

func (o *Options) command(exercise, check string, seed uint64) string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "labserver check %s", exercise)
	if o.Dir != "" && o.Dir != "." {
		fmt.Fprintf(&b, " --dir %s", quoted(o.Dir))
	}
	fmt.Fprintf(&b, " --only %s", check)
	if seed != 0 {
		fmt.Fprintf(&b, " --seed %d", seed)
	}
	return b.String()
}

// quoted makes a word of a shell of a path.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+:=@%", c))
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// once runs a check with one seed, on a core that begins anew.
func once(ctx context.Context, d *kit.Def, w *kit.Work, seed uint64) (status kit.Status, f *kit.Finding) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	core, sandboxed := w.Core.(*sandbox.Core)
	if sandboxed {
		core.Seed(seed)
		if err := core.Reset(); err != nil {
			return coreFailed(core, err, &kit.Finding{Expected: labs.Text{En: "A core that starts.", Zh: "能够启动的核心。"}})
		}
	}
	defer func() {
		if p := recover(); p != nil {
			words := fmt.Sprint(p)
			if line := firstOwnLine(string(debug.Stack())); line != "" {
				words += " at " + line
			}
			status, f = kit.Error, &kit.Finding{Seen: checkerFailed(words)}
		}
		if sandboxed && core.Err() != nil {
			status, f = coreFailed(core, core.Err(), f)
		}
	}()
	f = d.Run(ctx, w, seed)
	switch {
	case f == nil:
		return kit.Passed, nil
	case f.NotJudged:
		return kit.NotJudged, f
	}
	if sandboxed {
		f = withPrinted(f, core.Printed())
	}
	return kit.Failed, f
}

// firstOwnLine finds where a check panicked.
func firstOwnLine(stack string) string {
	_, stack, _ = strings.Cut(stack, "panic(")
	for line := range strings.Lines(stack) {
		if _, rest, ok := strings.Cut(line, "/exercises/"); ok && strings.HasPrefix(line, "\t") {
			rest, _, _ = strings.Cut(rest, " ")
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// coreFailed puts how the core ended before what the check saw of it.
func coreFailed(core *sandbox.Core, err error, f *kit.Finding) (kit.Status, *kit.Finding) {
	var end *sandbox.Failure
	if !errors.As(err, &end) {
		return kit.Error, &kit.Finding{Seen: checkerFailed(err.Error())}
	}
	found := kit.Finding{Seen: end.Text()}
	if f != nil {
		found.Expected = f.Expected
	}
	if found.Expected == (labs.Text{}) {
		found.Expected = labs.Text{En: "A core that answers every call.", Zh: "对每次调用都作出回答的核心。"}
	}
	found.Where = labs.Text{En: "core.go", Zh: "core.go"}
	if end.Line != "" {
		found.Where = labs.Text{En: end.Line, Zh: end.Line}
	}
	found.Try = end.Advice()
	if end.Kind == sandbox.Stalled {
		return kit.NotJudged, &found
	}
	return kit.Failed, withPrinted(&found, core.Printed())
}

// withPrinted adds what the core printed to where to look. It is a note: no verdict comes of it.
func withPrinted(f *kit.Finding, printed string) *kit.Finding {
	printed, _, _ = strings.Cut(printed, "\npanic: ")
	printed, _, _ = strings.Cut(printed, "\nfatal error: ")
	printed = strings.TrimSpace(printed)
	if printed == "" || strings.HasPrefix(printed, "panic: ") || strings.HasPrefix(printed, "fatal error: ") {
		return f
	}
	const most = 300
	if len(printed) > most {
		printed = strings.ToValidUTF8(printed[:most], "") + "…"
	}
	with := *f
	with.Where = labs.Text{En: join(f.Where.En, "The core printed: "+printed), Zh: join(f.Where.Zh, "核心打印了："+printed)}
	return &with
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// sum adds the points up and derives the status of the exercise: what is worst about its checks.
func sum(r *kit.Result) {
	count := map[kit.Status]int{}
	for i := range r.Checks {
		r.Points += r.Checks[i].Points
		count[r.Checks[i].Status]++
	}
	for _, s := range []kit.Status{kit.Failed, kit.Error, kit.NotJudged, kit.NotRun} {
		if count[s] > 0 {
			r.Status = s
			return
		}
	}
	r.Status = kit.Passed
}
