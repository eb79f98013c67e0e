package checkpoint

import (
	"fmt"
	"slices"

	"weir/engine/keygroup"
)

// SharedHandle says where the bytes of one file of a state backend lie: in the folder of shared files, or, if they are few,
// in the checkpoint itself. Flink's StreamStateHandle.
type SharedHandle struct {
	// File is the name in the shared folder, never given twice; empty if the bytes are inlined.
	File     string
	Bytes    int64
	Checksum uint32 // CRC-32C of the bytes
	// Inline holds the bytes if File is empty.
	Inline []byte
}

// Equal tells whether two handles speak of the same stored bytes.
func (h SharedHandle) Equal(o SharedHandle) bool {
	return h.File == o.File && h.Bytes == o.Bytes && h.Checksum == o.Checksum
}

// StateFile is one file of an incremental state.
type StateFile struct {
	// Name is that of the file in the backend's own folder; / parts folders.
	Name string
	// Origin is the id of the backend that gave the name. Names repeat from one backend to the next with other bytes.
	Origin string
	// Shared tells that the file never changes, so that later checkpoints may refer to it.
	Shared bool
	// First is the checkpoint that stored it.
	First int64
	SharedHandle
}

// IncrementalState is the keyed state of one operator of one subtask as a set of files. Flink's
// IncrementalRemoteKeyedStateHandle.
type IncrementalState struct {
	// Backend is the sort of state backend that can open the files.
	Backend string
	// BackendID is the id of the backend that wrote them.
	BackendID      string
	MaxParallelism int
	// KeyGroups are those in the files. A restore takes the part that is its own.
	KeyGroups keygroup.Range
	// Meta is what the backend has to know of the files; it is the backend's own.
	Meta  []byte
	Files []StateFile
}

// Bytes is the size of all files, however many of them were stored by earlier checkpoints.
func (s *IncrementalState) Bytes() int64 {
	n := int64(len(s.Meta))
	for i := range s.Files {
		n += s.Files[i].Bytes
	}
	return n
}

// BytesSince is the size of what checkpoint id stored itself: new files, and those that lie in it.
func (s *IncrementalState) BytesSince(id int64) int64 {
	n := int64(len(s.Meta))
	for i := range s.Files {
		if f := &s.Files[i]; f.First == id || f.File == "" {
			n += f.Bytes
		}
	}
	return n
}

// SharedFiles lists the files in the shared folder that the state refers to.
func (s *IncrementalState) SharedFiles() []SharedHandle {
	var files []SharedHandle
	for i := range s.Files {
		if s.Files[i].File != "" {
			files = append(files, s.Files[i].SharedHandle)
		}
	}
	return files
}

// incremental gives each new subtask the states whose key groups meet its own, whole: the files cannot be cut apart here,
// that is the backend's work. A new subtask gets them in the order of the old subtasks.
func (a *Assignment) incremental(name string, old []*TaskState) error {
	taken := map[int]int{} // key group -> old subtask
	for i, t := range old {
		op := t.Operators[name]
		if op == nil {
			continue
		}
		for j := range op.Incremental {
			s := op.Incremental[j]
			switch {
			case s.MaxParallelism != a.MaxParallelism:
				return fmt.Errorf("state of subtask %d was written with max parallelism %d, expected %d", i, s.MaxParallelism, a.MaxParallelism)
			case s.KeyGroups.First < 0 || s.KeyGroups.Last >= a.MaxParallelism:
				return fmt.Errorf("state of subtask %d has key groups %d to %d, expected 0 to %d", i, s.KeyGroups.First, s.KeyGroups.Last, a.MaxParallelism-1)
			}
			for g := range s.KeyGroups.All() {
				if first, twice := taken[g]; twice {
					return fmt.Errorf("key group %d is in the state of subtask %d and again of subtask %d", g, first, i)
				}
				taken[g] = i
			}
			for to := range a.Subtasks {
				r, err := keygroup.RangeFor(a.MaxParallelism, len(a.Subtasks), to)
				if err != nil {
					return err
				}
				if r.Intersect(s.KeyGroups).Size() > 0 {
					o := a.of(to, name)
					o.Incremental = append(o.Incremental, s)
				}
			}
		}
	}
	return nil
}

func (w *stateWriter) text(s string) { w.chunk([]byte(s)) }

func (w *stateWriter) u64(v int64) {
	w.u32(int(v >> 32))
	w.u32(int(v))
}

// named writes operator states: each name length u32, name | mode u32 | entries u32, each: length u32, bytes.
func (w *stateWriter) named(states []NamedState) {
	w.u32(len(states))
	for _, s := range states {
		w.text(s.Name)
		w.u32(int(s.Mode))
		w.u32(len(s.Entries))
		for _, e := range s.Entries {
			w.chunk(e)
		}
	}
}

func (r *stateReader) named() []NamedState {
	var states []NamedState
	for range r.count(12, "named states") {
		s := NamedState{Name: string(r.take(r.u32("a state's name"), "a state's name"))}
		mode := r.u32("a state's mode")
		s.Mode = Mode(min(mode, 255))
		if r.err == nil && mode >= len(modes) {
			r.err = fmt.Errorf("operator state %q has mode %d, expected 0 to %d", s.Name, mode, len(modes)-1)
		}
		if n := r.count(4, "entries"); n > 0 {
			s.Entries = make([][]byte, n)
			for i := range s.Entries {
				s.Entries[i] = r.take(r.u32("an entry"), "an entry")
			}
		}
		if r.err == nil && slices.ContainsFunc(states, func(o NamedState) bool { return o.Name == s.Name && o.Mode == s.Mode }) {
			r.err = fmt.Errorf("operator state %q is there twice", s.Name)
		}
		states = append(states, s)
	}
	return states
}

// incremental writes file states: each backend, backend id, meta as length u32, bytes | max parallelism, first and last key
// group u32 | files u32, each: name, origin | shared u32 | first checkpoint u64 | file | bytes u64 | checksum u32, and where
// the file has no name its bytes.
func (w *stateWriter) incremental(states []IncrementalState) {
	w.u32(len(states))
	for i := range states {
		s := &states[i]
		w.text(s.Backend)
		w.text(s.BackendID)
		w.chunk(s.Meta)
		w.u32(s.MaxParallelism)
		w.u32(s.KeyGroups.First)
		w.u32(s.KeyGroups.Last)
		w.u32(len(s.Files))
		for j := range s.Files {
			f := &s.Files[j]
			w.text(f.Name)
			w.text(f.Origin)
			shared := 0
			if f.Shared {
				shared = 1
			}
			w.u32(shared)
			w.u64(f.First)
			w.text(f.File)
			w.u64(f.Bytes)
			w.u32(int(f.Checksum))
			if f.File == "" {
				w.chunk(f.Inline)
			}
		}
	}
}

func (r *stateReader) u64(what string) int64 { return int64(r.u32(what))<<32 | int64(r.u32(what)) }

func (r *stateReader) text(what string) string { return string(r.take(r.u32(what), what)) }

func (r *stateReader) incremental() []IncrementalState {
	var states []IncrementalState
	for range r.count(28, "incremental states") {
		s := IncrementalState{Backend: r.text("a backend's name"), BackendID: r.text("a backend's id")}
		s.Meta = r.take(r.u32("a backend's own data"), "a backend's own data")
		s.MaxParallelism = r.u32("a max parallelism")
		s.KeyGroups.First, s.KeyGroups.Last = r.u32("a key group"), r.u32("a key group")
		if r.err == nil && (s.MaxParallelism < 1 || s.MaxParallelism > keygroup.UpperBound || s.KeyGroups.First > s.KeyGroups.Last || s.KeyGroups.Last >= s.MaxParallelism) {
			r.err = fmt.Errorf("key groups %d to %d of %d, expected a range", s.KeyGroups.First, s.KeyGroups.Last, s.MaxParallelism)
		}
		names := map[string]bool{}
		for range r.count(36, "files") {
			f := r.stateFile()
			if r.err == nil && names[f.Name] {
				r.err = fmt.Errorf("file %q is there twice", f.Name)
			}
			names[f.Name] = true
			s.Files = append(s.Files, f)
		}
		states = append(states, s)
	}
	return states
}

func (r *stateReader) stateFile() StateFile {
	f := StateFile{Name: r.text("a file's name"), Origin: r.text("a file's origin"), Shared: r.u32("a file") != 0, First: r.u64("a file")}
	f.File = r.text("a shared file's name")
	f.Bytes = r.u64("a file's length")
	f.Checksum = uint32(r.u32("a file's checksum"))
	if f.File == "" {
		f.Inline = r.take(r.u32("an inlined file"), "an inlined file")
	}
	switch {
	case r.err != nil:
	case !plainPath(f.Name):
		r.err = fmt.Errorf("file %q, expected a name that stays inside its folder", f.Name)
	case f.File != "" && !plainName(f.File):
		r.err = fmt.Errorf("shared file %q, expected a name without a folder", f.File)
	case f.Bytes < 0 || f.File == "" && f.Bytes != int64(len(f.Inline)):
		r.err = fmt.Errorf("file %q: %d bytes, %d of them inlined", f.Name, f.Bytes, len(f.Inline))
	}
	return f
}
