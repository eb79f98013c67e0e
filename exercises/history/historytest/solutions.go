// Package historytest holds the solutions of a code exercise against its checks, without a sandbox.
package historytest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"weir/exercises/history"
	"weir/exercises/kit"
)

// Dispatch is what api.Dispatch gives.
type Dispatch = func(method uint32, args []byte) []byte

var refusedBy = regexp.MustCompile(`(?m)^// refused by: (\S+)$`)

// Run holds each solution against the checks: the right one passes all with every seed, each wrong one is refused by the
// check that its source names, with every seed. The folders under solutions must be those in all, with at least four wrong.
func Run(t *testing.T, e *kit.Exercise, all map[string]func() Dispatch, seeds int) {
	dirs, err := filepath.Glob("solutions/*/core.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range dirs {
		names = append(names, filepath.Base(filepath.Dir(d)))
	}
	for name := range all {
		if !slices.Contains(names, name) && name != "starter" {
			t.Errorf("there is no solution %s", name)
		}
	}
	if len(names) < 5 || !slices.Contains(names, "right") {
		t.Errorf("solutions %v: expected right and at least four wrong", names)
	}
	for _, name := range names {
		make := all[name]
		if make == nil {
			t.Errorf("solution %s is not tested", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			if name == "right" {
				right(t, e, make, seeds)
				return
			}
			wrong(t, e, make, "solutions/"+name+"/core.go", seeds)
		})
	}
	if make := all["starter"]; make != nil {
		t.Run("starter", func(t *testing.T) {
			for i := range e.Checks {
				if e.Checks[i].Points > 0 && run(t, &e.Checks[i], make, 1) != nil {
					return
				}
			}
			t.Error("the untouched starter passes")
		})
	}
}

func run(t *testing.T, d *kit.Def, make func() Dispatch, seed uint64) *kit.Finding {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := &kit.Work{Core: history.Native(make)}
	f := d.Run(ctx, w, seed)
	if err := w.Core.Err(); err != nil {
		t.Logf("%s: the core: %v", d.ID, err)
	}
	if f != nil {
		for _, x := range []struct{ what, en, zh string }{{"expected", f.Expected.En, f.Expected.Zh}, {"seen", f.Seen.En, f.Seen.Zh},
			{"where", f.Where.En, f.Where.Zh}, {"try", f.Try.En, f.Try.Zh}} {
			if x.en == "" || x.zh == "" {
				t.Errorf("check %s: %s is missing in a language: %q %q", d.ID, x.what, x.en, x.zh)
			}
		}
	}
	return f
}

func seedsOf(d *kit.Def, seeds int) int {
	if d.Seeds == 0 {
		return 1
	}
	return seeds
}

func right(t *testing.T, e *kit.Exercise, make func() Dispatch, seeds int) {
	for i := range e.Checks {
		d := &e.Checks[i]
		for seed := range uint64(seedsOf(d, seeds)) {
			if f := run(t, d, make, seed+1); f != nil {
				t.Errorf("check %s, seed %d: expected %s, seen %s", d.ID, seed+1, f.Expected.En, f.Seen.En)
			}
		}
	}
}

func wrong(t *testing.T, e *kit.Exercise, make func() Dispatch, file string, seeds int) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := refusedBy.FindSubmatch(source)
	if m == nil {
		t.Fatalf("%s does not say which check refuses it", file)
	}
	i := slices.IndexFunc(e.Checks, func(d kit.Def) bool { return d.ID == string(m[1]) })
	if i < 0 {
		t.Fatalf("%s names the check %s, which there is not", file, m[1])
	}
	d := &e.Checks[i]
	for seed := range uint64(seedsOf(d, seeds)) {
		f := run(t, d, make, seed+1)
		if f == nil {
			t.Errorf("check %s, seed %d: it passed", d.ID, seed+1)
		} else if seed == 0 {
			t.Logf("%s: expected %s\nseen %s", d.ID, f.Expected.En, f.Seen.En)
		}
	}
}
