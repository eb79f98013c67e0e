// Package api is what you write against: files that several checkpoints share.
package api

import "weir/exercises/kit/wire"

// Core makes the two halves.
type Core interface {
	// NewUploads is for one task that has stored nothing yet.
	NewUploads() Uploads
	// NewRegistry is for one job.
	NewRegistry() Registry
}

// Uploads is the task's half: it decides which files of its store a checkpoint must upload. In Flink:
// RocksIncrementalSnapshotStrategy with its uploadedSstFiles. A file never changes under its name.
type Uploads interface {
	// Plan gives for each file of the store at this checkpoint the checkpoint whose copy is used, 0 if it must be uploaded
	// now. What is to be uploaded counts as stored for this checkpoint; if it fails, the checkpoint never completes.
	Plan(checkpoint int64, files []string) []int64
	// Completed is the notification that a checkpoint is complete. It comes before the next Plan, or late, behind that of a
	// later checkpoint, or never.
	Completed(checkpoint int64)
	// Aborted is the notification that a checkpoint was given up. It may be lost too.
	Aborted(checkpoint int64)
}

// Registry is the coordinator's half: it knows which stored files are needed. In Flink: SharedStateRegistryImpl. Checkpoints
// are numbered upwards; one runs at a time.
type Registry interface {
	// Register notes a task's part of a checkpoint when it acknowledges: the files that it uploaded for it, and those that it
	// only refers to, because they are stored already. If one of these is not known it answers false and notes nothing.
	Register(checkpoint int64, uploaded, reused []string) bool
	// Aborted is called when a checkpoint was given up. It gives the files to delete.
	Aborted(checkpoint int64) (remove []string)
	// Subsumed is called when no checkpoint below lowest is kept any more. It gives the files to delete.
	Subsumed(lowest int64) (remove []string)
}

// The methods of a call, and what Do can be told.
const (
	Begin = iota // anew
	Do           // any number of steps
)

// The steps. A task goes by its number, and has an Uploads from its first step on.
const (
	Plan            = iota // task, checkpoint, files
	Completed              // task, checkpoint
	UploadsAborted         // task, checkpoint
	Register               // checkpoint, uploaded, reused
	RegistryAborted        // checkpoint
	Subsumed               // lowest
)

// Dispatch makes the function that takes the checker's calls.
func Dispatch(newCore func() Core) func(method uint32, args []byte) []byte {
	var uploads map[int64]Uploads
	var registry Registry
	var core Core
	return func(method uint32, args []byte) []byte {
		if method == Begin || core == nil {
			core = newCore()
			uploads, registry = map[int64]Uploads{}, core.NewRegistry()
		}
		r, w := &wire.Reader{B: args}, &wire.Writer{}
		for len(r.B) > 0 {
			step := r.Int()
			if step >= Register {
				ask(registry, step, r, w)
				continue
			}
			task := r.Int()
			if uploads[task] == nil {
				uploads[task] = core.NewUploads()
			}
			plan(uploads[task], step, r, w)
		}
		return w.B
	}
}

func plan(u Uploads, step int64, r *wire.Reader, w *wire.Writer) {
	switch checkpoint := r.Int(); step {
	case Plan:
		from := u.Plan(checkpoint, ReadNames(r))
		w.Int(int64(len(from)))
		for _, id := range from {
			w.Int(id)
		}
	case Completed:
		u.Completed(checkpoint)
	case UploadsAborted:
		u.Aborted(checkpoint)
	}
}

func ask(g Registry, step int64, r *wire.Reader, w *wire.Writer) {
	switch checkpoint := r.Int(); step {
	case Register:
		uploaded := ReadNames(r)
		w.Bool(g.Register(checkpoint, uploaded, ReadNames(r)))
	case RegistryAborted:
		WriteNames(w, g.Aborted(checkpoint))
	case Subsumed:
		WriteNames(w, g.Subsumed(checkpoint))
	}
}

// WriteNames writes names behind their number.
func WriteNames(w *wire.Writer, names []string) {
	w.Int(int64(len(names)))
	for _, n := range names {
		w.String(n)
	}
}

// ReadNames reads them.
func ReadNames(r *wire.Reader) []string {
	var names []string
	for n := r.Int(); n > 0 && !r.Short(); n-- {
		names = append(names, r.String())
	}
	return names
}
