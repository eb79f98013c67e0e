package keyranges

import (
	"context"
	"fmt"
	"time"

	"weir/engine/job"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

const (
	records = 9000
	keys    = 300
)

// inJob runs a count on the learner's ranges: its writers send by Owner, its subtasks keep the groups of Range, and state
// that was stored before comes back by Weir's own assignment. It is rescaled while it runs; no record may get lost.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	l := &locked{p: proxy{w.Core}}
	owners := map[[2]int][]int{}
	cores := job.Cores{
		KeyGroups: func(maxParallelism, parallelism, subtask int) (keygroup.Range, error) {
			first, end := l.Range(maxParallelism, parallelism, subtask)
			return keygroup.RangeOf(max(first, 0), min(end, maxParallelism)-1)
		},
		// The job asks on one goroutine, when it starts.
		Owner: func(maxParallelism, parallelism, group int) int {
			size := [2]int{maxParallelism, parallelism}
			if owners[size] == nil {
				owners[size] = l.owners(maxParallelism, parallelism)
			}
			return owners[size][group]
		},
	}
	s := history.Settings()
	s.Keys = keys
	gate := history.NewGate(records)
	graph := history.Counting(serde.Long, gate.Source)
	gate.Let(records / 4)
	steps := []int{2, 3, 5, 2}
	j, err := job.Start(graph, s, job.Options{Cores: cores})
	if err != nil {
		return failed(steps[:1], err)
	}
	defer j.Close()
	for i, parallelism := range steps {
		if i > 0 {
			s.Parallelism = parallelism
			if err := j.Restart(graph, s); err != nil {
				return failed(steps[:i+1], err)
			}
			gate.Let(records / 4)
		}
		if err := gate.Await(ctx, j, 20*time.Second); err != nil {
			return failed(steps[:i+1], err)
		}
	}
	gate.Open()
	if err := history.Await(ctx, j, 20*time.Second, func() bool { return j.State().Ended() }); err != nil {
		return failed(steps, err)
	}
	if err := j.Err(); err != nil {
		return failed(steps, err)
	}
	counts := j.Snapshot().Totals.CountsByKey
	for k := range keys {
		if n := counts[fmt.Sprint(k)]; n != records/keys {
			return finding(steps, labs.Text{En: fmt.Sprintf("key %d counted %d times", k, records/keys), Zh: fmt.Sprintf("键 %d 计数 %d 次", k, records/keys)},
				labs.Text{En: fmt.Sprintf("%d times", n), Zh: fmt.Sprintf("%d 次", n)})
		}
	}
	return nil
}

func failed(steps []int, err error) *kit.Finding {
	f := finding(steps, labs.Text{En: "the job runs, and every key finds its state", Zh: "作业正常运行，每个键都找到自己的状态"}, labs.Text{En: err.Error(), Zh: err.Error()})
	f.NotJudged = history.IsStalled(err)
	return f
}

func finding(steps []int, expected, seen labs.Text) *kit.Finding {
	at := fmt.Sprint(steps)
	seen.En += ", with parallelism " + at
	seen.Zh += "；并行度依次为 " + at
	return &kit.Finding{Expected: expected, Seen: seen,
		Where: labs.Text{En: "The job's task count: its writers ask Owner, its state asks Range, and a restored key group must lie in the range of its subtask", Zh: "作业的 count 任务：writer 问 Owner，状态问 Range；恢复的键组必须落在该子任务的区间里"},
		Try:   labs.Text{En: "Let a loop compare Owner(g) with the subtask whose Range holds g, for all groups and each parallelism from 1 to 16.", Zh: "用循环把 Owner(g) 与 Range 包含 g 的子任务对比：所有组，并行度 1 到 16。"}}
}
