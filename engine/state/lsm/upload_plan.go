package lsm

import "weir/engine/checkpoint"

// UploadPlan decides, for one DB, which files of a checkpoint need not be stored anew, by their names alone: what a Backend
// does with its own.
type UploadPlan struct{ u *uploads }

// NewUploadPlan is for a DB that has stored nothing yet.
func NewUploadPlan() *UploadPlan { return &UploadPlan{newUploads("", nil, false)} }

// Plan gives for each file the checkpoint whose copy is used, 0 where there is none; all count as stored then.
func (p *UploadPlan) Plan(id int64, files []string) []int64 {
	plan := make([]plannedFile, len(files))
	for i, name := range files {
		plan[i] = plannedFile{name: name, shared: true}
	}
	p.u.plan(plan)
	from, stored := make([]int64, len(files)), make([]checkpoint.StateFile, len(files))
	for i := range plan {
		stored[i] = checkpoint.StateFile{Name: files[i], Shared: true, First: id}
		if r := plan[i].reuse; r != nil {
			stored[i] = *r
			from[i] = r.First
		}
	}
	p.u.stored(id, stored)
	return from
}

// Completed tells that a checkpoint is known to be complete.
func (p *UploadPlan) Completed(id int64) { p.u.complete(id) }

// Aborted tells that a checkpoint was given up.
func (p *UploadPlan) Aborted(id int64) { p.u.aborted(id) }
