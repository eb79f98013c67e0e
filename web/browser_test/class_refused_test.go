package browser_test

import "testing"

// A result that a closed class refused stays with the learner, who sends it again when the class is open.
func TestARefusedResultIsSentAgain(t *testing.T) {
	c := serveClass(t)
	wall := c.instructor(t, desktop)
	set := func(state string) {
		t.Helper()
		eval[any](wall, `fetch("/api/v1/class", {method: "PATCH", headers: {"Content-Type": "application/json"}, body: '{"state":"`+state+`"}'}).then(r => { if (!r.ok) throw new Error(r.status); return null; })`)
	}
	p := c.enter(t, setting{width: 390, height: 844}, c.join(t, "Ana", ""))
	set("closed")
	p.navigate("/exercises/announce")
	p.until(`document.querySelector("#core") && document.querySelector("#c-who").textContent === "Ana"`, soon)
	p.click("#check")
	p.until(`document.querySelector("#c-wait").textContent === "1 result was refused"`, 3*soon)
	p.navigate("/class")
	p.until(`document.querySelector("#h-waiting").textContent.includes("The class is closed")`, soon)
	p.accessible("a result that was refused")
	p.fits("a result that was refused")
	set("open")
	p.click("#h-waiting button")
	p.until(`document.querySelector("#h-waiting").childElementCount === 0 && document.querySelectorAll("#h-results tbody tr").length === 1 && document.querySelector("#c-wait").textContent === ""`, soon)
	p.quietBut("409")
	wall.quiet()
}
