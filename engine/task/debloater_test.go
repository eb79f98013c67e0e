package task

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// debloatGolden is one case of the golden file; Kind tells which fields it has.
type debloatGolden struct {
	Kind, Shape, Call, Result string
	Start, Max, Min, Samples  int
	TargetMs                  int64
	ThresholdPercent          int
	Enabled                   bool
	ClockStartMs              int64
	Steps                     []json.RawMessage
	Error                     *struct{ Message *string }
}

func (g *debloatGolden) config() DebloatConfig {
	return DebloatConfig{
		Enabled: g.Enabled, Target: time.Duration(g.TargetMs) * time.Millisecond, Start: g.Start, Min: g.Min, Max: g.Max,
		ThresholdPercent: g.ThresholdPercent, Samples: g.Samples,
	}
}

func TestDebloaterGolden(t *testing.T) {
	data, err := os.ReadFile("../../testdata/golden/debloater.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []debloatGolden }
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	replay := map[string]func(*debloatGolden) error{
		"ema": replayEMA, "debloater": replayDebloater, "throughput": replayThroughput, "call": replayCall,
		"defaults": func(g *debloatGolden) error {
			if got := DefaultDebloatConfig(); got != g.config() {
				return fmt.Errorf("got %+v", got)
			}
			return nil
		},
	}
	seen := map[string]int{}
	for i := range golden.Cases {
		g := &golden.Cases[i]
		seen[g.Kind]++
		f := replay[g.Kind]
		if f == nil {
			t.Errorf("case %d: unknown kind %q", i, g.Kind)
			continue
		}
		if err := f(g); err != nil {
			t.Errorf("case %d (%s %s%s): %v", i, g.Kind, g.Shape, g.Call, err)
		}
	}
	if len(seen) != len(replay) {
		t.Errorf("kinds seen: %v", seen)
	}
}

func replayEMA(g *debloatGolden) error {
	ema := NewBufferSizeEMA(g.Start, g.Max, g.Min, g.Samples)
	for i, raw := range g.Steps {
		var step [3]int64
		if err := json.Unmarshal(raw, &step); err != nil {
			return err
		}
		if got, err := ema.Calculate(step[0], int(step[1])); err != nil || int64(got) != step[2] {
			return fmt.Errorf("step %d %v: got %d, %v", i, step, got, err)
		}
	}
	return nil
}

func replayDebloater(g *debloatGolden) error {
	d, err := NewDebloater(g.config())
	if err != nil {
		return err
	}
	for i, raw := range g.Steps {
		var step [5]*int64 // throughput, in use, announced or null, last size, estimate
		if err := json.Unmarshal(raw, &step); err != nil {
			return err
		}
		size, announced := d.Recalculate(*step[0], int(*step[1]))
		if announced != (step[2] != nil) || announced && int64(size) != *step[2] {
			return fmt.Errorf("step %d %s: announced %v %d", i, raw, announced, size)
		}
		if int64(d.LastBufferSize()) != *step[3] || d.EstimatedTimeToConsumeMs() != *step[4] {
			return fmt.Errorf("step %d %s: last %d estimate %d", i, raw, d.LastBufferSize(), d.EstimatedTimeToConsumeMs())
		}
	}
	return nil
}

// replayCall makes a call written as Flink's, or sets an option.
func replayCall(g *debloatGolden) error {
	var result string
	var total int64
	var buffers int
	_, err := fmt.Sscanf(g.Call, "BufferSizeEMA.calculateBufferSize(%d,%d)", &total, &buffers)
	if err == nil {
		_, err = NewBufferSizeEMA(1, 2, 1, 1).Calculate(total, buffers)
	} else {
		key, value, ok := strings.Cut(g.Call, "=")
		if !ok {
			return fmt.Errorf("unknown call")
		}
		var c DebloatConfig
		c, err = DefaultDebloatConfig().With(key, value)
		result = fmt.Sprintf("target=%dms start=%d max=%d min=%d threshold=%d samples=%d",
			c.Target.Milliseconds(), c.Start, c.Max, c.Min, c.ThresholdPercent, c.Samples)
	}
	switch {
	case g.Error == nil:
		if err != nil || result != g.Result {
			return fmt.Errorf("got %s, %v", result, err)
		}
	case err == nil:
		return fmt.Errorf("was taken: %s", result)
	case g.Error.Message != nil && err.Error() != *g.Error.Message:
		return fmt.Errorf("error %q", err)
	}
	return nil
}
