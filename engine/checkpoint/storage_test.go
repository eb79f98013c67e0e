package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func splits(list ...string) [][]byte {
	var out [][]byte
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

// sampleState is some state of a subtask, different for each seed.
func sampleState(seed int) *TaskState {
	s := strconv.Itoa(seed)
	return &TaskState{Operators: map[string]*OperatorState{
		"reader": {Splits: splits("split-"+s, "")},
		"count":  {Keyed: []KeyGroupState{{seed, []byte("keys of " + s)}, {seed + 64, nil}}},
		"idle":   {},
	}}
}

func sameState(a, b *TaskState) bool {
	var x, y bytes.Buffer
	writeState(&x, a)
	writeState(&y, b)
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// take runs a whole checkpoint of one vertex with two subtasks.
func take(s Storage, id int64) (*Completed, error) {
	if err := s.Begin(id); err != nil {
		return nil, err
	}
	v := VertexState{ID: "count", Parallelism: 2, MaxParallelism: 128}
	for i := range 2 {
		h, err := s.WriteState(id, TaskID{"count", i}, sampleState(i))
		if err != nil {
			s.Discard(id)
			return nil, err
		}
		v.Subtasks = append(v.Subtasks, SubtaskState{Handle: h})
	}
	c := &Completed{ID: id, TimestampMs: 1700000000000, Type: TypeCheckpoint, Vertices: []VertexState{v}}
	return c, s.Complete(c)
}

// TestStorageScripts asserts the order of the operations on disk.
func TestStorageScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/storage", func(t *testing.T, path string) {
		var disk *memFS
		var s *FileStorage
		done := map[int64]*Completed{}
		handles := map[int64][]SubtaskState{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			id := 0
			if d.HasArg("id") {
				d.ScanArgs(t, "id", &id)
			}
			n := int64(id)
			result := func(err error) {
				if err != nil {
					fmt.Fprintf(&out, "error: %v\n", err)
				}
			}
			switch d.Cmd {
			case "new":
				disk = newMemFS()
				s = NewFileStorage("/ckp", disk)
			case "reopen":
				s = NewFileStorage("/ckp", disk)
			case "fail": // from now on operations with this in their line fail; without it none does
				disk.failOn = strings.TrimSpace(d.Input)
			case "begin":
				handles[n] = nil
				result(s.Begin(n))
			case "write":
				state := &TaskState{}
				if !d.HasArg("empty") {
					state = sampleState(id)
				}
				var task string
				d.ScanArgs(t, "task", &task)
				h, err := s.WriteState(n, parseTask(task), state)
				if err == nil {
					handles[n] = append(handles[n], SubtaskState{Handle: h})
				}
				result(err)
			case "complete":
				done[n] = &Completed{ID: n, TimestampMs: 1700000000000, Type: TypeCheckpoint, Vertices: []VertexState{{
					ID: "count", Parallelism: len(handles[n]), MaxParallelism: 128, Subtasks: handles[n],
				}}}
				result(s.Complete(done[n]))
				if done[n].Path != "" {
					fmt.Fprintf(&out, "path %s\n", done[n].Path)
				}
			case "discard":
				result(s.Discard(n))
			case "own":
				s.Own(n)
			case "highest":
				h, err := s.HighestID()
				result(err)
				fmt.Fprintln(&out, h)
			case "load":
				c, err := s.Load(strings.TrimSpace(d.Input))
				result(err)
				if err == nil {
					fmt.Fprintf(&out, "checkpoint %d, %d bytes of state\n", c.ID, c.StateBytes())
				}
			case "ls":
				for _, l := range disk.tree() {
					fmt.Fprintln(&out, l)
				}
			case "cat":
				b, err := disk.ReadFile(strings.TrimSpace(d.Input), 1<<20)
				result(err)
				out.Write(b)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			ops := disk.log
			disk.log = nil
			if d.Cmd == "ls" || d.Cmd == "cat" {
				return out.String()
			}
			return strings.Join(append(ops, ""), "\n") + out.String()
		})
	})
}

// TestPowerLoss stops the machine after each operation of two checkpoints and a discard. Whatever is left, what can be
// loaded is whole: an incomplete checkpoint is never taken for one.
func TestPowerLoss(t *testing.T) {
	run := func(disk *memFS) (kept []int64) {
		s := NewFileStorage("/ckp", disk)
		if _, err := take(s, 1); err == nil {
			kept = append(kept, 1)
		}
		if _, err := take(s, 2); err == nil {
			kept = append(kept, 2)
			s.Discard(1)
		}
		return kept
	}
	whole := newMemFS()
	run(whole)
	for stop := range len(whole.log) + 1 {
		disk := newMemFS()
		disk.after = stop
		kept := run(disk)
		for _, names := range []bool{false, true} {
			left := disk.powerLoss(names)
			before := left.tree()
			loaded := map[int64]bool{}
			for _, id := range []int64{1, 2} {
				c, err := load(left, fmt.Sprintf("/ckp/chk-%d", id))
				if err != nil {
					continue
				}
				loaded[id] = true
				for i := range 2 {
					st, err := c.State("count", i)
					if err != nil || !sameState(st, sampleState(i)) {
						t.Fatalf("stopped after %d operations (names lost %v): checkpoint %d loads, but its state: %v", stop, names, id, err)
					}
				}
			}
			// What Complete reported stays loadable, until it is discarded for a newer one.
			if len(kept) > 0 && !loaded[kept[len(kept)-1]] {
				t.Fatalf("stopped after %d operations (names lost %v): completed %v, loadable %v", stop, names, kept, loaded)
			}
			if !slices.Equal(before, left.tree()) || len(left.log) > 0 {
				t.Fatalf("loading changed the disk: %v", left.log)
			}
		}
	}
}

// TestFailingDisk makes each operation fail once, and each kind of operation for good: the checkpoint fails with an error
// that says what, and leaves no folder once the disk lets it be removed.
func TestFailingDisk(t *testing.T) {
	whole := newMemFS()
	if _, err := take(NewFileStorage("/ckp", whole), 1); err != nil {
		t.Fatal(err)
	}
	for _, line := range whole.log {
		disk := newMemFS()
		disk.failOn = line
		s := NewFileStorage("/ckp", disk)
		if _, err := take(s, 1); !errors.Is(err, errDisk) {
			t.Errorf("%q fails: error %v, expected %v", line, err, errDisk)
		} else if !strings.Contains(err.Error(), "checkpoint 1: ") {
			t.Errorf("%q fails: error %q does not name the checkpoint", line, err)
		}
		for _, l := range disk.tree() {
			if l != "/ckp/" {
				t.Errorf("%q fails: %s is left", line, l)
			}
		}
	}
	// A folder that cannot be removed is removed when the next checkpoint begins.
	disk := newMemFS()
	s := NewFileStorage("/ckp", disk)
	disk.failOn = "/ckp/chk-1/"
	if _, err := take(s, 1); err == nil {
		t.Fatal("no error")
	}
	disk.failOn = ""
	if _, err := take(s, 2); err != nil {
		t.Fatal(err)
	}
	if ids, _ := checkpointIDs(disk, "/ckp"); !slices.Equal(ids, []int64{2}) {
		t.Errorf("checkpoints %v, expected [2]", ids)
	}
}

// TestDiscardWhileWriting discards a checkpoint at each operation of a task that writes to it, and of its metadata: the
// writer is told, and nothing is left.
func TestDiscardWhileWriting(t *testing.T) {
	whole := newMemFS()
	take(NewFileStorage("/ckp", whole), 1)
	for i, line := range whole.log {
		if i < 2 { // the folders are made before anyone knows of the checkpoint
			continue
		}
		disk := newMemFS()
		s := NewFileStorage("/ckp", disk)
		var once sync.Once
		disk.before = func(l string) {
			if l == line {
				once.Do(func() {
					if err := s.Discard(1); err != nil {
						t.Errorf("discard: %v", err)
					}
				})
			}
		}
		if _, err := take(s, 1); !errors.Is(err, ErrNotOpen) {
			t.Errorf("discarded at %q: error %v, expected %v", line, err, ErrNotOpen)
		}
		if got := disk.tree(); !slices.Equal(got, []string{"/ckp/"}) {
			t.Errorf("discarded at %q: left %v", line, got)
		}
	}
}

// TestStorages runs the same checkpoint on the machine's disk and in memory.
func TestStorages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for name, s := range map[string]Storage{"file": NewFileStorage(dir, nil), "memory": NewMemoryStorage()} {
		t.Run(name, func(t *testing.T) {
			if n, err := s.HighestID(); n != 0 || err != nil {
				t.Errorf("highest id %d, %v; expected 0", n, err)
			}
			c, err := take(s, 7)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := s.Load(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			if loaded.ID != 7 || loaded.Path != c.Path || !reflect.DeepEqual(loaded.Vertices, c.Vertices) {
				t.Errorf("loaded %+v, expected %+v", loaded, c)
			}
			for _, from := range []*Completed{c, loaded} {
				st, err := from.State("count", 1)
				if err != nil || !sameState(st, sampleState(1)) {
					t.Errorf("state %+v, %v", st, err)
				}
			}
			if _, err := loaded.State("count", 2); err == nil || !strings.Contains(err.Error(), "no subtask 2") {
				t.Errorf("subtask 2: %v", err)
			}
			if _, err := loaded.State("map", 0); err == nil || !strings.Contains(err.Error(), `no vertex "map"`) {
				t.Errorf("vertex map: %v", err)
			}
			if err := s.Begin(7); err == nil {
				t.Error("an id was begun twice")
			}
			if _, err := s.WriteState(7, TaskID{"count", 0}, sampleState(0)); !errors.Is(err, ErrNotOpen) {
				t.Errorf("state for a complete checkpoint: %v", err)
			}
			if _, err := s.WriteState(8, TaskID{"count", 0}, sampleState(0)); !errors.Is(err, ErrNotOpen) {
				t.Errorf("state for a checkpoint that was not begun: %v", err)
			}
			if n, _ := s.HighestID(); n != 7 {
				t.Errorf("highest id %d, expected 7", n)
			}
			if err := s.Discard(7); err != nil {
				t.Error(err)
			}
			if _, err := s.Load(c.Path); err == nil {
				t.Error("a discarded checkpoint was loaded")
			}
			if n, _ := s.HighestID(); n != 0 {
				t.Errorf("highest id %d after the discard, expected 0", n)
			}
		})
	}
}

// TestLoadRefuses: each way in which a checkpoint can be spoiled is refused in one line that names the file, and nothing on
// disk changes.
func TestLoadRefuses(t *testing.T) {
	good := func() (*memFS, string) {
		disk := newMemFS()
		c, err := take(NewFileStorage("/ckp", disk), 3)
		if err != nil {
			t.Fatal(err)
		}
		return disk, c.Path
	}
	const meta, state = "/ckp/chk-3/_metadata", "/ckp/chk-3/count-1"
	edit := func(file, old, new string) func(*memFS) {
		return func(m *memFS) {
			b := m.files[file].data
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("no %q in %s", old, file)
			}
			m.files[file].data = bytes.Replace(b, []byte(old), []byte(new), 1)
		}
	}
	put := func(text string) func(*memFS) { return func(m *memFS) { m.files[meta].data = []byte(text) } }
	cut := func(file string, n int) func(*memFS) {
		return func(m *memFS) { m.files[file].data = m.files[file].data[:n] }
	}
	for _, c := range []struct {
		name  string
		spoil func(*memFS)
		path  string
		want  string
	}{
		{"no metadata", func(m *memFS) { delete(m.files, meta) }, "", "/ckp/chk-3: no _metadata there, expected the folder of a completed checkpoint"},
		{"the folder of all checkpoints", func(m *memFS) {}, "/ckp", "/ckp: no _metadata there, expected the folder of one checkpoint such as /ckp/chk-3"},
		{"no folder", func(m *memFS) {}, "/ckp/chk-4", "/ckp/chk-4: no such folder, expected that of a checkpoint"},
		{"empty", cut(meta, 0), "", meta + ": truncated: it is empty"},
		{"cut in the magic", cut(meta, 5), "", meta + ": truncated inside its first line"},
		{"cut in the first line", cut(meta, 20), "", meta + ": truncated inside its first line"},
		{"cut", cut(meta, 100), "", meta + ": truncated: "},
		{"foreign", put("PK\x03\x04 a zip file"), "", meta + `: not the metadata of a checkpoint: it begins with "PK\x03\x04 a zip file", expected "weir-checkpoint"`},
		{"of Flink", put("\x49\x60\x67\x2d\x00\x00\x00\x06"), "", meta + `: metadata of Apache Flink, expected one that begins with "weir-checkpoint"`},
		{"newer", edit(meta, "weir-checkpoint 1 ", "weir-checkpoint 2 "), "", meta + ": written by a newer version: format 2, expected at most 1"},
		{"newer with another line", put("weir-checkpoint 12 zstd 5 0 0\nxxxxx"), "", meta + ": written by a newer version: format 12, expected at most 1"},
		{"no version", edit(meta, "weir-checkpoint 1 ", "weir-checkpoint x "), "", meta + `: malformed: version "x", expected a number`},
		{"changed", edit(meta, `"maxParallelism": 128`, `"maxParallelism": 129`), "", meta + ": damaged: checksum "},
		{"longer", func(m *memFS) { m.files[meta].data = append(m.files[meta].data, '\n') }, "", meta + ": damaged: "},
		{"state missing", func(m *memFS) { delete(m.files, state) }, "", state + ": missing, expected 103 bytes of state of count 1"},
		{"state torn", cut(state, 40), "", state + ": truncated: 40 bytes, expected 103"},
		{"state longer", func(m *memFS) { m.files[state].data = append(m.files[state].data, 0) }, "", state + ": damaged: 104 bytes, expected 103"},
		{"state a folder", func(m *memFS) { delete(m.files, state); m.dirs[state] = true }, "", "cannot read " + state},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk, path := good()
			c.spoil(disk)
			disk.log = nil
			before := disk.tree()
			if c.path != "" {
				path = c.path
			}
			_, err := load(disk, path)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nexpected %s", err, c.want)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if len(disk.log) > 0 || !slices.Equal(before, disk.tree()) {
				t.Errorf("the disk changed: %v", disk.log)
			}
		})
	}
	t.Run("the file itself", func(t *testing.T) {
		disk, _ := good()
		if c, err := load(disk, meta); err != nil || c.ID != 3 {
			t.Errorf("%v, %v", c, err)
		}
	})
}

// TestStateRefuses: state that changed without changing its length is found when it is read.
func TestStateRefuses(t *testing.T) {
	const file = "/ckp/chk-3/count-1"
	for name, c := range map[string]struct {
		spoil func(disk *memFS)
		want  string
	}{
		"a flipped bit": {func(m *memFS) { m.files[file].data[30] ^= 1 }, file + ": damaged: checksum "},
		"foreign":       {func(m *memFS) { copy(m.files[file].data, "notstate") }, file + `: not a state file: expected it to begin with "WEIRSTAT"`},
		"newer":         {func(m *memFS) { m.files[file].data[9] = 5 }, file + ": state file of version 5, expected version 1 to 4"},
		"missing":       {func(m *memFS) { delete(m.files, file) }, "cannot read the state in " + file},
		"of another":    {func(m *memFS) { m.files[file].data = slices.Clone(m.files["/ckp/chk-3/count-0"].data) }, file + ": state with checksum "},
	} {
		t.Run(name, func(t *testing.T) {
			disk := newMemFS()
			take(NewFileStorage("/ckp", disk), 3)
			loaded, err := load(disk, "/ckp/chk-3")
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(disk)
			if _, err := loaded.State("count", 1); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nexpected %s", err, c.want)
			}
		})
	}
}

// TestForeignFoldersStay: a storage never touches a checkpoint that it did not begin.
func TestForeignFoldersStay(t *testing.T) {
	dir := t.TempDir()
	if _, err := take(NewFileStorage(dir, nil), 1); err != nil {
		t.Fatal(err)
	}
	s := NewFileStorage(dir, nil)
	if err := s.Discard(1); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(1); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("begin over a checkpoint of another job: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "chk-1")); err != nil {
		t.Error(err)
	}
	if n, err := s.HighestID(); n != 1 || err != nil {
		t.Errorf("highest id %d, %v; expected 1", n, err)
	}
	s.Own(1)
	if err := s.Discard(1); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "chk-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an owned checkpoint stays: %v", err)
	}
}

// TestVertexNames: whatever a vertex is called, its file stays in the folder.
func TestVertexNames(t *testing.T) {
	dir := t.TempDir()
	s := NewFileStorage(dir, nil)
	for i, name := range []string{"slow-map", "a/b", "..", "../../x", `c:\d`, "流", "_metadata", "x.tmp"} {
		id := int64(i + 1)
		if err := s.Begin(id); err != nil {
			t.Fatal(err)
		}
		h, err := s.WriteState(id, TaskID{name, 0}, sampleState(0))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		c := &Completed{ID: id, Type: TypeSavepoint, Vertices: []VertexState{{ID: name, Parallelism: 1, MaxParallelism: 1, Subtasks: []SubtaskState{{Handle: h}}}}}
		if err := s.Complete(c); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if l, err := Load(c.Path); err != nil || l.Vertices[0].ID != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 8 {
		t.Errorf("%d folders, expected 8", len(entries))
	}
}

// TestParallelWrites: the tasks of a job write at once while another checkpoint is discarded.
func TestParallelWrites(t *testing.T) {
	for name, s := range map[string]Storage{"file": NewFileStorage(t.TempDir(), nil), "memory": NewMemoryStorage()} {
		t.Run(name, func(t *testing.T) {
			for id := int64(1); id <= 4; id++ {
				if err := s.Begin(id); err != nil {
					t.Fatal(err)
				}
				v := VertexState{ID: "count", Parallelism: 8, MaxParallelism: 128, Subtasks: make([]SubtaskState, 8)}
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						h, err := s.WriteState(id, TaskID{"count", i}, sampleState(i))
						if err != nil {
							t.Error(err)
						}
						v.Subtasks[i].Handle = h
					})
				}
				wg.Go(func() { s.Discard(id - 1) })
				wg.Wait()
				if err := s.Complete(&Completed{ID: id, Type: TypeCheckpoint, Vertices: []VertexState{v}}); err != nil {
					t.Error(err)
				}
			}
			if n, _ := s.HighestID(); n != 4 {
				t.Errorf("highest id %d, expected 4", n)
			}
		})
	}
}
