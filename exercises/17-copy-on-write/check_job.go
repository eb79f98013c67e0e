package copyonwrite

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/task"
	"weir/exercises/17-copy-on-write/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

const (
	records = 1600
	keys    = 40
	quarter = records / 4
)

// inJob runs a count whose state is the learner's map: a record is counted by changing a value in place. A checkpoint is
// taken, and written while more records are counted: half of it after a hundred of them, the rest after all that may come.
// Then the task fails, and the job goes on from the checkpoint.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	w.Core.Call(api.Begin, nil)
	c := &count{p: &proxy{core: w.Core}, quit: make(chan struct{})}
	s := history.Settings()
	s.Parallelism, s.Keys = 1, keys
	s.RestartStrategy, s.RestartAttempts, s.RestartDelayMs = job.FixedDelay, 1, 0
	gate := history.NewGate(records)
	g := history.CountingWith(serde.Long, gate.Source, task.OperatorFactory{Name: "count", New: func() task.Operator { return &counting{count: c} }})
	gate.Let(quarter)
	j, err := job.Start(g, s, job.Options{})
	if err != nil {
		return history.Broken(err)
	}
	defer j.Close()
	defer close(c.quit)
	until := func(ok func() bool) error { return history.Await(ctx, j, 20*time.Second, ok) }
	err = until(func() bool { return c.counted.Load() == quarter })
	if err == nil {
		_, err = j.TriggerCheckpoint()
	}
	if err == nil {
		err = until(func() bool { return c.taken.Load() })
	}
	gate.Let(quarter)
	if err == nil {
		err = until(func() bool { return c.counted.Load() == 2*quarter && completed(j) })
	}
	if f := c.judge(err); f != nil {
		return f
	}
	c.fail.Store(true)
	gate.Open()
	if err := history.Await(ctx, j, 20*time.Second, func() bool { return j.State().Ended() }); err != nil {
		return history.Stalled(err)
	}
	if f := c.judge(nil); f != nil {
		return f
	}
	for k := range int64(keys) {
		if n := c.final[k]; n != records/keys {
			return finding(fmt.Sprintf("key %d", k), fmt.Sprint(records/keys), fmt.Sprint(n),
				labs.Text{En: "at the end, after a restore from the checkpoint", Zh: "从检查点恢复之后，直到结束"})
		}
	}
	return nil
}

func completed(j *job.Job) bool {
	for _, c := range j.Snapshot().Checkpoints {
		if c.Status != "IN_PROGRESS" {
			return true
		}
	}
	return false
}

func finding(what, want, got string, when labs.Text) *kit.Finding {
	return &kit.Finding{
		Expected: labs.Text{En: fmt.Sprintf("%s is %s %s", what, want, when.En), Zh: fmt.Sprintf("%s：%s 应为 %s", when.Zh, what, want)},
		Seen:     labs.Text{En: fmt.Sprintf("%s is %s", what, got), Zh: fmt.Sprintf("%s 为 %s", what, got)},
		Where:    labs.Text{En: "A task counts with Get(key).N++ while another goroutine reads the snapshot (HeapSnapshotStrategy.asyncSnapshot in Flink); the lab heap shows its copies", Zh: "任务用 Get(key).N++ 计数，同时另一个 goroutine 在读快照（Flink 的 HeapSnapshotStrategy.asyncSnapshot）；heap 实验展示这些副本"},
		Try:      labs.Text{En: "Put in one key, take a snapshot, add one in place through Get, and read the snapshot: do entry and value both differ from the live ones?", Zh: "放入一个键，取快照，经 Get 原地加一，再读快照：entry 和值都与当前的不同吗？"},
	}
}

// count is what the attempts of the job have in common, and what the engine knows of it.
type count struct {
	p       *proxy
	counted atomic.Int64 // records of the first attempt
	taken   atomic.Bool
	fail    atomic.Bool
	quit    chan struct{}

	mu sync.Mutex
	// atBarrier are the counts when the barrier came, by the checker's own count; stored are those that the snapshot gave.
	atBarrier, stored map[int64]int64
	broken            string // what was wrong with the snapshot as a whole
	final             map[int64]int64
}

// judge compares the snapshot with what was counted up to the barrier.
func (c *count) judge(err error) *kit.Finding {
	if err != nil {
		return history.Stalled(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	during := labs.Text{En: "in the checkpoint, which was read while records were counted", Zh: "在边计数边读取的检查点里"}
	if c.broken != "" {
		return finding("the snapshot", "whole", c.broken, during)
	}
	for _, k := range slices.Sorted(maps.Keys(c.atBarrier)) {
		if want, got := c.atBarrier[k], c.stored[k]; want != got {
			return finding(fmt.Sprintf("key %d", k), fmt.Sprint(want), fmt.Sprint(got), during)
		}
	}
	return nil
}

// counting is the operator of one attempt.
type counting struct {
	*count
	mine map[int64]int64 // by the checker
	most int             // the max parallelism
}

var errFail = errors.New("the checker fails this task once")

func (o *counting) Open(c *task.Context, _ task.Output) error {
	o.most = c.MaxParallelism
	if o.mine == nil {
		o.mine = map[int64]int64{}
	}
	return nil
}

func (o *counting) Process(r *serde.Record) error {
	if o.fail.CompareAndSwap(true, false) {
		return errFail
	}
	o.p.add(r.Key.Num)
	o.mine[r.Key.Num]++
	o.counted.Add(1)
	return o.p.err()
}

func (o *counting) SettingsChanged() {}

// Finish reads the counts out of the learner's map.
func (o *counting) Finish() error {
	final := map[int64]int64{}
	for k := range int64(keys) {
		final[k] = o.p.get(k)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.final = final
	return nil
}

// Snapshot is the sync phase: the learner's Snapshot. What it gives is read by another goroutine.
func (o *counting) Snapshot() *checkpoint.OperatorState {
	if o.taken.Load() {
		return nil
	}
	const name = 1
	o.p.take(name)
	o.mu.Lock()
	o.atBarrier = maps.Clone(o.mine)
	o.mu.Unlock()
	o.taken.Store(true)
	return &checkpoint.OperatorState{Stream: func(w io.Writer) ([]checkpoint.KeyGroupOffset, error) { return o.write(w, name) }}
}

// entry is one of the snapshot.
type entry struct {
	group  int
	key, n int64
}

// write reads the snapshot entry by entry while the task goes on.
func (o *counting) write(w io.Writer, name int64) ([]checkpoint.KeyGroupOffset, error) {
	size := o.p.size(name)
	var entries []entry
	broken := ""
	if want := int64(len(o.atBarrier)); size != want {
		broken = fmt.Sprintf("of %d entries instead of %d", size, want)
		size = min(size, want)
	}
	for i := range size {
		o.await(quarter + 100 + (quarter-100)*i/max(size, 1))
		k, n, ok := o.p.at(name, i)
		if !ok {
			broken = fmt.Sprintf("without a value under key %d", k)
		}
		entries = append(entries, entry{keygroup.Assign(keygroup.HashLong(k), o.most), k, n})
	}
	o.p.release(name)
	o.mu.Lock()
	o.broken, o.stored = broken, map[int64]int64{}
	for _, e := range entries {
		o.stored[e.key] = e.n
	}
	o.mu.Unlock()
	return writeGroups(w, entries)
}

// await waits until so many records were counted.
func (o *counting) await(n int64) {
	for o.counted.Load() < n {
		select {
		case <-o.quit:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// writeGroups writes entries by key group: key and count in 8 bytes each.
func writeGroups(w io.Writer, entries []entry) ([]checkpoint.KeyGroupOffset, error) {
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.group, b.group) })
	var groups []checkpoint.KeyGroupOffset
	var at int64
	for _, e := range entries {
		b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(e.key)), uint64(e.n))
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		if n := len(groups); n == 0 || groups[n-1].KeyGroup != e.group {
			groups = append(groups, checkpoint.KeyGroupOffset{KeyGroup: e.group, Offset: at})
		}
		groups[len(groups)-1].Length += int64(len(b))
		at += int64(len(b))
	}
	return groups, nil
}

// Restore puts what was stored into a new map of the learner's.
func (o *counting) Restore(s *checkpoint.OperatorState) error {
	o.p.begin()
	o.mine = map[int64]int64{}
	if s == nil {
		return nil
	}
	for _, g := range s.Keyed {
		for b := g.Data; len(b) >= 16; b = b[16:] {
			k, n := int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
			o.p.put(k, n)
			o.mine[k] = n
		}
	}
	return nil
}

func (o *counting) Close() error { return nil }
