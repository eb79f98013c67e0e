package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// row is what the API says of one setting that was tried.
type row struct {
	Knobs                   map[string]any
	Current                 bool
	Seconds                 float64
	EmittedPerSecond        float64
	BuffersPerSecond        float64
	MeanFill                float64
	SubtaskRecordsPerSecond []float64
	HardBackPressured       float64
	OverdraftMax            int
	Checkpoints             int
	CheckpointMs            float64
	PersistedBytes          float64
	Overtaken               int
	LatencyMs               *struct{ P50, P99 float64 }
}

// rows gives those of a session, by the knobs named.
func (s *server) rows(t *testing.T, id string, names ...string) map[string]row {
	t.Helper()
	var out struct{ Comparisons []row }
	s.api(t, "GET", "/api/v1/sessions/"+id+"/comparisons", "", &out)
	byKey := map[string]row{}
	for _, r := range out.Comparisons {
		var key []string
		for _, n := range names {
			key = append(key, fmt.Sprint(r.Knobs[n]))
		}
		byKey[strings.Join(key, " ")] = r
	}
	return byKey
}

// await asks the API until a row is as wanted.
func (p *tab) await(id string, patience time.Duration, names []string, key string, good func(row) bool) row {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r := p.s.rows(p.t, id, names...)[key]
		if good(r) {
			return r
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%v %s: %+v", names, key, r)
		}
		p.until(`new Promise(r => setTimeout(() => r(true), 500))`, 5*time.Second)
	}
}

// openLab starts a lab on its page and gives the session.
func (p *tab) openLab(lab, lang, knobs string) string {
	p.t.Helper()
	p.navigate("/labs/" + lab + "?lang=" + lang + "&step=observe" + knobs)
	p.until(`document.querySelector("#start-run") && !document.querySelector("#start-run").disabled`, 5*time.Second)
	p.click("#start-run")
	p.until(`document.querySelector("#runstate").dataset.state === "RUNNING"`, 10*time.Second)
	return eval[string](p, `new URL(location.href).searchParams.get("session")`)
}

// Four timeouts from the page's buttons: more and emptier buffers with 1 ms and 0, full ones with -1, and the column of each
// says so.
func TestBufferTimeoutLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("buffer-timeout", "en", "")
	if n := eval[int](p, `document.querySelectorAll("#timeouts .tmo:not([hidden])").length`); n != 4 {
		t.Errorf("%d columns", n)
	}
	names := []string{"bufferTimeoutMs"}
	hundred := p.await(id, 20*time.Second, names, "100", func(r row) bool { return r.Seconds >= 3 && r.LatencyMs != nil })
	p.until(`document.querySelector("[data-timeout='100']").classList.contains("now") && !document.querySelector("[data-timeout='100'] .tmo-body").hidden`, 5*time.Second)
	if got := p.text("[data-timeout='1'] .try-word"); got != "not tried yet" {
		t.Errorf("1 ms is %q before it was tried", got)
	}
	measured := map[string]row{"100": hundred}
	for _, ms := range []string{"1", "0", "-1"} {
		p.click("[data-timeout='" + ms + "'] button")
		p.until(fmt.Sprintf(`document.querySelector("[data-timeout='%s']").classList.contains("now")`, ms), 10*time.Second)
		measured[ms] = p.await(id, 20*time.Second, names, ms, func(r row) bool { return r.Current && r.Seconds >= 4 && r.LatencyMs != nil })
	}
	if measured["1"].BuffersPerSecond < 5*hundred.BuffersPerSecond || measured["0"].BuffersPerSecond < 5*hundred.BuffersPerSecond || measured["-1"].BuffersPerSecond > hundred.BuffersPerSecond/2 {
		t.Errorf("buffers per second: %+v", measured)
	}
	if hundred.MeanFill > 0.5 || measured["-1"].MeanFill < 0.8 || measured["-1"].LatencyMs.P50 < hundred.LatencyMs.P50 || measured["0"].LatencyMs.P50 > hundred.LatencyMs.P50 {
		t.Errorf("fill and latency: %+v", measured)
	}
	p.until(`[...document.querySelectorAll(".tmo[data-timeout]:not([hidden]) .hist-bars")].every(e => [...e.children].some(b => parseFloat(b.style.getPropertyValue("--f")) > 0))`, 5*time.Second)
	if n := eval[int](p, `document.querySelectorAll("#timeouts-rows tr").length`); n != 4 {
		t.Errorf("the table has %d rows", n)
	}
	p.accessible("buffer-timeout")
	p.quiet()
}

// The hot group stands out, its subpartition at the limit; two stages gain, and the row says how much.
func TestSkewLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("skew", "zh", "")
	var loads struct {
		KeyLoads []struct {
			Hottest int
			Groups  []struct {
				Group int
				Share float64
			}
		}
	}
	names := []string{"twoStage", "keys"}
	base := p.await(id, 30*time.Second, names, "false 128", func(r row) bool { return r.Seconds >= 5 && r.EmittedPerSecond > 0 })
	s.api(t, "GET", "/api/v1/sessions/"+id+"/keyloads", "", &loads)
	hot := false
	for _, l := range loads.KeyLoads {
		for _, g := range l.Groups {
			hot = hot || g.Group == l.Hottest && g.Share > 0.6
		}
	}
	if !hot {
		t.Errorf("no group has most of the records: %+v", loads)
	}
	p.until(`document.querySelector(".kl-queue.hot .tag:not([hidden])")`, 20*time.Second)
	p.until(fmt.Sprintf(`document.querySelector(".kl-flag").textContent.includes("%d")`, loads.KeyLoads[0].Hottest), 5*time.Second)
	p.click("[data-cure=twoStage] button")
	two := p.await(id, 40*time.Second, names, "true 128", func(r row) bool { return r.Current && r.Seconds >= 4 })
	if two.EmittedPerSecond < 2*base.EmittedPerSecond {
		t.Errorf("two stages: %v records a second, before %v", two.EmittedPerSecond, base.EmittedPerSecond)
	}
	p.until(`Number(document.querySelector("[data-cure=twoStage] [data-gain]").dataset.gain) > 2 && document.querySelectorAll("#kl-rulers .kl").length === 2`, 10*time.Second)
	p.accessible("skew")
	p.quiet()
}

// The learner's own file shows its own skew.
func TestSkewOwnFile(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	p.navigate("/labs/skew?lang=en")
	var b strings.Builder
	b.WriteString("<i>city</i>,n\n")
	for i := range 5000 {
		city := "<img src=x onerror=document.title=1>oslo" // what is in a file is text
		if i%10 == 0 {
			city = fmt.Sprint("town", i)
		}
		fmt.Fprintf(&b, "%s,%d\n", city, i)
	}
	file := filepath.Join(t.TempDir(), "<b onclick=x>mine<b>.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p.click(`#kl-from button[value="file"]`)
	p.do(uploadFile("#kl-file", file))
	p.until(`!document.querySelector("#kl-run").disabled`, 5*time.Second)
	p.click("#kl-run")
	p.until(`/group \d+: (89|90|91) %/.test(document.querySelector(".kl-flag")?.textContent ?? "")`, 30*time.Second)
	if eval[bool](p, `document.title === "1" || document.querySelector("main img[src=x], main b[onclick]") !== null || ![...document.querySelectorAll("#kl-column option")].some(o => o.textContent === "<i>city</i>")`) {
		t.Error("markup in a file or its name became part of the page")
	}
	p.quiet()
}

// Frames with the books of both ends; plain TCP lets the slow channel stall its neighbour; without exclusive buffers the
// opening has a BacklogAnnouncement.
func TestCreditLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("credit", "en", "")
	p.until(`document.querySelectorAll("#seq tr").length === 16`, 20*time.Second)
	p.until(`document.querySelector("#seq tr[data-kind=AddCredit]") && document.querySelector("#seq tr[data-kind=BufferResponse]")`, 10*time.Second)
	// The row of a barrier stands in the same columns as the others.
	p.until(`(e => e && getComputedStyle(e).display === "table-row")(document.querySelector("#seq tr.ev"))`, 30*time.Second)
	p.click(`#seq-view button[value="opening"]`)
	p.until(`document.querySelector("#seq tr").dataset.kind === "PartitionRequest"`, 5*time.Second)
	p.click(`#seq-view button[value="latest"]`)
	p.click("#seq-hold")
	held := eval[string](p, `document.querySelector("#seq tr:last-child").dataset.number`)
	names := []string{"flowControl", "exclusiveBuffers"}
	credit := p.await(id, 30*time.Second, names, "credit 2", func(r row) bool { return r.Seconds >= 4 && len(r.SubtaskRecordsPerSecond) == 2 })
	if got := eval[string](p, `document.querySelector("#seq tr:last-child").dataset.number`); got != held {
		t.Errorf("the held chart moved from frame %s to %s", held, got)
	}
	p.click("#seq-hold")
	p.accessible("credit")
	p.click("[data-try^='tcp/'] button")
	tcp := p.await(id, 40*time.Second, names, "tcp 2", func(r row) bool { return r.Current && r.Seconds >= 4 && len(r.SubtaskRecordsPerSecond) == 2 })
	if tcp.SubtaskRecordsPerSecond[1] > credit.SubtaskRecordsPerSecond[1]/5 {
		t.Errorf("with plain TCP the neighbour gets %v records a second, with credits %v", tcp.SubtaskRecordsPerSecond, credit.SubtaskRecordsPerSecond)
	}
	p.until(`!document.querySelector("#seq-tcp").hidden && document.querySelector("#seq-books").hidden`, 5*time.Second)
	p.click("[data-try='credit/0'] button")
	p.await(id, 40*time.Second, names, "credit 0", func(r row) bool { return r.Current && r.Seconds > 0 })
	p.click(`#seq-view button[value="opening"]`)
	p.until(`document.querySelector("#seq tr[data-kind=BacklogAnnouncement]")`, 10*time.Second)
	p.quiet()
}

// says keeps what a screen reader is told from now on.
func (p *tab) says() {
	p.t.Helper()
	eval[any](p, `window.said = [], new MutationObserver(() => window.said.push(document.querySelector("#said").textContent)).observe(document.querySelector("#said"), {childList: true, characterData: true, subtree: true}), null`)
}

// With an overdraft a large record does not block the task; without one it does.
func TestOverdraftLab(t *testing.T) {
	s := serve(t, "")
	o := desktop
	o.dark = true
	p := s.open(t, o)
	id := p.openLab("overdraft", "zh", "")
	names := []string{"fanOut", "overdraftBuffers"}
	with := p.await(id, 40*time.Second, names, "1000 20", func(r row) bool { return r.Seconds >= 6 && r.OverdraftMax > 0 })
	if with.HardBackPressured > 1 {
		t.Errorf("hard back-pressure with an overdraft: %+v", with)
	}
	p.until(`document.querySelectorAll("#overdraft-live .od-over .slot").length === 40`, 5*time.Second)
	p.until(`document.querySelector("#overdraft-live .od-over .slot.data")`, 20*time.Second)
	p.accessible("overdraft")
	p.click("[data-try='1000/0'] button")
	p.await(id, 60*time.Second, names, "1000 0", func(r row) bool { return r.Current && r.Seconds >= 4 && r.HardBackPressured > 1 })
	p.until(`document.querySelector("[data-try='1000/0']").classList.contains("now") && document.querySelector(".od-hard.on")`, 20*time.Second)
	if n := eval[int](p, `document.querySelectorAll("#overdraft-live .od-over .slot").length`); n != 0 {
		t.Errorf("%d overdraft slots without an overdraft", n)
	}
	p.quiet()
}

// The matrix is filled by runs of the page: unaligned is quick, stores what it overtook, and the strips mark it.
func TestUnalignedLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("unaligned", "en", "&checkpointIntervalMs=2000")
	names := []string{"checkpointMode", "alignedTimeoutMs", "debloat"}
	aligned := p.await(id, 60*time.Second, names, "aligned 0 false", func(r row) bool { return r.Checkpoints >= 1 })
	p.until(`document.querySelectorAll("#matrix td.mx").length === 6 && document.querySelectorAll("#matrix td.none").length === 5`, 5*time.Second)
	p.says()
	p.click("[data-mode=unaligned][data-debloat=false] button")
	unaligned := p.await(id, 60*time.Second, names, "unaligned 0 false", func(r row) bool { return r.Current && r.Checkpoints >= 1 && r.Overtaken > 0 })
	if aligned.PersistedBytes != 0 || unaligned.PersistedBytes == 0 || unaligned.CheckpointMs > aligned.CheckpointMs/3 {
		t.Errorf("aligned %+v, unaligned %+v", aligned, unaligned)
	}
	p.until(`document.querySelectorAll("#matrix td.none").length === 4 && document.querySelector("[data-mode=unaligned][data-debloat=false]").classList.contains("now")`, 5*time.Second)
	// A claim that comes true is said once; what moves all the time is not.
	p.until(`window.said.filter(s => s.includes(document.querySelector("#evidence-overtakes span").textContent)).length === 1`, 20*time.Second)
	if n := eval[int](p, `window.said.length`); n > 12 {
		t.Errorf("a screen reader was told %d things: %s", n, eval[string](p, `window.said.join(" | ")`))
	}
	p.until(`document.querySelector(".strip .over:not([hidden])") && document.querySelector(".slot.passed")`, 20*time.Second)
	if q := eval[string](p, `location.search`); !strings.Contains(q, "checkpointMode=unaligned") {
		t.Errorf("the address has %s", q)
	}
	p.accessible("unaligned")
	p.quiet()
}

// The pages of the five labs fit at all widths, in both themes and languages.
func TestLabPanelsFit(t *testing.T) {
	s := serve(t, "")
	ids := map[string]string{}
	for _, lab := range []string{"buffer-timeout", "skew", "credit", "overdraft", "unaligned"} {
		ids[lab] = s.start(t, `{"lab":"`+lab+`","knobs":{"debloat":true}}`)
	}
	ready := map[string]string{"buffer-timeout": ".tmo .try-word", "skew": "#kl-cures tr", "credit": "#seq tr", "overdraft": "#overdraft-tries tr", "unaligned": "#matrix td"}
	for _, width := range []int64{1440, 1024, 768, 390} {
		p := s.open(t, setting{width: width, height: 900, dark: width == 1024 || width == 390, still: width == 768})
		for lab, id := range ids {
			lang := "en"
			if width == 1024 || width == 768 {
				lang = "zh"
			}
			p.navigate("/labs/" + lab + "?lang=" + lang + "&session=" + id)
			p.until(fmt.Sprintf(`document.querySelector(%q)`, ready[lab]), 20*time.Second)
			if wide := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
				t.Errorf("%s is %d px wider than a window of %d", lab, wide, width)
			}
			// What does not fit is laid out anew, not scrolled; on a phone only the channels keep their scale.
			boxes := ".tries-scroll"
			if width > 760 {
				boxes += ", #panel-channels"
			}
			for _, wide := range eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => (e.id || e.getAttribute("aria-labelledby")) + " " + e.scrollWidth + " > " + e.clientWidth)`, boxes)) {
				t.Errorf("%s at %d scrolls sideways: %s", lab, width, wide)
			}
			p.accessible(fmt.Sprint(lab, " at ", width))
		}
		p.quiet()
	}
}

// On a projector: one panel at a time, no side columns, no text under 18 px, all by the keyboard.
func TestPresent(t *testing.T) {
	const small = `(() => {
		const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walk.nextNode()) {
			const e = walk.currentNode.parentElement, r = e.getBoundingClientRect();
			if (!walk.currentNode.textContent.trim() || e.closest("script, style, .vh, .skip") || r.width < 2 || r.height < 2) continue;
			if (parseFloat(getComputedStyle(e).fontSize) < 18) found.push(e.className + ": " + walk.currentNode.textContent.trim());
		}
		return found;
	})()`
	s := serve(t, "")
	id := s.start(t, `{"lab":"unaligned","knobs":{"checkpointIntervalMs":1000}}`)
	for _, lang := range []string{"en", "zh"} {
		p := s.open(t, setting{width: 1280, height: 720, dark: lang == "zh"})
		p.navigate("/labs/unaligned?present&lang=" + lang + "&session=" + id)
		p.until(`document.querySelector("#matrix td.now") && document.querySelector("#ck .ckb") && !document.querySelector(".unseen")`, 20*time.Second)
		seen := map[string]bool{}
		for range 6 {
			screen := eval[string](p, `document.querySelector("#present-where").dataset.screen`)
			seen[screen] = true
			for _, text := range eval[[]string](p, small) {
				t.Errorf("%s, %s: small text %s", lang, screen, text)
			}
			if n := eval[int](p, `[...document.querySelectorAll(".main > [data-panel], .lesson")].filter(e => e.getBoundingClientRect().height > 0).length`); n != 1 {
				t.Errorf("%s: %d panels at once", screen, n)
			}
			// What is drawn takes the slide.
			if low := eval[float64](p, `Math.max(0, ...[...document.querySelectorAll(".shown :is(.util, .track, .plot, .slot, .mx)")].map(e => e.getBoundingClientRect().bottom))`); low < 440 && screen != "lesson" {
				t.Errorf("%s, %s: the picture ends at %.0f of 720", lang, screen, low)
			}
			p.accessible("present " + screen)
			eval[any](p, `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "PageDown", bubbles: true})), null`)
		}
		for _, screen := range []string{"lesson", "matrix", "pipeline", "channels", "checkpoints", "charts"} {
			if !seen[screen] {
				t.Errorf("PageDown never showed %s, only %v", screen, seen)
			}
		}
		if hidden := eval[bool](p, `document.querySelector(".knobs").getBoundingClientRect().top > 500 && document.querySelector("#knob-checkpointMode button").tabIndex === 0`); !hidden {
			t.Error("the lesson's knob is not below the picture")
		}
		p.click("#present-next")
		p.until(`document.querySelector("#step-run.now") && document.querySelector("#present-where").dataset.screen === "lesson"`, 5*time.Second)
		p.quiet()
	}
}

// The catalogue numbers its labs from 1 on, and a lab's page shows the same number.
func TestNumbers(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	p.navigate("/?lang=en")
	labs := eval[[]string](p, `[...document.querySelectorAll(".labrow")].map(e => e.dataset.lab)`)
	for i, lab := range labs {
		if got := eval[string](p, fmt.Sprintf(`document.querySelector(".labrow[data-lab='%s'] .no").textContent`, lab)); got != fmt.Sprint(i+1) {
			t.Errorf("%s is number %s, at place %d", lab, got, i+1)
		}
	}
	if n := eval[int](p, `document.querySelectorAll(".labrow svg.th > *").length`); n < len(labs) {
		t.Errorf("%d labs, %d marks drawn", len(labs), n)
	}
	for i, lab := range labs {
		p.navigate("/labs/" + lab + "?lang=en")
		if got := p.text(".hd .title span"); got != fmt.Sprint("Lab ", i+1) {
			t.Errorf("the page of %s says %q", lab, got)
		}
	}
	p.quiet()
}
