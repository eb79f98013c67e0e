package golden

import (
	"encoding/json"
	"fmt"

	"weir/engine/metric"
)

const nsPerMs = 1_000_000

type timerGaugeCase struct {
	ClockStartMs    int64               `json:"clockStartMs"`
	TimeSpanSeconds int                 `json:"timeSpanSeconds"`
	Steps           [][]json.RawMessage `json:"steps"`
}

var timerGaugeColumns = [...]string{"the value", "the longest measurement", "the accumulated time", "the count", "measuring"}

// TimerGauge replays timer_gauge.json: busy, idle and back-pressured time per second on a manual clock.
func TimerGauge(data []byte) (Report, error) {
	return replay(data, nil, func(c *timerGaugeCase) error {
		if c.TimeSpanSeconds < 1 {
			return fmt.Errorf("the time span is %d s, must be 1 or more", c.TimeSpanSeconds)
		}
		gauge := metric.NewTimerGauge(c.TimeSpanSeconds)
		now := c.ClockStartMs * nsPerMs
		for i, step := range c.Steps {
			if err := timerGaugeStep(gauge, &now, step); err != nil {
				return fmt.Errorf("step %d %s: %w", i, step, err)
			}
		}
		return nil
	})
}

func timerGaugeStep(gauge *metric.TimerGauge, now *int64, step []json.RawMessage) error {
	op, args, err := operation(step)
	if err != nil {
		return err
	}
	needed := map[string]int{"advance": 1, "update": len(timerGaugeColumns), "read": len(timerGaugeColumns)}[op]
	if len(args) != needed {
		return fmt.Errorf("%d numbers are needed", needed)
	}
	for _, a := range args {
		if a == nil {
			return fmt.Errorf("a number is null")
		}
	}
	switch op {
	case "advance":
		*now += int64(*args[0]) * nsPerMs
		return nil
	case "start":
		gauge.MarkStart(*now)
		return nil
	case "end":
		gauge.MarkEnd(*now)
		return nil
	case "update":
		gauge.Update(*now)
	case "read":
	default:
		return fmt.Errorf("unknown op")
	}
	measuring := int64(0)
	if gauge.Measuring() {
		measuring = 1
	}
	got := [len(timerGaugeColumns)]int64{gauge.Value(), gauge.MaxSingleMeasurementMs(), gauge.AccumulatedMs(), gauge.CountMs(), measuring}
	for i, g := range got {
		if want := int64(*args[i]); g != want {
			return differs(timerGaugeColumns[i], g, want)
		}
	}
	return nil
}
