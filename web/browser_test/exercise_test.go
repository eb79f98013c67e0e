package browser_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// A prediction is committed to once; the run decides. What is not committed yet stays when the page changes, Enter does not
// commit it, and what has no answer yet is said before anything is.
func TestPredictExercise(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, setting{width: 390, height: 844, patience: 3 * time.Minute})
	p.navigate("/exercises/max-parallelism?lang=zh")
	p.until(`document.querySelector("#answer")`, 10*time.Second)
	p.accessible("a question")
	p.click(`#answer input[value="refused"]`)
	eval[any](p, `document.querySelector('#answer input[type="number"]').focus(); null`)
	p.press("7")
	p.press("\r")
	p.until(`document.activeElement.id === "check" && document.querySelector('#answer input[type="number"]').value === "7"`, 10*time.Second)
	p.navigate("/exercises/max-parallelism")
	p.until(`document.documentElement.lang === "en" && document.querySelector('#answer input[value="refused"]:checked') && document.querySelector('#answer input[type="number"]').value === "7"`, 10*time.Second)
	p.click("#check")
	p.until(`document.querySelector("#check-problem").textContent === "Nothing is committed yet: “The message speaks of” has no answer." && document.activeElement.name === "message"`, 10*time.Second)
	var kept struct {
		Exercises map[string]struct{ Tries int }
	}
	s.api(t, "GET", "/api/v1/progress", "", &kept)
	if n := kept.Exercises["max-parallelism"].Tries; n != 0 {
		t.Errorf("%d tries of what was not committed", n)
	}
	eval[any](p, `for (const f of document.querySelectorAll("#answer [data-field]")) { const r = f.querySelector("input[type=radio]"); if (r) r.click(); else f.querySelector("input").value = "1"; } null`)
	p.click("#check")
	p.until(`!document.querySelector("#check").disabled && [...document.querySelectorAll("#answer input")].every(i => i.disabled)`, 2*time.Minute)
	p.navigate("/exercises/max-parallelism")
	p.until(`[...document.querySelectorAll("#answer input")].every(i => i.disabled) && document.querySelector("#answer input:checked, #answer input[type=number]")`, 10*time.Second)
	p.quiet()
}

// Progress goes into a file and out of it, into another browser and another server; what is no progress is refused with the
// reason, and leaves everything as it was.
func TestProgressRoundTrip(t *testing.T) {
	dir := t.TempDir()
	kept := map[string]any{
		"version": 1,
		"labs": map[string]any{"credit": map[string]any{"step": "explain", "done": []string{"predict", "run", "observe", "explain"}, "quiz": map[string]int{"0": 1}, "atMs": 5,
			"choice": map[string]any{"text": "x", "n": 1, "at": "00:05"}, "note": "credit is a promise", "ofLater": true}},
		"exercises": map[string]any{
			"debloater":       map[string]any{"status": "passed", "points": 17, "maxPoints": 17, "tries": 3, "hints": 1, "core": "package core // mine\n", "atMs": 5},
			"max-parallelism": map[string]any{"status": "failed", "points": 2, "maxPoints": 9, "tries": 1, "hints": 0, "answer": map[string]any{"changed": 1.0}, "answeredMs": 4, "atMs": 5},
		},
	}
	b, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"good.json": string(b), "text.json": "no JSON", "other.json": `{"name":"x"}`, "later.json": `{"version":2,"labs":{},"exercises":{}}`,
		"wrong.json": `{"version":1,"labs":{"credit":{"step":"fly","done":[]}},"exercises":{}}`}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s := serve(t, "")
	p := s.open(t, setting{width: 390, height: 844, dark: true})
	p.navigate("/exercises")
	p.until(`document.querySelector("#progress-sum").textContent.startsWith("0 of 20")`, 10*time.Second)
	for name, says := range map[string]string{"text.json": "not JSON", "other.json": "no version", "later.json": "version: 2 is not known, expected 1", "wrong.json": "labs.credit.step"} {
		p.do(uploadFile("#progress-import", filepath.Join(dir, name)))
		p.until(`document.querySelector("#progress-said").textContent.includes(`+strconv.Quote(says)+`)`, 10*time.Second)
	}
	if sum := p.text("#progress-sum"); !strings.HasPrefix(sum, "0 of 20") {
		t.Errorf("after files that were refused: %s", sum)
	}
	p.mu.Lock()
	p.errors = nil // Chromium notes the two that the server refused
	p.mu.Unlock()
	p.do(uploadFile("#progress-import", filepath.Join(dir, "good.json")))
	p.until(`document.querySelector("#progress-sum").textContent.startsWith("1 of 20") && document.querySelector('[data-exercise="debloater"] .exstate').dataset.state === "passed"`, 10*time.Second)
	p.accessible("progress that was imported")
	eval[any](p, `window.saved = undefined; const make = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then(t => window.saved = t); return make(b); }; null`)
	p.click("#progress-export")
	p.until(`window.saved`, 5*time.Second)
	exported := eval[string](p, `window.saved`)
	p.navigate("/exercises/debloater")
	p.until(`document.querySelector("#core").value === "package core // mine\n" && document.querySelector("#check-points").textContent.includes("17 of 17")`, 10*time.Second)
	p.quiet()

	// Into another server, in a browser of another origin; its page of labs and the lab itself know it without a reload.
	other := serve(t, "")
	if err := os.WriteFile(filepath.Join(dir, "exported.json"), []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	q := other.open(t, desktop)
	q.navigate("/exercises")
	q.do(uploadFile("#progress-import", filepath.Join(dir, "exported.json")))
	q.until(`document.querySelector("#progress-sum").textContent.startsWith("1 of 20 exercises passed, 19 of")`, 10*time.Second)
	fresh := other.open(t, desktop) // its storage is cleared: all that it knows comes from the server
	fresh.navigate("/")
	fresh.until(`document.querySelectorAll('.proe[data-lab="credit"] i.d').length === 4 && document.querySelector("#far-exercises").textContent.startsWith("1 of 20")`, 10*time.Second)
	fresh.navigate("/labs/credit")
	fresh.until(`document.querySelector("#note").value === "credit is a promise" && !document.querySelector("#committed").hidden && document.querySelector('#quiz form[data-question="0"] .why').hidden === false`, 10*time.Second)
	fresh.navigate("/exercises/max-parallelism")
	fresh.until(`[...document.querySelectorAll("#answer input")].every(i => i.disabled) && document.querySelector("#check-points").textContent.includes("2 of 9")`, 10*time.Second)
	fresh.quiet()
	q.quiet()
}
