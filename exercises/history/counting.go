package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
	"weir/exercises/kit"
	"weir/labs"
)

// Settings are those of the small jobs that checks run: two subtasks in this process, everything in memory, checkpoints by
// hand.
func Settings() task.Settings {
	s := task.Defaults()
	s.Transport, s.CheckpointStorage, s.RestartStrategy = "memory", "memory", job.NoRestart
	s.Rate, s.RecordBytes, s.CheckpointIntervalMs, s.BufferTimeoutMs = 0, 0, 0, 5
	s.Parallelism, s.MaxParallelism = 2, 128
	s.NetworkMemoryBytes = 16 << 20
	return s
}

// Counting is a job that counts records by key; before are operators in front of the count.
func Counting(t serde.KeyType, source func() task.Source, before ...task.OperatorFactory) job.Graph {
	count := task.OperatorFactory{Name: "count", New: func() task.Operator { return operator.NewKeyedCount(t, false) }}
	return CountingWith(t, source, append(before, count)...)
}

// CountingWith is the same with operators of one's own.
func CountingWith(t serde.KeyType, source func() task.Source, operators ...task.OperatorFactory) job.Graph {
	return job.Graph{
		Name: "counting",
		Vertices: []job.Vertex{
			{ID: "source", Name: "Source: source", Source: &task.SourceFactory{Name: "source", New: source}},
			{ID: "count", Name: "count", Operators: operators},
		},
		Edges: []job.Edge{{From: "source", To: "count", Exchange: job.Hash, Schema: serde.Schema{Key: t, Payload: true}}},
	}
}

// ErrStalled says that a job did not come to where it was to come, for want of time.
var ErrStalled = errors.New("the job did not get that far in time")

// Await waits until a condition on a job holds. It gives the job's error if the job fails first, and ErrStalled if
// neither comes within the time.
func Await(ctx context.Context, j *job.Job, within time.Duration, ok func() bool) error {
	late := time.NewTimer(within)
	defer late.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return ErrStalled
		case <-late.C:
			return ErrStalled
		case <-tick.C:
		case <-j.Done():
			if err := j.Err(); err != nil {
				return err
			}
			if !ok() {
				return fmt.Errorf("the job ended: %s", j.State())
			}
		}
	}
	return nil
}

// Broken is the finding of a check that could not do its own part.
func Broken(err error) *kit.Finding {
	return &kit.Finding{
		Expected: labs.Text{En: "that the checker can do its part", Zh: "检查器自身能够运行"}, Seen: labs.Text{En: err.Error(), Zh: err.Error()},
		Where: labs.Text{En: "the checker", Zh: "检查器"}, Try: labs.Text{En: "Check again; if it stays, it is not your work that is at fault.", Zh: "再检查一次；若仍如此，问题不在你的代码。"},
		NotJudged: true,
	}
}

// Stalled is the finding when a job did not get where it had to: not judged if only time was short.
func Stalled(err error) *kit.Finding {
	f := Broken(err)
	f.NotJudged = errors.Is(err, ErrStalled)
	if !f.NotJudged {
		f.Expected = labs.Text{En: "that the job runs to its end", Zh: "作业运行到结束"}
		f.Where = labs.Text{En: "the job's own failure, above", Zh: "见上面作业自己的失败原因"}
		f.Try = labs.Text{En: "The job names the subtask and the key group that did not fit.", Zh: "作业会指出是哪个子任务、哪个键组不合。"}
	}
	return f
}

// IsStalled tells that only time was short.
func IsStalled(err error) bool { return errors.Is(err, ErrStalled) }
