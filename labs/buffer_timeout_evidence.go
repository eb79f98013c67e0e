package labs

import "math"

func bufferTimeoutEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"waits-half", Text{"At 100 ms the median wait of a record is about half of that", "设为 100 毫秒时，记录等待时间的中位数约为它的一半"}, judgeWaitsHalf},
		{"more-buffers", Text{"A timeout of 1 ms sends many more, emptier buffers", "1 毫秒的超时会发出多得多、也空得多的 buffer"}, judgeShortTimeout},
		{"each-record", Text{"With 0 nearly each record travels alone", "设为 0 时，几乎每条记录都单独上路"}, judgeEachRecord},
		{"only-full", Text{"With -1 only full buffers leave", "设为 -1 时，只有写满的 buffer 才会发出"}, judgeOnlyFull},
		{"longest-wait", Text{"With -1 the median wait is about half the time that a buffer takes to fill", "设为 -1 时，等待时间的中位数约为写满一个 buffer 所需时间的一半"}, judgeLongestWait},
		{"same-records", Text{"Records per second stay the same in all of them", "几种设置下，每秒记录数都一样"}, judgeSameRecords},
	}
}

// timeoutRow finds the row of a timeout that was measured long enough.
func (o *observed) timeoutRow(ms int64) *Comparison {
	for i := range o.rows {
		if o.rows[i].Knobs["bufferTimeoutMs"] == ms && o.rows[i].Seconds >= 3 && o.rows[i].BuffersPerSecond > 0 {
			return &o.rows[i]
		}
	}
	return nil
}

// slowFill tells whether buffers fill so slowly that the timeout decides when they leave: under ten a second and channel.
func (o *observed) slowFill() (bool, Message) {
	if o.v.Float("rate") == 0 || o.v.Float("workMs") > 0 {
		return false, say("evidence.noWorkLimited")
	}
	return true, Message{}
}

func judgeWaitsHalf(o *observed) verdict {
	if ok, why := o.slowFill(); !ok {
		return verdict{reading: why}
	}
	r := o.timeoutRow(100)
	if r == nil || r.Latency == nil {
		return verdict{reading: say("evidence.setTimeout", 100)}
	}
	if r.MeanFill > 0.5 {
		return verdict{reading: say("evidence.fillsSooner", round(100*r.MeanFill))}
	}
	return verdict{true, r.Latency.P50 >= 30 && r.Latency.P50 <= 75, say("evidence.latency", 100, r.Latency.P50, r.Latency.P99)}
}

func judgeShortTimeout(o *observed) verdict {
	long, short := o.timeoutRow(100), o.timeoutRow(1)
	if long == nil || short == nil {
		return verdict{reading: say("evidence.bothTimeouts", 100, 1)}
	}
	holds := short.BuffersPerSecond >= 4*long.BuffersPerSecond && short.MeanFill < long.MeanFill
	return verdict{true, holds, say("evidence.timeouts", round(long.BuffersPerSecond), 100*long.MeanFill, round(short.BuffersPerSecond), 100*short.MeanFill)}
}

func judgeEachRecord(o *observed) verdict {
	r := o.timeoutRow(0)
	if r == nil {
		return verdict{reading: say("evidence.setTimeout", 0)}
	}
	return verdict{true, r.RecordsPerSecond <= 2*r.BuffersPerSecond, say("evidence.perBuffer", round(r.RecordsPerSecond), round(r.BuffersPerSecond))}
}

func judgeOnlyFull(o *observed) verdict {
	r := o.timeoutRow(-1)
	if r == nil {
		return verdict{reading: say("evidence.setTimeout", -1)}
	}
	return verdict{!o.v.Bool("debloat"), r.MeanFill >= full, say("evidence.fill", 100*r.MeanFill)}
}

func judgeLongestWait(o *observed) verdict {
	if ok, why := o.slowFill(); !ok {
		return verdict{reading: why}
	}
	r := o.timeoutRow(-1)
	if r == nil || r.Latency == nil {
		return verdict{reading: say("evidence.setTimeout", -1)}
	}
	channels := float64(o.v.Int("parallelism") * o.v.Int("parallelism"))
	fills := 1000 * channels / r.BuffersPerSecond // ms from one buffer of a channel to the next
	holds := r.Latency.P50 >= 0.3*fills && r.Latency.P50 <= 0.75*fills
	return verdict{true, holds, say("evidence.fillTime", round(fills), r.Latency.P50)}
}

func judgeSameRecords(o *observed) verdict {
	var low, high float64
	n := 0
	for i := range o.rows {
		if r := o.rows[i].RecordsPerSecond; o.rows[i].Seconds >= 3 {
			if n == 0 {
				low, high = r, r
			}
			low, high = math.Min(low, r), math.Max(high, r)
			n++
		}
	}
	if n < 2 {
		return verdict{reading: say("evidence.twoTimeouts")}
	}
	return verdict{true, high-low <= 0.05*high, say("evidence.range", round(low), round(high))}
}
