package weir

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// level orders the packages: an import must lead to a lower level, or to engine/metric and engine/trace, which import
// none of ours.
var level = map[string]int{
	"engine/metric": 0, "engine/trace": 0, "engine/internal": 0,
	"engine/keygroup": 1,
	"engine/serde":    2,
	"engine/memory":   2,
	"engine/input":    3,
	"engine/network":  3, "engine/checkpoint": 3,
	"engine/state":    4,
	"engine/task":     5,
	"engine/operator": 6, "engine/job": 6,
	"engine/golden": 7, "engine/fieldreports": 7, // hold all of the engine against what is known
	"testdata/golden": 0,
	"class":           1,
	"whole":           0,
	"labs":            7,
	"exercises/kit":   8,
	"exercises":       9,
	"web":             10,
	"cmd":             11,
}

// TestArrows holds the imports to one direction: cmd -> web -> exercises -> labs -> engine, and inside the engine job -> task ->
// network, checkpoint, state -> memory, serde, keygroup.
func TestArrows(t *testing.T) {
	place := func(pkg string) (string, int) {
		for p := pkg; p != "."; p = path.Dir(p) {
			if l, ok := level[p]; ok {
				return p, l
			}
		}
		return pkg, -1
	}
	seen := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != "." || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || filepath.Dir(file) == "." {
			return nil
		}
		from, lf := place(filepath.ToSlash(filepath.Dir(file)))
		if lf < 0 {
			t.Errorf("%s: package %s has no level in arrows_test.go", file, from)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			rest, ours := strings.CutPrefix(p, "weir/")
			if !ours {
				continue
			}
			seen++
			to, lt := place(rest)
			if to != from && lt >= lf {
				t.Errorf("%s imports %s: %s (level %d) may not import %s (level %d)", file, p, from, lf, to, lt)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 40 {
		t.Errorf("only %d imports were looked at", seen)
	}
}

// TestLearnersSide holds what is built into a learner's module, or may be, to what is there: the standard library, the
// exercise's interface, and the bytes of a call.
func TestLearnersSide(t *testing.T) {
	const wire = "weir/exercises/kit/wire"
	seen := 0
	for _, pattern := range []string{
		"exercises/kit/wire/*.go", "exercises/[0-9][0-9]-*/api/*.go", "exercises/[0-9][0-9]-*/starter/*.go", "exercises/[0-9][0-9]-*/solutions/*/*.go",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(filepath.ToSlash(file), "/")
			api := "weir/" + path.Join(parts[0], parts[1], "api")
			for _, imp := range f.Imports {
				p, err := strconv.Unquote(imp.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				seen++
				first, _, _ := strings.Cut(p, "/")
				allowed := first != "weir" && !strings.Contains(first, ".")
				switch parts[2] {
				case "api":
					allowed = allowed || p == wire
				case "starter", "solutions":
					allowed = allowed || p == api
				}
				if !allowed {
					t.Errorf("%s imports %s, which a learner's module does not have", file, p)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d imports were looked at", seen)
	}
}
