package lsm

import (
	"maps"
	"sync"

	"weir/engine/checkpoint"
)

// uploads decides which files of a checkpoint have to be stored. A file may be left out only if a checkpoint that is known
// to be complete refers to it: those of one that may still fail may be deleted with it. Flink's
// RocksIncrementalSnapshotStrategy. It has no goroutine and no disk; any goroutine may call its methods.
//
// Files go by (origin, name): within one life of a DB a name is given once and the bytes under it never change, but the
// next life gives the same names to other bytes. Restored files keep the origin that they came with.
type uploads struct {
	backendID string

	mu        sync.Mutex
	origins   map[string]string // name -> origin, of files that this life of the DB did not write
	completed int64
	known     map[string]checkpoint.StateFile           // of the last checkpoint known to be complete
	pending   map[int64]map[string]checkpoint.StateFile // stored, but not known to be complete
}

// newUploads begins with the files of the checkpoint that the DB was restored from; reuse says that later checkpoints may
// refer to them.
func newUploads(backendID string, restored map[string]checkpoint.StateFile, reuse bool) *uploads {
	u := &uploads{backendID: backendID, origins: map[string]string{}, pending: map[int64]map[string]checkpoint.StateFile{}}
	for name, f := range restored {
		u.origins[name] = f.Origin
	}
	if reuse {
		u.known = maps.Clone(restored)
	}
	return u
}

// plannedFile is what becomes of one file.
type plannedFile struct {
	name   string
	path   string
	bytes  int64
	shared bool // never changes
	origin string
	// reuse is the stored file, if it is one.
	reuse *checkpoint.StateFile
}

// plan decides for each file.
func (u *uploads) plan(files []plannedFile) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range files {
		f := &files[i]
		if f.origin = u.backendID; f.shared {
			if origin, ok := u.origins[f.name]; ok {
				f.origin = origin
			}
			if k, ok := u.known[f.name]; ok && k.Origin == f.origin && k.Bytes == f.bytes {
				f.reuse = &k
			}
		}
	}
}

// stored tells that all files of a checkpoint are.
func (u *uploads) stored(id int64, files []checkpoint.StateFile) {
	m := map[string]checkpoint.StateFile{}
	for _, f := range files {
		if f.Shared {
			m[f.Name] = f
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pending[id] = m
}

// complete tells that a checkpoint is complete: later ones may refer to its files.
func (u *uploads) complete(id int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if m, ok := u.pending[id]; ok && id > u.completed {
		u.completed, u.known = id, m
	}
	for old := range u.pending {
		if old <= id {
			delete(u.pending, old)
		}
	}
}

// aborted tells that a checkpoint was given up.
func (u *uploads) aborted(id int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.pending, id)
}
