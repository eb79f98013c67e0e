package job

import (
	"time"

	"weir/engine/metric"
)

// sampleEvery is how often the recent readings are taken and the tasks asked to publish: twice a frame of 10 Hz, so that
// each frame has news.
const sampleEvery = 50 * time.Millisecond

func nowNs() int64 { return time.Now().UnixNano() }

// readings are the rates of one task, in Flink's 60 s form and in the recent one.
type readings struct {
	recordsIn, recordsOut, bytesOut, buffersOut, buffersLocal, buffersRemote *metric.Rate60
	outPoolMax                                                               metric.RecentMax
	sentBuffers, sentBytes                                                   metric.RecentRate
	bytesLocal, bytesRemote, mails, timers                                   *metric.Meter
	// passed are the rates at which records come into each operator, and out of the last one.
	passed []*metric.Meter
}

func newReadings(operators int) *readings {
	meter := func() *metric.Meter { return metric.NewMeter(60) }
	passed := make([]*metric.Meter, operators+1)
	for i := range passed {
		passed[i] = meter()
	}
	return &readings{bytesLocal: meter(), bytesRemote: meter(), mails: meter(), timers: meter(), passed: passed,
		recordsIn: metric.NewRate60(), recordsOut: metric.NewRate60(), bytesOut: metric.NewRate60(), buffersOut: metric.NewRate60(),
		buffersLocal: metric.NewRate60(), buffersRemote: metric.NewRate60()}
}

// recent is a sample of the last second; each call counts as one.
func (r *runner) recent(now int64) metric.Rates {
	c, m := &r.Counters, r.readings
	return metric.Rates{
		Times:              r.Times.Recent(now),
		NumRecordsIn:       m.recordsIn.Recent(now, c.RecordsIn.Load()),
		NumRecordsOut:      m.recordsOut.Recent(now, c.RecordsOut.Load()),
		NumBytesOut:        m.bytesOut.Recent(now, c.BytesOut.Load()),
		NumBuffersOut:      m.buffersOut.Recent(now, c.BuffersOut.Load()),
		NumBuffersInLocal:  m.buffersLocal.Recent(now, c.BuffersInLocal.Load()),
		NumBuffersInRemote: m.buffersRemote.Recent(now, c.BuffersInRemote.Load()),
	}
}

// rates are Flink's, as of the last update.
func (r *runner) rates() metric.Rates {
	m := r.readings
	return metric.Rates{
		Times: r.Times.Times(), NumRecordsIn: m.recordsIn.Rate(), NumRecordsOut: m.recordsOut.Rate(), NumBytesOut: m.bytesOut.Rate(),
		NumBuffersOut: m.buffersOut.Rate(), NumBuffersInLocal: m.buffersLocal.Rate(), NumBuffersInRemote: m.buffersRemote.Rate(),
	}
}

// update closes a window of Flink's gauges and meters.
func (r *runner) update(now int64) {
	c, m := &r.Counters, r.readings
	r.Times.Update(now)
	m.recordsIn.Update(c.RecordsIn.Load())
	m.recordsOut.Update(c.RecordsOut.Load())
	m.bytesOut.Update(c.BytesOut.Load())
	m.buffersOut.Update(c.BuffersOut.Load())
	m.buffersLocal.Update(c.BuffersInLocal.Load())
	m.buffersRemote.Update(c.BuffersInRemote.Load())
	m.bytesLocal.Update(c.BytesInLocal.Load())
	m.bytesRemote.Update(c.BytesInRemote.Load())
	m.mails.Update(r.Mailbox.Waits().Count())
	m.timers.Update(c.FiredTimers.Load())
	for i := range m.passed {
		m.passed[i].Update(r.passedAt(i))
	}
}

// meanFill is the mean of the bytes in the buffers that were handed to the readers in the last second, as a share of a
// segment; without any, that of all since the start. A buffer that was flushed early counts with what it held.
func (r *runner) meanFill(now int64) float64 {
	if r.pool == nil {
		return 0
	}
	buffers, bytes := r.Partition.Sent()
	if buffers == 0 {
		return 0
	}
	mean := float64(bytes) / float64(buffers)
	if n, b := r.readings.sentBuffers.Observe(now, buffers), r.readings.sentBytes.Observe(now, bytes); n > 0 {
		mean = b / n
	}
	return mean / float64(r.tm.memory.SegmentBytes())
}

// outPoolUsage is used buffers by the pool's size: above 1 in overdraft.
func (r *runner) outPoolUsage() float64 {
	if r.pool == nil {
		return 0
	}
	st := r.pool.Stats()
	if st.Size == 0 {
		return 0
	}
	return float64(st.Used) / float64(st.Size)
}

// sample takes the readings of an attempt until stop is closed.
func (a *attempt) sample(stop <-chan struct{}) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	const (
		perUpdate = int(metric.UpdateInterval / sampleEvery)
		perReport = int(time.Second / sampleEvery)
	)
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		now := nowNs()
		for _, r := range a.runners {
			r.recent(now)
			r.readings.outPoolMax.Observe(now, r.outPoolUsage())
			r.meanFill(now)
			r.Mailbox.RequestPublish()
			if n%perReport == 0 {
				r.RequestReport()
			}
			if n%perUpdate == 0 {
				r.update(now)
			}
		}
	}
}
