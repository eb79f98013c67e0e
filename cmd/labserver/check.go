package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"weir/exercises"
	"weir/exercises/kit"
	"weir/exercises/kit/runner"
	"weir/labs"
)

// checkFlags are the words of a check's command line.
type checkFlags struct {
	dir, format, lang string
	only              []string
	seed              uint64
	data              string
	submit, token     string
	submitCA          string
	autograder        string
}

// formats are the ways to write a report.
var formats = map[string]func(r *runner.Report, w io.Writer, lang string) error{
	"text":       func(r *runner.Report, w io.Writer, lang string) error { return r.Text(w, lang) },
	"json":       func(r *runner.Report, w io.Writer, _ string) error { return r.JSON(w) },
	"junit":      func(r *runner.Report, w io.Writer, _ string) error { return r.JUnit(w) },
	"gradescope": func(r *runner.Report, w io.Writer, _ string) error { return r.Gradescope(w) },
}

func newCheck(s streams) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check [EXERCISE...|all] [--dir DIR] [--format text|json|junit|gradescope] [--submit URL --token T]",
		Short: "Judges your work on exercises",
		Long: "Judges the work in DIR/<exercise>: core.go (labserver new writes one to fill in), answer.json, or run.weir.\n" +
			"Without an EXERCISE it takes those that have a folder in DIR. A single exercise's file may lie in DIR itself.\n" +
			"The exit status is 1 if an exercise is not passed.\n" +
			"--autograder FILE.zip checks nothing: it writes a ready autograder for Gradescope with these exercises.",
		Example: "  labserver check debloater\n" +
			"  labserver check debloater --only average --seed 7\n" +
			"  labserver check all --dir course --format junit > results.xml\n" +
			"  labserver check debloater --autograder debloater.zip",
		ValidArgsFunction:     completeExercises(0),
		DisableFlagsInUseLine: true,
		RunE:                  func(c *cobra.Command, args []string) error { return check(c.Context(), args, &f, s) },
	}
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", ".", "`DIR` of your work")
	fl.StringVar(&f.format, "format", "text", "`FORMAT`: text, json, junit or gradescope")
	fl.StringVar(&f.lang, "lang", "", "`LANGUAGE`: en or zh; by default that of this terminal")
	fl.StringSliceVar(&f.only, "only", nil, "the `ID` of a check to run alone; may be repeated")
	fl.Uint64Var(&f.seed, "seed", 0, "the one seed to run with, a `NUMBER`")
	fl.StringVar(&f.data, "data", "", "data folder (`DIR`) of the server whose signed records are trusted")
	fl.StringVar(&f.submit, "submit", "", "address (`URL`) of the class's server to report the results to, such as http://192.0.2.7:8090")
	fl.StringVar(&f.token, "token", "", "your `TOKEN` for it; it stands on your page")
	fl.StringVar(&f.submitCA, "submit-ca", "", "`FILE` of its certificate, where nobody that this machine trusts has signed it")
	fl.StringVar(&f.autograder, "autograder", "", "write a Gradescope autograder to this zip `FILE` and check nothing")
	completeWords(c, "format", slices.Sorted(maps.Keys(formats))...)
	completeWords(c, "lang", "en", "zh")
	completeFolder(c, "dir", "data")
	return c
}

func check(ctx context.Context, args []string, f *checkFlags, s streams) error {
	write, ok := formats[f.format]
	switch {
	case !ok:
		return usage("--format %q: give text, json, junit or gradescope", f.format)
	case f.lang != "" && f.lang != "en" && f.lang != "zh":
		return usage("--lang %q: give en or zh", f.lang)
	case (f.submit == "") != (f.token == ""):
		return usage("--submit and --token belong together: give both")
	}
	if f.submitCA != "" && f.submit == "" {
		return usage("--submit-ca is for --submit: give the address of the class's server too")
	}
	to, err := classOf(f)
	if err != nil {
		return err
	}
	if f.autograder != "" {
		return writeAutograder(args, f, s)
	}
	if info, err := os.Stat(f.dir); err != nil || !info.IsDir() {
		return usage("--dir %s: give a folder that exists", f.dir)
	}
	if f.data != "" && labs.TrustedRecordKey(f.data) == nil {
		return usage("--data %s: there is no key of a server: give the folder that labserver serve had as --data", f.data)
	}
	list, err := chosen(args, f)
	if err != nil {
		return err
	}
	var work []*runner.Submission
	for _, e := range list {
		sub, err := runner.Load(f.dir, e, len(list) == 1)
		if err != nil {
			return asUsage(err)
		}
		if err := firstAnswer(folderOf(f.dir, e, len(list) == 1), e, &sub, s); err != nil {
			return err
		}
		work = append(work, &sub)
	}
	results := checkAll(ctx, list, work, f, s)
	if ctx.Err() == nil {
		for i, e := range list {
			if err := commitAnswer(folderOf(f.dir, e, len(list) == 1), e, work[i], results[i]); err != nil {
				return err
			}
		}
	}
	lang := f.lang
	if lang == "" {
		lang = terminalLanguage(os.Getenv)
	}
	report := runner.NewReport(results, lang)
	if err := write(report, s.out, lang); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil // interrupted: the results so far are the result
	}
	if to != nil {
		if err := submit(ctx, to, report, work, s); err != nil {
			return err
		}
	}
	if left := len(list) - report.Passed(); left > 0 {
		return fmt.Errorf("not passed: %d of %d exercises", left, len(list))
	}
	return nil
}

// chosen are the exercises that the arguments name.
func chosen(args []string, f *checkFlags) ([]*kit.Exercise, error) {
	all := exercises.All()
	var list []*kit.Exercise
	switch {
	case slices.Contains(args, "all"):
		if len(args) > 1 {
			return nil, usage("all is every exercise: give no other with it")
		}
		list = all
	case len(args) == 0:
		for _, e := range all {
			if info, err := os.Stat(filepath.Join(f.dir, e.ID)); err == nil && info.IsDir() {
				list = append(list, e)
			}
		}
		if len(list) == 0 {
			return nil, usage("%s has no folder of an exercise: labserver new EXERCISE makes one, or name an EXERCISE to check", f.dir)
		}
	}
	for _, id := range args {
		if id == "all" {
			break
		}
		e, err := exercises.Find(id)
		if err != nil {
			return nil, asUsage(err)
		}
		if !slices.ContainsFunc(list, func(x *kit.Exercise) bool { return x.ID == id }) {
			list = append(list, e)
		}
	}
	return list, knownChecks(list, f.only)
}

// knownChecks sees that --only names checks that there are.
func knownChecks(list []*kit.Exercise, only []string) error {
	if len(only) > 0 && len(list) != 1 {
		return usage("--only needs one EXERCISE that has the check")
	}
	for _, id := range only {
		var shown []string
		found := false
		for i := range list[0].Checks {
			d := &list[0].Checks[i]
			found = found || d.ID == id
			if !d.Hidden {
				shown = append(shown, d.ID)
			}
		}
		if !found {
			return usage("--only %q: exercise %s has no such check; there are %s", id, list[0].ID, strings.Join(shown, ", "))
		}
	}
	return nil
}

// checkAll judges one exercise after the other.
func checkAll(ctx context.Context, list []*kit.Exercise, work []*runner.Submission, f *checkFlags, s streams) []*kit.Result {
	line := newProgress(s.err)
	defer line.end()
	o := runner.Options{Only: f.only, Seed: f.seed, Dir: f.dir, Run: runner.RunLab}
	if f.data != "" {
		o.Trusted = []ed25519.PublicKey{labs.TrustedRecordKey(f.data)}
	}
	var results []*kit.Result
	for i, e := range list {
		o.Progress = func(step runner.Step) { line.say(stepLine(i, len(list), step)) }
		results = append(results, runner.Check(ctx, e, work[i], o))
	}
	return results
}

func stepLine(i, n int, step runner.Step) string {
	line := fmt.Sprintf("[%d/%d] %s: ", i+1, n, step.Exercise.ID)
	switch {
	case step.Building:
		return line + "building core.go"
	case step.Check.Hidden:
		line += "a hidden check"
	default:
		line += step.Check.ID
	}
	if step.Seed != 0 {
		line += fmt.Sprintf(", seed %d", step.Seed)
	}
	return line
}

// terminalLanguage is zh for a Chinese locale, and en for any other.
func terminalLanguage(env func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := env(name); v != "" {
			if strings.HasPrefix(strings.ToLower(v), "zh") {
				return "zh"
			}
			return "en"
		}
	}
	return "en"
}

// exists says whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
