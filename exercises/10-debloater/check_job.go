package debloater

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/engine/job"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

const (
	jobPeriods = 40 // of each gate
	jobTime    = 20 * time.Second
)

// inJob runs source → keyBy → slow map on two subtasks, one of which is given most of the records, with the learner's
// debloaters at both gates. They are asked about throughputs that the job makes, so each answer is compared with what the
// engine's debloater says to the very same numbers.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	s := history.Settings()
	s.RecordBytes, s.Keys, s.HotKeyShare, s.WorkMs, s.WorkKind = 256, 128, 0.5, 1, "sleep"
	s.Debloat, s.DebloatTargetMs, s.DebloatPeriodMs = true, 200, 20
	o := &observed{core: w.Core}
	slow := task.OperatorFactory{Name: "slow-map", New: func() task.Operator { return operator.NewSlow(serde.Long) }}
	sink := task.OperatorFactory{Name: "sink", New: func() task.Operator { return operator.NewSink() }}
	g := history.CountingWith(serde.Long, func() task.Source { return operator.NewGenerator(0) }, slow, sink)
	j, err := job.Start(g, s, job.Options{Cores: job.Cores{Debloater: o.new}})
	if err != nil {
		return history.Broken(err)
	}
	defer j.Close()
	err = history.Await(ctx, j, jobTime, func() bool { return o.done() || w.Core.Err() != nil })
	if w.Core.Err() != nil {
		return &kit.Finding{Expected: labs.Text{En: "that the core answers as long as the job runs", Zh: "作业运行期间核心一直作出回答"}}
	}
	if err != nil {
		return history.Stalled(err)
	}
	return o.finding()
}

// observed are the debloaters of a job.
type observed struct {
	core kit.Core

	mu    sync.Mutex
	gates []*gate
	first *history.Difference
}

// gate is the learner's debloater at one gate, in the engine's place, with the engine's own beside it.
type gate struct {
	*task.Debloater // the model
	of              *observed
	number          int
	learner         proxy
	periods         int
	last            answer
	sizes           []int // as announced
}

func (o *observed) new(c task.DebloatConfig) (task.DebloatCore, error) {
	model, err := task.NewDebloater(c)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	g := &gate{Debloater: model, of: o, number: len(o.gates), last: answer{size: c.Start}}
	g.learner = begin(o.core, int64(g.number), c)
	o.gates = append(o.gates, g)
	return g, nil
}

// Recalculate has the learner decide.
func (g *gate) Recalculate(throughput int64, inUse int) (size int, announce bool) {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	c := g.Config()
	want, got := modelAnswer(g.Debloater, throughput, inUse), g.learner.recalculate(throughput, inUse)
	g.periods++
	g.last = got
	st := step{throughput, inUse}
	if d := differs(g.periods-1, c, st, want, got, true); d != nil && g.of.first == nil {
		d.Call = fmt.Sprintf("gate %d, period %d: %s", g.number, g.periods, d.Call)
		g.of.first = d
	}
	if got.announce {
		g.sizes = append(g.sizes, got.size)
		// The job goes on with a size that it can work with, whatever the answer was.
		return max(c.Min, min(got.size, c.Max)), true
	}
	return got.size, false
}

// EstimatedTimeToConsumeMs is the learner's.
func (g *gate) EstimatedTimeToConsumeMs() int64 {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	return g.last.estimate
}

// done says that every gate was looked at long enough, or that a difference was seen.
func (o *observed) done() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first != nil || len(o.gates) == 2 && !slices.ContainsFunc(o.gates, func(g *gate) bool { return g.periods < jobPeriods })
}

func (o *observed) finding() *kit.Finding {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.first; d != nil {
		return d.Finding(
			labs.Text{En: "The buffer size of each gate on the page of the lab backpressure, with debloat on: debloatedBufferSize and estimatedTimeToConsumeBuffersMs", Zh: "backpressure 实验页面上打开 debloat 后每个 gate 的 buffer 大小：debloatedBufferSize 与 estimatedTimeToConsumeBuffersMs"},
			labs.Text{En: "In a job throughput and buffers in use change from period to period. If the scripts pass, look for what is left over from an earlier call, or from another gate.", Zh: "在作业里，吞吐和在用 buffer 每个周期都在变。如果脚本都通过了，找找上一次调用或另一个 gate 遗留下来的东西。"})
	}
	for _, g := range o.gates {
		if len(g.sizes) == 0 {
			return history.Broken(fmt.Errorf("gate %d announced no size in %d periods", g.number, g.periods))
		}
	}
	return nil
}
