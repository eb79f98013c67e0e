package metric

import "testing"

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
