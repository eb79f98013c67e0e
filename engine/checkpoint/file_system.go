package checkpoint

import (
	"fmt"
	"io"
	"os"
)

// FileSystem is the little of a file system that FileStorage needs. Tests put their own in its place to see the order
// of the calls and to make them fail.
type FileSystem interface {
	MkdirAll(path string) error
	// Mkdir fails if the folder is there.
	Mkdir(path string) error
	// Create makes a file or empties the one that is there.
	Create(path string) (File, error)
	Rename(from, to string) error
	// RemoveAll removes a file or a folder with all in it; nothing there is no error.
	RemoveAll(path string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(path string) error
	// ReadFile refuses a file of more than limit bytes.
	ReadFile(path string, limit int64) ([]byte, error)
	// Size is the length of a file; a folder is an error.
	Size(path string) (int64, error)
	// List gives the names in a folder, sorted.
	List(path string) ([]string, error)
}

// File is a file being written.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// OS is the file system of the machine.
var OS FileSystem = osFileSystem{}

type osFileSystem struct{}

func (osFileSystem) MkdirAll(path string) error       { return os.MkdirAll(path, 0o755) }
func (osFileSystem) Mkdir(path string) error          { return os.Mkdir(path, 0o755) }
func (osFileSystem) Create(path string) (File, error) { return os.Create(path) }
func (osFileSystem) Rename(from, to string) error     { return os.Rename(from, to) }
func (osFileSystem) RemoveAll(path string) error      { return os.RemoveAll(path) }

func (osFileSystem) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		d.Close()
		return err
	}
	return d.Close()
}

func (osFileSystem) ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s: %d bytes, expected at most %d", path, info.Size(), limit)
	}
	// The size is known, so that a state file is read into one piece of memory of just that size.
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func (osFileSystem) Size(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: not a regular file", path)
	}
	return info.Size(), nil
}

func (osFileSystem) List(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}
