package sharedregistry

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/exercises/20-shared-registry/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

const (
	tasks       = 2
	checkpoints = 60
	interval    = time.Second
	timeout     = 10 * time.Second
)

// world has the real coordinator and the real storage around a learner's core, and two tasks with stores whose files come
// and go. Time passes when the check says so; what fails, the seed says.
type world struct {
	p       proxy
	rnd     *rand.Rand
	now     time.Time
	core    *checkpoint.Coordinator
	storage *checkpoint.MemoryStorage
	shared  *checkpoint.MemoryShared

	store   [tasks][]string                    // local files of each task
	made    int                                // files in all
	handles map[string]checkpoint.SharedHandle // by the name that the registry knows
	names   map[string]string                  // that name, by the handle's file
	late    []notification                     // on their way
	heard   [tasks]int64                       // the newest checkpoint that a task knows to be complete
	log     []string
	finding *kit.Finding
	broken  error
}

// faults runs sixty checkpoints.
func faults(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	o := &world{p: proxy{w.Core}, rnd: rand.New(rand.NewPCG(seed, 21)), now: time.Unix(0, 0), storage: checkpoint.NewMemoryStorage(),
		handles: map[string]checkpoint.SharedHandle{}, names: map[string]string{}}
	o.shared = o.storage.Shared()
	o.p.begin()
	o.core = checkpoint.NewCoordinator(checkpoint.Config{Interval: interval, Timeout: timeout, ToleratedFailures: 1 << 30, Retained: 1},
		[]checkpoint.CoordinatedVertex{{ID: "count", Parallelism: tasks, MaxParallelism: 128, Source: true}}, checkpoint.Past{}, o.now, o.now)
	for range checkpoints {
		if ctx.Err() != nil || w.Core.Err() != nil || o.over() {
			break
		}
		o.now = o.now.Add(interval)
		o.carryOut(o.core.Tick(o.now))
		o.deliver()
		o.check()
	}
	if o.broken != nil {
		return history.Broken(o.broken)
	}
	return o.finding
}

func (o *world) over() bool { return o.finding != nil || o.broken != nil }

func (o *world) say(format string, args ...any) { o.log = append(o.log, fmt.Sprintf(format, args...)) }

// name is what the registry knows a task's copy of a file by.
func name(task int, file string, id int64) string { return fmt.Sprintf("task%d/%s@%d", task, file, id) }

// carryOut does what the coordinator wants done.
func (o *world) carryOut(cmds []checkpoint.Command) {
	for _, c := range cmds {
		if o.over() {
			return
		}
		switch c.Kind {
		case checkpoint.TriggerSources:
			if err := o.storage.Begin(c.ID); err != nil {
				o.broken = err
				return
			}
			o.carryOut(o.take(c.ID))
		case checkpoint.WriteMetadata:
			if err := o.storage.Complete(c.Completed); err != nil {
				o.broken = err
				return
			}
			o.carryOut(o.core.MetadataWritten(c.ID, o.now))
		case checkpoint.NotifyComplete:
			o.say("checkpoint %d is complete", c.ID)
			o.notify(api.Completed, "Completed", c.ID)
		case checkpoint.NotifyAborted:
			o.say("checkpoint %d is given up", c.ID)
			o.remove("Aborted", c.ID, o.p.remove(api.RegistryAborted, c.ID))
			o.notify(api.UploadsAborted, "Aborted", c.ID)
		case checkpoint.Discard:
			if err := o.storage.Discard(c.ID); err != nil {
				o.broken = err
				return
			}
			if kept := o.core.Retained(); len(kept) > 0 {
				o.remove("Subsumed", kept[0].ID, o.p.remove(api.Subsumed, kept[0].ID))
			}
		}
	}
}

// notify tells the tasks, or does not, or later.
func (o *world) notify(step int64, what string, id int64) {
	for task := range int64(tasks) {
		n := notification{step, task, id, what}
		switch o.rnd.IntN(5) {
		case 0: // lost
			o.say("task %d never hears %s(%d)", task, what, id)
		case 1:
			o.late = append(o.late, n)
		default:
			o.tell(n)
		}
	}
}

// notification is one that a task gets.
type notification struct {
	step, task, id int64
	what           string
}

func (o *world) tell(n notification) {
	o.say("task %d hears %s(%d)", n.task, n.what, n.id)
	o.p.tell(n.step, n.task, n.id)
	if n.step == api.Completed {
		o.heard[n.task] = max(o.heard[n.task], n.id)
	}
}

// deliver brings notifications that are late: behind that of a later checkpoint.
func (o *world) deliver() {
	o.late = slices.DeleteFunc(o.late, func(n notification) bool {
		if n.id > o.heard[n.task] || o.rnd.IntN(2) == 0 {
			return false
		}
		o.tell(n)
		return true
	})
}

// take has the tasks store their part of a checkpoint; one of them may fail at it, or come too late.
func (o *world) take(id int64) []checkpoint.Command {
	for task := range tasks {
		o.compact(task)
		failed, late := o.rnd.IntN(8) == 0, o.rnd.IntN(12) == 0
		state, uploaded, reused := o.upload(task, id)
		if o.over() {
			return nil
		}
		t := checkpoint.TaskID{Vertex: "count", Subtask: task}
		if failed {
			o.say("task %d fails at checkpoint %d", task, id)
			o.discard(uploaded)
			return o.core.Decline(id, t, checkpoint.WriteFailed, nil, o.now)
		}
		if late {
			o.say("task %d takes too long", task)
			o.now = o.now.Add(timeout)
			// The rest of what the coordinator wants comes once this checkpoint is out of the way.
			cmds := o.core.Tick(o.now)
			o.discard(uploaded)
			return cmds
		}
		h, err := o.storage.WriteState(id, t, state)
		if err != nil {
			o.broken = err
			return nil
		}
		if !o.p.register(id, uploaded, reused) {
			o.fail(labs.Text{En: fmt.Sprintf("Register(%d, …) is true: all files that task %d reuses are stored", id, task), Zh: fmt.Sprintf("Register(%d, …) 为 true：任务 %d 复用的文件都在", id, task)},
				labs.Text{En: "false", Zh: "false"}, whereRegistry, tryRegistry)
			return nil
		}
		ack := checkpoint.Ack{Checkpoint: id, Task: t, Handle: h}
		if cmds := o.core.Ack(ack, o.now); len(cmds) > 0 {
			return cmds
		}
	}
	return nil
}

// compact gives a task's store a new file, and now and then one in place of two.
func (o *world) compact(task int) {
	files := o.store[task]
	if len(files) > 4 || len(files) > 2 && o.rnd.IntN(3) == 0 {
		at := o.rnd.IntN(len(files) - 1)
		files = slices.Delete(slices.Clone(files), at, at+2)
	}
	o.made++
	o.store[task] = append(files, fmt.Sprintf("%d.sst", o.made))
}

// upload stores the files that the learner's plan says, and refers to the others.
func (o *world) upload(task int, id int64) (state *checkpoint.TaskState, uploaded, reused []string) {
	files := o.store[task]
	in := checkpoint.IncrementalState{Backend: "lsm", BackendID: fmt.Sprint("task", task), MaxParallelism: 128, KeyGroups: keygroup.Range{First: 64 * task, Last: 64*task + 63}}
	for i, from := range o.p.plan(int64(task), id, files) {
		f := checkpoint.StateFile{Name: files[i], Shared: true, First: id}
		if from == 0 {
			h, err := o.shared.Put(context.Background(), bytes.NewReader([]byte(name(task, files[i], id))))
			if err != nil {
				o.broken = err
				return nil, nil, nil
			}
			f.SharedHandle = h
			n := name(task, files[i], id)
			o.handles[n], o.names[h.File] = h, n
			uploaded = append(uploaded, n)
		} else {
			n := name(task, files[i], from)
			h, ok := o.handles[n]
			if !ok {
				o.fail(labs.Text{En: fmt.Sprintf("checkpoint %d of task %d refers only to copies that are stored", id, task), Zh: fmt.Sprintf("任务 %[2]d 的检查点 %[1]d 只引用仍在存储里的副本", id, task)},
					labs.Text{En: fmt.Sprintf("it uses %s, which is not there", n), Zh: fmt.Sprintf("它引用 %s，而这个文件不在了", n)}, whereUploads, tryUploads)
				return nil, nil, nil
			}
			f.First, f.SharedHandle = from, h
			reused = append(reused, n)
		}
		in.Files = append(in.Files, f)
	}
	o.say("task %d stores %d: uploads [%s], reuses [%s]", task, id, strings.Join(uploaded, " "), strings.Join(reused, " "))
	return &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{"count": {Incremental: []checkpoint.IncrementalState{in}}}}, uploaded, reused
}

// remove deletes what the registry answered.
func (o *world) remove(what string, id int64, names []string) {
	slices.Sort(names)
	if len(names) > 0 {
		o.say("%s(%d) deletes [%s]", what, id, strings.Join(names, " "))
	}
	for _, n := range names {
		if _, ok := o.handles[n]; !ok {
			o.fail(labs.Text{En: fmt.Sprintf("%s(%d) gives files that are stored", what, id), Zh: fmt.Sprintf("%s(%d) 给出的是存储里有的文件", what, id)},
				labs.Text{En: n + " is not one", Zh: n + " 不在存储里"}, whereRegistry, tryRegistry)
			return
		}
	}
	o.discard(names)
}

func (o *world) discard(names []string) {
	for _, n := range names {
		h := o.handles[n]
		if err := o.shared.Discard(h); err != nil {
			o.broken = err
		}
		delete(o.handles, n)
		delete(o.names, h.File)
	}
}

// check holds the shared folder against the checkpoints that are kept: all that they refer to is there, and nothing else.
// No checkpoint runs at this time.
func (o *world) check() {
	if o.over() {
		return
	}
	needed := map[string]int64{}
	for _, c := range o.core.Retained() {
		for task := range tasks {
			s, err := c.State("count", task)
			if err != nil {
				o.broken = err
				return
			}
			for _, h := range s.SharedFiles() {
				needed[h.File] = c.ID
				if _, err := o.shared.Get(h); err != nil {
					o.fail(labs.Text{En: fmt.Sprintf("checkpoint %d is kept, and can be restored", c.ID), Zh: fmt.Sprintf("检查点 %d 保留着，并且可以恢复", c.ID)},
						labs.Text{En: fmt.Sprintf("one of the files of task %d was deleted", task), Zh: fmt.Sprintf("任务 %d 的一个文件已被删除", task)}, whereRegistry, tryRegistry)
					return
				}
			}
		}
	}
	if len(o.core.Retained()) == 0 {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(o.handles)) {
		if _, ok := needed[o.handles[n].File]; !ok {
			o.fail(labs.Text{En: "the shared folder holds just what the kept checkpoint refers to", Zh: "共享文件夹里只有保留的检查点引用的文件"},
				labs.Text{En: n + " is left, and nobody refers to it", Zh: n + " 还在，却没人引用"}, whereRegistry, tryRegistry)
			return
		}
	}
}

// shown is how much of the log a finding has.
const shown = 10

func (o *world) fail(expected, seen, where, try labs.Text) {
	if o.over() {
		return
	}
	last := strings.Join(o.log[max(0, len(o.log)-shown):], "; ")
	seen.En += ", after " + last
	seen.Zh += "；之前：" + last
	o.finding = &kit.Finding{Expected: expected, Seen: seen, Where: where, Try: try}
}
