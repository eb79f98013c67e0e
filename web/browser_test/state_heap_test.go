package browser_test

import (
	"strings"
	"testing"
	"time"
)

// The microscope fills; a checkpoint that is written slowly has entries copied under the eyes of the page, and the picture of
// it can be gone back to.
func TestHeapLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	p.openLab("heap", "en", "")
	p.until(`document.querySelectorAll("#mic .ent").length >= 4`, 10*time.Second)
	if got := p.text("#mic-states"); !strings.Contains(got, "count") || !strings.Contains(got, "last") || !strings.Contains(got, "payload") {
		t.Errorf("states: %q", got)
	}
	p.click("#mic-checkpoint")
	p.until(`document.querySelector("#mic .ent.copy") && document.querySelector("#mic .ent.old") && document.querySelector("#mic-cost .c-twice")`, 15*time.Second)
	p.click(`#mic-show button[value="held"]`)
	p.until(`document.querySelector("#mic .ent.copy") && /held/.test(document.querySelector("#mic-phase").textContent)`, 5*time.Second)
	p.click("#mic-twin summary")
	p.until(`document.querySelectorAll("#mic-rows tr").length >= 4`, 5*time.Second)
	p.click(`#mic-show button[value="live"]`)
	p.click("#mic-states button:nth-child(2)")
	p.until(`/payload/.test(document.querySelector("#mic-about").textContent) && document.querySelectorAll("#mic .ent").length >= 4`, 5*time.Second)
	p.until(`document.querySelector("#evidence-read-copies").classList.contains("ok") && document.querySelector("#evidence-given-back").classList.contains("ok")`, 20*time.Second)
	p.accessible("heap")
	p.quiet()
}

// Both mistakes on the backends' page: the refused access is told as text, and a change in place is lost on lsm.
func TestBackendsLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, setting{width: 1440, height: 900, dark: true})
	p.openLab("backends", "zh", "")
	p.click("#be-touch")
	p.until(`/outside a record/.test(document.querySelector("#be-said").textContent)`, 10*time.Second)
	p.until(`document.querySelector("#be-tries tr.now td.act .try-word.now")`, 15*time.Second)
	p.click("#be-tries tr:nth-child(5) button")
	p.until(`document.querySelector("#be-tries tr:nth-child(5)").classList.contains("now") && document.querySelector("#be-config td:nth-child(4)").textContent === "lsm"`, 20*time.Second)
	p.until(`document.querySelector("#be-tries tr:nth-child(5) td:nth-child(3)").textContent !== ""`, 20*time.Second)
	p.until(`/state.backend.type: lsm/.test(document.querySelector("#be-yaml").textContent)`, 5*time.Second)
	p.accessible("backends")
	p.quiet()
}

// Values expire under the eyes of the page, and a compaction tells how many it dropped.
func TestTTLLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	p.openLab("ttl", "en", "&backend=lsm&ttlMs=1000&rate=300")
	p.until(`document.querySelectorAll("#ttl-cols > span").length >= 2 && document.querySelectorAll("#ttl-subtasks .ttl-row").length === 2`, 10*time.Second)
	p.until(`parseInt(document.querySelector("#ttl-expired").textContent) > 0 && !document.querySelector("#ttl-compact").disabled`, 15*time.Second)
	p.click("#ttl-compact")
	p.until(`/\d+ values dropped/.test(document.querySelector("#ttl-said").textContent)`, 15*time.Second)
	p.until(`document.querySelector("#evidence-still-stored").classList.contains("ok") && document.querySelector("#evidence-dropped-behind").classList.contains("ok")`, 15*time.Second)
	p.accessible("ttl")
	p.quiet()
}
