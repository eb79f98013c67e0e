package job_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/task"
)

// tree is what lies in a folder: by path its mode and, of a file, the time of its last change and its content.
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
		all[path] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// refused starts a job that must not start: one clear line that holds all of says, nothing that changed in dir, nothing made
// beside it.
func refused(t *testing.T, dir string, s task.Settings, o job.Options, says ...string) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	before := tree(t, dir)
	j, err := job.Start(counting(0), s, o)
	if err == nil {
		j.Close()
		t.Fatal("it was started")
	}
	t.Log(err)
	text := err.Error()
	if strings.Contains(text, "\n") || strings.Contains(text, "goroutine") {
		t.Errorf("not one line: %s", text)
	}
	for _, s := range says {
		if !strings.Contains(text, s) {
			t.Errorf("%s\ndoes not say %q", text, s)
		}
	}
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder has changed: %v, before %v", after, before)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left in the folder of temporary files: %v", left)
	}
}

// kept runs the job of rescaleSettings until it has a checkpoint with a shared file, and gives its folder.
func kept(t *testing.T, backend, dir string) string {
	t.Helper()
	s := rescaleSettings(backend)
	s.StateBytesPerKey = 100
	j := start(t, counting(0), s, job.Options{CheckpointDir: dir})
	await(t, "all keys", func() bool { keys, _, _ := keysOf(j.Snapshot()); return sum(keys) == 1000 })
	c := awaitCheckpoint(t, j)
	j.Close()
	return c.Path
}

// TestRestoreRefuses starts from checkpoints that are damaged, truncated, foreign, newer, or not all there.
func TestRestoreRefuses(t *testing.T) {
	good := t.TempDir()
	path := kept(t, task.LSM, good)
	rel, err := filepath.Rel(good, path)
	if err != nil {
		t.Fatal(err)
	}
	var shared string
	for name := range filesOf(t, path) {
		shared = filepath.Join(checkpoint.SharedFolder, name)
	}
	metadata, count := filepath.Join(rel, checkpoint.MetadataName), filepath.Join(rel, "count-1")
	flink, err := os.ReadFile("../../testdata/golden/checkpoints/hashmap/chk-2/_metadata")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(change func(b []byte) []byte) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, change(b), 0o644)
		}
	}
	flip := edit(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	cut := edit(func(b []byte) []byte { return b[:len(b)*2/3] })
	folder := func(path string) error {
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Mkdir(path, 0o755)
	}
	file := func(path string) error {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return os.WriteFile(path, []byte("not a folder"), 0o644)
	}
	for _, c := range []struct {
		name, file string
		damage     func(path string) error
		says       []string // beside the file
	}{
		{"metadata changed", metadata, flip, []string{"damaged: checksum"}},
		{"metadata truncated", metadata, cut, []string{"truncated"}},
		{"metadata empty", metadata, edit(func([]byte) []byte { return nil }), []string{"truncated: it is empty"}},
		{"metadata foreign", metadata, edit(func([]byte) []byte { return []byte("hello, world\n") }), []string{"not the metadata of a checkpoint"}},
		{"metadata of Flink", metadata, edit(func([]byte) []byte { return flink }), []string{"metadata of Apache Flink", "weir-checkpoint"}},
		{"metadata newer", metadata, edit(func(b []byte) []byte {
			return []byte(strings.Replace(string(b), "weir-checkpoint 1", "weir-checkpoint 2", 1))
		}),
			[]string{"newer version", "2", "at most 1"}},
		{"metadata missing", rel, func(path string) error { return os.Remove(filepath.Join(path, checkpoint.MetadataName)) }, []string{"no _metadata there"}},
		{"metadata a folder", metadata, folder, []string{"not a regular file"}},
		{"checkpoint missing", rel, os.RemoveAll, []string{"no such folder"}},
		{"checkpoint a file", rel, file, []string{"not a directory"}},
		{"state changed", count, flip, []string{"damaged: checksum"}},
		{"state truncated", count, cut, []string{"truncated", "expected"}},
		{"state missing", count, os.Remove, []string{"missing", "state of count 1"}},
		{"state a folder", count, folder, []string{"not a regular file"}},
		{"state foreign", count, edit(func(b []byte) []byte { copy(b, "something else"); return b }), []string{"not a state file"}},
		{"state newer", count, edit(func(b []byte) []byte { b[9] = 77; return b }), []string{"version 77", "expected version 1 to"}},
		{"shared file changed", shared, flip, []string{"damaged: checksum", `vertex "count"`}},
		{"shared file truncated", shared, cut, []string{"truncated", "bytes, expected", `vertex "count"`}},
		{"shared file missing", shared, os.Remove, []string{"missing", `vertex "count"`}},
		{"shared file a folder", shared, folder, []string{"not a regular file", `vertex "count"`}},
		{"shared files a file", checkpoint.SharedFolder, file, []string{"not a directory", `vertex "count"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, c.file)
			if err := c.damage(name); err != nil {
				t.Fatal(err)
			}
			s := rescaleSettings(task.LSM)
			s.StateBytesPerKey, s.Parallelism = 100, 3
			// Its own checkpoints go beside the old ones, or into a folder that is not there yet.
			for _, own := range []string{dir, filepath.Join(dir, "new", "checkpoints")} {
				refused(t, dir, s, job.Options{RestorePath: filepath.Join(dir, rel), CheckpointDir: own}, append(c.says, name)...)
			}
		})
	}
	t.Run("folder of checkpoints", func(t *testing.T) {
		refused(t, good, rescaleSettings(task.LSM), job.Options{RestorePath: good}, good, "expected the folder of one checkpoint such as", rel)
	})
	t.Run("checkpoint folder a file", func(t *testing.T) {
		name := filepath.Join(good, metadata)
		refused(t, good, rescaleSettings(task.LSM), job.Options{CheckpointDir: name}, name, "not a directory", "name another one")
		refused(t, good, rescaleSettings(task.LSM), job.Options{CheckpointDir: filepath.Join(name, "new")}, name, "not a directory", "name another one")
	})
}

// TestMaxParallelismOfARestore refuses another max parallelism than the checkpoint's before a task starts, naming both; a
// derived one gives way to it, up to a parallelism that it does not allow.
func TestMaxParallelismOfARestore(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			dir := t.TempDir()
			path := kept(t, backend, dir)
			restore := func(change func(*task.Settings)) (task.Settings, job.Options) {
				s := rescaleSettings(backend)
				s.StateBytesPerKey, s.Transport = 100, "memory"
				change(&s)
				return s, job.Options{RestorePath: path, CheckpointDir: dir}
			}
			s, o := restore(func(s *task.Settings) { s.MaxParallelism = 256 })
			refused(t, dir, s, o, "max parallelism 256", "128 of checkpoint 1", "wrong key group")
			s, o = restore(func(s *task.Settings) { s.MaxParallelism, s.Parallelism = 0, 200 })
			refused(t, dir, s, o, "parallelism 200", "max parallelism 128")
			s, o = restore(func(s *task.Settings) { s.MaxParallelism, s.Parallelism, s.Rate = 0, 3, 0.001 })
			j := start(t, counting(0), s, o)
			await(t, "state", func() bool { _, restored, _ := keysOf(j.Snapshot()); return len(restored) == 3 })
			snap := j.Snapshot()
			if _, restored, out := keysOf(snap); !slices.Equal(restored, []int64{359, 311, 330}) || out != 0 {
				t.Errorf("restored %v, %d out of range", restored, out)
			}
			if n := counts(snap).MaxParallelism; n != 128 {
				t.Errorf("max parallelism %d, expected that of the checkpoint, 128", n)
			}
		})
	}
}
