package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// miniJob is the smallest shell around a coordinator and a storage: it carries the commands out at once, and its tasks
// answer when the test lets them.
type miniJob struct {
	c      *Coordinator
	s      Storage
	now    time.Time
	asked  map[TaskID]int64 // tasks with an unanswered trigger, sources and others alike
	state  map[TaskID]int   // seed of each task's state now
	taken  map[int64]map[TaskID]int
	last   map[TaskID]int64
	failed string
	ended  map[TaskID]bool
}

func (j *miniJob) run(cmds []Command) {
	for len(cmds) > 0 {
		c := cmds[0]
		cmds = cmds[1:]
		switch c.Kind {
		case TriggerSources:
			if err := j.s.Begin(c.ID); err != nil {
				cmds = append(j.c.Failed(c.ID, BeginFailed, err, j.now), cmds...)
				continue
			}
			j.taken[c.ID] = map[TaskID]int{}
			for t := range j.state {
				if !j.ended[t] {
					j.asked[t] = c.ID
				}
			}
		case WriteFinished:
			cmds = append(cmds, j.write(c.ID, c.Task, c.State)...)
		case WriteMetadata:
			if err := j.s.Complete(c.Completed); err != nil {
				cmds = append(cmds, j.c.Failed(c.ID, FinalizeFailed, err, j.now)...)
			} else {
				cmds = append(cmds, j.c.MetadataWritten(c.ID, j.now)...)
			}
		case Discard:
			j.s.Discard(c.ID)
		case FailJob:
			j.failed = c.Detail
		}
	}
}

func (j *miniJob) write(id int64, t TaskID, s *TaskState) []Command {
	h, err := j.s.WriteState(id, t, s)
	if err != nil {
		return j.c.Decline(id, t, WriteFailed, err, j.now)
	}
	return j.c.Ack(Ack{Checkpoint: id, Task: t, Handle: h}, j.now)
}

// TestWholeRandom runs a coordinator with a storage on a disk that fails now and then, with tasks that answer late, decline
// or end. After each step the folders on disk are those of the retained checkpoints and of the one that runs, each retained
// one loads, and its state is what the tasks had at that checkpoint.
func TestWholeRandom(t *testing.T) {
	completed, failed := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		disk := newMemFS()
		j := &miniJob{
			s: NewFileStorage("/ckp", disk), now: epoch, asked: map[TaskID]int64{}, state: map[TaskID]int{},
			taken: map[int64]map[TaskID]int{}, last: map[TaskID]int64{}, ended: map[TaskID]bool{},
		}
		retained := 1 + r.IntN(3)
		j.c = NewCoordinator(Config{Interval: time.Second, Timeout: 1500 * time.Millisecond, ToleratedFailures: 1000, Retained: retained},
			[]CoordinatedVertex{{ID: "source", Parallelism: 2, MaxParallelism: 128, Source: true}, {ID: "count", Parallelism: 2, MaxParallelism: 128}}, Past{}, j.now, j.now)
		tasks := []TaskID{{"source", 0}, {"source", 1}, {"count", 0}, {"count", 1}}
		for i, task := range tasks {
			j.state[task] = i
		}
		var checked int64
		for step := range 300 {
			task := tasks[r.IntN(len(tasks))]
			switch k := r.IntN(100); {
			case k < 25:
				j.now = j.now.Add(time.Duration(r.IntN(400)) * time.Millisecond)
				j.run(j.c.Tick(j.now))
			case k < 40:
				if !j.ended[task] {
					j.state[task]++
				}
			case k < 90: // the task answers
				id := j.asked[task]
				if id == 0 || j.ended[task] {
					continue
				}
				delete(j.asked, task)
				j.last[task] = id
				if r.IntN(40) == 0 {
					j.run(j.c.Decline(id, task, Declined, nil, j.now))
					continue
				}
				j.taken[id][task] = j.state[task]
				j.run(j.write(id, task, sampleState(j.state[task]%64)))
			case k < 92:
				_, cmds, _ := j.c.Trigger(TypeCheckpoint, j.now)
				j.run(cmds)
			case k < 97:
				disk.failOn = ""
				if r.IntN(4) == 0 {
					disk.failOn = []string{"sync ", "create ", "write ", "rename ", "sync-dir ", "mkdir "}[r.IntN(6)]
				}
			case step > 200 && !j.ended[task]:
				j.ended[task] = true
				delete(j.asked, task)
				j.run(j.c.Finished(task, sampleState(j.state[task]%64), j.last[task], j.now))
			}
			want := []string{}
			for _, c := range j.c.Retained() {
				want = append(want, fmt.Sprintf("chk-%d", c.ID))
				if c.ID <= checked && step%50 > 0 { // what is complete changes no more
					continue
				}
				checked = c.ID
				loaded, err := j.s.Load(c.Path)
				if err != nil {
					t.Fatalf("seed %d step %d: %v", seed, step, err)
				}
				for _, task := range tasks {
					n, ok := j.taken[c.ID][task]
					if !ok {
						n = j.state[task] // it had ended
					}
					st, err := loaded.State(task.Vertex, task.Subtask)
					if err != nil || !sameState(st, sampleState(n%64)) {
						t.Fatalf("seed %d step %d: checkpoint %d has another state of %s than it had: %v", seed, step, c.ID, task, err)
					}
				}
			}
			if p := j.c.pending; p != nil {
				want = append(want, fmt.Sprintf("chk-%d", p.id))
			}
			have, _ := disk.List("/ckp")
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(have, want) {
				t.Fatalf("seed %d step %d: on disk %v, expected %v", seed, step, have, want)
			}
		}
		if j.failed != "" {
			t.Fatalf("seed %d: %s", seed, j.failed)
		}
		for _, cp := range j.c.History(j.now) {
			switch cp.Status {
			case "COMPLETED":
				completed++
			case "FAILED":
				failed++
			}
		}
	}
	if completed < 300 || failed < 100 {
		t.Errorf("%d checkpoints completed and %d failed, expected more of both", completed, failed)
	}
}
