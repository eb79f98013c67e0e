package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// press sends keys to whatever has the focus.
func (p *tab) press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// tabTo moves the focus by Tab alone until it is on an element.
func (p *tab) tabTo(selector string) {
	p.t.Helper()
	on := fmt.Sprintf(`document.activeElement?.matches(%q) ?? false`, selector)
	for range 250 {
		if eval[bool](p, on) {
			return
		}
		p.press("\t")
	}
	p.t.Fatalf("Tab does not lead to %s; it is at %s", selector, eval[string](p, `document.activeElement?.outerHTML.slice(0, 200) ?? ""`))
}

// A newcomer's hour, by keyboard alone: from the catalogue through a lesson to its end, the quiz, the live exercise, and the
// progress that comes of it.
func TestNewcomer(t *testing.T) {
	s := serve(t, "")
	for lang, passed := range map[string]string{"en": "passed", "zh": "通过"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			newcomer(t, s, lang, passed)
		})
	}
}

func newcomer(t *testing.T, s *server, lang, passed string) {
	p := s.open(t, setting{width: 1440, height: 900, still: true, patience: 5 * time.Minute})
	p.navigate("/?lang=" + lang)
	p.until(fmt.Sprintf(`document.documentElement.lang === %q`, lang), 10*time.Second)
	p.tabTo(`a[data-lab="backpressure"]`)
	p.press("\r")
	p.until(`location.pathname === "/labs/backpressure" && document.querySelector("#choices")`, 20*time.Second)

	p.tabTo(`#choices input`)
	p.press(" ")
	p.until(`!document.querySelector("#choices button").disabled`, 5*time.Second)
	p.tabTo(`#choices button`)
	p.press("\r")
	p.until(`document.querySelector("#step-predict").classList.contains("done") && document.querySelector("#step-run").classList.contains("now")`, 5*time.Second)
	p.tabTo(`#start-run`)
	p.press("\r")
	p.until(`document.querySelectorAll(".strip").length === 4`, 20*time.Second)
	session := eval[string](p, `new URL(location.href).searchParams.get("session")`)
	p.until(`document.querySelector("#evidence-barrier-waits").dataset.state === "ok"`, 40*time.Second)
	p.tabTo(`#knob-debloat [role="switch"]`)
	p.press(" ")

	p.tabTo(`#step-explain .steph`)
	p.press("\r")
	p.tabTo(`#note`)
	p.press("The barrier waits behind full buffers.")
	for q := range 3 {
		p.tabTo(fmt.Sprintf(`#quiz form[data-question="%d"] input`, q))
		p.press(" ")
		p.tabTo(fmt.Sprintf(`#quiz form[data-question="%d"] button`, q))
		p.press("\r")
		p.until(fmt.Sprintf(`!document.querySelector('#quiz form[data-question="%d"] .why').hidden`, q), 5*time.Second)
	}
	p.until(`document.querySelector("#quiz-score").textContent !== "" && JSON.parse(localStorage.getItem("weir.progress.backpressure")).done.includes("explain")`, 5*time.Second)
	p.accessible("the last step")
	p.tabTo(`#step-observe .steph`)
	p.press("\r")
	p.until(`document.querySelectorAll("#chips .chip.ok").length === document.querySelectorAll("#chips .chip").length`, 70*time.Second)

	// The same run is what the live exercise is judged from: five checkpoints, of a job that is twenty seconds old.
	p.tabTo(`#step-explain .steph`)
	p.press("\r")
	p.tabTo(`.exercises-of a[href*="/exercises/under-target"]`)
	p.press("\r")
	p.until(`location.pathname === "/exercises/under-target" && document.querySelector("#check")`, 20*time.Second)
	p.accessible("the exercise")
	for deadline := time.Now().Add(100 * time.Second); ; {
		p.tabTo(fmt.Sprintf(`#runs input[value="%s"], #check`, session))
		if eval[bool](p, `document.activeElement.id !== "check"`) {
			p.press(" ")
			p.tabTo(`#check`)
		}
		p.press("\r")
		p.until(`!document.querySelector("#check").disabled && document.querySelector("#checks li").dataset.state`, 30*time.Second)
		if eval[bool](p, `[...document.querySelectorAll("#checks li")].every(c => c.dataset.state === "passed")`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not passed: %s", p.text("#checks"))
		}
		p.until(`new Promise(r => setTimeout(() => r(true), 3000))`, 5*time.Second)
	}
	p.quiet()

	p.tabTo(`nav a[href*="/exercises"]`)
	p.press("\r")
	p.until(fmt.Sprintf(`document.querySelector('[data-exercise="under-target"] .exstate')?.textContent.includes(%q)`, passed), 20*time.Second)
	p.accessible("the list of exercises")
	// What is exported is what is kept.
	eval[any](p, `window.saved = undefined; const make = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then(t => window.saved = JSON.parse(t)); return make(b); }; null`)
	p.tabTo(`#progress-export`)
	p.press("\r")
	p.until(`window.saved?.exercises["under-target"].status === "passed" && window.saved.labs.backpressure.done.length === 4`, 10*time.Second)
	p.quiet()
	p.do(chromedp.Navigate("about:blank"))
}
