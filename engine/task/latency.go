package task

import (
	"weir/engine/metric"
	"weir/engine/serde"
)

// latency measures the time from a record's emission by its source to the moment at which a task takes it from a buffer.
// Flink samples that with latency markers; with Settings.MeasureLatency every record is a sample: its timestamp is the
// emission in ns. Off, it costs one load of the task's own per record.
type latency struct {
	on        bool
	histogram metric.Histogram
}

func (l *latency) configure(s *Settings) { l.on = s.MeasureLatency }

// stamp marks a record of the source, or takes the mark off when measuring was switched off.
func (l *latency) stamp(r *serde.Record) {
	r.HasTimestamp = l.on
	if l.on {
		r.Timestamp = nowNs()
	}
}

// observe counts a record that came in. One from before measuring was switched on has no mark.
func (l *latency) observe(r *serde.Record) {
	if r.HasTimestamp {
		now := nowNs()
		l.histogram.Record(now, now-r.Timestamp, 1)
	}
}

// Latency is the distribution of the latencies over the last seconds before now, in ns: its summary, nil without any, and
// its buckets. Any goroutine may call it.
func (t *Task) Latency(now int64) (*metric.Latency, []metric.Bucket) {
	summary := t.latency.histogram.Summary(now)
	if summary == nil {
		return nil, nil
	}
	return summary, t.latency.histogram.Buckets(now)
}
