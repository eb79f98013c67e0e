package browser_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// One press on the catalogue leads to the first drawn picture within a second, in both languages.
func TestFirstPress(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		t.Run(lang, func(t *testing.T) {
			s := serve(t, "")
			p := s.open(t, desktop)
			p.navigate("/?lang=" + lang)
			if got := eval[string](p, `document.documentElement.lang`); got != lang {
				t.Errorf("the catalogue is in %q", got)
			}
			if n := eval[int](p, `document.querySelectorAll("main .primary").length`); n != 1 {
				t.Errorf("the catalogue has %d primary actions", n)
			}
			p.accessible("catalogue")
			// The best of three, since other tests may share the machine.
			var took time.Duration
			for try := range 3 {
				if try > 0 {
					p.navigate("/?lang=" + lang)
					s.endAll(t)
				}
				start := time.Now()
				p.click("#start button")
				p.until(`document.querySelector(".strip .slots")`, 10*time.Second)
				if took = time.Since(start); took <= time.Second {
					break
				}
			}
			if took > time.Second {
				t.Errorf("the first picture came after %v", took)
			}
			p.until(`document.querySelectorAll(".strip").length === 4`, 5*time.Second)
			if l, r := eval[int](p, `document.querySelectorAll(".strip[data-kind=local]").length`), eval[int](p, `document.querySelectorAll(".strip[data-kind=remote]").length`); l != 2 || r != 2 {
				t.Errorf("%d local and %d remote channels", l, r)
			}
			// Nine of ten pictures differ in readings. A picture has come when the clock has moved.
			differ := eval[int](p, `new Promise(done => {
				const clock = document.querySelector("#clock");
				let last = "", n = 0, pictures = 0;
				const look = new MutationObserver(() => requestAnimationFrame(() => {
					const now = document.querySelector("#gates").innerText + document.querySelector("#panel-pipeline").innerText + [...document.querySelectorAll(".slot")].map(e => e.className + e.style.cssText).join();
					if (now !== last) n++;
					last = now;
					if (++pictures === 20) { look.disconnect(); done(n); }
				}));
				look.observe(clock, {childList: true, characterData: true, subtree: true});
			})`)
			if differ < 18 {
				t.Errorf("%d of 20 pictures differ from the one before", differ)
			}
			p.until(`document.querySelector("#v-slow-map .tag.cause") && document.querySelector("#v-source .tag.victim")`, 10*time.Second)
			if got := eval[string](p, `document.documentElement.lang`); got != lang {
				t.Errorf("the lab is in %q", got)
			}
			p.accessible("lab")
			// Back leaves the job running.
			p.do(goBack())
			p.until(`document.querySelector(".runs li")`, 5*time.Second)
			var list struct{ Sessions []struct{ State string } }
			s.api(t, "GET", "/api/v1/sessions", "", &list)
			if len(list.Sessions) != 1 || list.Sessions[0].State != "RUNNING" {
				t.Errorf("after Back: %+v", list)
			}
			p.quiet()
		})
	}
}

// The switch turns debloating on in the running job, is pending until a picture confirms it, and the next checkpoints fall.
// With one each second, which keep the channels blocked, and in real time a third is sure; that at the lab's own interval it
// is more than half is TestDebloatingIsSwitchedOnInTheRunningFlagship of labs.
func TestSwitch(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure","knobs":{"checkpointIntervalMs":1000}}`)
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?step=observe&session=" + id)
	type snapshot struct {
		Knobs       map[string]any
		Checkpoints []struct {
			ID                 int
			Status             string
			EndToEndDurationMs float64
		}
	}
	look := func() (snap snapshot) {
		s.api(t, "GET", "/api/v1/sessions/"+id, "", &snap)
		return snap
	}
	p.until(`[...document.querySelectorAll(".ck-ids button")].length >= 4`, 40*time.Second)
	before := 0.0
	for _, c := range look().Checkpoints {
		if c.Status == "COMPLETED" {
			before = c.EndToEndDurationMs
			break
		}
	}
	if on := eval[string](p, `document.querySelector("#knob-debloat .switch").getAttribute("aria-checked")`); on != "false" {
		t.Fatalf("the switch is at %s", on)
	}
	p.click("#knob-debloat .switch")
	p.until(`document.querySelector("#knob-debloat .switch").getAttribute("aria-checked") === "true" && document.querySelector("#knob-debloat .wait").hidden`, 5*time.Second)
	if look().Knobs["debloat"] != true {
		t.Error("the page shows the switch on, the job does not")
	}
	p.until(`document.querySelector("#changes").textContent.includes("→")`, 5*time.Second)
	p.until(`!document.querySelector(".gate.uncut")`, 10*time.Second)
	// The name of the pin covers no checkpoint.
	p.until(`[...document.querySelectorAll("#ck .pin-name")].some(n => n.offsetWidth > 0)`, 5*time.Second)
	if n := eval[int](p, `(() => {
		const boxes = (of) => [...document.querySelectorAll(of)].map(e => e.getBoundingClientRect());
		return boxes("#ck .pin-name").filter(n => boxes("#ck .ckb").some(b => n.left < b.right && b.left < n.right && n.top < b.bottom && b.top < n.bottom)).length;
	})()`); n > 0 {
		t.Error("the name of the pin covers bars of checkpoints")
	}
	short := func() bool {
		n := 0
		for _, c := range look().Checkpoints {
			if c.Status != "COMPLETED" {
				continue
			}
			if c.EndToEndDurationMs >= before*2/3 {
				return false
			}
			if n++; n == 3 {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(40 * time.Second); !short(); {
		if time.Now().After(deadline) {
			t.Fatalf("checkpoints took %v ms before and now %+v", before, look().Checkpoints)
		}
		p.until(`new Promise(r => setTimeout(() => r(true), 500))`, 2*time.Second)
	}
	if q := eval[string](p, `location.search`); !strings.Contains(q, "debloat=true") {
		t.Errorf("the address %s does not hold the knob", q)
	}
	p.quiet()
}

// Every page in both themes and languages and at four widths: no complaint, nothing serious for axe, no sideways scroll.
func TestLooks(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure","knobs":{"debloat":true}}`)
	for _, width := range []int64{1440, 1024, 768, 390} {
		for _, dark := range []bool{false, true} {
			lang := "en"
			if dark {
				lang = "zh"
			}
			t.Run(fmt.Sprintf("%d/dark=%v/%s", width, dark, lang), func(t *testing.T) {
				p := s.open(t, setting{width: width, height: 900, dark: dark, still: width == 768})
				for _, path := range []string{"/?", "/labs/backpressure?", "/labs/backpressure?step=observe&session=" + id + "&", "/labs/key-groups?step=explain&"} {
					p.navigate(path + "lang=" + lang)
					switch {
					case strings.Contains(path, "session="):
						p.until(`document.querySelectorAll(".strip").length === 4 && document.querySelectorAll(".chip").length > 3`, 10*time.Second)
					case strings.Contains(path, "key-groups"):
						p.until(`document.querySelectorAll("#ruler .cells").length === 2`, 5*time.Second)
					}
					if wide := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
						t.Errorf("%s is %d px wider than the window", path, wide)
					}
					p.accessible(path)
				}
				p.quiet()
			})
		}
	}
}

// By keyboard every knob is reached, says what it is for, and is not covered by the list of changes.
func TestKnobsByKeyboard(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, setting{width: 1440, height: 700})
	p.navigate("/labs/overdraft?lang=en")
	p.until(`document.querySelector("#changes li")`, 5*time.Second)
	all := eval[int](p, `document.querySelectorAll(".knobs details").forEach(d => d.open = true), document.querySelectorAll(".knob").length`)
	reached := map[string]bool{}
	p.tabTo(".knob *")
	for {
		at := eval[struct {
			Knob, Help             string
			Covered, Undescr, Gone bool
		}](p, `(() => {
			const e = document.activeElement, knob = e.closest(".knob"), r = e.getBoundingClientRect();
			if (!knob) return {Gone: !e.closest(".knobs")};
			const by = e.closest("[aria-describedby]").getAttribute("aria-describedby").split(" ");
			return {
				Knob: knob.id, Help: e.matches(".exact") ? "typed" : knob.querySelector(".help").innerText,
				Covered: !e.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2)),
				Undescr: !by.every(id => document.getElementById(id)?.textContent) || !by.includes(knob.querySelector(".help").id),
			};
		})()`)
		if at.Gone {
			break
		}
		if at.Knob != "" {
			reached[at.Knob] = true
		}
		if at.Knob != "" && (at.Covered || at.Undescr || at.Help == "") {
			t.Errorf("with the focus: %+v", at)
		}
		p.press("\t")
	}
	if len(reached) != all {
		t.Errorf("%d of %d knobs are reached", len(reached), all)
	}
	p.quiet()
}

// A link with knobs fills them and starts nothing; the address keeps step, panel and language.
func TestLink(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?rate=5000&debloat=true&step=run&lang=zh&panel=channels")
	p.until(`document.querySelector("#knob-rate.changed")`, 5*time.Second)
	if got := eval[string](p, `document.querySelector("#knob-rate .exact").value`); got != "5,000" {
		t.Errorf("the rate is shown as %q", got)
	}
	var list struct{ Sessions []any }
	s.api(t, "GET", "/api/v1/sessions", "", &list)
	if len(list.Sessions) != 0 {
		t.Errorf("the link started %v", list.Sessions)
	}
	if hidden := eval[bool](p, `document.querySelector("#stepb-run").hidden`); hidden {
		t.Error("the step of the link is not open")
	}
	p.click("#start-run")
	p.until(`document.querySelectorAll(".strip").length === 4`, 5*time.Second)
	u, err := url.Parse(eval[string](p, `location.href`))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, want := range map[string]string{"rate": "5000", "debloat": "true", "step": "run", "lang": "zh", "panel": "channels"} {
		if q.Get(name) != want {
			t.Errorf("%s is %q in the address, want %q", name, q.Get(name), want)
		}
	}
	var snap struct{ Knobs map[string]any }
	s.api(t, "GET", "/api/v1/sessions/"+q.Get("session"), "", &snap)
	if snap.Knobs["rate"] != 5000.0 || snap.Knobs["debloat"] != true {
		t.Errorf("the job runs with %v", snap.Knobs)
	}
	// A refused value says why beside its knob, and the old one comes back.
	p.do(setValue("#knob-rate .exact", "-5"))
	p.until(`!document.querySelector("#knob-rate .err").hidden`, 5*time.Second)
	p.until(`document.querySelector("#knob-rate .exact").value === "5,000"`, 5*time.Second)
}

// The language is switched without losing the run, its charts or the step.
func TestLanguageSwitch(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?lang=en&step=observe&session=" + id)
	p.until(`document.querySelectorAll(".strip").length === 4`, 10*time.Second)
	p.click(`a[data-lang="zh"]`)
	p.until(`document.documentElement.lang === "zh" && document.querySelectorAll(".strip").length === 4`, 10*time.Second)
	if q := eval[string](p, `location.search`); !strings.Contains(q, id) || !strings.Contains(q, "step=observe") {
		t.Errorf("after the switch the address has %s", q)
	}
	if got := p.text("#p-channels"); got != "通道" {
		t.Errorf("the panel is called %q", got)
	}
	p.navigate("/")
	if got := eval[string](p, `document.documentElement.lang`); got != "zh" {
		t.Errorf("the choice was forgotten: %q", got)
	}
	p.quiet()
}

func TestFreeze(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?session=" + id)
	p.until(`document.querySelectorAll(".strip").length === 4`, 10*time.Second)
	p.click("#freeze")
	const picture = `document.querySelector("#main").innerHTML.replace(/<section class="trace".*?<\/section>/s, "") + document.querySelector("#clock").textContent`
	moved := eval[bool](p, `new Promise(done => { const before = `+picture+`; setTimeout(() => done(before !== `+picture+`), 1500); })`)
	if moved {
		t.Error("the frozen picture moved")
	}
	if got := p.text("#runword"); !strings.Contains(got, "frozen") {
		t.Errorf("the page says %q", got)
	}
	clock := p.text("#clock")
	p.click("#freeze")
	p.until(fmt.Sprintf(`document.querySelector("#clock").textContent !== %q`, clock), 5*time.Second)
	p.quiet()
}

// A breakpoint stops the thread that hits it; a step moves it on; leaving the page lets it go.
func TestBreakpoint(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?session=" + id)
	p.until(`document.querySelectorAll("#tr-log tr td").length > 8`, 10*time.Second)
	p.until(`!document.querySelector("#tr-points input").disabled`, 5*time.Second)
	eval[any](p, `document.querySelector("#point-creditAdded input[type=checkbox]").click(); null`)
	p.until(`document.querySelector("#point-creditAdded.here") && document.querySelector(".strip.held") && document.querySelector("#v-source.held") && !document.querySelector("#tr-step").disabled`, 10*time.Second)
	p.until(`document.querySelector("#runstate").dataset.state === "stopped"`, 5*time.Second)
	p.click("#tr-step")
	p.until(`document.querySelector("#tr-log tr.hit")`, 10*time.Second)
	p.navigate("/")
	type snapshot struct {
		Totals   struct{ RecordsEmitted int }
		Channels []struct{ SentBuffers int }
	}
	var before, after snapshot
	s.api(t, "GET", "/api/v1/sessions/"+id, "", &before)
	for deadline := time.Now().Add(10 * time.Second); ; {
		s.api(t, "GET", "/api/v1/sessions/"+id, "", &after)
		sent := 0
		for i, c := range after.Channels {
			if c.SentBuffers > before.Channels[i].SentBuffers+1 {
				sent++
			}
		}
		if sent == 4 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the job stands after its viewer left: %+v, then %+v", before, after)
		}
		p.until(`new Promise(r => setTimeout(() => r(true), 200))`, 2*time.Second)
	}
	p.quiet()
}

// Three pointers, once.
func TestPointers(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	o := desktop
	o.pointers = true
	p := s.open(t, o)
	p.navigate("/labs/backpressure?session=" + id)
	for _, name := range []string{"slot", "credit", "switch"} {
		p.until(fmt.Sprintf(`document.querySelector(".tip[data-pointer=%s]")`, name), 10*time.Second)
		p.accessible("pointer " + name)
		p.click(".tip footer button:last-child")
	}
	p.until(`!document.querySelector(".tip")`, 5*time.Second)
	p.navigate("/labs/backpressure?session=" + id)
	p.until(`document.querySelectorAll(".strip").length === 4`, 10*time.Second)
	if eval[bool](p, `!!document.querySelector(".tip")`) {
		t.Error("the pointers came a second time")
	}
	p.quiet()
}

// Each chart has a table of the same figures, which the address can open.
func TestChartTable(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?session=" + id)
	p.until(`document.querySelector("#clock").textContent > "00:03"`, 15*time.Second)
	if n := eval[int](p, `document.querySelectorAll(".chart .xax button").length`); n != 4 {
		t.Errorf("%d charts have a table", n)
	}
	p.click("#chart-throughput .xax button")
	p.until(`document.querySelectorAll("dialog[open] tbody tr").length >= 2`, 5*time.Second)
	if q := eval[string](p, `location.search`); !strings.Contains(q, "panel=throughput") {
		t.Errorf("the address has %s", q)
	}
	p.accessible("table")
	p.click("dialog[open] .primary")
	p.until(`!document.querySelector("dialog")`, 5*time.Second)
	p.quiet()
}

// The learner's file, uploaded on the page, is counted by a job that ends by itself.
func TestKeyGroups(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	p.navigate("/labs/key-groups")
	p.until(`document.querySelectorAll("#ruler-rows tr").length === 16`, 5*time.Second)
	if got := p.text("#ruler-before div"); got != "7 / 9 keys" {
		t.Errorf("16 keys over two subtasks: %q", got)
	}
	if got := p.text("#ruler-moved"); !strings.HasPrefix(got, "63 of 128") {
		t.Errorf("from 2 to 3: %q", got)
	}
	p.click(`#keys-from button[value="flights"]`)
	p.click("#keys-run")
	p.until(`document.querySelector("#runstate").dataset.state === "FINISHED"`, 20*time.Second)
	p.until(`document.querySelectorAll("#ruler-rows tr").length > 90`, 5*time.Second)

	file := filepath.Join(t.TempDir(), "mine.csv")
	if err := os.WriteFile(file, []byte("who,what\nann,1\nbob,2\nann,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.click(`#keys-from button[value="file"]`)
	p.do(uploadFile("#keys-file", file))
	p.until(`!document.querySelector("#keys-run").disabled`, 5*time.Second)
	p.click("#keys-run")
	p.until(`[...document.querySelectorAll("#ruler-rows tr")].map(r => r.cells[0].textContent + r.cells[4].textContent).sort().join() === "ann2,bob1"`, 20*time.Second)
	p.accessible("key groups")
	p.quiet()
}

// A page that loses its server says so and comes back by itself.
func TestLostConnection(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?lang=en&session=" + id)
	p.until(`document.querySelectorAll(".strip").length === 4`, 10*time.Second)
	s.stop()
	p.until(`document.querySelector("#runword").textContent.includes("Connection lost")`, 10*time.Second)
	serve(t, strings.TrimPrefix(s.url, "http://"))
	// The run went with its server; the page says so and offers to start anew.
	p.until(`!document.querySelector("#start").hidden && document.querySelector("#start-why").textContent.includes("over")`, 40*time.Second)
	p.click("#start-run")
	p.until(`document.querySelector("#runstate").dataset.state === "RUNNING"`, 10*time.Second)
}
