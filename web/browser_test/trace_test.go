package browser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// setCondition opens a tracepoint and sets a condition on it, by keyboard.
func (p *tab) setCondition(point, condition string) {
	p.t.Helper()
	when := "#tr-when-" + point
	if eval[bool](p, fmt.Sprintf(`document.querySelector("#point-%s .more").hidden`, point)) {
		eval[any](p, fmt.Sprintf(`document.querySelector("#point-%s .about").focus(); null`, point))
		p.press("\r")
	}
	eval[any](p, fmt.Sprintf(`{ const e = document.querySelector(%q); e.focus(); e.select(); } null`, when))
	p.press(condition)
	p.press("\r")
}

func (p *tab) refusal(point string) string {
	return p.text(fmt.Sprintf("#point-%s .refused", point))
}

// A condition that cannot be read is refused beside its field, one on a field that no event has is called so, and one that
// holds stops the one thread, while the others go on. Each stopped thread can be let go by itself.
func TestBreakpointCondition(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, desktop)
	p.navigate("/labs/backpressure?session=" + id)
	p.until(`document.querySelectorAll("#tr-log tr td").length > 8`, 10*time.Second)
	const point = "creditAdded"

	p.setCondition(point, "subpartition")
	p.until(`document.querySelector("#point-creditAdded .refused").textContent.includes("no comparison")`, 5*time.Second)
	if eval[bool](p, `document.querySelector("#point-creditAdded input[type=checkbox]").checked`) {
		t.Error("a point with a condition that was refused is armed")
	}
	p.until(`!document.querySelector("#point-creditAdded .more p[hidden] .mono")`, 10*time.Second) // its fields are told
	p.setCondition(point, "channel == 1")
	p.until(`document.querySelector("#point-creditAdded .refused").textContent.includes("channel")`, 5*time.Second)
	if says := p.refusal(point); !strings.Contains(says, "subpartition") || !strings.Contains(says, "never holds") {
		t.Errorf("a field that there is not: %q", says)
	}
	p.accessible("a condition that cannot hold")

	p.setCondition(point, "subpartition == 1")
	p.until(`document.querySelectorAll("#tr-stops li").length === 1 && !document.querySelector("#tr-stops").hidden`, 20*time.Second)
	if says := p.text("#tr-stops"); !strings.Contains(says, "subpartition=1") || strings.Contains(says, "subpartition=0") {
		t.Errorf("stopped: %q", says)
	}
	if says := p.refusal(point); says != "" {
		t.Errorf("a condition that holds is refused: %q", says)
	}
	// The channel that the thread serves is marked, and stays so over the next pictures; another is not.
	held := `[...document.querySelectorAll(".strip.held")].map(e => e.dataset.channel).join()`
	p.until(`document.querySelector(".strip.held") && document.querySelector("#v-source.held")`, 5*time.Second)
	if marks := eval[string](p, held); !strings.Contains(marks, "→ slow-map 1") || strings.Contains(marks, "→ slow-map 0") {
		t.Errorf("marked: %s", marks)
	}
	p.until(`new Promise(r => { let n = 0; const look = () => document.querySelector("#v-source.held") ? ++n < 60 ? requestAnimationFrame(look) : r(true) : r(false); look(); })`, 10*time.Second)
	p.accessible("a thread that is stopped")
	// The others go on: slow-map 0 reads what source 0 gives it without a connection.
	type snapshot struct {
		Vertices []struct {
			ID       string
			Subtasks []struct{ NumRecordsIn int64 }
		}
	}
	read := func() int64 {
		var x snapshot
		s.api(t, "GET", "/api/v1/sessions/"+id, "", &x)
		return x.Vertices[len(x.Vertices)-1].Subtasks[0].NumRecordsIn
	}
	before := read()
	p.until(fmt.Sprintf(`fetch("/api/v1/sessions/%s").then(r => r.json()).then(s => s.vertices.at(-1).subtasks[0].numRecordsIn > %d)`, id, before+100), 10*time.Second)

	// Let go by itself, the thread comes by again and stops anew.
	first := eval[string](p, `document.querySelector("#tr-log tr.hit")?.textContent ?? ""`)
	eval[any](p, `document.querySelector("#tr-stops li button:last-child").focus(); null`)
	p.press("\r")
	p.until(fmt.Sprintf(`document.querySelectorAll("#tr-stops li").length === 1 && (document.querySelector("#tr-log tr.hit")?.textContent ?? %q) !== %q`, first, first), 20*time.Second)
	eval[any](p, `document.querySelector("#point-creditAdded input[type=checkbox]").click(); null`)
	p.until(`!document.querySelector("#point-creditAdded.if")`, 5*time.Second)
	p.click("#tr-resume")
	p.until(`document.querySelector("#tr-stops").hidden && !document.querySelector(".held") && document.querySelector("#runstate").dataset.state === "RUNNING"`, 10*time.Second)
	p.quiet()
}

// What the filter lets through is what is shown and what is saved.
func TestTraceFilterAndSave(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, setting{width: 768, height: 1024, dark: true})
	dir := t.TempDir()
	_, err := chromedp.Call(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = chromedp.Call(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDefault})
	})
	p.navigate("/labs/backpressure?session=" + id + "&lang=zh")
	p.until(`document.querySelectorAll("#tr-log tr td").length > 80`, 20*time.Second)
	p.click("#tr-filter")
	p.press("creditAdded subpartition=1")
	p.until(`document.querySelectorAll("#tr-log tr").length > 3 && [...document.querySelectorAll("#tr-log tr")].every(r => r.children[1].textContent === "creditAdded" && r.children[3].textContent.includes("subpartition=1"))`, 20*time.Second)
	if over := eval[int](p, `document.querySelector(".trace .bar").scrollWidth - document.querySelector(".trace .bar").clientWidth`); over > 0 {
		t.Errorf("the bar of the trace is %d px too wide", over)
	}
	p.accessible("a filtered trace")
	p.click("#tr-save")
	var saved []byte
	for deadline := time.Now().Add(10 * time.Second); len(saved) == 0; {
		if names, _ := filepath.Glob(filepath.Join(dir, "trace-*.ndjson")); len(names) == 1 {
			saved, _ = os.ReadFile(names[0])
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was saved")
		}
		p.until(`new Promise(r => setTimeout(() => r(true), 100))`, time.Second)
	}
	lines := strings.Split(strings.TrimSpace(string(saved)), "\n")
	for _, l := range lines {
		var e struct {
			Name, Thread string
			TimeMs       float64
			Fields       map[string]any
		}
		if err := json.Unmarshal([]byte(l), &e); err != nil || e.Name != "creditAdded" || e.Fields["subpartition"] != 1.0 || e.Thread == "" || e.TimeMs == 0 {
			t.Fatalf("saved %q: %v", l, err)
		}
	}
	if len(lines) < 4 {
		t.Errorf("%d events saved", len(lines))
	}
	p.quiet()
}

// A point of state tells of the bytes of a key; the subtask that works on the key stops, the other counts on.
func TestBreakpointOfState(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"rescale","knobs":{"backend":"lsm"}}`)
	p := s.open(t, desktop)
	p.navigate("/labs/rescale?session=" + id)
	p.until(`!document.querySelector("#tr-points input").disabled && document.querySelector("#v-count")`, 10*time.Second)
	eval[any](p, `document.querySelector("#point-compositeKeyBuilt .about").focus(); null`)
	p.press("\r")
	// One event is enough to tell the fields of a point that is not recorded until it is armed.
	p.until(`document.querySelector("#point-compositeKeyBuilt .more").textContent.includes("keyGroup, state")`, 10*time.Second)
	p.setCondition("compositeKeyBuilt", "keyGroup >= 64")
	p.until(`document.querySelector("#tr-stops li") && document.querySelector("#v-count.held")`, 20*time.Second)
	says := p.text("#tr-stops li")
	var group, length int
	_, after, _ := strings.Cut(says, "bytes=")
	key, after, _ := strings.Cut(after, " ")
	if _, err := fmt.Sscanf(strings.TrimSpace(after), "length=%d keyGroup=%d", &length, &group); err != nil {
		t.Fatalf("%q: %v", says, err)
	}
	// The group is marked on the ruler, as it is now and as it would be with another parallelism.
	if at := eval[string](p, `[...document.querySelectorAll("#ruler .cells .held")].map(e => [...e.parentElement.children].indexOf(e)).join()`); at != fmt.Sprintf("%[1]d,%[1]d", group) {
		t.Errorf("group %d is stopped at, and marked is %q", group, at)
	}
	// A group of 128 is one byte, and stands first; the second subtask has [64,128).
	if group < 64 || !strings.HasPrefix(key, fmt.Sprintf("%02x", group)) || len(key) != 2*length || !strings.HasPrefix(says, "count 1 ") {
		t.Errorf("stopped with %q", says)
	}
	p.until(fmt.Sprintf(`fetch("/api/v1/sessions/%s").then(r => r.json()).then(s => { const now = s.vertices.at(-1).subtasks.map(x => x.numRecordsIn); window.was ??= now; return now[0] > window.was[0] + 20 && now[1] <= window.was[1] + 1; })`, id), 10*time.Second)
	p.quiet()
	p.do(chromedp.Navigate("about:blank"))
}
