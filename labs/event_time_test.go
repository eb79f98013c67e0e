package labs

import (
	"testing"
	"time"

	"weir/engine/metric"
	"weir/engine/task"
)

// windowsOf are the counting subtasks' windows and watermarks.
func windowsOf(t *testing.T, s *metric.Snapshot) []metric.EventTime {
	t.Helper()
	var out []metric.EventTime
	for _, x := range vertexOf(t, s, "count").Subtasks {
		if x.EventTime == nil || x.EventTime.Windows == nil {
			t.Fatalf("count %d tells of no windows", x.Index)
		}
		out = append(out, *x.EventTime)
	}
	return out
}

// TestEventTimeLab reaches every claim by the knobs alone, on each backend.
func TestEventTimeLab(t *testing.T) {
	for _, backend := range []string{task.HashMap, task.LSM} {
		t.Run(backend, func(t *testing.T) {
			play(t, "event-time", map[string]any{"backend": backend}, func(p *played) {
				time.Sleep(14 * time.Second)
				p.expectShown("least", "fires", "timers", "exact")
				for i, e := range windowsOf(p.t, p.Snapshot()) {
					// At 14 s the watermark is half a second behind, and two windows of five seconds are over.
					if w := e.Windows; *e.Watermark < 13000 || *e.Watermark > 13500 || w.OpenWindows != 1 || w.Open[0].Start != 10000 || w.Late != 0 || w.Timers != w.Open[0].Keys {
						p.t.Errorf("count %d: watermark %d, %+v", i, *e.Watermark, w)
					}
				}
				p.set("idleInput", "source-2")
				time.Sleep(13 * time.Second)
				p.expectShown("held-back")
				for i, e := range windowsOf(p.t, p.Snapshot()) {
					if *e.Watermark > 14000 || e.Windows.OpenWindows != 4 || *e.Gates[0].Watermark < 26000 {
						p.t.Errorf("held back, count %d: watermark %d, the other input is at %d, %+v", i, *e.Watermark, *e.Gates[0].Watermark, e.Windows)
					}
				}
				p.set("idleTimeoutMs", 2000)
				time.Sleep(8 * time.Second)
				p.expectShown("goes-on")
				for i, e := range windowsOf(p.t, p.Snapshot()) {
					if *e.Watermark < 33500 || e.Windows.OpenWindows != 1 {
						p.t.Errorf("idle, count %d: watermark %d, %+v", i, *e.Watermark, e.Windows)
					}
				}
				p.set("idleInput", "none")
				time.Sleep(4 * time.Second)
				for i, e := range windowsOf(p.t, p.Snapshot()) {
					for _, c := range e.Gates[1].Channels {
						if c.Status != "ACTIVE" || !c.Aligned || *c.Watermark < 37500 || e.Windows.Late != 0 {
							p.t.Errorf("awake, count %d: %+v, late %d", i, c, e.Windows.Late)
						}
					}
				}
				p.set("outOfOrdernessMs", 0)
				time.Sleep(18 * time.Second)
				p.expectShown("late")
				p.set("parallelism", 3)
				time.Sleep(12 * time.Second)
				p.expectShown("moved")
				p.set("parallelism", 1)
				time.Sleep(12 * time.Second)
				p.expectShown("least", "fires", "timers", "held-back", "goes-on", "late", "exact", "moved")
			})
		})
	}
}

// TestEventTimeSums holds the windows against a plain count of what was sent: after a stop with a checkpoint the counts by
// key are those of the sources' numbers.
func TestEventTimeSums(t *testing.T) {
	play(t, "event-time", map[string]any{"outOfOrdernessMs": 100, "keys": 10}, func(p *played) {
		time.Sleep(13 * time.Second)
		if _, err := p.Action("restart", nil); err != nil {
			p.t.Fatal(err)
		}
		p.set("rate", 0.001) // nothing more is sent, and what is on its way arrives
		time.Sleep(5 * time.Second)
		s := p.Snapshot()
		var sent, counted, fired, held, late int64
		for _, id := range []string{"source", "source-2"} {
			for _, x := range vertexOf(p.t, s, id).Subtasks {
				sent += x.EventTime.Sent
			}
		}
		for _, e := range windowsOf(p.t, s) {
			fired, held, late = fired+e.Windows.Fired, held+e.Windows.Held, late+e.Windows.Late
		}
		for _, n := range s.Totals.CountsByKey {
			counted += n
		}
		if fired == 0 || held == 0 || late == 0 || fired+held+late != sent || counted != sent || sent < 5000 {
			p.t.Errorf("fired %d, held %d, late %d, by key %d; sent %d", fired, held, late, counted, sent)
		}
	})
}
