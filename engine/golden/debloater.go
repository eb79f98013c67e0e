package golden

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"weir/engine/task"
)

// debloaterCase is one case of the file; Kind tells which fields it has.
type debloaterCase struct {
	Kind             string              `json:"kind"`
	Call             string              `json:"call"`
	Result           string              `json:"result"`
	Start            int                 `json:"start"`
	Max              int                 `json:"max"`
	Min              int                 `json:"min"`
	Samples          int                 `json:"samples"`
	TargetMs         int64               `json:"targetMs"`
	ThresholdPercent int                 `json:"thresholdPercent"`
	Enabled          bool                `json:"enabled"`
	ClockStartMs     int64               `json:"clockStartMs"`
	Steps            [][]json.RawMessage `json:"steps"`
	Error            *struct {
		Class   string  `json:"class"`
		Message *string `json:"message"`
	} `json:"error"`
}

// Debloater replays debloater.json: the moving average, the announced sizes and estimates, the throughput, and the
// options with their defaults and limits.
func Debloater(data []byte) (Report, error) {
	return replay(data, nil, func(c *debloaterCase) error {
		switch c.Kind {
		case "ema":
			return c.checkEMA()
		case "debloater":
			return c.checkDebloater()
		case "throughput":
			return c.checkThroughput()
		case "defaults":
			if got := task.DefaultDebloatConfig(); got != c.config() {
				return differs("the default configuration", got, c.config())
			}
			return nil
		case "call":
			return c.checkCall()
		}
		return fmt.Errorf("unknown kind %q", c.Kind)
	})
}

func (c *debloaterCase) config() task.DebloatConfig {
	return task.DebloatConfig{Enabled: c.Enabled, Target: time.Duration(c.TargetMs) * time.Millisecond, Start: c.Start,
		Min: c.Min, Max: c.Max, ThresholdPercent: c.ThresholdPercent, Samples: c.Samples}
}

// numbers reads a step of n numbers; null is nil.
func numbers(step []json.RawMessage, n int) ([]*int64, error) {
	if len(step) != n {
		return nil, differs("the number of columns", len(step), n)
	}
	v := make([]*int64, n)
	for i, raw := range step {
		if err := json.Unmarshal(raw, &v[i]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func present(v ...*int64) error {
	for _, x := range v {
		if x == nil {
			return fmt.Errorf("a number is null")
		}
	}
	return nil
}

func (c *debloaterCase) checkEMA() error {
	ema := task.NewBufferSizeEMA(c.Start, c.Max, c.Min, c.Samples)
	for i, step := range c.Steps {
		v, err := numbers(step, 3)
		if err == nil {
			err = present(v...)
		}
		if err != nil {
			return fmt.Errorf("step %d %s: %w", i, step, err)
		}
		got, err := ema.Calculate(*v[0], int(*v[1]))
		if err == nil && int64(got) != *v[2] {
			err = differs("the size", got, *v[2])
		}
		if err != nil {
			return fmt.Errorf("step %d %s: %w", i, step, err)
		}
	}
	return nil
}

func (c *debloaterCase) checkDebloater() error {
	d, err := task.NewDebloater(c.config())
	if err != nil {
		return err
	}
	for i, step := range c.Steps {
		v, err := numbers(step, 5) // throughput, buffers in use, announced or null, last size, estimate
		if err == nil {
			err = present(v[0], v[1], v[3], v[4])
		}
		if err == nil {
			err = debloaterStep(d, v)
		}
		if err != nil {
			return fmt.Errorf("step %d %s: %w", i, step, err)
		}
	}
	return nil
}

func debloaterStep(d *task.Debloater, v []*int64) error {
	size, announced := d.Recalculate(*v[0], int(*v[1]))
	switch {
	case announced != (v[2] != nil):
		return differs("announced", announced, v[2] != nil)
	case announced && int64(size) != *v[2]:
		return differs("the size announced", size, *v[2])
	case int64(d.LastBufferSize()) != *v[3]:
		return differs("the last size", d.LastBufferSize(), *v[3])
	case d.EstimatedTimeToConsumeMs() != *v[4]:
		return differs("the estimate in ms", d.EstimatedTimeToConsumeMs(), *v[4])
	}
	return nil
}

func (c *debloaterCase) checkThroughput() error {
	calculator := task.NewThroughputCalculator()
	now := c.ClockStartMs * nsPerMs
	for i, step := range c.Steps {
		op, args, err := operation(step)
		needed := map[string]int{"advance": 1, "data": 1, "calculate": 1}[op]
		if err == nil && (len(args) != needed || needed > 0 && args[0] == nil) {
			err = fmt.Errorf("%d numbers are needed", needed)
		}
		if err != nil {
			return fmt.Errorf("step %d %s: %w", i, step, err)
		}
		switch op {
		case "advance":
			now += int64(*args[0]) * nsPerMs
		case "data":
			calculator.IncomingData(now, int64(*args[0]))
		case "pause":
			calculator.Pause(now)
		case "resume":
			calculator.Resume(now)
		case "calculate":
			if got := calculator.Calculate(now); got != int64(*args[0]) {
				return fmt.Errorf("step %d %s: %w", i, step, differs("the throughput", got, *args[0]))
			}
		default:
			return fmt.Errorf("step %d %s: unknown op", i, step)
		}
	}
	return nil
}

// checkCall makes a call written as Flink's, or sets an option.
func (c *debloaterCase) checkCall() error {
	var result string
	var total int64
	var buffers int
	_, err := fmt.Sscanf(c.Call, "BufferSizeEMA.calculateBufferSize(%d,%d)", &total, &buffers)
	if err == nil {
		_, err = task.NewBufferSizeEMA(1, 2, 1, 1).Calculate(total, buffers)
	} else {
		key, value, ok := strings.Cut(c.Call, "=")
		if !ok {
			return fmt.Errorf("unknown call %q", c.Call)
		}
		var set task.DebloatConfig
		set, err = task.DefaultDebloatConfig().With(key, value)
		result = fmt.Sprintf("target=%dms start=%d max=%d min=%d threshold=%d samples=%d",
			set.Target.Milliseconds(), set.Start, set.Max, set.Min, set.ThresholdPercent, set.Samples)
	}
	switch {
	case c.Error == nil && err != nil:
		return err
	case c.Error == nil && result != c.Result:
		return differs("the result", result, c.Result)
	case c.Error == nil:
		return nil
	case err == nil:
		return differs("the result", result, c.Error.Class)
	case c.Error.Message != nil && err.Error() != *c.Error.Message:
		return differs("the error", err, *c.Error.Message)
	}
	return nil
}
