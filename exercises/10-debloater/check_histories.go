package debloater

import (
	"context"
	"math/rand/v2"

	"weir/engine/task"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

// randomHistories takes a core through loads that drift and jump, under random configurations.
func randomHistories(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 10))
	for range 6 {
		s := randomScript(rnd)
		f := history.Check(ctx, w, s.steps, s.play(w.Core, true), whereRule, labs.Text{
			En: "The history is as short as it could be made: work its last call out by hand, with the numbers of the configuration.",
			Zh: "这段历史已尽量缩短：用配置里的数值手算最后一次调用。",
		})
		if f != nil {
			return f
		}
	}
	return nil
}

func randomScript(rnd *rand.Rand) script {
	c := task.DebloatConfig{
		Target: millis(1 + rnd.Int64N(2000)), Max: 1 << (10 + rnd.IntN(6)), ThresholdPercent: rnd.IntN(60), Samples: 1 + rnd.IntN(30),
	}
	c.Min = 1 + rnd.IntN(c.Max/4)
	c.Start = c.Min + rnd.IntN(c.Max-c.Min+1)
	// A load that wants about a size between the limits, now and then another one, or none.
	load := func() (int64, int) {
		inUse := 1 + rnd.IntN(40)
		wanted := c.Min/2 + rnd.IntN(2*c.Max)
		return int64(wanted) * int64(inUse) * 1000 / c.Target.Milliseconds(), inUse
	}
	throughput, inUse := load()
	steps := make([]step, 60)
	for i := range steps {
		switch rnd.IntN(12) {
		case 0:
			throughput, inUse = load()
		case 1:
			steps[i] = step{[]int64{0, -1, throughput}[rnd.IntN(3)], rnd.IntN(2)}
			continue
		}
		steps[i] = step{throughput + throughput*int64(rnd.IntN(21)-10)/100, inUse}
	}
	return script{c, steps}
}
