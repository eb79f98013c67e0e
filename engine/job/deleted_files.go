package job

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/trace"
)

// Why a shared file was deleted.
const (
	becauseSubsumed = "subsumed" // a checkpoint is complete, and no retained one refers to the file
	becauseFailed   = "failed"   // the checkpoint that stored it was given up
	becauseLate     = "late"     // it was stored for a checkpoint that had been given up
)

// coordinatorThread is the name of the coordinator's goroutine at tracepoints.
const coordinatorThread = "checkpoint coordinator"

// keptDeletions is how many deletions the Snapshot lists.
const keptDeletions = 128

// deletions are the shared files that are gone, oldest first.
type deletions struct {
	mu    sync.Mutex
	files []metric.DeletedFile
}

func (d *deletions) add(f metric.DeletedFile) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// A new list each time: who looks has the old one.
	d.files = append(slices.Clone(d.files[max(0, len(d.files)+1-keptDeletions):]), f)
}

// newestFirst is a copy.
func (d *deletions) newestFirst() []metric.DeletedFile {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := slices.Clone(d.files)
	slices.Reverse(out)
	return out
}

// asyncThread is the name of the goroutine that stores a task's part of a checkpoint.
func asyncThread(t checkpoint.TaskID, id int64) string { return fmt.Sprintf("%s async %d", t, id) }

// discardFiles deletes shared files that nobody refers to, because of a checkpoint. task is whose they are, if that is known,
// and thread the goroutine that deletes them.
func (c *checkpoints) discardFiles(thread string, id int64, because string, task *checkpoint.TaskID, files []checkpoint.StateFile) {
	for i := range files {
		if err := c.discardFile(thread, id, because, task, &files[i]); err != nil {
			c.log.Warn("deleting a shared file", "err", err)
		}
	}
}

func (c *checkpoints) discardFile(thread string, id int64, because string, task *checkpoint.TaskID, f *checkpoint.StateFile) error {
	if err := c.shared.files.Discard(f.SharedHandle); err != nil {
		return err
	}
	d := metric.DeletedFile{File: f.File, Bytes: f.Bytes, Checkpoint: id, Because: because, AtMs: time.Since(c.jobStart).Milliseconds(), Name: f.Name, Origin: f.Origin}
	if task != nil {
		d.Vertex, d.Subtask = task.Vertex, task.Subtask
	}
	c.shared.deletions.add(d)
	if c.tracer.On(trace.SharedFileDeleted) {
		c.tracer.Hit(trace.SharedFileDeleted, thread, trace.Str("file", f.File), trace.Int("bytes", f.Bytes), trace.Int("checkpoint", id), trace.Str("because", because))
	}
	return nil
}

// discardHandles deletes what the registry says on the coordinator's goroutine.
func (c *checkpoints) discardHandles(id int64, because string, handles []checkpoint.SharedHandle) {
	files := make([]checkpoint.StateFile, len(handles))
	for i, h := range handles {
		files[i].SharedHandle = h
	}
	c.discardFiles(coordinatorThread, id, because, nil, files)
}
