package sharedregistry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/task"
	"weir/exercises/20-shared-registry/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

const (
	enoughCompleted = 5
	enoughFailed    = 2
	enoughReused    = 3 // parts of checkpoints that refer to files of others
)

// inJob runs a count on the LSM store whose registry is the learner's, with uploads that fail. When it has ended, the shared
// folder must hold just what the kept checkpoints refer to.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	dir, err := os.MkdirTemp("", "weir-exercise-")
	if err != nil {
		return history.Broken(err)
	}
	defer os.RemoveAll(dir)
	r := &registry{p: proxy{w.Core}, handles: map[string]checkpoint.SharedHandle{}, parts: map[int64][]string{}}
	r.p.begin()
	s := history.Settings()
	s.CheckpointStorage, s.Backend, s.InlineThresholdBytes = "file", task.LSM, 0
	s.Keys, s.RetainedCheckpoints = 200, 1
	s.ToleratedFailures, s.FailUploadEvery = 1<<30, 31
	gate := history.NewGate(1 << 20)
	graph := history.Counting(serde.Long, gate.Source)
	j, err := job.Start(graph, s, job.Options{CheckpointDir: dir, Cores: job.Cores{Registry: r}})
	if err != nil {
		return history.Broken(err)
	}
	defer j.Close()
	if err := r.run(ctx, j, gate); err != nil {
		return history.Stalled(err)
	}
	j.Close()
	if f := r.finding(); f != nil {
		return f
	}
	return judgeFolder(dir)
}

func finding(expected, seen labs.Text) *kit.Finding {
	return &kit.Finding{Expected: expected, Seen: seen,
		Where: labs.Text{En: "The folder shared beside the checkpoints of a running job, of which every 31st upload failed; the lab incremental shows it as a shelf", Zh: "运行中的作业在检查点旁边的 shared 文件夹，每 31 次上传失败一次；incremental 实验把它画成书架"},
		Try:   tryRegistry}
}

// run takes checkpoints, two at a time: new records come only before every second one, so that the other finds its files
// stored already. It ends when enough of everything has happened.
func (r *registry) run(ctx context.Context, j *job.Job, gate *history.Gate) error {
	const most = 60
	for n := range most {
		if n%2 == 0 {
			gate.Let(400)
			if err := gate.Await(ctx, j, 20*time.Second); err != nil {
				return err
			}
		}
		id, err := j.TriggerCheckpoint()
		if err != nil {
			return err
		}
		if err := history.Await(ctx, j, 20*time.Second, func() bool { return over(j, id) }); err != nil {
			return err
		}
		c := j.Snapshot().CheckpointCounts
		if c.Completed >= enoughCompleted && c.Failed >= enoughFailed && r.reused.Load() >= enoughReused || r.finding() != nil {
			return nil
		}
	}
	return history.ErrStalled
}

// over tells whether a checkpoint has come to its end.
func over(j *job.Job, id int64) bool {
	return slices.ContainsFunc(j.Snapshot().Checkpoints, func(c metric.Checkpoint) bool { return c.ID == id && c.Status != "IN_PROGRESS" })
}

// judgeFolder compares the shared folder with the checkpoints beside it.
func judgeFolder(dir string) *kit.Finding {
	kept, err := filepath.Glob(filepath.Join(dir, "chk-*", "_metadata"))
	if err == nil && len(kept) == 0 {
		err = errors.New("no checkpoint is kept")
	}
	if err != nil {
		return history.Broken(err)
	}
	files, err := checkpoint.SharedOf(filepath.Dir(kept[0])).List()
	if err != nil {
		return history.Broken(err)
	}
	referred := map[string]bool{}
	for _, path := range kept {
		c, err := checkpoint.Load(filepath.Dir(path))
		if err != nil {
			return history.Broken(err)
		}
		for sub := range 2 {
			s, err := c.State("count", sub)
			if err != nil {
				return history.Broken(err)
			}
			for _, h := range s.SharedFiles() {
				referred[h.File] = true
				if !slices.Contains(files, h.File) {
					return finding(labs.Text{En: fmt.Sprintf("checkpoint %d is kept, and can be restored", c.ID), Zh: fmt.Sprintf("检查点 %d 保留着，并且可以恢复", c.ID)},
						labs.Text{En: fmt.Sprintf("shared file %s, which it refers to, was deleted", h.File), Zh: fmt.Sprintf("它引用的共享文件 %s 已被删除", h.File)})
				}
			}
		}
	}
	left := slices.DeleteFunc(files, func(f string) bool { return referred[f] })
	if len(left) > 0 {
		return finding(labs.Text{En: "nothing is left that no kept checkpoint refers to", Zh: "没有留下任何无人引用的文件"},
			labs.Text{En: fmt.Sprintf("%d shared files are left, such as %s", len(left), left[0]), Zh: fmt.Sprintf("留下了 %d 个共享文件，例如 %s", len(left), left[0])})
	}
	return nil
}

// registry is the learner's as a job asks for it: a job.SharedRegistry.
type registry struct {
	p       proxy
	handles map[string]checkpoint.SharedHandle

	// parts are the files that each checkpoint refers to which was not given up and is not below the kept ones.
	parts map[int64][]string

	reused atomic.Int64 // parts that reuse files

	mu    sync.Mutex
	first *kit.Finding
}

func (r *registry) finding() *kit.Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

func (r *registry) found(f *kit.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = f
	}
}

// RegisterState implements job.SharedRegistry.
func (r *registry) RegisterState(s *checkpoint.TaskState, id int64) error {
	var uploaded, reused []string
	for _, op := range s.Operators {
		if op == nil {
			continue
		}
		for i := range op.Incremental {
			for _, f := range op.Incremental[i].Files {
				switch {
				case f.File == "":
				case f.First == id:
					uploaded = append(uploaded, f.File)
					r.handles[f.File] = f.SharedHandle
				default:
					reused = append(reused, f.File)
				}
			}
		}
	}
	if !r.p.register(id, uploaded, reused) {
		err := fmt.Errorf("checkpoint %d, with %d files uploaded and %d reused, was not registered", id, len(uploaded), len(reused))
		r.found(finding(labs.Text{En: "each part of a checkpoint is registered", Zh: "检查点的每一部分都登记成功"}, labs.Text{En: err.Error(), Zh: err.Error()}))
		return err
	}
	if len(reused) > 0 {
		r.reused.Add(1)
	}
	r.parts[id] = append(append(r.parts[id], uploaded...), reused...)
	return nil
}

// remove looks at what the learner's registry has deleted before it is: what another checkpoint refers to must stay.
func (r *registry) remove(what string, step, id int64) []checkpoint.SharedHandle {
	var handles []checkpoint.SharedHandle
	for _, f := range r.p.remove(step, id) {
		for other, files := range r.parts {
			if slices.Contains(files, f) {
				r.found(finding(labs.Text{En: fmt.Sprintf("%s(%d) leaves what checkpoint %d refers to", what, id, other), Zh: fmt.Sprintf("%s(%d) 留下检查点 %d 引用的文件", what, id, other)},
					labs.Text{En: fmt.Sprintf("it deletes %s, one of its files", f), Zh: fmt.Sprintf("它删除了其中的 %s", f)}))
			}
		}
		if h, ok := r.handles[f]; ok {
			handles = append(handles, h)
			delete(r.handles, f)
		}
	}
	return handles
}

// Unused implements job.SharedRegistry.
func (r *registry) Unused(lowest int64) (discard []checkpoint.SharedHandle, inUse []int64) {
	for id := range r.parts {
		if id < lowest {
			delete(r.parts, id)
		}
	}
	return r.remove("Subsumed", api.Subsumed, lowest), nil
}

// Aborted implements job.SharedRegistry.
func (r *registry) Aborted(id int64) (discard []checkpoint.SharedHandle) {
	delete(r.parts, id)
	return r.remove("Aborted", api.RegistryAborted, id)
}
