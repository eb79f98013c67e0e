package labs

import (
	"testing"
	"time"
)

func TestOverdraftAndHardBackpressure(t *testing.T) {
	play(t, "overdraft", map[string]any{"workMs": 1.08}, func(p *played) {
		time.Sleep(40 * time.Second)
		p.expectShown("overdraft-used", "no-hard")
		r := p.row("fanOut", int64(1000))
		if r.OutPoolUsageMax <= 1 || r.HardPressed != 0 || r.OverdraftMax < 1 || r.SoftPressed < 950 {
			t.Errorf("fan-out 1000: %+v", r)
		}
		p.set("fanOut", 5000)
		time.Sleep(90 * time.Second)
		p.expectShown("hard-large", "mail-waits")
		r = p.row("fanOut", int64(5000))
		near(t, "hard back-pressure at 5000", r.HardPressed, 552, 0.2)
		near(t, "checkpoint at 5000", medianCheckpoint(t, p.Snapshot()), 5400, 0.2)
		t.Logf("5000: %+v", r)
		p.set("overdraftBuffers", 200)
		time.Sleep(100 * time.Second)
		r = p.row("overdraftBuffers", int64(200))
		t.Logf("200: %+v", r)
		p.expectShown("price")
		if _, err := p.Set(map[string]any{"overdraftBuffers": 0, "fanOut": 1000}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		p.expectShown("hard-without")
		if r = p.row("overdraftBuffers", int64(0)); r.HardPressed < 1 {
			t.Errorf("without overdraft: %+v", r)
		}
	})
}
