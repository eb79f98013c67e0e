package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	folderPrefix = "chk-"
	tmpSuffix    = ".tmp"
)

// FileStorage keeps each checkpoint in a folder chk-ID of one folder, as Flink does: a file VERTEX-SUBTASK for each
// subtask with state, and _metadata, which is written last. Each file gets its name only once it is durable, so that
// whatever moment the machine stops at, a folder either is a whole checkpoint or has no _metadata.
type FileStorage struct {
	dir    string
	fs     FileSystem
	mine   attempts
	shared *FileShared
}

// NewFileStorage keeps checkpoints in dir, which is made when the first one begins. A nil fs is OS.
func NewFileStorage(dir string, fs FileSystem) *FileStorage {
	if fs == nil {
		fs = OS
	}
	return &FileStorage{dir: dir, fs: fs, shared: NewFileShared(filepath.Join(dir, SharedFolder), fs)}
}

// Dir is the folder that the checkpoints' folders are in.
func (s *FileStorage) Dir() string { return s.dir }

func (s *FileStorage) folder(id int64) string {
	return filepath.Join(s.dir, folderPrefix+strconv.FormatInt(id, 10))
}

// Begin makes the checkpoint's folder.
func (s *FileStorage) Begin(id int64) error {
	s.removeDoomed()
	if err := s.fs.MkdirAll(s.dir); err != nil {
		return fmt.Errorf("checkpoint %d: cannot make the folder %s: %w", id, s.dir, err)
	}
	if err := s.mine.begin(id); err != nil {
		return err
	}
	if err := s.fs.Mkdir(s.folder(id)); err != nil {
		s.mine.forget(id)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("checkpoint %d: the folder %s is there already, expected a new one", id, s.folder(id))
		}
		return fmt.Errorf("checkpoint %d: cannot make its folder: %w", id, err)
	}
	return nil
}

// WriteState writes the state file of one subtask.
func (s *FileStorage) WriteState(id int64, t TaskID, state *TaskState) (Handle, error) {
	if err := s.mine.enter(id); err != nil {
		return Handle{}, err
	}
	h, err := s.writeState(id, t, state)
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

func (s *FileStorage) writeState(id int64, t TaskID, state *TaskState) (Handle, error) {
	if state.empty() {
		return Handle{}, nil
	}
	h := Handle{File: url.QueryEscape(t.Vertex) + "-" + strconv.Itoa(t.Subtask)}
	err := s.write(filepath.Join(s.folder(id), h.File), func(f File) (err error) {
		h.Bytes, h.Checksum, err = writeState(f, state)
		return err
	})
	return h, err
}

// write fills a file under another name, makes it durable, and gives it its own.
func (s *FileStorage) write(path string, fill func(File) error) error {
	tmp := path + tmpSuffix
	f, err := s.fs.Create(tmp)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.fs.Rename(tmp, path)
	}
	if err != nil {
		// The folder goes with the checkpoint; what could be removed at once need not fill the disk until then.
		s.fs.RemoveAll(tmp)
	}
	return err
}

// Complete writes _metadata. The names of the state files are made durable before it, and its own after.
func (s *FileStorage) Complete(c *Completed) error {
	if err := s.mine.complete(c.ID); err != nil {
		return err
	}
	// What cannot be removed now is doomed: a later call tries again.
	remove := func(id int64) { _ = s.remove(id) }
	if err := s.mine.completed(c.ID, s.complete(c), remove); err != nil {
		return err
	}
	c.Path = s.folder(c.ID)
	c.open = fileOpener(s.fs, c.Path)
	return nil
}

func (s *FileStorage) complete(c *Completed) error {
	b, err := encodeMetadata(c)
	if err != nil {
		return err
	}
	c.MetadataBytes = int64(len(b))
	folder := s.folder(c.ID)
	if err := s.fs.SyncDir(folder); err != nil {
		return err
	}
	err = s.write(filepath.Join(folder, MetadataName), func(f File) error {
		_, err := f.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.fs.SyncDir(folder); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// Discard removes the checkpoint's folder, if this storage made it or owns it.
func (s *FileStorage) Discard(id int64) error {
	if !s.mine.discard(id) {
		return nil
	}
	return s.remove(id)
}

// remove takes _metadata away first: a removal that stops halfway leaves nothing that looks like a checkpoint.
func (s *FileStorage) remove(id int64) error {
	folder := s.folder(id)
	err := s.fs.RemoveAll(filepath.Join(folder, MetadataName))
	if err == nil {
		err = s.fs.RemoveAll(folder)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %d: cannot remove %s: %w", id, folder, err)
	}
	s.mine.forget(id)
	return nil
}

// removeDoomed removes the checkpoints that could not be removed before.
func (s *FileStorage) removeDoomed() {
	for _, id := range s.mine.doomed() {
		_ = s.remove(id) // what still cannot be stays doomed
	}
}

// Sweep tries once more to remove what could not be removed before, shared files too. Who ends with the storage calls it.
func (s *FileStorage) Sweep() {
	s.removeDoomed()
	_ = s.shared.remove()
}

// Own makes the storage responsible for a complete checkpoint in its folder, so that it may be discarded later. Flink's
// claim mode.
func (s *FileStorage) Own(id int64) { s.mine.own(id) }

// HighestID looks at the names of the folders.
func (s *FileStorage) HighestID() (int64, error) {
	ids, err := checkpointIDs(s.fs, s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("checkpoint folder %s: %w", s.dir, err)
	}
	var highest int64
	for _, id := range ids {
		highest = max(highest, id)
	}
	return highest, nil
}

// Load reads a checkpoint of any folder; see Load.
func (s *FileStorage) Load(path string) (*Completed, error) { return load(s.fs, path) }

// Load reads the metadata of the checkpoint in a folder (or of the _metadata file itself) and sees that each state file
// is there in its full length. It changes nothing on disk. An error is one line that names the file and what was
// expected of it. The state itself is read, and its checksum compared, by Completed.State.
func Load(path string) (*Completed, error) { return load(OS, path) }

func load(fsys FileSystem, path string) (*Completed, error) {
	folder := filepath.Clean(path)
	if filepath.Base(folder) == MetadataName {
		folder = filepath.Dir(folder)
	}
	file := filepath.Join(folder, MetadataName)
	b, err := fsys.ReadFile(file, maxMetadata)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missingMetadata(fsys, folder)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	c, err := parseMetadata(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, v := range c.Vertices {
		for i, sub := range v.Subtasks {
			if sub.File == "" {
				continue
			}
			state := filepath.Join(folder, sub.File)
			n, err := fsys.Size(state)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil, fmt.Errorf("%s: missing, expected %d bytes of state of %s", state, sub.Bytes, TaskID{v.ID, i})
			case err != nil:
				return nil, fmt.Errorf("cannot read %s: %w", state, err)
			case n < sub.Bytes:
				return nil, fmt.Errorf("%s: truncated: %d bytes, expected %d", state, n, sub.Bytes)
			case n > sub.Bytes:
				return nil, fmt.Errorf("%s: damaged: %d bytes, expected %d", state, n, sub.Bytes)
			}
		}
	}
	c.Path = folder
	c.open = fileOpener(fsys, folder)
	return c, nil
}

// missingMetadata says what is at a place where no checkpoint is.
func missingMetadata(fsys FileSystem, folder string) error {
	ids, err := checkpointIDs(fsys, folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such folder, expected that of a checkpoint", folder)
	case err == nil && len(ids) > 0:
		return fmt.Errorf("%s: no %s there, expected the folder of one checkpoint such as %s", folder, MetadataName,
			filepath.Join(folder, folderPrefix+strconv.FormatInt(ids[len(ids)-1], 10)))
	}
	return fmt.Errorf("%s: no %s there, expected the folder of a completed checkpoint", folder, MetadataName)
}

// checkpointIDs lists the ids of the checkpoints' folders in dir, ascending.
func checkpointIDs(fsys FileSystem, dir string) ([]int64, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, folderPrefix)
		if id, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// fileOpener reads the state files of one folder.
func fileOpener(fsys FileSystem, folder string) func(Handle) (*TaskState, error) {
	return func(h Handle) (*TaskState, error) {
		file := filepath.Join(folder, h.File)
		b, err := fsys.ReadFile(file, maxStateFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the state in %s: %w", file, err)
		}
		if int64(len(b)) != h.Bytes {
			return nil, fmt.Errorf("%s: %d bytes, expected %d", file, len(b), h.Bytes)
		}
		state, err := parseState(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if have := stateChecksum(b); have != h.Checksum {
			return nil, fmt.Errorf("%s: state with checksum %08x, expected %08x: it belongs to another checkpoint", file, have, h.Checksum)
		}
		return state, nil
	}
}
