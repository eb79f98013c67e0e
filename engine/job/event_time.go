package job

import (
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/task"
)

// eventTime adds what a task knows of event time, if it is in use there.
func (r *runner) eventTime(t *metric.Subtask) {
	w, windows := r.Watermarks(), r.Windows()
	if w == nil && windows == nil {
		return
	}
	e := &metric.EventTime{Status: serde.Active.String(), Sent: r.Sent(), Windows: windows}
	if w == nil {
		w = &task.WatermarkReadings{Watermark: task.NoWatermark}
	}
	e.Watermark, e.Status = known(w.Watermark), w.Status.String()
	if len(w.Channels) == len(r.from) && len(r.from) > 0 {
		if e.Watermark != nil {
			t.CurrentInputWatermark = w.Watermark
		}
		for i, in := range r.gates {
			e.Gates = append(e.Gates, r.gateWatermark(i, in, w))
		}
	}
	t.EventTime = e
}

// gateWatermark reads the channels of one input.
func (r *runner) gateWatermark(index int, in *inputGate, w *task.WatermarkReadings) metric.GateWatermark {
	g := metric.GateWatermark{Index: index, Vertex: in.edge.From, Channels: make([]metric.ChannelWatermark, 0, len(in.inputs))}
	ahead := false // some channel of the task is
	for _, c := range w.Channels {
		ahead = ahead || c.Aligned && c.Watermark > w.Watermark
	}
	least, any := int64(task.MaxWatermark), false
	for i := in.first; i < in.first+len(in.inputs); i++ {
		c := w.Channels[i]
		m := metric.ChannelWatermark{From: metric.End{Vertex: r.from[i].Vertex, Subtask: r.from[i].Subtask}, Watermark: known(c.Watermark), Status: serde.Active.String(), Aligned: c.Aligned}
		if c.Idle {
			m.Status = serde.Idle.String()
		}
		m.HoldsBack = ahead && c.Aligned && c.Watermark <= w.Watermark
		if c.Aligned {
			least, any = min(least, c.Watermark), true
		}
		g.Channels = append(g.Channels, m)
	}
	if any {
		g.Watermark = known(least)
	}
	return g
}

// known leaves out the time before the first watermark.
func known(ms int64) *int64 {
	if ms == task.NoWatermark {
		return nil
	}
	return &ms
}
