package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func put(t *testing.T, s SharedFiles, text string) SharedHandle {
	t.Helper()
	h, err := s.Put(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSharedFiles(t *testing.T) {
	for name, s := range map[string]SharedFiles{"folder": NewFileShared(filepath.Join(t.TempDir(), "a", "shared"), nil), "memory": NewMemoryShared()} {
		if names, err := s.List(); err != nil || len(names) != 0 {
			t.Errorf("%s: %v, %v", name, names, err)
		}
		a, b := put(t, s, "one"), put(t, s, "one")
		if a.File == b.File || a.Bytes != 3 || a.Checksum != b.Checksum {
			t.Errorf("%s: %+v and %+v", name, a, b)
		}
		if got, err := s.Get(a); err != nil || string(got) != "one" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := s.Get(Inlined([]byte("in"))); err != nil || string(got) != "in" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if names, err := s.List(); err != nil || !slices.Equal(names, slices.Sorted(slices.Values([]string{a.File, b.File}))) {
			t.Errorf("%s: %v, %v", name, names, err)
		}
		for range 2 {
			if err := s.Discard(a); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.Get(a); err == nil || !strings.Contains(err.Error(), a.File) {
			t.Errorf("%s: %v", name, err)
		}
		b.Checksum++
		if _, err := s.Get(b); err == nil || !strings.Contains(err.Error(), "damaged: checksum") {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.Put(ctx, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if names, _ := s.List(); len(names) != 1 {
			t.Errorf("%s: %v", name, names)
		}
	}
}

func TestSharedFolderChecks(t *testing.T) {
	s := NewFileShared(filepath.Join(t.TempDir(), SharedFolder), nil)
	h := put(t, s, "content")
	if err := s.Check(h); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(s.Path(h), []byte("cont"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(h); err == nil || !strings.Contains(err.Error(), "truncated: 4 bytes, expected 7") {
		t.Error(err)
	}
	if err := os.Remove(s.Path(h)); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(h); err == nil || !strings.Contains(err.Error(), "missing, expected a shared file of 7 bytes") {
		t.Error(err)
	}
	if dir := SharedOf("/x/chk-7").Dir(); dir != filepath.FromSlash("/x/shared") {
		t.Error(dir)
	}
}

// Whatever the operation that fails, a put that fails leaves nothing.
func TestSharedPutLeavesNothing(t *testing.T) {
	for _, op := range []string{"create", "write", "sync /", "close", "rename", "sync-dir"} {
		m := newMemFS()
		s := NewFileShared("/ckp/shared", m)
		put(t, s, "first")
		m.failOn = op
		if _, err := s.Put(context.Background(), io.LimitReader(bytes.NewReader(make([]byte, 1<<20)), 1<<20)); err == nil {
			t.Errorf("%s: it did not fail", op)
		}
		m.failOn = ""
		if names, err := s.List(); err != nil || len(names) != 1 {
			t.Errorf("%s: %v, %v", op, names, err)
		}
	}
}

// A file that cannot be removed is removed when it can be, with the next one.
func TestSharedFilesThatCannotBeRemoved(t *testing.T) {
	m := newMemFS()
	s := NewFileShared("/ckp/shared", m)
	a, b, c := put(t, s, "a"), put(t, s, "b"), put(t, s, "c")
	m.failOn = "remove"
	for _, h := range []SharedHandle{a, b} {
		if err := s.Discard(h); err == nil || !strings.Contains(err.Error(), "cannot remove the shared file "+s.Path(h)) {
			t.Error(err)
		}
	}
	m.failOn = "write"
	if _, err := s.Put(context.Background(), strings.NewReader("d")); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if names, err := s.List(); err != nil || !slices.Equal(names, []string{c.File}) {
		t.Errorf("%v, %v, expected c only", names, err)
	}
}

// What could not be removed when it was to be is removed when the storage is swept.
func TestSweep(t *testing.T) {
	m := newMemFS()
	s := NewFileStorage("/ckp", m)
	if err := s.Begin(1); err != nil {
		t.Fatal(err)
	}
	h := put(t, s.Shared(), "a")
	m.failOn = "remove"
	if s.Discard(1) == nil || s.Shared().Discard(h) == nil {
		t.Error("they were removed")
	}
	s.Sweep()
	if tree := m.tree(); len(tree) != 4 {
		t.Errorf("%q, expected the checkpoint and the shared file", tree)
	}
	m.failOn = ""
	s.Sweep()
	if tree := m.tree(); !slices.Equal(tree, []string{"/ckp/", "/ckp/shared/"}) {
		t.Errorf("%q, expected the folders only", tree)
	}
}
