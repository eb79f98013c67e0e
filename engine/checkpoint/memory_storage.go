package checkpoint

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// memoryPrefix begins the path of a checkpoint in memory.
const memoryPrefix = "memory:" + folderPrefix

// MemoryStorage keeps checkpoints in the memory of the process, in the bytes that FileStorage would write: a lab that
// is never restored after its process ends needs no disk, and a test none either. Flink's JobManagerCheckpointStorage.
type MemoryStorage struct {
	mine   attempts
	shared *MemoryShared

	mu sync.Mutex
	m  map[int64]*memoryCheckpoint
}

type memoryCheckpoint struct {
	files    map[Handle][]byte
	metadata []byte
}

// NewMemoryStorage returns an empty storage.
func NewMemoryStorage() *MemoryStorage {
	return &MemoryStorage{m: map[int64]*memoryCheckpoint{}, shared: NewMemoryShared()}
}

// Shared are the files that checkpoints share.
func (s *MemoryStorage) Shared() *MemoryShared { return s.shared }

// Begin opens a checkpoint.
func (s *MemoryStorage) Begin(id int64) error {
	if err := s.mine.begin(id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[id] = &memoryCheckpoint{files: map[Handle][]byte{}}
	return nil
}

// WriteState keeps the serialized state of one subtask.
func (s *MemoryStorage) WriteState(id int64, t TaskID, state *TaskState) (Handle, error) {
	if err := s.mine.enter(id); err != nil {
		return Handle{}, err
	}
	var h Handle
	var b bytes.Buffer
	var err error
	if !state.empty() {
		h.File = t.Vertex + "-" + strconv.Itoa(t.Subtask)
		h.Bytes, h.Checksum, err = writeState(&b, state)
	}
	if err == nil && h.File != "" {
		s.mu.Lock()
		s.m[id].files[h] = b.Bytes()
		s.mu.Unlock()
	}
	alive, last := s.mine.leave(id)
	if last {
		s.remove(id)
	}
	switch {
	case !alive:
		return Handle{}, fmt.Errorf("checkpoint %d: %w", id, ErrNotOpen)
	case err != nil:
		return Handle{}, fmt.Errorf("checkpoint %d: state of %s: %w", id, t, err)
	}
	return h, nil
}

// Complete keeps the metadata.
func (s *MemoryStorage) Complete(c *Completed) error {
	if err := s.mine.complete(c.ID); err != nil {
		return err
	}
	b, err := encodeMetadata(c)
	s.mu.Lock()
	m := s.m[c.ID]
	m.metadata, c.MetadataBytes = b, int64(len(b))
	s.mu.Unlock()
	if err := s.mine.completed(c.ID, err, s.remove); err != nil {
		return err
	}
	c.Path = memoryPrefix + strconv.FormatInt(c.ID, 10)
	c.open = m.open
	return nil
}

// Discard forgets a checkpoint. One that is being restored stays readable through its Completed.
func (s *MemoryStorage) Discard(id int64) error {
	if s.mine.discard(id) {
		s.remove(id)
	}
	return nil
}

func (s *MemoryStorage) remove(id int64) {
	s.mu.Lock()
	delete(s.m, id)
	s.mu.Unlock()
	s.mine.forget(id)
}

// Load finds the checkpoint of a path such as memory:chk-3.
func (s *MemoryStorage) Load(path string) (*Completed, error) {
	digits, ok := strings.CutPrefix(path, memoryPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("%s: not a checkpoint in memory, expected a path such as %s3", path, memoryPrefix)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.m[id]
	if m == nil || m.metadata == nil {
		return nil, fmt.Errorf("%s: no completed checkpoint of that id is in memory", path)
	}
	c, err := parseMetadata(m.metadata)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.Path = path
	c.open = m.open
	return c, nil
}

// HighestID is the highest id in memory.
func (s *MemoryStorage) HighestID() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var highest int64
	for id := range s.m {
		highest = max(highest, id)
	}
	return highest, nil
}

// open is called only once the checkpoint is complete: its files no longer change.
func (m *memoryCheckpoint) open(h Handle) (*TaskState, error) {
	b, ok := m.files[h]
	if !ok {
		return nil, fmt.Errorf("%s: not in memory", h.File)
	}
	return parseState(b)
}
