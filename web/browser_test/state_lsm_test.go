package browser_test

import (
	"fmt"
	"testing"
	"time"
)

// looks are the settings in which the state panels are looked at.
var looks = []struct {
	name, lang string
	setting    setting
}{
	{"en light", "en", desktop},
	{"zh dark", "zh", setting{width: 1440, height: 900, dark: true}},
	{"zh light narrow", "zh", setting{width: 390, height: 844}},
}

// watch opens a running session in another tab and holds its panels to be readable there.
func (s *server) watch(t *testing.T, lab, id, ready string) {
	t.Helper()
	for _, l := range looks {
		p := s.open(t, l.setting)
		p.navigate(fmt.Sprintf("/labs/%s?lang=%s&session=%s", lab, l.lang, id))
		p.until(ready, 15*time.Second)
		if wide := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
			t.Errorf("%s, %s: %d px wider than the window", lab, l.name, wide)
		}
		p.accessible(lab + ", " + l.name)
		p.quiet()
	}
}

// After three checkpoints the shelf has files that were uploaded and files that were reused; its buttons take a savepoint,
// fail a checkpoint and lose a notification.
func TestShelf(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("incremental", "en", "&checkpointIntervalMs=1500")
	p.until(`document.querySelectorAll("#shelf-head th").length > 3 && document.querySelector("#shelf .cel.up") && document.querySelector("#shelf .cel.re") && document.querySelector("#shelf .cel.in")`, 20*time.Second)
	p.until(`document.querySelectorAll("#shelf-head th.keep").length === 3 && document.querySelector("#shelf-head th.gone")`, 15*time.Second)
	p.click(`#shelf-subtasks button[value="count 1"]`)
	p.until(`document.querySelector("#shelf-subtasks button[value='count 1']").getAttribute("aria-pressed") === "true" && document.querySelector("#shelf .cel.re")`, 5*time.Second)
	p.click("[data-act=loseNotification]")
	p.until(`[...document.querySelectorAll("#shelf-head small")].some(e => e.textContent === "not heard of")`, 10*time.Second)
	p.click("[data-act=failNextCheckpoint]")
	p.until(`[...document.querySelectorAll("#shelf-head th")].some(e => e.textContent.includes("failed"))`, 10*time.Second)
	p.click("[data-act=savepoint]")
	p.until(`document.querySelector("#shelf-said").textContent.includes("chk-") && [...document.querySelectorAll("#shelf-head th")].some(e => e.textContent.includes("savepoint"))`, 10*time.Second)
	p.click("[data-act=checkpoint]")
	// A checkpoint behind the failure says that nothing of it is reused.
	p.until(`document.querySelector("#evidence-reuse-known").classList.contains("ok")`, 15*time.Second)
	p.quiet()
	s.watch(t, "incremental", id, `document.querySelector("#shelf .cel.in")`)
}

// The page stays with a job that goes from two subtasks to three: three rows show the lesson's bounds under the ruler.
func TestRestorePathsOnThePage(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("rescale", "en", "&backend=lsm&checkpointIntervalMs=2000")
	p.until(`document.querySelectorAll("#shelf-head th").length > 1`, 15*time.Second)
	eval[any](p, `window.stayed = true; null`)
	p.click(`#restore-to button[value="3"]`)
	p.until(`document.querySelectorAll("#restore .lanes").length === 3`, 20*time.Second)
	got := eval[[]string](p, `[...document.querySelectorAll("#restore .lanes")].map(l => [...l.querySelectorAll(".rng.clip")].map(c => c.title).join())`)
	if fmt.Sprint(got) != "[clip [43, 64) [43, 64) clip [86, 128) [86, 128) clip [64, 86) [64, 86)]" {
		t.Errorf("clips: %q", got)
	}
	for _, want := range []string{"359 keys back, 0 out", "311 keys back, 0 out", "330 keys back, 0 out", "ingest old 0"} {
		p.until(fmt.Sprintf(`document.querySelector("#restore").textContent.includes(%q)`, want), 5*time.Second)
	}
	// The axis is that of the ruler: group 64 stands at one place in both.
	if off := eval[float64](p, `(() => {
		const at = (root) => [...document.querySelectorAll(root + " .scale-x .num")].find(e => e.textContent === "64").getBoundingClientRect();
		const a = at("#ruler"), b = at("#restore");
		return Math.abs((a.left + a.right) - (b.left + b.right)) / 2;
	})()`); off > 1.5 {
		t.Errorf("group 64 is %.1f px off", off)
	}
	if n := eval[int](p, `document.querySelectorAll("#restore-rows tr").length`); n != 4 {
		t.Errorf("the table has %d handles, want 4", n)
	}
	p.until(`document.querySelectorAll("#shelf-subtasks button").length === 3`, 15*time.Second)
	if !eval[bool](p, `window.stayed === true`) {
		t.Error("the page was loaded anew")
	}
	s.watch(t, "rescale", id, `document.querySelectorAll("#restore .lanes").length === 3`)
}

// The bytes of a typed key, the levels and the memory, with what the engine says.
func TestLSMPanel(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("lsm", "en", "&checkpointIntervalMs=1000")
	p.until(`document.querySelector("#lsm-parts dd")?.firstChild.textContent === "71"`, 15*time.Second)
	eval[any](p, `const k = document.querySelector("#lsm-key"); k.value = "4"; k.dispatchEvent(new Event("input")); null`)
	p.until(`[...document.querySelectorAll("#lsm-parts dd")].map(e => e.firstChild.textContent).join(" | ") === "07 | 00 00 | 00 00 00 00 00 00 00 04 | 00"`, 5*time.Second)
	eval[any](p, `document.querySelector("#lsm-key").value = "four"; document.querySelector("#lsm-key").dispatchEvent(new Event("input")); null`)
	p.until(`!document.querySelector("#lsm-error").hidden`, 5*time.Second)
	p.until(`document.querySelectorAll("#lsm-tree tr").length === 2 && document.querySelector("#lsm-tree .ssts i")`, 10*time.Second)
	p.until(`Number(document.querySelector("#lsm-access td").textContent) >= 1 && document.querySelector("#lsm-memory .bar i.cache")`, 5*time.Second)
	s.watch(t, "lsm", id, `document.querySelector("#lsm-tree .ssts i") && document.querySelector("#lsm-parts dd")`)
}
