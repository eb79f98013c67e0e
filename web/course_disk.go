package web

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"weir/engine/checkpoint"
)

// disks counts what the members of this server's classes have on its disk: the files that they uploaded and the checkpoints
// of their runs. Nobody can take more than their own share, and when little is left, only who has less than an equal share
// of all may take more.
type disks struct {
	all  int64 // for everybody together
	each int64 // for a learner

	mu      sync.Mutex
	used    map[belongs]int64
	total   int64
	refused int64
}

func newDisks(l ClassLimits) *disks {
	return &disks{all: l.Disk, each: l.DiskEach, used: map[belongs]int64{}}
}

// diskError says that somebody has as much on the disk as they may.
type diskError struct{ reason string }

func (e *diskError) Error() string { return e.reason }

// take counts bytes that are about to be written, unless they are too many.
func (d *disks) take(of belongs, n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	mine := d.used[of]
	var err error
	switch holders := int64(len(d.used)); {
	case of.Person != "" && mine+n > d.each:
		err = &diskError{fmt.Sprintf("%s of disk are allowed for each learner and %s are taken: end a job, or keep fewer checkpoints", mib(d.each), mib(mine))}
	case d.total+n > d.all:
		err = &diskError{fmt.Sprintf("the %s of disk that this server has for classes are taken: try later", mib(d.all))}
	case of.Person != "" && d.total+n > d.all-d.all/8 && mine+n > d.all/max(1, holders):
		err = &diskError{fmt.Sprintf("little of the %s of disk is left that this server has for classes, and %s are an equal share: end a job, or keep fewer checkpoints", mib(d.all), mib(d.all/max(1, holders)))}
	}
	if err != nil {
		d.refused++
		return err
	}
	d.add(of, n)
	return nil
}

// add counts bytes that are there, or with a negative n, that are not any more. d.mu is held.
func (d *disks) add(of belongs, n int64) {
	d.total += n
	if d.used[of] += n; d.used[of] <= 0 {
		delete(d.used, of)
	}
}

func (d *disks) give(of belongs, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(of, -n)
}

func mib(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func (d *disks) write(w io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	writeReadings(w,
		reading{"weir_disk_bytes", "gauge", "Uploads and checkpoints of this server's classes.", d.total},
		reading{"weir_disk_limit_bytes", "gauge", "What they may have together.", d.all},
		reading{"weir_disk_holders", "gauge", "People who have some of it.", int64(len(d.used))},
		reading{"weir_disk_refused_total", "counter", "Writes that were refused for a quota.", d.refused},
	)
}

// diskProblem is what a caller reads who has too much on the disk.
func diskProblem(err error) error {
	return newProblem(http.StatusTooManyRequests, "disk", err.Error())
}

// shelf is the disk of one session: the machine's, with every byte counted. The sizes are of files by their paths.
type shelf struct {
	checkpoint.FileSystem
	disks *disks
	of    belongs

	mu    sync.Mutex
	sizes map[string]int64
}

// newShelf counts what lies in a session's folder from before, which nobody is refused.
func (d *disks) newShelf(of belongs, dir string) *shelf {
	s := &shelf{FileSystem: checkpoint.OS, disks: d, of: of, sizes: map[string]int64{}}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // a folder that is not there has nothing
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			s.sizes[path] = info.Size()
			d.mu.Lock()
			d.add(of, info.Size())
			d.mu.Unlock()
		}
		return nil
	})
	return s
}

// Create makes a file or empties the one that is there.
func (s *shelf) Create(path string) (checkpoint.File, error) {
	f, err := s.FileSystem.Create(path)
	if err != nil {
		return nil, err
	}
	s.drop(func(p string) bool { return p == path })
	return &shelvedFile{f, s, path}, nil
}

// Rename moves a file, or a folder with what is in it.
func (s *shelf) Rename(from, to string) error {
	if err := s.FileSystem.Rename(from, to); err != nil {
		return err
	}
	s.drop(func(p string) bool { return within(p, to) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, n := range s.sizes {
		if within(p, from) {
			delete(s.sizes, p)
			s.sizes[to+strings.TrimPrefix(p, from)] = n
		}
	}
	return nil
}

// RemoveAll removes a file or a folder with all in it.
func (s *shelf) RemoveAll(path string) error {
	if err := s.FileSystem.RemoveAll(path); err != nil {
		return err
	}
	s.drop(func(p string) bool { return within(p, path) })
	return nil
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
}

// drop gives back what files had that are gone.
func (s *shelf) drop(gone func(path string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, n := range s.sizes {
		if gone(p) {
			delete(s.sizes, p)
			s.disks.give(s.of, n)
		}
	}
}

// clear gives all back: the session's folder is gone.
func (s *shelf) clear() { s.drop(func(string) bool { return true }) }

// shelvedFile is a file being written, which counts.
type shelvedFile struct {
	checkpoint.File
	shelf *shelf
	path  string
}

// Write writes, unless it is too much for whose file it is.
func (f *shelvedFile) Write(b []byte) (int, error) {
	if err := f.shelf.disks.take(f.shelf.of, int64(len(b))); err != nil {
		return 0, err
	}
	n, err := f.File.Write(b)
	f.shelf.disks.give(f.shelf.of, int64(len(b)-n))
	f.shelf.mu.Lock()
	f.shelf.sizes[f.path] += int64(n)
	f.shelf.mu.Unlock()
	return n, err
}
