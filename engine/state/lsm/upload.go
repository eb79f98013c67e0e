package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/checkpoint"
	"weir/engine/state"
)

// UploadThreads is how many files of one subtask are stored at a time: Flink's state.backend.rocksdb.checkpoint.transfer.thread.num.
const UploadThreads = 4

// FileState is what a checkpoint did with a file.
type FileState string

// What a checkpoint does with a file.
const (
	Uploaded FileState = "uploaded"
	Reused   FileState = "reused"
	Inlined  FileState = "inlined"
)

// UploadedFile tells it of one file.
type UploadedFile struct {
	Name            string // of the backend's file
	Origin          string // the id of the DB that gave the name
	File            string // in the shared folder; empty if inlined
	Bytes           int64
	State           FileState
	FirstCheckpoint int64
}

// Upload is the outcome of the asynchronous phase.
type Upload struct {
	State checkpoint.IncrementalState
	Files []UploadedFile
	// UploadedBytes were written now, inlined ones included; FullBytes are what the checkpoint refers to.
	UploadedBytes, FullBytes int64
}

// Upload is the asynchronous phase: it stores what no checkpoint that is known to be complete has, several files at a time.
// Files below inlineBelow bytes go into the checkpoint itself (Flink's data-inline-threshold). When it fails, or ctx ends,
// or the backend is closed (state.ErrClosed), nothing that it stored stays.
func (s *FilesSnapshot) Upload(ctx context.Context, to checkpoint.SharedFiles, inlineBelow int64) (*Upload, error) {
	ctx, cancel := s.db.until(ctx)
	defer cancel(nil)
	plan := append([]plannedFile(nil), s.files...)
	s.b.uploads.plan(plan)
	files := make([]checkpoint.StateFile, len(plan))
	err := s.storeAll(ctx, cancel, to, inlineBelow, plan, files)
	var u *Upload
	if err == nil {
		u = &Upload{}
		u.State, err = s.incremental(ctx, files)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		for i := range files {
			if plan[i].reuse == nil && files[i].File != "" {
				err = errors.Join(err, to.Discard(files[i].SharedHandle))
			}
		}
		if errors.Is(err, state.ErrClosed) {
			return nil, state.ErrClosed
		}
		return nil, fmt.Errorf("checkpoint %d: storing the files of the state: %w", s.id, err)
	}
	for i := range files {
		f := &files[i]
		what := UploadedFile{Name: f.Name, Origin: f.Origin, File: f.File, Bytes: f.Bytes, State: Uploaded, FirstCheckpoint: f.First}
		switch {
		case f.File == "":
			what.State = Inlined
		case plan[i].reuse != nil:
			what.State = Reused
		}
		if what.State != Reused {
			u.UploadedBytes += f.Bytes
		}
		u.Files = append(u.Files, what)
	}
	u.FullBytes = u.State.Bytes()
	s.traceUpload(u)
	s.b.uploads.stored(s.id, files)
	return u, nil
}

// storeAll stores the files that have to be; the first failure ends the others.
func (s *FilesSnapshot) storeAll(ctx context.Context, cancel context.CancelCauseFunc, to checkpoint.SharedFiles, inlineBelow int64, plan []plannedFile, files []checkpoint.StateFile) error {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(UploadThreads, len(plan)) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := s.store(ctx, to, inlineBelow, &plan[i], &files[i]); err != nil {
					cancel(fmt.Errorf("file %s: %w", plan[i].name, err))
				}
			}
		})
	}
	for i := range plan {
		if plan[i].reuse != nil {
			files[i] = *plan[i].reuse
			continue
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

func (s *FilesSnapshot) store(ctx context.Context, to checkpoint.SharedFiles, inlineBelow int64, p *plannedFile, f *checkpoint.StateFile) error {
	*f = checkpoint.StateFile{Name: p.name, Origin: p.origin, Shared: p.shared, First: s.id}
	r, err := s.b.o.FS.Open(p.path)
	if err != nil {
		return err
	}
	defer r.Close()
	if p.bytes < inlineBelow {
		b, err := io.ReadAll(r)
		f.SharedHandle = checkpoint.Inlined(b)
		return err
	}
	f.SharedHandle, err = to.Put(ctx, r)
	return err
}

// until is ctx that also ends, with state.ErrClosed, when the DB is closed.
func (d *db) until(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(d.closing, func() { cancel(state.ErrClosed) })
	return ctx, func(cause error) { stop(); cancel(cause) }
}

// place puts a stored file at a path of the DB's disk. A file that never changes is hard-linked if both lie on one disk.
func place(fs vfs.FS, from checkpoint.SharedFiles, f *checkpoint.StateFile, path string) error {
	if source := from.Path(f.SharedHandle); f.Shared && source != "" && fs == vfs.Default {
		if info, err := fs.Stat(source); err == nil && info.Size() == f.Bytes && fs.Link(source, path) == nil {
			return nil
		}
	}
	b, err := from.Get(f.SharedHandle)
	if err != nil {
		return err
	}
	return writeFile(fs, path, b)
}
