package sharedregistry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir/engine/checkpoint"
	"weir/engine/state/lsm"
	"weir/exercises/20-shared-registry/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
	"weir/labs"
)

var checks = []kit.Def{
	{ID: "script", Points: 2, Run: script, Name: labs.Text{En: "Upload, reuse, subsume, abort: step by step", Zh: "上传、复用、淘汰、放弃：逐步核对"}},
	{ID: "random", Points: 2, Seeds: 5, Run: random, Name: labs.Text{En: "Random histories against Weir's own halves", Zh: "随机历史，与 Weir 自己的两半比较"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: []string{"script"}, Run: edges, Name: labs.Text{En: "A part that is refused, an abort without uploads, a notification for an aborted checkpoint", Zh: "被拒绝的部分、没有上传的放弃、给已放弃检查点的通知"}},
	{ID: "faults", Needs: []string{"script"}, Points: 3, Seeds: 5, Run: faults, Name: labs.Text{En: "The real coordinator and storage, with failing uploads and lost or late notifications", Zh: "真实的协调者与存储：上传失败，通知丢失或迟到"}},
	{ID: "job", Needs: []string{"script"}, Points: 3, Run: inJob, Name: labs.Text{En: "A running job with failing checkpoints: what is left in the shared folder", Zh: "检查点会失败的运行作业：共享文件夹里剩下什么"}},
}

var (
	whereUploads  = labs.Text{En: "Plan and Completed of the task's half; in Flink, RocksIncrementalSnapshotStrategy (createUploadFilePaths, notifyCheckpointComplete)", Zh: "任务一半的 Plan 与 Completed；对应 RocksIncrementalSnapshotStrategy（createUploadFilePaths、notifyCheckpointComplete）"}
	tryUploads    = labs.Text{En: "Of which checkpoint do you know for sure that nobody deletes its files before this one ends? Only its copies may be used.", Zh: "你确知哪个检查点的文件在这次结束之前不会被删？只有它的副本可用。"}
	whereRegistry = labs.Text{En: "Register, Aborted and Subsumed of the coordinator's half; in Flink, SharedStateRegistryImpl (registerReference, unregisterUnusedState)", Zh: "协调者一半的 Register、Aborted、Subsumed；对应 SharedStateRegistryImpl（registerReference、unregisterUnusedState）"}
	tryRegistry   = labs.Text{En: "Keep two numbers for each file: the checkpoint that brought it, and the last one that uses it. Which of them decides in Aborted, which in Subsumed?", Zh: "给每个文件记两个数：带来它的检查点，和最后使用它的检查点。Aborted 看哪个，Subsumed 看哪个？"}
)

// step is one call.
type step struct {
	kind          int64
	task, id      int64
	files, reused []string
}

func (s step) String() string {
	names := func(n []string) string { return "[" + strings.Join(n, " ") + "]" }
	switch s.kind {
	case api.Plan:
		return fmt.Sprintf("task %d: Plan(%d, %s)", s.task, s.id, names(s.files))
	case api.Completed:
		return fmt.Sprintf("task %d: Completed(%d)", s.task, s.id)
	case api.UploadsAborted:
		return fmt.Sprintf("task %d: Aborted(%d)", s.task, s.id)
	case api.Register:
		return fmt.Sprintf("Register(%d, uploaded %s, reused %s)", s.id, names(s.files), names(s.reused))
	case api.RegistryAborted:
		return fmt.Sprintf("Aborted(%d)", s.id)
	default:
		return fmt.Sprintf("Subsumed(%d)", s.id)
	}
}

// model is Weir's own.
type model struct {
	uploads  map[int64]*lsm.UploadPlan
	registry *checkpoint.SharedRegistry
}

func newModel() *model {
	return &model{map[int64]*lsm.UploadPlan{}, checkpoint.NewSharedRegistry()}
}

func (m *model) do(s step) string {
	u := m.uploads[s.task]
	if u == nil && s.kind < api.Register {
		u = lsm.NewUploadPlan()
		m.uploads[s.task] = u
	}
	switch s.kind {
	case api.Plan:
		return fmt.Sprint(u.Plan(s.id, s.files))
	case api.Completed:
		u.Completed(s.id)
	case api.UploadsAborted:
		u.Aborted(s.id)
	case api.Register:
		return fmt.Sprint(m.register(s))
	case api.RegistryAborted:
		return removed(m.registry.Aborted(s.id))
	case api.Subsumed:
		handles, _ := m.registry.Unused(s.id)
		return removed(handles)
	}
	return "nothing"
}

// register looks first whether all is known: the registry itself is told file by file.
func (m *model) register(s step) bool {
	for _, f := range s.reused {
		if !slices.ContainsFunc(m.registry.References(), func(r checkpoint.SharedReference) bool { return r.File == f }) {
			return false
		}
	}
	for _, f := range s.reused {
		if _, err := m.registry.Register(f, nil, s.id); err != nil {
			return false
		}
	}
	for _, f := range s.files {
		if _, err := m.registry.Register(f, &checkpoint.SharedHandle{File: f, Bytes: 1}, s.id); err != nil {
			return false
		}
	}
	return true
}

func removed(handles []checkpoint.SharedHandle) string {
	var names []string
	for _, h := range handles {
		names = append(names, h.File)
	}
	return toRemove(names)
}

func toRemove(names []string) string {
	if len(names) == 0 {
		return "no files to delete"
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return "delete " + strings.Join(names, " ")
}

func (s step) answer(r *wire.Reader) string {
	switch s.kind {
	case api.Plan:
		return fmt.Sprint(readPlan(r, len(s.files)))
	case api.Register:
		return fmt.Sprint(r.Bool())
	case api.RegistryAborted, api.Subsumed:
		return toRemove(api.ReadNames(r))
	}
	return "nothing"
}

func (s step) write(w *wire.Writer) {
	w.Int(s.kind)
	if s.kind < api.Register {
		w.Int(s.task)
	}
	w.Int(s.id)
	if s.kind == api.Plan || s.kind == api.Register {
		api.WriteNames(w, s.files)
	}
	if s.kind == api.Register {
		api.WriteNames(w, s.reused)
	}
}

// play gives all steps to the learner's core in one call, and compares answer by answer.
func play(w *kit.Work) history.Play[step] {
	return func(steps []step) *history.Difference {
		at := possible(steps)
		var args wire.Writer
		for _, i := range at {
			steps[i].write(&args)
		}
		w.Core.Call(api.Begin, nil)
		r := &wire.Reader{B: w.Core.Call(api.Do, args.B)}
		m := newModel()
		for _, i := range at {
			s := steps[i]
			want, got := m.do(s), s.answer(r)
			if want == got {
				continue
			}
			if r.Short() {
				got = "no answer"
			}
			d := &history.Difference{Step: i, Call: s.String(), Expected: want, Seen: got}
			if s.kind == api.Plan {
				d.Where, d.Try = whereUploads, tryUploads
			}
			return d
		}
		return nil
	}
}

// possible are the places of the steps that make sense: a task is told of a checkpoint only after its plan, that it is
// complete only if it was not given up, and only before its next plan or behind a later one; nobody registers for a checkpoint
// that was given up.
func possible(steps []step) []int {
	type part struct{ task, id int64 }
	planned, over, aborted := map[part]bool{}, map[part]bool{}, map[int64]bool{}
	last, heard := map[int64]int64{}, map[int64]int64{} // by task: its newest plan, the newest that it knows to be complete
	var at []int
	for i, s := range steps {
		p := part{s.task, s.id}
		switch s.kind {
		case api.Plan:
			if planned[p] {
				continue
			}
			planned[p] = true
			last[s.task] = s.id
		case api.Completed, api.UploadsAborted:
			if !planned[p] || over[p] || s.kind == api.Completed && s.id < last[s.task] && s.id > heard[s.task] {
				continue
			}
			over[p] = true
			if s.kind == api.Completed {
				heard[s.task] = max(heard[s.task], s.id)
			}
		case api.Register:
			if aborted[s.id] {
				continue
			}
		case api.RegistryAborted:
			aborted[s.id] = true
		}
		at = append(at, i)
	}
	return at
}

// script has what the lesson tells, and the behaviours SSR-01, 03 and 09.
func script(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	plan := func(id int64, files ...string) step { return step{kind: api.Plan, id: id, files: files} }
	told := func(kind, id int64) step { return step{kind: kind, id: id} }
	register := func(id int64, uploaded, reused string) step {
		return step{kind: api.Register, id: id, files: strings.Fields(uploaded), reused: strings.Fields(reused)}
	}
	if f := history.Check(ctx, w, []step{
		// Checkpoint 1 uploads all. Without its notification 2 must upload again; after its own, 3 uses what 2 stored, and the
		// late one changes nothing.
		plan(1, "1.sst", "2.sst"), plan(2, "1.sst", "2.sst"), told(api.Completed, 2), told(api.Completed, 1),
		plan(3, "1.sst", "2.sst", "3.sst"), told(api.UploadsAborted, 3),
		// 3 was given up: what it uploaded is not used.
		plan(4, "1.sst", "3.sst"), told(api.Completed, 4), plan(5, "1.sst", "3.sst", "4.sst"),
	}, play(w), whereUploads, tryUploads); f != nil {
		return f
	}
	return history.Check(ctx, w, []step{
		// a and b come with 1, b is used by 2 and 3: it goes when 3 is no longer kept.
		register(1, "a b", ""), register(2, "c", "b"), told(api.Subsumed, 2), register(3, "d", "b"), told(api.Subsumed, 3),
		// 4 fails: what it brought goes, what it reused stays.
		register(4, "e", "b d"), told(api.RegistryAborted, 4),
		register(5, "f", "b"), told(api.Subsumed, 5), told(api.Subsumed, 6), told(api.Subsumed, 100),
	}, play(w), whereRegistry, tryRegistry)
}

// random are histories of two tasks and a registry.
func random(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 20))
	var steps []step
	var late []step
	var brought [2][]string // the files of each task's store
	var stored []string
	lowest, next := int64(1), 1
	for id := int64(1); id <= 40; id++ {
		for task := range int64(2) {
			for range 1 + rnd.IntN(2) {
				brought[task] = append(brought[task], fmt.Sprintf("%d.sst", next))
				next++
			}
			if n := len(brought[task]); n > 3 {
				brought[task] = slices.Delete(slices.Clone(brought[task]), 0, rnd.IntN(3))
			}
			steps = append(steps, step{kind: api.Plan, task: task, id: id, files: slices.Clone(brought[task])})
			s := step{kind: api.Register, id: id}
			for range 1 + rnd.IntN(2) {
				name := fmt.Sprintf("f%d", next)
				next++
				s.files = append(s.files, name)
			}
			for _, f := range stored {
				if rnd.IntN(3) == 0 {
					s.reused = append(s.reused, f)
				}
			}
			if rnd.IntN(12) == 0 {
				s.reused = append(s.reused, "gone")
			}
			stored = append(stored, s.files...)
			stored = stored[max(0, len(stored)-6):]
			steps = append(steps, s)
		}
		failed := rnd.IntN(3) == 0
		for task := range int64(2) {
			told := step{kind: api.Completed, task: task, id: id}
			if failed {
				told.kind = api.UploadsAborted
			}
			switch rnd.IntN(4) {
			case 0: // lost
			case 1:
				late = append(late, told)
			default:
				steps = append(steps, told)
			}
		}
		if failed {
			steps = append(steps, step{kind: api.RegistryAborted, id: id})
		} else if rnd.IntN(2) == 0 {
			lowest += int64(rnd.IntN(int(id-lowest) + 1))
			steps = append(steps, step{kind: api.Subsumed, id: lowest})
		}
		if len(late) > 0 && rnd.IntN(2) == 0 {
			steps, late = append(steps, late[0]), late[1:]
		}
	}
	return history.Check(ctx, w, steps, play(w), whereRegistry, tryRegistry)
}
