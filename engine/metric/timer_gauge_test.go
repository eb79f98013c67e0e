package metric

import (
	"encoding/json"
	"os"
	"testing"
)

// TestTimerGaugeGolden replays what Flink's class answers, on a clock in ms.
func TestTimerGaugeGolden(t *testing.T) {
	data, err := os.ReadFile("../../testdata/golden/timer_gauge.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Note            string
			ClockStartMs    int64
			TimeSpanSeconds int
			Steps           [][]any
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 {
		t.Fatal("the golden file has no cases")
	}
	for i, c := range golden.Cases {
		gauge := NewTimerGauge(c.TimeSpanSeconds)
		now := c.ClockStartMs * nsPerMs
		for k, step := range c.Steps {
			switch step[0] {
			case "advance":
				now += int64(step[1].(float64)) * nsPerMs
				continue
			case "start":
				gauge.MarkStart(now)
				continue
			case "end":
				gauge.MarkEnd(now)
				continue
			case "update":
				gauge.Update(now)
			case "read":
			default:
				t.Fatalf("case %d step %d: unknown step %v", i, k, step)
			}
			measuring := int64(0)
			if gauge.Measuring() {
				measuring = 1
			}
			got := []int64{gauge.Value(), gauge.MaxSingleMeasurementMs(), gauge.AccumulatedMs(), gauge.CountMs(), measuring}
			for n, g := range got {
				if want := int64(step[n+1].(float64)); g != want {
					t.Fatalf("case %d (%s) step %d %v: got %v", i, c.Note, k, step, got)
				}
			}
		}
	}
}

func TestTimerGaugeTotalCountsTheMeasurementUnderWay(t *testing.T) {
	g := NewTimerGauge(60)
	g.MarkStart(1 * second)
	if got := g.Total(3 * second); got != 2*second {
		t.Errorf("under way: %d", got)
	}
	g.Update(4 * second)
	if got := g.Total(5 * second); got != 4*second {
		t.Errorf("after an update: %d", got)
	}
	g.MarkEnd(6 * second)
	if got := g.Total(9 * second); got != 5*second {
		t.Errorf("ended: %d", got)
	}
}

// Half busy all the time and busy every other second look alike on average; the longest single wait tells them apart.
func TestTaskTimesTellLoadShapesApart(t *testing.T) {
	for _, shape := range []struct {
		name         string
		wait, run    int64
		longest, avg int64
	}{
		{"steady", second / 100, second / 100, 10, 500},
		{"bursts", second, second, 1000, 500},
	} {
		times := NewTaskTimes()
		now := int64(1000 * second)
		next := now + int64(UpdateInterval)
		for now < 1070*second {
			times.SoftBackPressured.MarkStart(now)
			now += shape.wait
			times.SoftBackPressured.MarkEnd(now)
			now += shape.run
			if now >= next {
				times.Update(now)
				next += int64(UpdateInterval)
			}
		}
		got := times.Times()
		if got.BackPressured < 480 || got.BackPressured > 520 || got.Busy != 1000-got.BackPressured {
			t.Errorf("%s: %+v", shape.name, got)
		}
		a := times.Accumulated(1000*second, now)
		if a.MaxSoftMs != shape.longest || a.MaxHardMs != 0 {
			t.Errorf("%s: longest %d and %d", shape.name, a.MaxSoftMs, a.MaxHardMs)
		}
		if a.Busy+a.BackPressured+a.Idle != (now-1000*second)/nsPerMs {
			t.Errorf("%s: %+v does not add up to the time", shape.name, *a)
		}
	}
}

// Before the first update nothing is known, and what is neither idle nor back-pressured is busy.
func TestTaskTimesStartBusy(t *testing.T) {
	times := NewTaskTimes()
	times.HardBackPressured.MarkStart(second)
	if got := times.Times(); got.Busy != 1000 || got.BackPressured != 0 {
		t.Errorf("before the first update: %+v", got)
	}
	times.Recent(second)
	if got := times.Recent(3 * second / 2); got.HardBackPressured != 1000 || got.BackPressured != 1000 || got.Busy != 0 {
		t.Errorf("recent: %+v", got)
	}
}
