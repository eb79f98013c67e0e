package browser_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"weir/exercises/kit"
)

// A core is written on the page: the starter fails with what to try, the right one passes, and the page remembers it.
func TestCodeExercise(t *testing.T) {
	right, err := os.ReadFile("../../exercises/10-debloater/solutions/right/core.go")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, "")
	p := s.open(t, setting{width: 1440, height: 900, patience: 4 * time.Minute})
	p.navigate("/exercises")
	p.until(`document.querySelectorAll("[data-exercise]").length >= 20`, 10*time.Second)
	p.click(`[data-exercise="debloater"]`)
	p.until(`document.querySelector("#core")?.value.includes("package core")`, 10*time.Second)
	p.click("#check")
	p.until(`!document.querySelector("#check").disabled && document.querySelector('#checks li[data-state="failed"] dl')`, 90*time.Second)
	if got := p.text(`#checks li[data-state="failed"] dl`); got == "" {
		t.Error("a check that failed says nothing")
	}
	p.accessible("a check that failed")

	source, err := json.Marshal(string(kit.Local(right)))
	if err != nil {
		t.Fatal(err)
	}
	eval[any](p, `const e = document.querySelector("#core"); e.value = `+string(source)+`; e.dispatchEvent(new Event("input")); null`)
	p.click("#check")
	p.until(`!document.querySelector("#check").disabled && [...document.querySelectorAll("#checks li")].every(c => c.dataset.state === "passed")`, 90*time.Second)
	p.navigate("/exercises/debloater")
	p.until(`document.querySelector("#core").value.includes("package core") && document.querySelector("#core").value === `+string(source), 10*time.Second)

	// What does not compile leads to its line.
	eval[any](p, `{ const e = document.querySelector("#core"); e.value = "package core\n\nfunc New() {"; e.dispatchEvent(new Event("input")); } null`)
	p.click("#check")
	p.until(`!document.querySelector("#check-problem").hidden && document.querySelector("#check-problem").textContent.includes("core.go:3")`, 30*time.Second)
	p.quiet()
}

// Tab indents in the editor and leaves it after Escape; a check can be cancelled.
func TestEditor(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, setting{width: 768, height: 1024, dark: true})
	p.navigate("/exercises/debloater?lang=zh")
	p.until(`document.querySelector("#core")`, 10*time.Second)
	p.accessible("an exercise in Chinese")
	eval[any](p, `const e = document.querySelector("#core"); e.focus(); e.setSelectionRange(0, 0); null`)
	p.press("\t")
	p.until(`document.querySelector("#core").value.startsWith("\t") && document.activeElement.id === "core"`, 5*time.Second)
	p.press("\x1b")
	p.press("\t")
	p.until(`document.activeElement.id !== "core"`, 5*time.Second)
	p.click("#check")
	p.click("#cancel")
	p.until(`!document.querySelector("#check").disabled && document.querySelector("#check-said").textContent === "已取消"`, 30*time.Second)
	p.quiet()
	p.do(chromedp.Navigate("about:blank"))
}

// A prediction is committed to once; the run decides.
func TestPredictExercise(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, setting{width: 390, height: 844, patience: 3 * time.Minute})
	p.navigate("/exercises/max-parallelism")
	p.until(`document.querySelector("#answer")`, 10*time.Second)
	p.accessible("a question")
	eval[any](p, `for (const f of document.querySelectorAll("#answer [data-field]")) { const r = f.querySelector("input[type=radio]"); if (r) r.click(); else f.querySelector("input").value = "1"; } null`)
	p.click("#check")
	p.until(`!document.querySelector("#check").disabled && [...document.querySelectorAll("#answer input")].every(i => i.disabled)`, 2*time.Minute)
	p.navigate("/exercises/max-parallelism")
	p.until(`[...document.querySelectorAll("#answer input")].every(i => i.disabled) && document.querySelector("#answer input:checked, #answer input[type=number]")`, 10*time.Second)
	p.quiet()
}
