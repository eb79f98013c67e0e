package browser_test

import (
	"fmt"
	"testing"
	"time"
)

// Who comes late gets all that is on: the lab with its knob, the run that is shown, the open question, the time left. The
// wall counts the answers as they come, and its run decides: every page follows it.
func TestLateJoinerAndTheRunThatDecides(t *testing.T) {
	c := serveClass(t)
	early := c.join(t, "Early", "")
	wall := c.instructor(t, setting{width: 1440, height: 900})

	// The instructor sends a lab, starts it and shows it.
	wall.until(`!document.querySelector("#w-send").disabled`, soon)
	eval[any](wall, `Promise.all([
		["lab", {lab: "backpressure", knobs: {workMs: 2}}],
		["timer", {minutes: 30}],
	].map(([what, body]) => fetch("/api/v1/class/" + what, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)}).then(r => { if (!r.ok) throw new Error(what + r.status); }))).then(() => null)`)
	shown := eval[string](wall, `fetch("/api/v1/sessions", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"lab":"backpressure"}'}).then(r => r.json()).then(async s => {
		await fetch("/api/v1/class/spotlight", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({session: s.id})}); return s.id; })`)
	wall.until(`/^29:\d\d$/.test(document.querySelector("#w-left").textContent) && document.querySelector("#w-now").textContent.includes("Credit flow")`, soon)
	wall.tap("#w-ask")
	wall.until(`document.querySelector(".wdialog textarea")`, soon)
	wall.fill(".wdialog textarea", "Debloating goes on. The next checkpoint?")
	wall.fill(".wchoices li:nth-child(1) input", "shorter")
	wall.fill(".wchoices li:nth-child(2) input", "longer")
	wall.fill(".wdialog .wlab > label:first-child select", "backpressure")
	wall.fill(".wdialog .wlab > label:last-child select", "debloat")
	wall.until(`document.querySelector(".wknobs select")`, soon)
	wall.fill(".wknobs select", "true")
	wall.tap(".wdialog .primary")
	wall.until(`!document.querySelector("dialog") && document.querySelector("#w-q-of").textContent === "0 of 1 answered"`, soon)

	// The phone joins now, and its page goes to the run that is shown.
	phone := c.open(t, setting{width: 390, height: 844, alone: true, patience: 4 * time.Minute})
	phone.navigate("/class?code=" + c.code)
	phone.until(`document.querySelector("#join")`, soon)
	phone.fill("#j-name", "Late")
	phone.tap("#j-go")
	follows := func(session string) string {
		return fmt.Sprintf(`location.pathname === "/labs/backpressure" && new URL(location.href).searchParams.get("session") === %q && document.querySelector("#c-spot").textContent.includes("You follow")`, session)
	}
	phone.until(follows(shown)+` && document.querySelectorAll(".cchoices input").length === 2 && /^(29|30):\d\d left$/.test(document.querySelector("#c-left").textContent)`, soon)
	phone.until(`document.querySelector("#c-lab:not([hidden]) a")?.getAttribute("href").includes("workMs=2")`, soon)
	phone.fits("a page that follows, with a question")
	phone.accessible("a late joiner's page")
	// Nothing of the strip is read out again and again: what counts down is no live region.
	if eval[bool](phone, `document.querySelector("#c-left").closest("[aria-live],[role=status],[role=alert]") !== null`) {
		t.Error("the countdown is in a live region")
	}
	phone.tap(".cchoices label:nth-of-type(1)")
	phone.tap(".cchoices button")
	wall.until(`[...document.querySelectorAll("#w-hist b")].map(e => e.textContent).join() === "1,0" && document.querySelector("#w-q-of").textContent === "1 of 2 answered"`, soon)
	question := eval[string](wall, `fetch("/api/v1/class/questions").then(r => r.json()).then(q => q.questions[0].id)`)
	if got := c.as(t, early.Token, "POST", "/api/v1/class/questions/"+question+"/answers", `{"choice":1}`); got != 201 {
		t.Fatalf("an answer: %d", got)
	}
	if got := c.as(t, early.Token, "PUT", "/api/v1/class/me/place", `{"lab":"backpressure","step":"predict"}`); got != 204 {
		t.Fatalf("a place: %d", got)
	}
	// All have answered: the wall proposes what decides, and its press does it.
	wall.until(`[...document.querySelectorAll("#w-hist b")].map(e => e.textContent).join() === "1,1" && document.querySelector("#w-say").textContent.includes("2 of 2 have answered")`, soon)
	wall.accessible("the wall with all answers")
	wall.tap("#w-say button")
	wall.until(`document.querySelector("#w-q-close").disabled && document.querySelector("#w-q-state").textContent === "closed"`, soon)
	decides := eval[string](wall, `fetch("/api/v1/class/wall").then(r => r.json()).then(w => w.live.spotlight)`)
	if decides == shown || decides == "" {
		t.Fatalf("the run in the spotlight is %q", decides)
	}
	phone.until(follows(decides)+` && document.querySelector("#knob-debloat .switch")?.getAttribute("aria-checked") === "true"`, soon)
	phone.until(`document.querySelectorAll("#c-ask .cbars li").length === 2 && document.querySelector("#c-ask").textContent.includes("shorter (yours)")`, soon)
	wall.until(`document.querySelector("#w-say").textContent.includes("split")`, soon)
	phone.fits("a page that follows, with the answers")

	// The time ends, the spotlight goes out, and the page is back where it was.
	wall.tap("#w-left")
	wall.until(`document.querySelector(".wdialog .wform > button")`, soon)
	wall.tap(".wdialog .wform > button")
	wall.until(`!document.querySelector("dialog") && document.querySelector("#w-left").textContent === "––:––" && !document.querySelector("#w-unspot").disabled`, soon)
	wall.tap("#w-unspot")
	phone.until(`location.pathname === "/class" && document.querySelector("#c-left").hidden`, soon)
	wall.quiet()
	phone.quietBut("403", "404")
}
