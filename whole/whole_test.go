package whole_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"weir/whole"
)

// only fails the test unless the folder has just this one file, with this content.
func only(t *testing.T, path, content string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != content {
		t.Errorf("%q, %v, expected %q", b, err, content)
	}
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(all) != 1 {
		t.Errorf("%v, %v, expected one file", all, err)
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress.json")
	if err := whole.Write(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	only(t, path, "one")
	broken := errors.New("broken")
	err := whole.Replace(path, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, "half of tw")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v, expected what fill said", err)
	}
	only(t, path, "one")
	err = whole.Replace(path, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, "two")
		return err
	})
	if info, statErr := os.Stat(path); err != nil || statErr != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v, %v", err, info.Mode(), statErr)
	}
	only(t, path, "two")
	if err := whole.Write(filepath.Join(t.TempDir(), "none", "x"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the folder: %v", err)
	}
}

func TestOfManyAtOnceOneCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.key")
	var all sync.WaitGroup
	var first atomic.Pointer[string]
	var made atomic.Int32
	for _, content := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		all.Go(func() {
			switch err := whole.Create(path, []byte(content)); {
			case err == nil:
				made.Add(1)
				first.Store(&content)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Fatalf("%d created the file, expected 1", made.Load())
	}
	only(t, path, *first.Load())
}
