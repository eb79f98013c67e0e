package sharedregistry

import (
	"context"

	"weir/exercises/20-shared-registry/api"
	"weir/exercises/history"
	"weir/exercises/kit"
)

// edges are two tasks whose files have the same names, a part that is refused as a whole, and checkpoints of several parts.
func edges(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	plan := func(task, id int64, files ...string) step {
		return step{kind: api.Plan, task: task, id: id, files: files}
	}
	told := func(kind, task, id int64) step { return step{kind: kind, task: task, id: id} }
	if f := history.Check(ctx, w, []step{
		plan(0, 1, "1.sst"), plan(1, 1, "1.sst"), told(api.Completed, 0, 1),
		// Task 1 was not told: the file of the same name is not its own.
		plan(0, 2, "1.sst"), plan(1, 2, "1.sst"), told(api.UploadsAborted, 0, 2), told(api.UploadsAborted, 1, 2),
		plan(0, 3, "1.sst", "2.sst"), plan(1, 3, "1.sst"), told(api.Completed, 1, 3),
		// A compaction took 1.sst away; when the name is gone so is the copy.
		plan(0, 4, "2.sst"), told(api.Completed, 0, 4), plan(0, 5, "1.sst", "2.sst"), plan(1, 5, "1.sst"),
	}, play(w), whereUploads, tryUploads); f != nil {
		return f
	}
	register := func(id int64, uploaded, reused []string) step {
		return step{kind: api.Register, id: id, files: uploaded, reused: reused}
	}
	return history.Check(ctx, w, []step{
		// What is refused is not noted at all: neither its uploads, nor that it used a.
		register(1, []string{"a"}, nil), register(2, []string{"x", "y"}, []string{"a", "gone"}), told(api.Subsumed, 0, 2), told(api.Subsumed, 0, 9),
		// Two parts of one checkpoint; the second refers to what the first brought.
		register(10, []string{"b"}, nil), register(10, []string{"c"}, []string{"b"}), register(11, nil, []string{"c"}),
		told(api.RegistryAborted, 0, 11), told(api.Subsumed, 0, 10), told(api.Subsumed, 0, 11),
		register(12, []string{"d"}, nil), register(12, []string{"e"}, nil), told(api.RegistryAborted, 0, 12), told(api.Subsumed, 0, 100),
	}, play(w), whereRegistry, tryRegistry)
}
