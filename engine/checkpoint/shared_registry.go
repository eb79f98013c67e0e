package checkpoint

import (
	"fmt"
	"maps"
	"slices"
)

// SharedRegistry knows which shared files the checkpoints of a job refer to, and tells which may be deleted. For each file
// it keeps the checkpoint that brought it and the last one that uses it: once all kept checkpoints are newer than that,
// nobody needs it. It follows Flink's SharedStateRegistryImpl.
//
// It belongs to the coordinator: register a subtask's files when it acknowledges; tell Aborted when a checkpoint is given
// up and Unused when one is no longer kept; delete what both answer. It has no goroutine and touches no disk, and is not
// safe for concurrent use.
//
// A file's name is its key: names are never given twice (SharedFiles.Put), so the same name with another length or checksum
// is a mistake and refused. That a backend never refers to a file of a checkpoint which may still fail is the backend's own
// duty; then a file of an aborted checkpoint belongs to it alone.
type SharedRegistry struct {
	entries map[string]*sharedEntry
	// highestForeign is the highest restored checkpoint that the job does not own: nothing it or an earlier one brought
	// is deleted.
	highestForeign int64
	// selfContained are the restored native savepoints: their files lie in their own folder.
	selfContained map[int64]bool
}

type sharedEntry struct {
	handle    SharedHandle
	createdBy int64
	lastUsed  int64
	// holdsCreator: as long as the file is used, the checkpoint that brought it must stay as it is.
	holdsCreator bool
}

// SharedReference is what the registry knows of a file.
type SharedReference struct {
	SharedHandle
	CreatedBy, LastUsed int64
}

// NewSharedRegistry returns an empty registry.
func NewSharedRegistry() *SharedRegistry {
	return &SharedRegistry{entries: map[string]*sharedEntry{}, highestForeign: -1, selfContained: map[int64]bool{}}
}

// Register notes that checkpoint id refers to a file and returns the file's handle. handle may be nil where the file is
// known already: Flink's placeholder, which saves sending the handle again.
func (r *SharedRegistry) Register(file string, handle *SharedHandle, id int64) (SharedHandle, error) {
	e := r.entries[file]
	switch {
	case e == nil && handle == nil:
		return SharedHandle{}, fmt.Errorf("checkpoint %d refers to the shared file %q, which is not known", id, file)
	case e == nil:
		r.entries[file] = &sharedEntry{handle: *handle, createdBy: id, lastUsed: id}
		return *handle, nil
	case handle != nil && !e.handle.Equal(*handle):
		return SharedHandle{}, fmt.Errorf("checkpoint %d refers to the shared file %q of %d bytes, checksum %08x; it must be equal to that of checkpoint %d: %d bytes, checksum %08x",
			id, file, handle.Bytes, handle.Checksum, e.createdBy, e.handle.Bytes, e.handle.Checksum)
	}
	e.lastUsed = max(e.lastUsed, id)
	return e.handle, nil
}

// RegisterState notes all shared files of a subtask's part of checkpoint id. After an error nothing of it is noted.
func (r *SharedRegistry) RegisterState(s *TaskState, id int64) error {
	files := s.SharedFiles()
	for i := range files {
		if e := r.entries[files[i].File]; e != nil && !e.handle.Equal(files[i]) {
			_, err := r.Register(files[i].File, &files[i], id)
			return err
		}
	}
	for i := range files {
		if _, err := r.Register(files[i].File, &files[i], id); err != nil {
			return err
		}
	}
	return nil
}

// HoldCreator makes the use of a file keep the checkpoint that brought it: its private state is used too.
func (r *SharedRegistry) HoldCreator(file string) {
	if e := r.entries[file]; e != nil {
		e.holdsCreator = true
	}
}

// Restored tells how a checkpoint came whose files are registered. One that is not claimed belongs to somebody else: its
// files are never deleted, nor those of earlier ones. A native savepoint has its files in its own folder, so that the folder
// must stay while any of them is used.
func (r *SharedRegistry) Restored(id int64, claimed, nativeSavepoint bool) {
	if !claimed {
		r.highestForeign = max(r.highestForeign, id)
	}
	if nativeSavepoint {
		r.selfContained[id] = true
	}
}

// Unused is called when no checkpoint below lowest is kept any more. discard are the files that nobody refers to now, in
// order of their names; inUse are checkpoints below or above lowest whose folder must stay because of a file in it that is
// still used.
func (r *SharedRegistry) Unused(lowest int64) (discard []SharedHandle, inUse []int64) {
	held := map[int64]bool{}
	for _, file := range slices.Sorted(maps.Keys(r.entries)) {
		e := r.entries[file]
		switch {
		case e.lastUsed < lowest:
			if e.createdBy > r.highestForeign {
				discard = append(discard, e.handle)
			}
			delete(r.entries, file)
		case e.holdsCreator || r.selfContained[e.createdBy]:
			held[e.createdBy] = true
		}
	}
	return discard, slices.Sorted(maps.Keys(held))
}

// Aborted is called when a checkpoint was given up: what it brought is used by nobody else.
func (r *SharedRegistry) Aborted(id int64) (discard []SharedHandle) {
	for _, file := range slices.Sorted(maps.Keys(r.entries)) {
		if e := r.entries[file]; e.createdBy == id && e.lastUsed == id {
			discard = append(discard, e.handle)
			delete(r.entries, file)
		}
	}
	return discard
}

// Orphans lists, of the names in a shared folder, those that the registry does not know: left by an upload that never ended.
func (r *SharedRegistry) Orphans(names []string) []string {
	var out []string
	for _, name := range names {
		if r.entries[name] == nil {
			out = append(out, name)
		}
	}
	return out
}

// References are all files that are referred to, in order of their names.
func (r *SharedRegistry) References() []SharedReference {
	out := make([]SharedReference, 0, len(r.entries))
	for _, file := range slices.Sorted(maps.Keys(r.entries)) {
		e := r.entries[file]
		out = append(out, SharedReference{e.handle, e.createdBy, e.lastUsed})
	}
	return out
}
