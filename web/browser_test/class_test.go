package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"weir/web"
)

// classroom is a server of classes, with what it printed.
type classroom struct {
	*server
	link, code string
}

func serveClass(t *testing.T) *classroom {
	t.Helper()
	return serveClassOn(t, "")
}

// serveClassOn serves with a database of its own; an empty one is a file.
func serveClassOn(t *testing.T, db string) *classroom {
	t.Helper()
	return serveClassWith(t, web.ClassOptions{DB: db})
}

func serveClassWith(t *testing.T, o web.ClassOptions) *classroom {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- web.Serve(ctx, web.Options{Addr: "127.0.0.1:0", DataDir: t.TempDir(), Out: w, Class: &o})
		_ = w.Close()
	}()
	c := &classroom{server: &server{}}
	lines := bufio.NewScanner(r)
	for c.code == "" && lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case strings.HasPrefix(word, "listening on "):
			c.url = strings.TrimPrefix(lines.Text(), "listening on ")
		case word == "instructor link":
			c.link = rest
		case word == "join code":
			c.code = rest
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if c.code == "" || c.link == "" {
		cancel()
		t.Fatal("the server said neither link nor code", <-done)
	}
	var once sync.Once
	c.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(c.stop)
	return c
}

// instructor opens the link that the server printed.
func (c *classroom) instructor(t *testing.T, o setting) *tab {
	t.Helper()
	o.alone, o.patience = true, 4*time.Minute
	p := c.open(t, o)
	p.navigate(strings.TrimPrefix(c.link, c.url))
	p.until(`location.pathname === "/class" && document.querySelector("#w-code")?.textContent.length >= 8`, 20*time.Second)
	return p
}

// fill writes into a field as a person would have.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	eval[any](p, fmt.Sprintf(`{ const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); } null`, selector, text))
}

// learner joins by the form.
func (c *classroom) learner(t *testing.T, o setting, name, alias string) *tab {
	t.Helper()
	o.alone, o.patience = true, 4*time.Minute
	p := c.open(t, o)
	p.navigate("/class?code=" + strings.ReplaceAll(c.code, "-", ""))
	p.until(`document.querySelector("#join")`, 20*time.Second)
	p.fill("#j-name", name)
	p.fill("#j-alias", alias)
	p.click("#j-go")
	p.until(`document.querySelector("#h-name")?.textContent.length > 6`, 20*time.Second)
	return p
}

const marked = `Ana <img src=x onerror="document.title='run'">`

// Without a cookie every page leads to the one that joins; a wrong code is told from a server that is away; equal names get a
// suffix, and markup in a name stays text.
func TestJoinOnAPhone(t *testing.T) {
	c := serveClass(t)
	phone := setting{width: 390, height: 844, alone: true}
	p := c.open(t, phone)
	p.navigate("/labs/backpressure")
	p.until(`location.pathname === "/class" && document.querySelector("#join")`, 20*time.Second)
	p.accessible("the page to join")
	p.fill("#j-code", "0000-0000")
	p.fill("#j-name", marked)
	p.click("#j-go")
	p.until(`document.querySelector("#j-refused").textContent.includes("No class has this code") && document.activeElement.id === "j-code"`, 10*time.Second)
	p.fill("#j-code", strings.ToLower(c.code))
	p.click("#j-go")
	p.until(`document.querySelector("#h-name")?.textContent.includes("Hello, Ana <img")`, 10*time.Second)
	p.accessible("a learner's page")
	if wide := eval[bool](p, `document.documentElement.scrollWidth > innerWidth`); wide {
		t.Error("the learner's page is wider than the phone")
	}

	// Who comes back is known by the cookie, and on another device by the link.
	p.navigate("/class")
	p.until(`document.querySelector("#h-link")?.value.includes("/class/p/")`, 10*time.Second)
	link := eval[string](p, `document.querySelector("#h-link").value`)
	other := c.open(t, setting{width: 768, height: 1024, dark: true, alone: true})
	other.navigate(link[strings.Index(link, "/class/p/"):])
	other.until(`document.querySelector("#h-name")?.textContent.includes("Hello, Ana <img")`, 10*time.Second)

	second := c.learner(t, setting{width: 390, height: 844}, marked, "")
	second.until(`document.querySelector("#h-name").textContent.trim().endsWith("2")`, 5*time.Second)
	wall := c.instructor(t, desktop)
	wall.until(`document.querySelectorAll("#w-rows tr").length === 2 && [...document.querySelectorAll("#w-rows .nm")].every(e => e.textContent.includes("<img"))`, 10*time.Second)
	for _, tab := range []*tab{p, other, second, wall} {
		if title := eval[string](tab, `document.title`); title == "run" {
			t.Error("markup in a name ran")
		}
		tab.quietBut("403")
	}
}

// quietBut is quiet without the console's own lines on answers that were meant to be refusals.
func (p *tab) quietBut(statuses ...string) {
	p.t.Helper()
	p.mu.Lock()
	var rest []string
	for _, e := range p.errors {
		meant := false
		for _, s := range statuses {
			meant = meant || strings.Contains(e, s)
		}
		if !meant {
			rest = append(rest, e)
		}
	}
	p.errors = rest
	p.mu.Unlock()
	p.quiet()
}

// A hand goes up on a phone and down on the wall; a question is asked, answered, counted and closed.
func TestHandAndQuestion(t *testing.T) {
	c := serveClass(t)
	wall := c.instructor(t, desktop)
	phone := c.learner(t, setting{width: 390, height: 844}, "Ana", "otter")
	desk := c.learner(t, setting{width: 1024, height: 768}, "Ben", "")

	wall.until(`document.querySelectorAll("#w-rows tr").length === 2`, 10*time.Second)
	phone.until(`!document.querySelector("#c-hand").disabled`, 10*time.Second)
	phone.click("#c-hand")
	wall.until(`document.querySelector("#w-rows tr .handup:not([hidden])") && document.querySelector("#w-rows tr .nm").textContent === "Ana" && document.querySelector("#w-said").textContent.includes("Ana")`, 10*time.Second)
	wall.accessible("the wall with a hand up")
	wall.click("#w-rows .handup:not([hidden])")
	phone.until(`document.querySelector("#c-hand").getAttribute("aria-pressed") === "false"`, 10*time.Second)

	wall.click("#w-ask")
	wall.until(`document.querySelector(".wdialog textarea")`, 5*time.Second)
	wall.accessible("the dialog of a question")
	wall.fill(".wdialog textarea", "What becomes of <b>the next</b> checkpoint?")
	wall.fill(".wchoices li:nth-child(1) input", "1 s")
	wall.fill(".wchoices li:nth-child(2) input", "<i>no change</i>")
	wall.click(".wdialog .primary")
	for i, p := range []*tab{phone, desk} {
		p.until(`document.querySelector("#c-ask:not([hidden]) .cq")?.textContent.includes("<b>the next</b>") && document.querySelectorAll(".cchoices input").length === 2`, 10*time.Second)
		p.accessible("a question")
		p.click(fmt.Sprintf(".cchoices label:nth-of-type(%d)", i+1))
		p.click(".cchoices button")
		p.until(`document.querySelector("#c-ask").textContent.includes("Your answer stands") && !document.querySelector("#c-ask .cbars")`, 10*time.Second)
	}
	wall.until(`[...document.querySelectorAll("#w-hist b")].map(e => e.textContent).join() === "1,1" && document.querySelector("#w-q-of").textContent.startsWith("2 of 2")`, 10*time.Second)
	phone.navigate("/class") // the answer stands after a reload
	phone.until(`document.querySelector("#c-ask").textContent.includes("Your answer stands: 1 s")`, 10*time.Second)
	wall.click("#w-q-close")
	phone.until(`document.querySelectorAll("#c-ask .cbars li").length === 2 && document.querySelector("#c-ask").textContent.includes("(yours)")`, 10*time.Second)
	phone.click("#c-ask button")
	phone.until(`document.querySelector("#c-ask").hidden`, 5*time.Second)
	wall.until(`document.querySelector("#w-q-close").disabled && document.querySelectorAll("#w-hist b").length === 2`, 10*time.Second)
	for _, p := range []*tab{wall, phone, desk} {
		p.quiet()
	}
}

// A lab is sent with a preset knob; a late joiner gets it too; a learner's run is shown to all, who follow it and its knobs,
// and can leave.
func TestSendAndSpotlight(t *testing.T) {
	c := serveClass(t)
	wall := c.instructor(t, desktop)
	ben := c.learner(t, setting{width: 1440, height: 900}, "Ben", "")
	wall.click("#w-send")
	wall.until(`document.querySelector(".wdialog .wlab")`, 5*time.Second)
	wall.fill(".wlab > label:first-child select", "backpressure")
	wall.fill(".wlab > label:last-child select", "workMs")
	wall.until(`document.querySelector(".wknobs input")`, 5*time.Second)
	wall.fill(".wknobs input", "2")
	wall.click(".wdialog .primary")
	ben.until(`document.querySelector("#c-lab:not([hidden]) a")?.getAttribute("href").includes("/labs/backpressure?workMs=2")`, 10*time.Second)
	phone := c.learner(t, setting{width: 390, height: 844}, "Ana", "")
	phone.until(`document.querySelector("#c-lab:not([hidden]) a")`, 10*time.Second)

	ben.click("#c-lab a")
	ben.until(`location.pathname === "/labs/backpressure" && document.querySelector("#c-lab[hidden]") && document.querySelector("#c-who").textContent === "Ben" && !document.querySelector("#start-run").disabled`, 20*time.Second)
	ben.click("#start-run")
	ben.until(`document.querySelectorAll(".strip").length === 4`, 30*time.Second)
	session := eval[string](ben, `new URL(location.href).searchParams.get("session")`)
	wall.until(`document.querySelector("#w-rows .spark:not([hidden])") && document.querySelectorAll("#w-rows td[data-state]").length >= 5`, 30*time.Second)
	wall.accessible("the wall with a run")
	eval[any](wall, `[...document.querySelectorAll("#w-rows tr")].find(e => e.textContent.includes("Ben")).querySelector(".wmini button").click(); null`)

	phone.until(fmt.Sprintf(`location.pathname === "/labs/backpressure" && new URL(location.href).searchParams.get("session") === %q && document.querySelectorAll(".strip").length === 4`, session), 30*time.Second)
	phone.until(`document.querySelector("#c-spot").textContent.includes("You follow") && [...document.querySelectorAll(".knob input, .knob button.switch")].every(e => e.disabled) && document.querySelector("#end").disabled`, 10*time.Second)
	phone.accessible("a page that follows")
	// Ten pictures a second: at least three in half a second, on a busy machine.
	ticks := eval[float64](phone, `new Promise(done => { let n = 0; const o = new MutationObserver(() => n++); o.observe(document.querySelector("#clock"), {childList: true, characterData: true, subtree: true}); setTimeout(() => done(n), 2000); })`)
	if ticks < 8 {
		t.Errorf("the following page drew %.0f pictures in two seconds", ticks)
	}
	ben.until(`document.querySelector("#c-spot").textContent.includes("Your run is shown") && !new URL(location.href).searchParams.has("watch")`, 10*time.Second)
	ben.click("#knob-debloat .switch")
	phone.until(`document.querySelector("#knob-debloat .switch").getAttribute("aria-checked") === "true" && document.querySelector("#changes").childElementCount > 0`, 15*time.Second)
	if status := eval[float64](phone, `fetch("/api/v1/sessions/`+session+`/knobs", {method: "PATCH", headers: {"Content-Type": "application/json"}, body: JSON.stringify({debloat: false})}).then(r => r.status)`); status < 400 {
		t.Errorf("a follower turned a knob: %.0f", status)
	}

	phone.click("#c-spot button")
	phone.until(`location.pathname === "/class" && document.querySelector("#c-spot button")?.textContent === "Follow"`, 20*time.Second)
	phone.click("#c-spot button")
	phone.until(`location.pathname === "/labs/backpressure" && document.querySelectorAll(".strip").length === 4`, 30*time.Second)
	wall.click("#w-unspot")
	phone.until(`location.pathname === "/class" && document.querySelector("#c-spot").hidden`, 20*time.Second)
	wall.click("#w-freeze")
	ben.until(`document.querySelector("#c-state").textContent.includes("Frozen")`, 10*time.Second)
	wall.until(`document.querySelector("#w-freeze").getAttribute("aria-pressed") === "true"`, 10*time.Second)
	wall.click("#w-freeze")
	ben.until(`document.querySelector("#c-state").textContent === ""`, 10*time.Second)
	wall.quiet()
	ben.quietBut("423") // the trace of a frozen run is refused
	phone.quietBut("403", "404")
}

// A result waits in the browser while the store is away, over a reload, and arrives once; then it is on the wall and in the
// grade book.
func TestResultsWait(t *testing.T) {
	c := serveClass(t)
	wall := c.instructor(t, setting{width: 1440, height: 900, dark: true})
	p := c.learner(t, setting{width: 1024, height: 768}, "Ben", "")
	// The store is away: the server cannot enter what it judged, and takes nothing from the page.
	stub := `{ const real = window.fetch; window.fetch = (a, o) => {
		const away = localStorage.getItem("away"), to = String(a);
		if (away && o?.method === "POST" && to.endsWith("/class/results")) return Promise.resolve(new Response('{"status":503,"detail":"the store does not answer"}', {status: 503}));
		if (away && to.includes("/checks?")) return real(a, o).then(async r => new Response((await r.text()).replace('"kept":true', '"kept":false'), {status: r.status}));
		return real(a, o);
	}; }`
	if _, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: stub}); err != nil {
		t.Fatal(err)
	}
	p.navigate("/exercises/max-parallelism")
	p.until(`document.querySelector("#answer")`, 10*time.Second)
	eval[any](p, `localStorage.setItem("away", "1"); for (const f of document.querySelectorAll("#answer [data-field]")) { const r = f.querySelector("input[type=radio]"); if (r) r.click(); else f.querySelector("input").value = "1"; } null`)
	p.click("#check")
	p.until(`document.querySelector("#c-wait").textContent === "1 result waits to be sent"`, 2*time.Minute)
	p.accessible("a result that waits")
	p.navigate("/class")
	p.until(`document.querySelector("#c-wait").textContent === "1 result waits to be sent" && document.querySelectorAll("#h-waiting li").length === 1`, 10*time.Second)
	eval[any](p, `localStorage.removeItem("away"); dispatchEvent(new Event("online")); null`)
	p.until(`document.querySelector("#c-wait").textContent === "" && document.querySelectorAll("#h-results tbody tr").length === 1`, 30*time.Second)
	p.navigate("/class")
	p.until(`document.querySelectorAll("#h-results tbody tr").length === 1`, 10*time.Second)

	wall.click("#f-results > summary")
	wall.until(`document.querySelectorAll("#p-results tbody tr").length === 1 && document.querySelector("#p-results").textContent.includes("Ben")`, 10*time.Second)
	book := eval[string](wall, `fetch("/api/v1/class/export?format=json").then(r => r.text())`)
	if !json.Valid([]byte(book)) || !strings.Contains(book, "Ben") || !strings.Contains(book, "max-parallelism") {
		t.Errorf("the grade book is %s", book)
	}
	wall.accessible("the wall's results, dark")

	// The other parts of the wall open and take changes.
	for _, f := range []string{"people", "due", "asked", "audit", "set"} {
		wall.click("#f-" + f + " > summary")
	}
	wall.until(`document.querySelectorAll("#p-people tbody tr").length === 1 && document.querySelectorAll("#p-audit tbody tr").length >= 0`, 10*time.Second)
	wall.fill("#p-due-set [name=exercise]", "max-parallelism")
	wall.fill("#p-due-set [name=due]", "2030-01-31T18:00")
	wall.click("#p-due-set button")
	wall.until(`document.querySelectorAll("#p-due tbody tr").length === 1 && document.querySelector("#p-due").textContent.includes("2030")`, 10*time.Second)
	wall.accessible("all of the wall open")
	p.navigate("/class")
	p.until(`document.querySelector("#h-due").textContent.includes("2030")`, 10*time.Second)

	// Gone from this device: the browser keeps nothing, and the page asks to join.
	eval[any](p, `window.confirm = () => true; null`)
	p.click("#h-leave")
	p.until(`document.querySelector("#join")`, 10*time.Second)
	if n := eval[float64](p, `Object.keys(localStorage).filter(k => k.startsWith("weir.exercise.") || k.startsWith("weir.progress.")).length`); n != 0 {
		t.Errorf("the browser keeps %.0f of the learner's things", n)
	}
	wall.quiet()
	p.quietBut("503")
}
