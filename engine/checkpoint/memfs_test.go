package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// memFS is a file system in memory that writes down each operation, can fail any of them, and can lose power: then only
// what was synced is sure to be there, contents by File.Sync and names by SyncDir.
type memFS struct {
	mu    sync.Mutex
	dirs  map[string]bool
	files map[string]*memFile
	log   []string
	// failOn makes operations fail whose line it is in; after counts down, and from 0 on everything fails and has no
	// effect (the machine is off).
	failOn string
	after  int
	// before is called with each operation's line, without the lock.
	before func(line string)

	durableDirs  map[string]bool
	durableNames map[string]*memFile
}

type memFile struct {
	data    []byte
	durable int // bytes that were synced
}

var errDisk = errors.New("no space left on device")

func newMemFS() *memFS {
	return &memFS{
		dirs: map[string]bool{"/": true}, files: map[string]*memFile{}, after: -1,
		durableDirs: map[string]bool{"/": true}, durableNames: map[string]*memFile{},
	}
}

// do logs an operation and runs it under the lock.
func (m *memFS) do(line string, run func() error) error {
	if m.before != nil {
		m.before(line)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.after == 0 {
		return errDisk
	}
	m.after--
	m.log = append(m.log, line)
	if m.failOn != "" && strings.Contains(line, m.failOn) {
		return errDisk
	}
	return run()
}

func notExist(name string) error { return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} }

func (m *memFS) MkdirAll(name string) error {
	if m.dirs[name] {
		return nil
	}
	return m.do("mkdir-all "+name, func() error {
		for d := name; d != "/"; d = path.Dir(d) {
			m.dirs[d], m.durableDirs[d] = true, true
		}
		return nil
	})
}

func (m *memFS) Mkdir(name string) error {
	return m.do("mkdir "+name, func() error {
		if m.dirs[name] {
			return fs.ErrExist
		}
		m.dirs[name] = true
		return nil
	})
}

func (m *memFS) Create(name string) (File, error) {
	f := &memFile{}
	err := m.do("create "+name, func() error {
		if !m.dirs[path.Dir(name)] {
			return notExist(name)
		}
		m.files[name] = f
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &memHandle{m, name, f}, nil
}

type memHandle struct {
	m    *memFS
	name string
	f    *memFile
}

func (h *memHandle) Write(b []byte) (int, error) {
	err := h.m.do(fmt.Sprintf("write %s %d", h.name, len(b)), func() error {
		h.f.data = append(h.f.data, b...)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (h *memHandle) Sync() error {
	return h.m.do("sync "+h.name, func() error { h.f.durable = len(h.f.data); return nil })
}

func (h *memHandle) Close() error { return h.m.do("close "+h.name, func() error { return nil }) }

func (m *memFS) Rename(from, to string) error {
	return m.do(fmt.Sprintf("rename %s %s", from, path.Base(to)), func() error {
		f := m.files[from]
		if f == nil {
			return notExist(from)
		}
		delete(m.files, from)
		m.files[to] = f
		return nil
	})
}

func (m *memFS) RemoveAll(name string) error {
	return m.do("remove "+name, func() error {
		inside := func(n string) bool { return n == name || strings.HasPrefix(n, name+"/") }
		for n := range m.files {
			if inside(n) {
				delete(m.files, n)
			}
		}
		for n := range m.dirs {
			if inside(n) {
				delete(m.dirs, n)
			}
		}
		return nil
	})
}

func (m *memFS) SyncDir(name string) error {
	return m.do("sync-dir "+name, func() error {
		for n := range m.durableNames {
			if path.Dir(n) == name {
				delete(m.durableNames, n)
			}
		}
		for n, f := range m.files {
			if path.Dir(n) == name {
				m.durableNames[n] = f
			}
		}
		for n := range m.durableDirs {
			if path.Dir(n) == name && !m.dirs[n] {
				delete(m.durableDirs, n)
			}
		}
		for n := range m.dirs {
			if path.Dir(n) == name {
				m.durableDirs[n] = true
			}
		}
		return nil
	})
}

func (m *memFS) ReadFile(name string, limit int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	switch {
	case m.dirs[name]:
		return nil, fmt.Errorf("%s: not a regular file", name)
	case f == nil:
		return nil, notExist(name)
	case int64(len(f.data)) > limit:
		return nil, fmt.Errorf("%s: %d bytes, expected at most %d", name, len(f.data), limit)
	}
	return slices.Clone(f.data), nil
}

func (m *memFS) Size(name string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[name]; f != nil {
		return int64(len(f.data)), nil
	}
	if m.dirs[name] {
		return 0, fmt.Errorf("%s: not a regular file", name)
	}
	return 0, notExist(name)
}

func (m *memFS) List(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirs[name] {
		return nil, notExist(name)
	}
	var names []string
	for n := range m.files {
		if path.Dir(n) == name {
			names = append(names, path.Base(n))
		}
	}
	for n := range m.dirs {
		if path.Dir(n) == name && n != name {
			names = append(names, path.Base(n))
		}
	}
	slices.Sort(names)
	return names, nil
}

// powerLoss is the file system after the machine stopped: content that was not synced is cut; names that were not synced
// are lost if names is set, and else have reached the disk by luck.
func (m *memFS) powerLoss(names bool) *memFS {
	n := newMemFS()
	files, dirs := m.files, m.dirs
	if names {
		files, dirs = m.durableNames, m.durableDirs
	}
	for d := range dirs {
		n.dirs[d] = true
	}
	for name, f := range files {
		if n.dirs[path.Dir(name)] {
			keep := f.durable + (len(f.data)-f.durable)/2
			n.files[name] = &memFile{data: slices.Clone(f.data[:keep]), durable: keep}
		}
	}
	return n
}

// tree lists what is there, one path a line with the length of files.
func (m *memFS) tree() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for d := range m.dirs {
		if d != "/" {
			out = append(out, d+"/")
		}
	}
	for n, f := range m.files {
		out = append(out, fmt.Sprintf("%s %d", n, len(f.data)))
	}
	slices.Sort(out)
	return out
}
