package buffertimeouts

import (
	"math"
	"slices"

	"weir/engine/metric"
	"weir/exercises/kit"
	"weir/labs"
)

// Readings count from 2 s after the start; the runs go on for 6 s after it.
const (
	settleMs = 2000
	runMs    = 8200
)

func checks(q *kit.Question) []kit.Def {
	var scripts []labs.Script
	for _, ms := range timeouts {
		scripts = append(scripts, labs.Script{Lab: "buffer-timeout", ForMs: runMs,
			Knobs: map[string]any{"bufferTimeoutMs": ms, "checkpointIntervalMs": 0}})
	}
	d := kit.NewDecider(q, scripts...)
	buffers := func(i int) func([]*labs.Record) float64 {
		return func(r []*labs.Record) float64 { return perSecond(r[i]) }
	}
	return []kit.Def{
		d.Number(kit.Def{ID: "at100", Points: 2, Name: labs.Text{En: "At 100 ms", Zh: "100 毫秒"}}, "at100", "buffers/s", 0.3, buffers(0),
			labs.Text{En: "Each of four channels is flushed ten times a second, and each flush sends its half-full buffer: about 40 a second, and a few more, since Flink's flusher and its buffers do not keep step.",
				Zh: "四条通道每秒各刷出十次，每次发出没写满的 buffer：约每秒 40 个，再多几个，因为刷出和写 buffer 并不同步。"}),
		d.Number(kit.Def{ID: "at1", Points: 2, Name: labs.Text{En: "At 1 ms", Zh: "1 毫秒"}}, "at1", "buffers/s", 0.3, buffers(1),
			labs.Text{En: "Four thousand flushes a second, but only a thousand records: a flush of an empty buffer sends nothing, so that nearly each record travels alone.",
				Zh: "每秒刷出四千次，但只有一千条记录：空 buffer 刷不出东西，于是几乎每条记录单独上路。"}),
		d.Number(kit.Def{ID: "at0", Points: 1, Name: labs.Text{En: "At 0", Zh: "0"}}, "at0", "buffers/s", 0.2, buffers(2),
			labs.Text{En: "A flush after each record: as many buffers as records.", Zh: "每条记录后刷出：有多少记录就有多少 buffer。"}),
		d.Number(kit.Def{ID: "onlyFull", Points: 2, Name: labs.Text{En: "At -1", Zh: "-1"}}, "onlyFull", "buffers/s", 0.3, buffers(3),
			labs.Text{En: "A record takes some 280 bytes, so that 32 KiB hold about 117 of them: a thousand a second make 8 or 9 buffers.",
				Zh: "一条记录约 280 字节，32 KiB 装约 117 条：每秒一千条就是 8 到 9 个 buffer。"}),
		d.Number(kit.Def{ID: "wait", Points: 2, Name: labs.Text{En: "The wait at 100 ms", Zh: "100 毫秒时的等待"}}, "wait", "ms", 0.4,
			func(r []*labs.Record) float64 { return medianWait(r[0]) },
			labs.Text{En: "A record comes at any moment between two flushes: half of them wait less than half of the timeout.",
				Zh: "记录在两次刷出之间的任意时刻到来：一半的记录等待不到超时的一半。"}),
		d.Choose(kit.Def{ID: "records", Points: 1, Name: labs.Text{En: "Records per second", Zh: "每秒记录数"}}, "records",
			func(r []*labs.Record) (string, labs.Text) {
				a, b := rate(r[0]), rate(r[1])
				seen := kit.Textf("%.0f records/s at 100 ms, %.0f at 1 ms.", "100 毫秒时每秒 %.0f 条，1 毫秒时 %.0f 条。", a, b)
				switch {
				case math.Abs(a-b) <= 0.1*a:
					return "same", seen
				case b > a:
					return "more", seen
				}
				return "fewer", seen
			},
			labs.Text{En: "The source sets the pace, and a thousand records a second are no load. The timeout decides when they leave, not how many there are.",
				Zh: "速度由 source 决定，每秒一千条算不上负载。超时决定它们何时离开，不决定有多少。"}),
	}
}

func settled(r *labs.Record) []*metric.Snapshot {
	i := slices.IndexFunc(r.Samples, func(x *metric.Snapshot) bool { return x.TimeMs >= settleMs })
	if i < 0 {
		return nil
	}
	return r.Samples[i:]
}

// perSecond are the buffers that both consumers received.
func perSecond(r *labs.Record) float64 {
	count := func(x *metric.Snapshot) (n int64) {
		for _, t := range kit.Subtasks(x, "slow-map") {
			n += t.NumBuffersInLocal + t.NumBuffersInRemote
		}
		return n
	}
	s := settled(r)
	if len(s) < 2 {
		return 0
	}
	a, b := s[0], s[len(s)-1]
	return float64(count(b)-count(a)) * 1000 / float64(b.TimeMs-a.TimeMs)
}

func rate(r *labs.Record) float64 { return kit.Consumed(settled(r), "slow-map") }

// medianWait is the mean of the consumers' medians.
func medianWait(r *labs.Record) float64 {
	last, sum, n := r.Last(), 0.0, 0.0
	for _, t := range kit.Subtasks(last, "slow-map") {
		if t.LatencyMs != nil {
			sum, n = sum+t.LatencyMs.P50, n+1
		}
	}
	return sum / math.Max(n, 1)
}
