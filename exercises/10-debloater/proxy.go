package debloater

import (
	"weir/engine/task"
	"weir/exercises/10-debloater/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// proxy is one of the learner's debloaters. What is missing in an answer reads as zero.
type proxy struct {
	core   kit.Core
	number int64 // different for each gate
}

// begin makes the learner's debloater of a gate, in place of an earlier one of that number.
func begin(core kit.Core, number int64, c task.DebloatConfig) proxy {
	var w wire.Writer
	w.Int(number)
	w.Int(c.Target.Milliseconds())
	for _, n := range []int{c.Start, c.Min, c.Max, c.ThresholdPercent, c.Samples} {
		w.Int(int64(n))
	}
	core.Call(api.Begin, w.B)
	return proxy{core, number}
}

// answer is what a recalculation gives.
type answer struct {
	size     int
	announce bool
	estimate int64 // ms
}

func (p proxy) recalculate(throughput int64, inUse int) answer {
	var w wire.Writer
	w.Int(p.number)
	w.Int(throughput)
	w.Int(int64(inUse))
	r := wire.Reader{B: p.core.Call(api.Recalculate, w.B)}
	size := r.Int()
	announce := r.Bool()
	return answer{int(size), announce, r.Int()}
}
