package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
)

// SharedFolder is the folder of the files that more than one checkpoint may refer to, beside those of the checkpoints; as
// in Flink.
const SharedFolder = "shared"

// SharedFiles keeps files that checkpoints share. Its methods may be called from any goroutine. It counts nothing: what may
// be deleted is the SharedRegistry's business.
type SharedFiles interface {
	// Put stores what r gives under a new name. The file is durable when Put returns; after an error, or when ctx ends,
	// nothing stays.
	Put(ctx context.Context, r io.Reader) (SharedHandle, error)
	// Get gives the bytes of a file (or of an inlined one) and checks them.
	Get(h SharedHandle) ([]byte, error)
	// Path is where the file lies on the local disk; empty if it does not. A file never changes, so it may be hard-linked.
	Path(h SharedHandle) string
	// Discard deletes a file; one that is not there is no error.
	Discard(h SharedHandle) error
	// List gives the names of all files, sorted.
	List() ([]string, error)
}

func newSharedName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// plainPath tells whether a path of names parted by / stays inside the folder that it is joined to.
func plainPath(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if !plainName(name) {
			return false
		}
	}
	return true
}

// summed passes on what it reads, and counts and sums it. It ends when its context does.
type summed struct {
	ctx context.Context
	r   io.Reader
	h   SharedHandle
}

func (s *summed) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.h.Bytes += int64(n)
	s.h.Checksum = crc32.Update(s.h.Checksum, castagnoli, p[:n])
	return n, err
}

// Inlined makes a handle that holds the bytes themselves.
func Inlined(b []byte) SharedHandle {
	return SharedHandle{Bytes: int64(len(b)), Checksum: crc32.Checksum(b, castagnoli), Inline: b}
}

// check compares bytes with what their handle says of them.
func (h SharedHandle) check(b []byte) error {
	if err := h.checkLength(int64(len(b))); err != nil {
		return err
	}
	if have := crc32.Checksum(b, castagnoli); have != h.Checksum {
		return fmt.Errorf("damaged: checksum %08x, expected %08x", have, h.Checksum)
	}
	return nil
}

func (h SharedHandle) checkLength(n int64) error {
	switch {
	case n < h.Bytes:
		return fmt.Errorf("truncated: %d bytes, expected %d", n, h.Bytes)
	case n > h.Bytes:
		return fmt.Errorf("damaged: %d bytes, expected %d", n, h.Bytes)
	}
	return nil
}

// FileShared keeps shared files in one folder.
type FileShared struct {
	dir string
	fs  FileSystem

	mu     sync.Mutex
	made   bool
	doomed []string // paths that could not be removed; every later removal tries again
}

// NewFileShared keeps files in dir, which is made when the first one is put there. A nil fs is OS.
func NewFileShared(dir string, fs FileSystem) *FileShared {
	if fs == nil {
		fs = OS
	}
	return &FileShared{dir: dir, fs: fs}
}

// Shared is the folder of shared files that belongs to the storage.
func (s *FileStorage) Shared() *FileShared { return s.shared }

// SharedOf is the folder of shared files that belongs to the checkpoint in a folder.
func SharedOf(path string) *FileShared {
	return NewFileShared(filepath.Join(filepath.Dir(filepath.Clean(path)), SharedFolder), OS)
}

// Dir is the folder.
func (s *FileShared) Dir() string { return s.dir }

func (s *FileShared) make() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made {
		return nil
	}
	if err := s.fs.MkdirAll(s.dir); err != nil {
		return err
	}
	s.made = true
	return s.fs.SyncDir(filepath.Dir(s.dir))
}

// Put writes a file under another name, makes it durable, and gives it its own.
func (s *FileShared) Put(ctx context.Context, r io.Reader) (SharedHandle, error) {
	name := newSharedName()
	path := filepath.Join(s.dir, name)
	h, err := s.put(ctx, r, path)
	if err != nil {
		// What cannot be removed now is doomed.
		_ = s.remove(path+tmpSuffix, path)
		return SharedHandle{}, fmt.Errorf("shared file %s: %w", path, err)
	}
	h.File = name
	return h, nil
}

func (s *FileShared) put(ctx context.Context, r io.Reader, path string) (SharedHandle, error) {
	if err := s.make(); err != nil {
		return SharedHandle{}, err
	}
	f, err := s.fs.Create(path + tmpSuffix)
	if err != nil {
		return SharedHandle{}, err
	}
	in := &summed{ctx: ctx, r: r}
	_, err = io.CopyBuffer(onlyWriter{f}, in, make([]byte, 256<<10))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = s.fs.Rename(path+tmpSuffix, path)
	}
	if err == nil {
		err = s.fs.SyncDir(s.dir)
	}
	return in.h, err
}

// onlyWriter hides what else a file can do, so that a copy goes through the buffer and sees the end of the context.
type onlyWriter struct{ io.Writer }

// Get reads a file.
func (s *FileShared) Get(h SharedHandle) ([]byte, error) {
	if h.File == "" {
		return h.Inline, h.check(h.Inline)
	}
	path := s.Path(h)
	b, err := s.fs.ReadFile(path, h.Bytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: missing, expected a shared file of %d bytes", path, h.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the shared file %s: %w", path, err)
	}
	if err := h.check(b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Check sees that a file is there in its full length.
func (s *FileShared) Check(h SharedHandle) error {
	if h.File == "" {
		return h.check(h.Inline)
	}
	path := s.Path(h)
	n, err := s.fs.Size(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: missing, expected a shared file of %d bytes", path, h.Bytes)
	case err != nil:
		return fmt.Errorf("cannot read the shared file %s: %w", path, err)
	}
	if err := h.checkLength(n); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Path is where the file lies.
func (s *FileShared) Path(h SharedHandle) string {
	if h.File == "" {
		return ""
	}
	return filepath.Join(s.dir, h.File)
}

// Discard deletes a file.
func (s *FileShared) Discard(h SharedHandle) error {
	if h.File == "" {
		return nil
	}
	if err := s.remove(s.Path(h)); err != nil {
		return fmt.Errorf("cannot remove the shared file %s yet: %w", s.Path(h), err)
	}
	return nil
}

// remove removes paths. What it cannot remove it tries again the next time that another path could be.
func (s *FileShared) remove(paths ...string) error {
	for i, path := range paths {
		if err := s.fs.RemoveAll(path); err != nil {
			s.mu.Lock()
			s.doomed = append(s.doomed, paths[i:]...)
			s.mu.Unlock()
			return err
		}
	}
	s.mu.Lock()
	doomed := s.doomed
	s.doomed = nil
	s.mu.Unlock()
	if len(doomed) > 0 {
		return s.remove(doomed...)
	}
	return nil
}

// List gives the names in the folder; those of unfinished files too.
func (s *FileShared) List() ([]string, error) {
	names, err := s.fs.List(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}
