package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir/engine/checkpoint"
	"weir/engine/task"
)

// folders are those that were made for a job, the innermost first. A start that is refused takes them away again.
type folders []string

// makeFolders makes a folder and those it lies in, as far as they are not there.
func makeFolders(dir string) (made folders, err error) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		made.remove()
		return nil, err
	}
	return made, nil
}

// remove removes the folders as far as they are empty.
func (f folders) remove() {
	for _, d := range f {
		if os.Remove(d) != nil {
			return
		}
	}
}

// openStorage opens where checkpoints go; ids go on after those that are there.
func (j *Job) openStorage(s *task.Settings) error {
	if s.CheckpointStorage == "memory" {
		j.storage = checkpoint.NewMemoryStorage()
		return nil
	}
	dir := j.options.CheckpointDir
	if dir == "" {
		temp, err := os.MkdirTemp("", "weir-checkpoints-")
		if err != nil {
			return fmt.Errorf("checkpoint folder: %w", err)
		}
		j.tempDir, dir = temp, temp
	} else {
		var err error
		if j.made, err = makeFolders(dir); err != nil {
			return fmt.Errorf("checkpoint folder: %w; name another one", err)
		}
	}
	j.storage = checkpoint.NewFileStorage(dir, j.options.Disk)
	highest, err := j.storage.HighestID()
	if err != nil {
		j.removeTemp()
		return fmt.Errorf("checkpoint folder: %w", err)
	}
	j.past.NextID = highest + 1
	return nil
}

func (j *Job) removeTemp() {
	if j.tempDir != "" {
		if err := os.RemoveAll(j.tempDir); err != nil {
			j.log.Warn("removing the temporary checkpoint folder", "dir", j.tempDir, "err", err)
		}
	}
}
