package assignment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/serde"
	"weir/engine/task"
	"weir/exercises/19-assignment/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

const (
	records = 8000
	keys    = 200
)

// inJob rescales a running count by the learner's assignment: of its keyed state, on the heap by key group and on the LSM
// store by files, and of the positions of its sources, which are split state.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	for _, c := range []struct {
		backend string
		steps   []int
	}{{task.HashMap, []int{2, 3, 5, 2}}, {task.LSM, []int{2, 3, 1}}} {
		if f := oneJob(ctx, proxy{w.Core}, c.backend, c.steps); f != nil {
			return f
		}
	}
	return nil
}

func oneJob(ctx context.Context, p proxy, backend string, steps []int) *kit.Finding {
	l := &dealer{p: p}
	s := history.Settings()
	s.Keys, s.Backend = keys, backend
	gate := history.NewGate(records)
	graph := history.Counting(serde.Long, gate.Source)
	gate.Let(records / 4)
	j, err := job.Start(graph, s, job.Options{Cores: job.Cores{Assign: l.assign}})
	if err != nil {
		return history.Broken(err)
	}
	defer j.Close()
	for i, parallelism := range steps {
		if i > 0 {
			s.Parallelism = parallelism
			if err := j.Restart(graph, s); err != nil {
				return failed(backend, steps[:i+1], err)
			}
			gate.Let(records / 5)
		}
		if err := gate.Await(ctx, j, 20*time.Second); err != nil {
			return failed(backend, steps[:i+1], err)
		}
		if f := outOfRange(ctx, j, backend, steps[:i+1]); f != nil {
			return f
		}
	}
	gate.Open()
	if err := history.Await(ctx, j, 20*time.Second, func() bool { return j.State().Ended() }); err != nil {
		return failed(backend, steps, err)
	}
	if err := j.Err(); err != nil {
		return failed(backend, steps, err)
	}
	counts := j.Snapshot().Totals.CountsByKey
	for k := range keys {
		if n := counts[fmt.Sprint(k)]; n != records/keys {
			return finding(backend, steps, labs.Text{En: fmt.Sprintf("key %d counted %d times", k, records/keys), Zh: fmt.Sprintf("键 %d 计数 %d 次", k, records/keys)},
				labs.Text{En: fmt.Sprintf("%d times", n), Zh: fmt.Sprintf("%d 次", n)})
		}
	}
	return nil
}

// outOfRange tells of a subtask on the heap that was given keys of other subtasks. (Files of the LSM store come whole.)
func outOfRange(ctx context.Context, j *job.Job, backend string, steps []int) *kit.Finding {
	if backend != task.HashMap {
		return nil
	}
	var out int64
	subtask := 0
	err := history.Await(ctx, j, 20*time.Second, func() bool {
		for _, x := range j.Snapshot().Vertices[1].Subtasks {
			if x.State == nil {
				return false
			}
			if x.State.KeysOutOfRange > 0 {
				out, subtask = x.State.KeysOutOfRange, x.Index
			}
		}
		return true
	})
	if err != nil {
		return failed(backend, steps, err)
	}
	if out > 0 {
		return finding(backend, steps, labs.Text{En: "no subtask is given keys of other subtasks", Zh: "没有子任务收到别人的键"},
			labs.Text{En: fmt.Sprintf("subtask %d was given %d keys outside its range", subtask, out), Zh: fmt.Sprintf("子任务 %d 收到 %d 个区间外的键", subtask, out)})
	}
	return nil
}

func failed(backend string, steps []int, err error) *kit.Finding {
	f := finding(backend, steps, labs.Text{En: "the job goes on after each rescale, and ends", Zh: "每次扩缩容之后作业都能继续，直到结束"}, labs.Text{En: err.Error(), Zh: err.Error()})
	f.NotJudged = history.IsStalled(err)
	return f
}

func finding(backend string, steps []int, expected, seen labs.Text) *kit.Finding {
	seen.En += fmt.Sprintf(", backend %s, parallelism %v", backend, steps)
	seen.Zh += fmt.Sprintf("；后端 %s，并行度依次为 %v", backend, steps)
	return &kit.Finding{Expected: expected, Seen: seen,
		Where: labs.Text{En: "The job's restore: a subtask throws away what lies outside its range, and counts from zero what it was not given; the positions of the sources are split state", Zh: "作业的恢复：子任务丢弃区间外的内容，没分到的就从零数起；source 的位置是 split 状态"},
		Try:   labs.Text{En: "Add up the pieces of all new subtasks: each key group of each handle must be there once, with the subtask whose range holds it.", Zh: "把所有新子任务的片段加起来：每个句柄的每个键组应恰好出现一次，且在区间包含它的子任务那里。"}}
}

// dealer is the learner's assignment as a job asks for it.
type dealer struct {
	mu sync.Mutex
	p  proxy
}

// assign has Weir check the numbers and deal what the exercise is not about, and puts the learner's pieces in place of its
// own.
func (l *dealer) assign(c *checkpoint.Completed, vertex string, parallelism, maxParallelism int) (*checkpoint.Assignment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, err := checkpoint.Assign(c, vertex, parallelism, maxParallelism)
	if err != nil {
		return nil, err
	}
	v, ok := c.Vertex(vertex)
	if !ok {
		return a, nil
	}
	old := make([]*checkpoint.TaskState, v.Parallelism)
	handles := make([]api.Handle, v.Parallelism)
	names := map[string]bool{}
	for i := range old {
		if old[i], err = c.State(vertex, i); err != nil {
			return nil, err
		}
		handles[i].First, handles[i].End = api.Range(v.MaxParallelism, v.Parallelism, i)
		for name := range old[i].Operators {
			names[name] = true
		}
	}
	pieces := l.p.Keyed(v.MaxParallelism, parallelism, handles)
	for name := range names {
		lists := splitsOf(old, name)
		splits, _ := l.p.Operator(api.Split, lists, parallelism, 0)
		if n, want := len(slices.Concat(splits...)), len(slices.Concat(lists...)); n != want {
			return nil, fmt.Errorf("vertex %q: %d of %d entries of split state were dealt", vertex, n, want)
		}
		for sub, t := range a.Subtasks {
			op := &checkpoint.OperatorState{}
			if mine := t.Operators[name]; mine != nil {
				op.Named = mine.Named
			}
			if sub < len(splits) {
				for _, e := range splits[sub] {
					op.Splits = append(op.Splits, []byte(e))
				}
			}
			if sub < len(pieces) {
				take(op, old, name, pieces[sub])
			}
			t.Operators[name] = op
		}
	}
	return a, nil
}

func splitsOf(old []*checkpoint.TaskState, name string) [][]string {
	lists := make([][]string, len(old))
	for i, t := range old {
		lists[i] = []string{}
		if op := t.Operators[name]; op != nil {
			for _, e := range op.Splits {
				lists[i] = append(lists[i], string(e))
			}
		}
	}
	return lists
}

// take gives a new subtask the key groups of its pieces, and the files that they come from.
func take(op *checkpoint.OperatorState, old []*checkpoint.TaskState, name string, pieces []api.Piece) {
	for _, p := range pieces {
		if p.Handle < 0 || p.Handle >= len(old) || old[p.Handle].Operators[name] == nil {
			continue
		}
		from := old[p.Handle].Operators[name]
		for _, g := range from.Keyed {
			if p.First <= g.KeyGroup && g.KeyGroup < p.End {
				op.Keyed = append(op.Keyed, g)
			}
		}
		op.Incremental = append(op.Incremental, from.Incremental...)
	}
}
