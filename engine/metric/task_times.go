package metric

// timeSpanSeconds is the span of Flink's meters and time gauges.
const timeSpanSeconds = 60

// Timer is a time gauge over 60 s together with its twin over the last second.
type Timer struct {
	Gauge  *TimerGauge
	recent RecentTime
}

// MarkStart and MarkEnd bracket the state that is timed; now is in ns, see TimerGauge.
func (t *Timer) MarkStart(now int64) { t.Gauge.MarkStart(now) }

// MarkEnd ends what MarkStart began.
func (t *Timer) MarkEnd(now int64) { t.Gauge.MarkEnd(now) }

// Recent is the share of the last second in ms per second, 0 to 1000. Each call is also a sample, see RecentRate.
func (t *Timer) Recent(now int64) float64 {
	return t.recent.Observe(now, t.Gauge.Total(now))
}

// TaskTimes are the three states that a task times; busy is what is left of the second. It follows Flink's
// TaskIOMetricGroup.
type TaskTimes struct {
	Idle              Timer // no input and nothing else to do
	SoftBackPressured Timer // no output buffer is ready, so the next record is not begun
	HardBackPressured Timer // blocked inside a record for an output buffer
}

// NewTaskTimes makes gauges over 60 s.
func NewTaskTimes() *TaskTimes {
	return &TaskTimes{
		Idle:              Timer{Gauge: NewTimerGauge(timeSpanSeconds)},
		SoftBackPressured: Timer{Gauge: NewTimerGauge(timeSpanSeconds)},
		HardBackPressured: Timer{Gauge: NewTimerGauge(timeSpanSeconds)},
	}
}

// Update closes a window of every gauge at now, in ns. A job calls it each UpdateInterval.
func (t *TaskTimes) Update(now int64) {
	t.Idle.Gauge.Update(now)
	t.SoftBackPressured.Gauge.Update(now)
	t.HardBackPressured.Gauge.Update(now)
}

// Times are Flink's gauges: means over 60 s as of the last update.
func (t *TaskTimes) Times() Times {
	return timesOf(float64(t.Idle.Gauge.Value()), float64(t.SoftBackPressured.Gauge.Value()),
		float64(t.HardBackPressured.Gauge.Value()))
}

// Recent are the same over the last second before now, in ns.
func (t *TaskTimes) Recent(now int64) Times {
	return timesOf(t.Idle.Recent(now), t.SoftBackPressured.Recent(now), t.HardBackPressured.Recent(now))
}

// Accumulated are the sums since the start and the longest single waits of the last window. Busy time is what is left
// of the time since start, in ns of the same clock; a task that has been measured for longer shows 0.
func (t *TaskTimes) Accumulated(start, now int64) *Accumulated {
	a := &Accumulated{
		Idle:      t.Idle.Gauge.Total(now) / nsPerMs,
		MaxSoftMs: t.SoftBackPressured.Gauge.MaxSingleMeasurementMs(),
		MaxHardMs: t.HardBackPressured.Gauge.MaxSingleMeasurementMs(),
	}
	a.BackPressured = (t.SoftBackPressured.Gauge.Total(now) + t.HardBackPressured.Gauge.Total(now)) / nsPerMs
	a.Busy = max(0, (now-start)/nsPerMs-a.Idle-a.BackPressured)
	return a
}

// timesOf adds what Flink derives: back-pressured is soft plus hard, busy is 1000 less idle and back-pressured.
func timesOf(idle, soft, hard float64) Times {
	backPressured := soft + hard
	return Times{
		Idle: idle, SoftBackPressured: soft, HardBackPressured: hard, BackPressured: backPressured,
		Busy: 1000 - min(1000, idle+backPressured),
	}
}
