package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"weir/web"
)

// A server of classes that is full has learners wait: their page says at which place, in the reader's language, and the job
// starts by itself when it is their turn. A page loaded anew waits on, and one that is hidden, whose timers stand still, is
// told of its turn. Who leaves the line, or goes elsewhere, does not come back into it.
func TestTheLineOfAFullServer(t *testing.T) {
	c := serveClassWith(t, web.ClassOptions{Limits: web.ClassLimits{Sessions: 1}})
	first := c.enter(t, desktop, c.join(t, "Ana", ""))
	first.navigate("/labs/backpressure")
	first.until(`document.querySelector("#start-run")`, soon)
	first.click("#start-run")
	first.until(`document.querySelector("#runstate").dataset.state === "RUNNING"`, soon)

	second := c.enter(t, setting{width: 390, height: 844}, c.join(t, "Ben", ""))
	second.navigate("/labs/backpressure?lang=zh")
	second.until(`document.querySelector("#start-run")`, soon)
	second.click("#start-run")
	second.until(`document.querySelector("#start-h").textContent === "你排在第 1 位" && document.querySelector("#runword").textContent === "排队中"`, soon)
	third := c.enter(t, desktop, c.join(t, "Cem", ""))
	third.navigate("/labs/backpressure")
	third.until(`document.querySelector("#start-run")`, soon)
	third.click("#start-run")
	third.until(`document.querySelector("#start-h").textContent === "You are number 2 in line"`, soon)
	second.accessible("a page in line")
	second.fits("a page in line")
	third.click("#start-leave")
	third.until(`document.querySelector("#start-leave").hidden && document.activeElement.id === "start-run" && document.querySelector("#runword").textContent === "Not started"`, soon)

	wall := c.instructor(t, desktop)
	wall.until(`document.querySelector("#w-limit").textContent === "of 1, 1 wait"`, soon)
	wall.until(`[...document.querySelectorAll("#w-rows tr")].some(r => r.textContent.includes("Ben") && r.querySelector(".wmini").textContent.includes("number 1 in line"))`, soon)
	third.click("#start-run")
	third.until(`document.querySelector("#start-h").textContent === "You are number 2 in line"`, soon)
	third.navigate("/exercises")
	wall.until(`document.querySelector("#w-limit").textContent === "of 1, 1 wait"`, soon)
	third.navigate("/labs/backpressure")
	third.until(`document.querySelector("#c-who").textContent === "Cem" && document.querySelector("#runword").textContent === "Not started"`, soon)
	still := `{ const real = setTimeout; window.setTimeout = (f, ms, ...rest) => ms >= 1000 ? 0 : real(f, ms, ...rest); }`
	if _, err := chromedp.Call(second.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: still}); err != nil {
		t.Fatal(err)
	}
	second.navigate("/labs/backpressure?lang=zh")
	second.until(`document.querySelector("#start-h").textContent === "你排在第 1 位"`, soon)

	first.click("#end")
	second.until(`document.querySelector("#runstate").dataset.state === "RUNNING" && document.querySelector("#start").hidden`, soon)
	if eval[bool](third, `document.querySelector("#start").hidden || !document.querySelector("#start-leave").hidden`) {
		t.Error("who left the line is in it again")
	}
	second.quietBut("429")
	third.quietBut("429")
}

// A page that is opened anew shows what the run did before: the server has a sample a second of it.
func TestChartsBeginBeforeThePage(t *testing.T) {
	s := serve(t, "")
	id := s.start(t, `{"lab":"backpressure"}`)
	p := s.open(t, desktop)
	p.navigate("/")
	eval[bool](p, fmt.Sprintf(`(async () => {
		while ((await fetch("/api/v1/sessions/%s").then(r => r.json())).timeMs < 6000) await new Promise(again => setTimeout(again, 200));
		return true;
	})()`, id))
	p.navigate("/labs/backpressure?session=" + id)
	// Its oldest reading is from the first three seconds of the run. The first second or two of a run have no rate yet.
	p.until(`(() => {
		document.querySelector("dialog.table")?.close();
		document.querySelector("#chart-throughput button")?.click();
		const rows = [...document.querySelectorAll("dialog.table tbody tr")];
		return rows.length >= 5 && rows.at(-1).children[0].textContent <= "00:03";
	})()`, time.Minute)
	p.until(`[...document.querySelectorAll("dialog.table tbody tr")].slice(0, -2).every(r => Number(r.children[1].textContent.replace(",", "")) > 0)`, soon)
	p.quiet()
}
