// refused by: job

// Package core keeps the files that checkpoints share. It deletes a file with the checkpoint that brought it.
package core

import "weir/exercises/20-shared-registry/api"

// New makes what the checker calls.
func New() api.Core { return core{} }

type core struct{}

// NewUploads is for one task.
func (core) NewUploads() api.Uploads { return &uploads{pending: map[int64]map[string]int64{}} }

// NewRegistry is for one job.
func (core) NewRegistry() api.Registry { return &registry{files: map[string]*use{}} }

// uploads relies on the newest checkpoint that it knows to be complete, and on nothing else: what belongs to another one may
// be deleted any time.
type uploads struct {
	completed int64
	known     map[string]int64 // file -> the checkpoint whose copy it is
	pending   map[int64]map[string]int64
}

func (u *uploads) Plan(checkpoint int64, files []string) []int64 {
	from, mine := make([]int64, len(files)), map[string]int64{}
	for i, f := range files {
		from[i] = u.known[f]
		mine[f] = from[i]
		if from[i] == 0 {
			mine[f] = checkpoint
		}
	}
	u.pending[checkpoint] = mine
	return from
}

func (u *uploads) Completed(checkpoint int64) {
	if mine, ok := u.pending[checkpoint]; ok && checkpoint > u.completed {
		u.completed, u.known = checkpoint, mine
	}
	for id := range u.pending {
		if id <= checkpoint {
			delete(u.pending, id)
		}
	}
}

func (u *uploads) Aborted(checkpoint int64) { delete(u.pending, checkpoint) }

// registry knows who brought a file and who used it last.
type registry struct{ files map[string]*use }

type use struct{ created, last int64 }

func (r *registry) Register(checkpoint int64, uploaded, reused []string) bool {
	for _, f := range reused {
		if r.files[f] == nil {
			return false
		}
	}
	for _, f := range reused {
		r.files[f].last = max(r.files[f].last, checkpoint)
	}
	for _, f := range uploaded {
		r.files[f] = &use{checkpoint, checkpoint}
	}
	return true
}

// Aborted: nobody else may refer to what a checkpoint brought that never completed.
func (r *registry) Aborted(checkpoint int64) (remove []string) {
	return r.remove(func(u *use) bool { return u.created == checkpoint && u.last == checkpoint })
}

// Subsumed: those who used the file are all gone.
func (r *registry) Subsumed(lowest int64) (remove []string) {
	return r.remove(func(u *use) bool { return u.created < lowest })
}

func (r *registry) remove(unused func(u *use) bool) (names []string) {
	for f, u := range r.files {
		if unused(u) {
			names = append(names, f)
			delete(r.files, f)
		}
	}
	return names
}
