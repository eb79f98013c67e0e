package browser_test

import (
	"fmt"
	"testing"
	"time"
)

// The list of exercises says when each is due: by the reader's own clocks, with their extension, and marked where it is over
// and nothing was handed in. A learner's own page marks the same.
func TestTheListSaysWhatIsDue(t *testing.T) {
	c := serveClass(t)
	wall := c.instructor(t, desktop)
	ana, ben := c.join(t, "Ana", ""), c.join(t, "Ben", "")
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	for path, body := range map[string]string{
		"class/deadlines/debloater":  fmt.Sprintf(`{"due":%q,"penalty":50}`, at(-30*time.Hour)),
		"class/deadlines/skew-cure":  fmt.Sprintf(`{"due":%q,"penalty":100}`, at(-3*time.Hour)),
		"class/deadlines/credit":     fmt.Sprintf(`{"due":%q,"penalty":20}`, at(-4*time.Hour)),
		"class/deadlines/key-group":  `{"due":"2199-06-01T20:30:00Z","penalty":0}`,
		"class/deadlines/key-ranges": fmt.Sprintf(`{"due":%q}`, at(5*time.Hour+30*time.Minute)),
	} {
		eval[any](wall, fmt.Sprintf(`fetch("/api/v1/%s", {method: "PUT", headers: {"Content-Type": "application/json"}, body: %q}).then(r => { if (!r.ok) throw new Error(r.status); return null; })`, path, body))
	}
	eval[any](wall, fmt.Sprintf(`fetch("/api/v1/class/deadlines/skew-cure/extensions/%s", {method: "PUT", headers: {"Content-Type": "application/json"}, body: '{"due":%q}'}).then(r => { if (!r.ok) throw new Error(r.status); return null; })`, ben.ID, at(50*time.Hour)))
	if got := c.as(t, ana.Token, "POST", "/api/v1/class/results", `{"id":"handed-in-1","exercise":"credit","status":"failed","points":4,"maxPoints":21}`); got != 201 {
		t.Fatalf("a result: %d", got)
	}

	over := func(p *tab) int { return eval[int](p, `document.querySelectorAll(".exdue[data-over]").length`) }
	a := c.enter(t, setting{width: 390, height: 844}, ana)
	a.zone("America/New_York")
	a.navigate("/exercises")
	a.until(`document.querySelectorAll(".exdue:not([hidden])").length === 5`, soon)
	a.until(`document.querySelector('[data-exercise="key-group"] .exdue').textContent.startsWith("Due Sat, Jun 1, 2199, 16:30 GMT-4, in ")`, soon)
	a.until(`/^Overdue: .*, 30 hours ago\. Late: loses 50 % of its points\.$/.test(document.querySelector('[data-exercise="debloater"] .exdue').textContent)`, soon)
	a.until(`/^Overdue: .*, 3 hours ago\. Late: not taken\.$/.test(document.querySelector('[data-exercise="skew-cure"] .exdue').textContent)`, soon)
	a.until(`/^Due .*, in 5 hours$/.test(document.querySelector('[data-exercise="key-ranges"] .exdue').textContent)`, soon)
	a.until(`/^Due .*, 4 hours ago$/.test(document.querySelector('[data-exercise="credit"] .exdue').textContent)`, soon)
	if n := over(a); n != 2 {
		t.Errorf("%d are marked overdue: what was handed in is not", n)
	}
	a.accessible("a list with deadlines")
	a.fits("a list with deadlines")
	a.navigate("/class")
	a.until(`document.querySelectorAll("#h-due tbody tr").length === 5 && document.querySelectorAll("#h-due .overdue").length === 2`, soon)
	a.fits("a learner's page with deadlines")
	a.navigate("/exercises/skew-cure")
	a.until(`document.querySelector("#x-due .overdue")?.textContent === "overdue"`, soon)

	b := c.enter(t, setting{width: 1440, height: 900, dark: true}, ben)
	b.navigate("/exercises?lang=zh")
	b.until(`/^截止 .*，2天后$/.test(document.querySelector('[data-exercise="skew-cure"] .exdue').textContent)`, soon)
	b.until(`document.querySelector('[data-exercise="credit"] .exdue').textContent.startsWith("已逾期：")`, soon)
	if n := over(b); n != 2 {
		t.Errorf("%d are marked overdue of Ben's: he has more time for one, and handed nothing in", n)
	}
	b.navigate("/class?lang=zh")
	b.until(`document.querySelectorAll('#h-due a[href$="?lang=zh"]').length === 5`, soon)
	// The instructor sees the class's own, of which none is overdue.
	wall.navigate("/exercises")
	wall.until(`document.querySelectorAll(".exdue:not([hidden])").length === 5`, soon)
	if n := over(wall); n != 0 {
		t.Errorf("%d are overdue for the instructor", n)
	}
	a.quiet()
	b.quiet()
	wall.quiet()
}
