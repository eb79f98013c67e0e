package browser_test

import (
	"fmt"
	"testing"
	"time"
)

// setKnob turns a knob of a running session.
func (p *tab) setKnob(id, body string) {
	p.t.Helper()
	p.s.api(p.t, "PATCH", "/api/v1/sessions/"+id+"/knobs", body, nil)
}

// A silent input is marked as what holds time back, on each task that reads it; with an idle timeout its channels are idle,
// and the line moves on.
func TestEventTimeLab(t *testing.T) {
	s := serve(t, "")
	p := s.open(t, desktop)
	id := p.openLab("event-time", "en", "&windowMs=1000")
	p.until(`document.querySelectorAll("#et .et").length === 2 && document.querySelectorAll("#et .et-row.channel").length === 8`, 15*time.Second)
	p.until(`[...document.querySelectorAll("#et .et")].every(e => e.querySelector(".et-win") && e.querySelectorAll(".et-timers li").length > 0 && e.querySelectorAll(".et-groups > i").length === e.querySelectorAll(".et-timers li").length)`, 15*time.Second)
	if n := eval[int](p, `document.querySelectorAll("#et .tag.waits:not([hidden])").length`); n != 0 {
		t.Errorf("%d tasks wait though both inputs send", n)
	}
	if n := eval[int](p, `document.querySelectorAll("#pipe .together > .vertex").length`); n != 2 {
		t.Errorf("%d sources stand together", n)
	}
	p.setKnob(id, `{"idleInput": "source-2"}`)
	p.until(`[...document.querySelectorAll("#et .et")].every(e => !e.querySelector(".tag.waits").hidden && e.querySelector(".tag.waits").textContent.includes("source-2 0"))`, 15*time.Second)
	if marked := eval[[]string](p, `[...document.querySelectorAll("#et .et-row.holds")].map(e => e.dataset.channel)`); len(marked) != 4 {
		t.Errorf("marked are %v", marked)
	} else {
		for _, m := range marked {
			if m != "source-2 0" && m != "source-2 1" {
				t.Errorf("marked is %s", m)
			}
		}
	}
	p.until(`[...document.querySelectorAll("#et .et")].every(e => e.querySelectorAll(".et-win").length >= 3)`, 15*time.Second)
	p.accessible("event-time, held back")
	held := eval[string](p, `document.querySelector("#et .et header b").textContent`)
	p.setKnob(id, `{"idleTimeoutMs": 1000}`)
	p.until(`document.querySelectorAll("#et .et-row.idle").length === 4 && document.querySelectorAll("#et .tag.waits:not([hidden])").length === 0`, 15*time.Second)
	p.until(fmt.Sprintf(`parseFloat(document.querySelector("#et .et header b").textContent) > parseFloat(%q) + 3`, held), 15*time.Second)
	p.until(`[...document.querySelectorAll("#et .et")].every(e => e.querySelectorAll(".et-win").length <= 3)`, 15*time.Second)
	eval[any](p, `document.querySelector("#et-twin").open = true, null`)
	p.until(`[...document.querySelectorAll("#et-rows tr")].filter(r => r.children[3].textContent === "idle").length === 4`, 5*time.Second)
	p.accessible("event-time, idle")
	p.quiet()
}

// The page fits at all widths, in both themes and languages.
func TestEventTimeFits(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"event-time","knobs":{"idleInput":"source-2","windowMs":2000}}`)
	for _, width := range []int64{1440, 1024, 768, 390} {
		for _, lang := range []string{"en", "zh"} {
			p := s.open(t, setting{width: width, height: 900, dark: (width == 1024 || width == 390) == (lang == "zh"), still: width == 768})
			p.navigate("/labs/event-time?lang=" + lang + "&session=" + id)
			p.until(`document.querySelector("#et .et-win") && document.querySelector("#et .tag.waits:not([hidden])")`, 20*time.Second)
			if wide := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
				t.Errorf("%d px wider than a window of %d", wide, width)
			}
			p.accessible(fmt.Sprint("event-time at ", width, " in ", lang))
			p.quiet()
		}
	}
}
