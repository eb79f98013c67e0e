package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is what lies in a folder: by path the sum of a file's content and the time of its last change.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			all[path] = fmt.Sprint(d.Type())
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%v %x", info.ModTime(), sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// run --restore of a checkpoint that is damaged, newer, foreign or not all there: status 1, one line that names the file and
// what is wrong with it, and nothing changed on the disk.
func TestRunRestoreRefuses(t *testing.T) {
	good := t.TempDir()
	small := []string{"--set", "backend=lsm", "--set", "rate=20000", "--set", "stateBytesPerKey=100", "--set", "inlineThresholdBytes=0", "--set", "checkpointIntervalMs=150"}
	var found, shared []string
	for _, time := range []string{"600ms", "5s", "30s"} { // a busy machine may need longer for its first checkpoint
		run(t, append(small, "rescale", "--checkpoint-dir", good, "--for", time)...)
		found, _ = filepath.Glob(filepath.Join(good, "chk-*"))
		if shared, _ = filepath.Glob(filepath.Join(good, "shared", "*")); len(found) > 0 && len(shared) > 0 {
			break
		}
	}
	if len(found) == 0 || len(shared) == 0 {
		t.Fatalf("no checkpoint with a shared file was kept: %q, %q", found, shared)
	}
	checkpoint := filepath.Base(found[len(found)-1])
	metadata, err := os.ReadFile(filepath.Join(good, checkpoint, "_metadata"))
	if err != nil {
		t.Fatal(err)
	}
	flink, err := os.ReadFile("../../testdata/golden/checkpoints/hashmap/chk-2/_metadata")
	if err != nil {
		t.Fatal(err)
	}
	write := func(content string) func(string) error {
		return func(path string) error {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(content), 0o644)
		}
	}
	for _, c := range []struct {
		name, file string
		damage     func(path string) error
		says       string
	}{
		{"changed", checkpoint + "/_metadata", write(strings.Replace(string(metadata), "128", "129", 1)), "damaged: checksum"},
		{"truncated", checkpoint + "/_metadata", write(string(metadata[:len(metadata)/2])), "truncated"},
		{"newer", checkpoint + "/_metadata", write(strings.Replace(string(metadata), "weir-checkpoint 1", "weir-checkpoint 3", 1)), "newer version: format 3"},
		{"of Flink", checkpoint + "/_metadata", write(string(flink)), "metadata of Apache Flink"},
		{"a file", checkpoint, write("x"), "not a directory"},
		{"gone", checkpoint, os.RemoveAll, "no such folder"},
		{"state gone", checkpoint + "/count-0", os.Remove, "missing"},
		{"state changed", checkpoint + "/count-0", func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[len(b)/2]++
			return os.WriteFile(path, b, 0o644)
		}, "damaged: checksum"},
		{"shared files a file", "shared", write("x"), "not a directory"},
		{"shared files gone", "shared", os.RemoveAll, "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, filepath.FromSlash(c.file))
			if err := c.damage(name); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			for _, own := range [][]string{nil, {"--checkpoint-dir", dir}, {"--checkpoint-dir", filepath.Join(dir, "new")}} {
				args := append(append([]string{"run", "rescale", "--for", "1s", "--restore", filepath.Join(dir, checkpoint)}, small...), own...)
				out, errs, status := labserver(t, "", args...)
				if status != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, name) || !strings.Contains(errs, c.says) {
					t.Errorf("%q: status %d, %q, %q does not say %s and %q", own, status, out, errs, name, c.says)
				}
			}
			if after := tree(t, dir); !maps.Equal(before, after) {
				t.Errorf("the folder has changed: %v, before %v", after, before)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left in the folder of temporary files: %v", left)
			}
		})
	}
}
