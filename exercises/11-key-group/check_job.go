package keygroup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

// inJob runs source → keyBy → count and compares where the job's records went with where the learner's code says: the
// engine counts for itself what each key group and each subtask received.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	for _, c := range []struct {
		t                 serde.KeyType
		most, parallelism int
	}{{serde.Long, 128, 3}, {serde.String, 200, 4}} {
		keys := jobKeys(c.t)
		if f := oneJob(ctx, proxy{w.Core}, c.t, keys, c.most, c.parallelism); f != nil {
			return f
		}
	}
	return nil
}

// jobKeys are the keys of a job's records, some of them more than once.
func jobKeys(t serde.KeyType) []serde.Key {
	rnd := rand.New(rand.NewPCG(1, uint64(t)))
	var keys []serde.Key
	for i := range 300 {
		k := serde.Key{Num: int64(rnd.Uint64()) >> rnd.IntN(64)}
		if t == serde.String {
			k = serde.Key{Str: randomText(rnd) + strconv.Itoa(i%40)}
		}
		for range 1 + i%3 {
			keys = append(keys, k)
		}
	}
	return keys
}

func oneJob(ctx context.Context, p proxy, t serde.KeyType, keys []serde.Key, most, parallelism int) *kit.Finding {
	s := history.Settings()
	s.Parallelism, s.MaxParallelism = parallelism, most
	loads := operator.NewGroupLoads(serde.Schema{Key: t, Payload: true})
	g := history.Counting(t, func() task.Source { return &listed{keys: keys} }, task.OperatorFactory{Name: "load", New: loads.New})
	j, err := job.Start(g, s, job.Options{})
	if err != nil {
		return history.Broken(err)
	}
	defer j.Close()
	if err := history.Await(ctx, j, 20*time.Second, func() bool { return j.State().Ended() }); err != nil {
		return history.Stalled(err)
	}
	// Where the records went, by the engine.
	want := map[int]operator.GroupCount{}
	counts, _ := loads.Counts()
	received := make([]int64, parallelism)
	for _, c := range counts {
		want[c.Group] = c
		received[c.Subtask] += c.Records
	}
	// Where the learner's code sends them.
	var hashes []int32
	for _, h := range p.hash(t, keys) {
		hashes = append(hashes, int32(h))
	}
	var groups []int
	for _, g := range p.keyGroups(hashes, []int{most}) {
		groups = append(groups, int(g))
	}
	owners := p.subtasks(groups, most, parallelism)
	sent := make([]int64, parallelism)
	for i, k := range keys {
		name := fmt.Sprintf("key %q", serde.FormatKey(t, k))
		c, ok := want[groups[i]]
		if owner := owners[i]; !ok || owner != int64(c.Subtask) {
			expected := "a key group that the job received records for"
			zh := "作业收到过记录的键组"
			if ok {
				expected = fmt.Sprintf("key group %d, which subtask %d received", groups[i], c.Subtask)
				zh = fmt.Sprintf("键组 %d，由子任务 %d 收到", groups[i], c.Subtask)
			}
			return jobFinding(labs.Text{En: name + ": " + expected, Zh: name + "：" + zh},
				labs.Text{En: fmt.Sprintf("%s: key group %d, sent to subtask %d", name, groups[i], owner), Zh: fmt.Sprintf("%s：键组 %d，发往子任务 %d", name, groups[i], owner)})
		}
		sent[owners[i]]++
	}
	if a, b := fmt.Sprint(received), fmt.Sprint(sent); a != b {
		return jobFinding(labs.Text{En: "records per subtask " + a, Zh: "各子任务的记录数 " + a}, labs.Text{En: "records per subtask " + b, Zh: "各子任务的记录数 " + b})
	}
	return nil
}

func jobFinding(expected, seen labs.Text) *kit.Finding {
	return &kit.Finding{Expected: expected, Seen: seen,
		Where: labs.Text{En: "The job's record writer (KeyGroupStreamPartitioner in Flink) and its keyed state; the lab key-groups shows the same on a ruler", Zh: "作业的 record writer（Flink 的 KeyGroupStreamPartitioner）与键控状态；key-groups 实验用标尺展示同样的内容"},
		Try:   labs.Text{En: "Follow the named key through all four functions. Groups go to subtasks in runs, not in turn.", Zh: "让这个键依次走过四个函数。键组是成段交给子任务的，不是轮流发。"}}
}

func (p proxy) hash(t serde.KeyType, keys []serde.Key) []int64 {
	if t == serde.String {
		var s []string
		for _, k := range keys {
			s = append(s, k.Str)
		}
		return p.hashStrings(s)
	}
	var v []int64
	for _, k := range keys {
		v = append(v, k.Num)
	}
	return p.hashLongs(v)
}

// listed is a source of given records; its first subtask makes them all.
type listed struct {
	keys []serde.Key
	next int
	ctx  *task.Context
}

func (l *listed) Open(c *task.Context) error { l.ctx = c; return nil }

func (l *listed) Next(r *serde.Record) (task.Status, time.Duration) {
	if l.ctx.Index > 0 || l.next == len(l.keys) {
		return task.End, 0
	}
	r.Key = l.keys[l.next]
	l.next++
	return task.Ready, 0
}

func (l *listed) Err() error                              { return nil }
func (l *listed) SettingsChanged()                        {}
func (l *listed) Snapshot() *checkpoint.OperatorState     { return nil }
func (l *listed) Restore(*checkpoint.OperatorState) error { return nil }
func (l *listed) Close() error                            { return nil }
