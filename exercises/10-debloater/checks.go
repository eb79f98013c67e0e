package debloater

import (
	"context"
	"fmt"
	"time"

	"weir/engine/task"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

// checks are those of the exercise: one for each rule, then all of them together.
func checks() []kit.Def {
	return []kit.Def{
		ruled("first", 1, labs.Text{En: "The average begins at the start size", Zh: "平均值从起始大小开始"}, firstScript,
			labs.Text{En: "Begin: what do the average and the last announced size begin with? Both with Start.", Zh: "Begin：平均值和上次通告的大小从什么开始？都从 Start 开始。"}),
		ruled("average", 2, labs.Text{En: "Each size is the moving average, rounded", Zh: "每个大小都是取整后的移动平均"}, averageScript,
			labs.Text{En: "The average moves by 2/(Samples+1) of the way to the wanted size. Keep its fraction; round to the nearest only in the answer.", Zh: "平均值每次向期望大小移动 2/(Samples+1) 的距离。保留小数，只在回答时四舍五入。"}),
		ruled("growth", 1, labs.Text{En: "Growing is no faster than shrinking", Zh: "增长不比缩小快"}, growthScript,
			labs.Text{En: "A wanted size counts at most as twice the average: shrinking can take away the whole average and no more, so growing may add no more than that.", Zh: "期望大小最多按平均值的两倍计：缩小最多减去整个平均值，所以增长也不能加得更多。"}),
		ruled("threshold", 2, labs.Text{En: "Only a change above the threshold is announced", Zh: "只通告超过阈值的变化"}, thresholdScript,
			labs.Text{En: "Compare with the size last announced, not with the last average, and take the distance: a change downwards counts as much as one upwards.", Zh: "与上次通告的大小比较，而不是与上一个平均值比较；并且取距离：向下的变化与向上的同样算数。"}),
		ruled("limits", 1, labs.Text{En: "The limits hold, and reaching one is always news", Zh: "限制始终有效，到达限制总要通告"}, limitsScript,
			labs.Text{En: "Hold the average between Min and Max. A size at a limit is announced whatever the threshold says, once.", Zh: "让平均值保持在 Min 与 Max 之间。到达限制的大小不管阈值如何都要通告一次。"}),
		ruled("idle", 1, labs.Text{En: "No buffer in use, no throughput", Zh: "没有在用 buffer，没有吞吐"}, idleScript,
			labs.Text{En: "No buffer in use counts as one, a negative throughput as 0, and the estimate divides by 1 at least.", Zh: "没有在用 buffer 按一个计，负的吞吐按 0 计，估计值的除数至少为 1。"}),
		{
			ID: "estimate", Points: 1, Name: labs.Text{En: "The time to consume what is in flight", Zh: "处理完在途数据的时间"}, Needs: []string{"average"},
			Run: func(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
				s := estimateScript
				return history.Check(ctx, w, s.steps, s.play(w.Core, true), whereRule, labs.Text{
					En: "The averaged size times the buffers in use, in ms at this throughput: the average counts even when it was not announced.",
					Zh: "平均后的大小乘以在用 buffer 数，按此吞吐换算成毫秒：即使没有通告，也用平均后的大小。",
				})
			},
		},
		{
			ID: "golden", Points: 2, Name: labs.Text{En: "What Flink answers", Zh: "Flink 的回答"}, Needs: []string{"average", "threshold"},
			Run: goldenCases,
		},
		{
			ID: "histories", Points: 2, Name: labs.Text{En: "Random histories, as the engine's debloater", Zh: "随机历史，与引擎的消胀器一致"}, Needs: []string{"average", "threshold"},
			Seeds: 8, Run: randomHistories,
		},
		{
			ID: "gates", Points: 1, Hidden: true, Name: labs.Text{En: "Two gates know nothing of each other", Zh: "两个 gate 互不影响"}, Needs: []string{"average"},
			Run: twoGates,
		},
		{
			ID: "job", Points: 3, Name: labs.Text{En: "In a running job", Zh: "在运行中的作业里"}, Needs: []string{"average", "threshold"},
			Run: inJob,
		},
	}
}

var whereRule = labs.Text{
	En: "Recalculate in core.go; in Flink BufferDebloater.recalculateBufferSize and BufferSizeEMA.calculateBufferSize",
	Zh: "core.go 的 Recalculate；Flink 中的 BufferDebloater.recalculateBufferSize 与 BufferSizeEMA.calculateBufferSize",
}

// ruled is a check of one rule by a script.
func ruled(id string, points int, name labs.Text, s script, try labs.Text) kit.Def {
	return kit.Def{ID: id, Points: points, Name: name, Run: func(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
		return history.Check(ctx, w, s.steps, s.play(w.Core, false), whereRule, try)
	}}
}

// step is one period of a gate.
type step struct {
	throughput int64 // bytes/s
	inUse      int
}

func (s step) String() string { return fmt.Sprintf("Recalculate(%d, %d)", s.throughput, s.inUse) }

// script is a debloater and what it goes through.
type script struct {
	config task.DebloatConfig
	steps  []step
}

// play gives the first answer of the core that is not the engine's; with estimate that counts too.
func (s script) play(core kit.Core, estimate bool) history.Play[step] {
	return func(steps []step) *history.Difference {
		model, err := task.NewDebloater(s.config)
		if err != nil {
			return &history.Difference{Call: configured(s.config), Expected: "a configuration that is valid", Seen: err.Error()}
		}
		p := begin(core, 0, s.config)
		for i, st := range steps {
			want := modelAnswer(model, st.throughput, st.inUse)
			if d := differs(i, s.config, st, want, p.recalculate(st.throughput, st.inUse), estimate); d != nil {
				return d
			}
		}
		return nil
	}
}

func modelAnswer(d *task.Debloater, throughput int64, inUse int) answer {
	size, announce := d.Recalculate(throughput, inUse)
	return answer{size, announce, d.EstimatedTimeToConsumeMs()}
}

// differs compares two answers.
func differs(i int, c task.DebloatConfig, st step, want, got answer, estimate bool) *history.Difference {
	call := st.String() + " of " + configured(c)
	switch {
	case got.size != want.size || got.announce != want.announce:
		return &history.Difference{Step: i, Call: call, Expected: announced(want), Seen: announced(got)}
	case estimate && got.estimate != want.estimate:
		return &history.Difference{Step: i, Call: call, Expected: fmt.Sprintf("an estimate of %d ms", want.estimate), Seen: fmt.Sprintf("%d ms", got.estimate)}
	}
	return nil
}

// announced shows an answer as Go would.
func announced(a answer) string { return fmt.Sprintf("(%d, %t)", a.size, a.announce) }

func configured(c task.DebloatConfig) string {
	return fmt.Sprintf("{Start %d, Min %d, Max %d, TargetMs %d, ThresholdPercent %d, Samples %d}",
		c.Start, c.Min, c.Max, c.Target.Milliseconds(), c.ThresholdPercent, c.Samples)
}

// config is Flink's default with another start.
func config(start int) task.DebloatConfig {
	c := task.DefaultDebloatConfig()
	c.Start = start
	return c
}

// without is a configuration that announces every change.
func without(c task.DebloatConfig) task.DebloatConfig {
	c.ThresholdPercent = 0
	return c
}

func repeat(n int, s step) []step {
	all := make([]step, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func joined(parts ...[]step) []step {
	var all []step
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

var (
	// firstScript wants exactly the start size, so that nothing changes, until it wants more.
	firstScript = script{without(config(4096)), joined(repeat(3, step{40_960, 10}), repeat(1, step{61_440, 10}))}
	// averageScript goes down and up again well inside the limits and below the bound on growth.
	averageScript = script{without(config(8192)), joined(repeat(6, step{50_003, 10}), repeat(3, step{77_777, 9}), repeat(6, step{81_919, 7}))}
	// growthScript wants far more than twice the size.
	growthScript = script{without(config(1024)), repeat(8, step{10_000_000, 10})}
	// thresholdScript falls in small steps that add up, and climbs back in the same way.
	thresholdScript = script{config(30_000), joined(repeat(25, step{100_000, 10}), repeat(40, step{280_000, 10}))}
	// limitsScript reaches both limits, and stays there. The last step to a limit is below the threshold.
	limitsScript = script{config(1024), joined(repeat(20, step{4096, 2000}), repeat(70, step{40_000_000, 4}))}
	// idleScript has nothing to divide by.
	idleScript     = script{without(config(2048)), []step{{3000, 0}, {0, 0}, {-5, 3}, {4096, -1}, {0, 7}, {100_000, 0}}}
	estimateScript = script{config(32768), joined(repeat(12, step{100_000, 10}), repeat(3, step{250_000, 3}), repeat(2, step{0, 4}))}
)

// twoGates has two debloaters take turns with quite different loads.
func twoGates(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	type gate struct {
		proxy
		model *task.Debloater
		step
	}
	var gates []gate
	for i, st := range []step{{20_000, 10}, {300_000, 12}} {
		c := config(16384)
		model, err := task.NewDebloater(c)
		if err != nil {
			return history.Broken(err)
		}
		gates = append(gates, gate{begin(w.Core, int64(i), c), model, st})
	}
	for i := range 20 {
		for n, g := range gates {
			want, got := modelAnswer(g.model, g.throughput, g.inUse), g.recalculate(g.throughput, g.inUse)
			d := differs(i, config(16384), g.step, want, got, true)
			if d == nil {
				continue
			}
			d.Call = fmt.Sprintf("gate %d, period %d: %s", n, i+1, d.Call)
			return d.Finding(
				labs.Text{En: "The variables of core.go that stand outside of the struct", Zh: "core.go 里放在结构体之外的变量"},
				labs.Text{En: "Each New makes a debloater of its own: keep all that it remembers in its struct.", Zh: "每次 New 都产生独立的消胀器：它要记住的一切都放进结构体。"})
		}
	}
	return nil
}

// millis is a time of a golden case.
func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
