package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// MemoryShared keeps shared files in the memory of the process.
type MemoryShared struct {
	mu sync.Mutex
	m  map[string][]byte
}

// NewMemoryShared returns an empty one.
func NewMemoryShared() *MemoryShared { return &MemoryShared{m: map[string][]byte{}} }

// Put keeps what r gives.
func (s *MemoryShared) Put(ctx context.Context, r io.Reader) (SharedHandle, error) {
	in := &summed{ctx: ctx, r: r}
	var b bytes.Buffer
	if _, err := io.Copy(&b, in); err != nil {
		return SharedHandle{}, fmt.Errorf("shared file in memory: %w", err)
	}
	in.h.File = newSharedName()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[in.h.File] = b.Bytes()
	return in.h, nil
}

// Get gives the bytes of a file; they must not be changed.
func (s *MemoryShared) Get(h SharedHandle) ([]byte, error) {
	if h.File == "" {
		return h.Inline, h.check(h.Inline)
	}
	s.mu.Lock()
	b, ok := s.m[h.File]
	s.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("shared file %s: not in memory, expected %d bytes", h.File, h.Bytes)
	}
	return b, h.check(b)
}

// Path is empty: there is no file.
func (s *MemoryShared) Path(SharedHandle) string { return "" }

// Discard forgets a file.
func (s *MemoryShared) Discard(h SharedHandle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, h.File)
	return nil
}

// List gives the names of all files.
func (s *MemoryShared) List() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.m)), nil
}
