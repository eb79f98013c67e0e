package task

import (
	"math"

	"weir/engine/serde"
)

// The ends of event time, in ms: before the first watermark, and behind the last (Flink's Watermark.UNINITIALIZED and
// Watermark.MAX_WATERMARK).
const (
	NoWatermark  = math.MinInt64
	MaxWatermark = math.MaxInt64
)

// WatermarkValve decides what the watermarks of a task's input channels are together (Flink's StatusWatermarkValve): the
// least over the channels that take part in event time. A channel that is idle takes no part, and one that wakes up takes
// part again only when it has caught up, so that time never goes back. It is a plain value for one goroutine.
type WatermarkValve struct {
	channels []valveChannel
	last     int64 // given out
	status   serde.WatermarkStatus
}

type valveChannel struct {
	watermark int64
	idle      bool
	aligned   bool // takes part: active, and not behind what was given out when it woke up
}

// ValveOutput is what a task is to do: first Watermark, if Advanced, then Status, if StatusChanged.
type ValveOutput struct {
	Watermark     int64
	Advanced      bool
	Status        serde.WatermarkStatus
	StatusChanged bool
}

// NewWatermarkValve makes a valve for a task with so many channels over all its gates. All are active and have no
// watermark.
func NewWatermarkValve(channels int) *WatermarkValve {
	v := &WatermarkValve{channels: make([]valveChannel, channels), last: NoWatermark}
	for i := range v.channels {
		v.channels[i] = valveChannel{watermark: NoWatermark, aligned: true}
	}
	return v
}

// Watermark takes one that came in a channel. One of an idle channel, and one that goes back, changes nothing.
func (v *WatermarkValve) Watermark(channel int, ms int64) (out ValveOutput) {
	c := &v.channels[channel]
	if v.status == serde.Idle || c.idle || ms <= c.watermark {
		return out
	}
	c.watermark = ms
	if !c.aligned && ms >= v.last {
		c.aligned = true
	}
	v.advance(&out)
	return out
}

// Status takes the status of a channel.
func (v *WatermarkValve) Status(channel int, s serde.WatermarkStatus) (out ValveOutput) {
	c := &v.channels[channel]
	switch {
	case s == serde.Idle && !c.idle:
		c.idle, c.aligned = true, false
		switch {
		case !v.anyActive():
			// With nobody left to wait for, time goes as far as any channel had come: the last to fall idle was the one
			// that held the others back.
			if c.watermark == v.last {
				v.flush(&out)
			}
			v.status = serde.Idle
			out.Status, out.StatusChanged = serde.Idle, true
		case c.watermark == v.last:
			v.advance(&out) // it may have been the one that held the others back
		}
	case s == serde.Active && c.idle:
		c.idle = false
		c.aligned = c.watermark >= v.last
		if v.status == serde.Idle {
			v.status = serde.Active
			out.Status, out.StatusChanged = serde.Active, true
		}
	}
	return out
}

func (v *WatermarkValve) anyActive() bool {
	for i := range v.channels {
		if !v.channels[i].idle {
			return true
		}
	}
	return false
}

// advance gives the least watermark of the channels that take part, if it is above the last one.
func (v *WatermarkValve) advance(out *ValveOutput) {
	least, any := v.least()
	if any && least > v.last {
		v.last = least
		out.Watermark, out.Advanced = least, true
	}
}

// flush gives the greatest watermark of all channels, if it is above the last one.
func (v *WatermarkValve) flush(out *ValveOutput) {
	most := int64(NoWatermark)
	for i := range v.channels {
		most = max(most, v.channels[i].watermark)
	}
	if most > v.last {
		v.last = most
		out.Watermark, out.Advanced = most, true
	}
}

func (v *WatermarkValve) least() (ms int64, any bool) {
	ms = MaxWatermark
	for i := range v.channels {
		if c := &v.channels[i]; c.aligned {
			ms, any = min(ms, c.watermark), true
		}
	}
	return ms, any
}

// Last is the last watermark that was given out; NoWatermark before the first.
func (v *WatermarkValve) Last() int64 { return v.last }

// CurrentStatus is the status that was given out last.
func (v *WatermarkValve) CurrentStatus() serde.WatermarkStatus { return v.status }

// Channels is their number.
func (v *WatermarkValve) Channels() int { return len(v.channels) }

// Channel reads one: its watermark, whether it is idle, and whether it takes part.
func (v *WatermarkValve) Channel(i int) (watermark int64, idle, aligned bool) {
	c := &v.channels[i]
	return c.watermark, c.idle, c.aligned
}
