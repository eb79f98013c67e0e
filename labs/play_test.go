package labs

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/metric"
)

// played is a lab's run in fake time.
type played struct {
	*Run
	t *testing.T
}

// play runs a lab over the in-memory transport in fake time; no claim may be contradicted at the end.
func play(t *testing.T, lab string, knobs map[string]any, script func(p *played)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		all := map[string]any{"transport": "memory", "checkpointStorage": "memory"}
		for name, v := range knobs {
			all[name] = v
		}
		r, err := Start(StartOptions{Lab: lab, Knobs: all})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		script(&played{r, t})
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Evidence() {
			t.Logf("%s %s: %s / %s", e.ID, e.State, e.Reading.En, e.Reading.Zh)
			if e.State == Contradicted {
				t.Errorf("%s is contradicted: %s", e.ID, e.Reading.En)
			}
		}
	})
}

func (p *played) set(name string, value any) {
	p.t.Helper()
	if _, err := p.Set(map[string]any{name: value}); err != nil {
		p.t.Fatal(err)
	}
}

// expectShown wants these claims shown.
func (p *played) expectShown(ids ...string) {
	p.t.Helper()
	for _, e := range p.Evidence() {
		for _, id := range ids {
			if e.ID == id && e.State != Shown {
				p.t.Errorf("%s is %s, want shown: %s", id, e.State, e.Reading.En)
			}
		}
	}
}

// measure gives the snapshots at the ends of a time.
func (p *played) measure(d time.Duration) (a, b *metric.Snapshot) {
	a = p.Snapshot()
	time.Sleep(d)
	return a, p.Snapshot()
}

func (p *played) row(name string, value any) Comparison {
	p.t.Helper()
	for _, c := range p.Comparisons() {
		if c.Knobs[name] == value {
			return c
		}
	}
	p.t.Fatalf("no row for %s=%v", name, value)
	return Comparison{}
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s: %.1f, want %.1f within %.0f %%", what, got, want, 100*share)
	}
}
