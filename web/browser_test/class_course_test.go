package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// soon bounds what a page does by itself, on a machine that is busy with everything else.
const soon = 40 * time.Second

// member is somebody who joined without a browser.
type member struct{ ID, Name, Token, Link string }

// join joins by the API, which is quicker than a tab.
func (c *classroom) join(t *testing.T, name, alias string) member {
	t.Helper()
	var me member
	body, err := json.Marshal(map[string]string{"code": c.code, "name": name, "alias": alias})
	if err != nil {
		t.Fatal(err)
	}
	c.api(t, "POST", "/api/v1/class/join", string(body), &me)
	return me
}

// as calls the API with a token, and gives the status.
func (c *classroom) as(t *testing.T, token, method, path, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// enter opens somebody's personal link in a browser of its own.
func (c *classroom) enter(t *testing.T, o setting, me member) *tab {
	t.Helper()
	o.alone, o.patience = true, 4*time.Minute
	p := c.open(t, o)
	p.navigate(strings.TrimPrefix(me.Link, c.url))
	p.until(`document.querySelector("#h-name")?.textContent.length > 6`, soon)
	return p
}

// zone has a tab's clocks show another zone's time.
func (p *tab) zone(name string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}); err != nil {
		p.t.Fatal(err)
	}
}

// tap presses what can be seen and is enabled, once there is such a thing. The rows of a wall come and go: a pointer would
// have to be quicker than they are.
func (p *tab) tap(selector string) {
	p.t.Helper()
	ready := fmt.Sprintf(`(e => e && e.getClientRects().length > 0 && !e.disabled)(document.querySelector(%q))`, selector)
	for deadline := time.Now().Add(soon); ; {
		p.until(ready, soon)
		if eval[bool](p, ready+fmt.Sprintf(` ? (document.querySelector(%q).click(), true) : false`, selector)) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s comes and goes", selector)
		}
	}
}

// agree answers every question of the browser with yes.
func (p *tab) agree() {
	p.t.Helper()
	eval[any](p, `window.confirm = () => true; null`)
}

// unfold opens a part of the wall and waits for what it shows.
func (p *tab) unfold(name, shows string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.querySelector("#f-%s")`, name), soon)
	if !eval[bool](p, fmt.Sprintf(`document.querySelector("#f-%s").open`, name)) {
		p.tap("#f-" + name + " > summary")
	}
	p.until(shows, soon)
}

// fits fails where a page is wider than its window.
func (p *tab) fits(what string) {
	p.t.Helper()
	if by := eval[float64](p, `document.documentElement.scrollWidth - innerWidth`); by > 0 {
		p.t.Errorf("%s is %.0f pixels wider than the window", what, by)
	}
}

// Who joined twice is merged by the instructor; a learner is renamed; a new personal link ends the old one, which then says so
// in the reader's language.
func TestPeopleOfAClass(t *testing.T) {
	c := serveClass(t)
	ana, again := c.join(t, "Ana", ""), c.join(t, "ANA", "")
	if again.Name != "ANA 2" {
		t.Fatalf("the second Ana is called %q", again.Name)
	}
	phone := c.enter(t, setting{width: 390, height: 844}, again)
	wall := c.instructor(t, desktop)
	wall.agree()
	wall.unfold("people", `document.querySelectorAll("#p-people tbody tr").length === 2 && document.querySelector("#p-merge [name=from]").selectedOptions[0]?.text === "ANA 2"`)
	wall.tap("#p-merge button")
	wall.until(`document.querySelectorAll("#p-people tbody tr").length === 1 && document.querySelectorAll("#w-rows tr").length === 1`, soon)
	phone.navigate("/class")
	phone.until(`document.querySelector("#h-name")?.textContent === "Hello, Ana"`, soon)

	wall.tap("#p-people .crow button:nth-child(1)")
	wall.until(`document.querySelector(".wdialog input")?.value === "Ana"`, soon)
	wall.fill(".wdialog input", marked)
	wall.tap(".wdialog .primary")
	wall.until(`!document.querySelector("dialog") && document.querySelector("#w-rows .nm").textContent.includes("Ana <img") && document.querySelector("#p-people tbody th").textContent.includes("Ana <img")`, soon)
	phone.navigate("/class")
	phone.until(`document.querySelector("#h-name")?.textContent.includes("Ana <img")`, soon)
	phone.fits("a learner's page")

	wall.tap("#p-people .crow button:nth-child(2)")
	wall.until(`document.querySelector(".wdialog input")?.value.includes("/class/p/")`, soon)
	wall.accessible("the dialog of a new link")
	link := eval[string](wall, `document.querySelector(".wdialog input").value`)
	wall.tap(".wdialog .primary")
	// The page that is open says so, and leads to where one joins.
	phone.until(`document.querySelector("#c-trouble:not([hidden])")?.textContent.includes("not signed in")`, soon)
	phone.tap("#c-trouble a")
	phone.until(`document.querySelector("#join")`, soon)
	phone.navigate(strings.TrimPrefix(ana.Link, c.url) + "?lang=zh")
	phone.until(`document.querySelector("main[data-why=dead] h1")?.textContent === "这个链接已失效"`, soon)
	phone.accessible("a link that leads nowhere")
	phone.navigate(strings.TrimPrefix(link, c.url))
	phone.until(`document.querySelector("#h-name")?.textContent.includes("Ana <img")`, soon)

	// The log says what was done in sentences.
	wall.unfold("audit", `document.querySelectorAll("#p-audit tbody tr").length >= 3`)
	for _, want := range []string{"Merged ANA 2 into Ana <img", "Renamed a learner, now Ana <img", "Made a new link for Ana <img"} {
		if log := wall.text("#p-audit"); !strings.Contains(log, want) {
			t.Errorf("the audit log has no %q: %s", want, log)
		}
	}
	if eval[bool](wall, `document.title === "run" || document.querySelector("#p-audit img, #w-rows img, #p-people img") !== null`) {
		t.Error("markup in a name became part of the page")
	}
	wall.quiet()
	phone.quietBut("404", "401", "no valid credentials")
}

// Deadlines are shown by the class's clocks and by the reader's, where those show another time then: on the learner's page, on
// the exercise's and on the wall. An extension moves one learner's. The audit log is of the reader's zone and language.
func TestDeadlinesInTwoZones(t *testing.T) {
	c := serveClass(t)
	ana, ben := c.join(t, "Ana", ""), c.join(t, "Ben", "")
	wall := c.instructor(t, setting{width: 1024, height: 768})
	wall.zone("America/New_York")
	wall.navigate("/class")
	wall.unfold("set", `document.querySelector("#p-set [name=zone]").value === "UTC"`)
	wall.fill("#p-set [name=zone]", "Europe/Berlin")
	wall.tap("#p-set button")
	wall.until(`document.querySelector("#p-zone").textContent.includes("Europe/Berlin")`, soon)
	wall.unfold("due", `document.querySelector("#p-due").textContent.includes("No deadlines") && document.querySelectorAll("#p-ext-set [name=person] option").length === 2 && document.querySelector("#p-ext-set button").disabled`)
	wall.fill("#p-due-set [name=exercise]", "max-parallelism")
	wall.fill("#p-due-set [name=due]", "2036-03-28T23:59") // the clocks of Berlin change in the next night
	wall.fill("#p-due-set [name=penalty]", "20")
	wall.tap("#p-due-set button")
	wall.until(`document.querySelector("#p-due time")?.textContent === "Fri, Mar 28, 2036, 23:59 GMT+1"`, soon)
	if here := wall.text("#p-due .here"); here != "where you are: Fri, Mar 28, 2036, 18:59 GMT-4" {
		t.Errorf("the wall says %q", here)
	}
	// Chosen again it has what it is, so that another time does not take its rule away.
	wall.fill("#p-due-set [name=due]", "2036-05-05T05:05")
	wall.fill("#p-due-set [name=penalty]", "0")
	wall.fill("#p-due-set [name=exercise]", "max-parallelism")
	wall.until(`document.querySelector("#p-due-set [name=due]").value === "2036-03-28T23:59" && document.querySelector("#p-due-set [name=penalty]").value === "20"`, soon)
	wall.fill("#p-ext-set [name=person]", ana.ID)
	wall.fill("#p-ext-set [name=exercise]", "max-parallelism")
	wall.fill("#p-ext-set [name=due]", "2036-04-01T12:00")
	wall.tap("#p-ext-set button")
	wall.until(`document.querySelectorAll("#p-due tbody tr").length === 2 && document.querySelector("#p-due").textContent.includes("extended for Ana")`, soon)

	phone := c.enter(t, setting{width: 390, height: 844, dark: true}, ana)
	phone.zone("Asia/Tokyo")
	phone.navigate("/class")
	phone.until(`document.querySelector("#h-due time")?.textContent === "Tue, Apr 1, 2036, 12:00 GMT+2" && document.querySelector("#h-due .here").textContent === "where you are: Tue, Apr 1, 2036, 19:00 GMT+9"`, soon)
	phone.fits("a learner's page with deadlines")
	phone.navigate("/exercises/max-parallelism")
	phone.until(`document.querySelector("#x-due time")?.textContent === "Tue, Apr 1, 2036, 12:00 GMT+2" && document.querySelector("#x-due").textContent.includes("19:00 GMT+9") && document.querySelector("#x-due").textContent.includes("loses 20 %")`, soon)
	phone.accessible("an exercise with a deadline, dark")
	phone.navigate("/exercises/debloater")
	phone.until(`document.querySelector("#c-name").textContent !== "Class" && document.querySelector("#x-due").hidden`, soon)

	// Paris has another name and the same clocks.
	desk := c.enter(t, desktop, ben)
	desk.zone("Europe/Paris")
	desk.navigate("/class?lang=zh")
	desk.until(`document.querySelector("#h-due time")?.textContent.includes("2036年3月28日")`, soon)
	if text := desk.text("#h-due"); !strings.Contains(text, "23:59") || !strings.Contains(text, "扣除 20 %") || strings.Contains(text, "所在时区") {
		t.Errorf("in Paris, in Chinese: %s", text)
	}

	wall.tap("#p-due tbody tr:nth-child(2) button")
	wall.until(`document.querySelectorAll("#p-due tbody tr").length === 1`, soon)
	wall.unfold("audit", `document.querySelectorAll("#p-audit tbody tr").length >= 4`)
	log := wall.text("#p-audit")
	for _, want := range []string{"Changed the class: name, time zone", "Set the deadline of “From 128 key groups to 256”", "Moved the deadline of “From 128 key groups to 256” for Ana"} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log has no %q: %s", want, log)
		}
	}
	if at := wall.text("#p-audit time"); !strings.Contains(at, "GMT-5") && !strings.Contains(at, "GMT-4") {
		t.Errorf("the log's time is %q, expected New York's", at)
	}
	wall.accessible("the wall's deadlines and log")
	wall.navigate("/class?lang=zh")
	wall.unfold("audit", `document.querySelector("#p-audit").textContent.includes("为 Ana 调整“")`)
	for _, p := range []*tab{wall, phone, desk} {
		p.quiet()
	}
}

// Only who gave an alias is on the scoreboard, and only while there is one; the grade book comes in three formats; a learner
// takes all that is kept along and is deleted; one browser has several classes, which are closed, archived and deleted.
func TestCourseOfAClass(t *testing.T) {
	c := serveClass(t)
	ana, ben := c.join(t, "Ana <b>A</b>", ""), c.join(t, "=Ben", "heron")
	for i, m := range []member{ana, ben} {
		body := fmt.Sprintf(`{"id":"result-of-%d","exercise":"max-parallelism","status":"passed","points":%d,"maxPoints":9,"checks":[],"work":{"answer":{"note":"<script>1</script>"}}}`, i, 5+i)
		if got := c.as(t, m.Token, "POST", "/api/v1/class/results", body); got != 201 {
			t.Fatalf("handing in: %d", got)
		}
	}
	p := c.enter(t, setting{width: 768, height: 1024}, ana)
	if !eval[bool](p, `document.querySelector("#h-score").hidden`) {
		t.Error("there is a scoreboard although the class has none")
	}
	wall := c.instructor(t, setting{width: 1440, height: 900, dark: true})
	wall.agree()
	wall.unfold("set", `document.querySelector("#p-score").getAttribute("aria-checked") === "false"`)
	wall.tap("#p-score")
	wall.until(`document.querySelector("#p-score").getAttribute("aria-checked") === "true"`, soon)
	p.navigate("/class")
	p.until(`[...document.querySelectorAll("#h-score-rows li span:first-child")].map(e => e.textContent).join() === "heron"`, soon)
	p.fill("#h-alias-in", "<i>otter</i>")
	p.tap("#h-alias button")
	p.until(`[...document.querySelectorAll("#h-score-rows li span:first-child")].map(e => e.textContent).join() === "heron,<i>otter</i>" && document.querySelector("#h-score-rows .me b").textContent === "5"`, soon)
	if text := p.text("#h-score-rows"); strings.Contains(text, "Ana") || strings.Contains(text, "Ben") {
		t.Errorf("the scoreboard names people: %s", text)
	}
	p.accessible("the scoreboard")

	// The instructor's buttons lead to the three files.
	wall.unfold("results", `document.querySelectorAll("#p-results tbody tr").length === 2`)
	formats := eval[[]string](wall, `[...document.querySelectorAll('#s-export ~ p a[href*="export"]')].map(a => a.getAttribute("href"))`)
	if len(formats) != 3 {
		t.Fatalf("the wall offers %v", formats)
	}
	books := map[string]string{}
	for _, href := range formats {
		_, format, _ := strings.Cut(href, "format=")
		books[format] = eval[string](wall, fmt.Sprintf(`fetch(%q).then(r => { if (!r.ok || !r.headers.get("Content-Disposition").startsWith("attachment")) throw new Error(String(r.status)); return r.text(); })`, href))
	}
	if csv := books["csv"]; !strings.Contains(csv, "Ana <b>A</b>") || !strings.Contains(csv, "'=Ben") || strings.Contains(csv, ",=Ben") {
		t.Errorf("the CSV is %s", csv)
	}
	for _, format := range []string{"json", "gradescope"} {
		if book := books[format]; !json.Valid([]byte(book)) || !strings.Contains(book, "=Ben") || !strings.Contains(book, "max-parallelism") {
			t.Errorf("%s is %s", format, book)
		}
	}

	// The learner's own data, and their end.
	var own struct{ Person struct{ Name string } }
	mine := eval[string](p, `fetch(document.querySelector('a[download="weir-class.json"]').href).then(r => r.text())`)
	if err := json.Unmarshal([]byte(mine), &own); err != nil || !strings.Contains(mine, "result-of-0") || strings.Contains(mine, "result-of-1") {
		t.Errorf("what Ana takes along: %v %s", err, mine)
	}
	p.agree()
	p.tap("#h-delete")
	p.until(`document.querySelector("#join")`, soon)
	wall.until(`document.querySelectorAll("#w-rows tr").length === 1`, soon)
	if got := c.as(t, ana.Token, "GET", "/api/v1/class/me", ""); got != 401 {
		t.Errorf("Ana's token after she was deleted: %d", got)
	}

	// A second class, and back to the first.
	first := wall.text("#w-code")
	wall.tap("#w-new")
	wall.until(`document.querySelector(".wdialog input[list=zones]")`, soon)
	wall.fill(".wdialog label:first-of-type input", "Group <b>B</b>")
	wall.tap(".wdialog .primary")
	wall.until(`document.querySelector(".wdialog input")?.value.includes("/class/i/")`, soon)
	wall.tap(".wdialog .primary")
	wall.until(fmt.Sprintf(`!document.querySelector("dialog") && document.querySelector("#w-code")?.textContent.length >= 8 && document.querySelector("#w-code").textContent !== %q && document.querySelectorAll("#w-classes option").length === 2`, first), soon)
	if names := eval[[]string](wall, `[...document.querySelectorAll("#w-classes option")].map(e => e.textContent)`); !slices.Contains(names, "Group <b>B</b>") {
		t.Errorf("the classes are %v", names)
	}
	wall.until(`!document.querySelector("#w-empty").hidden && document.querySelector("#w-say").textContent.includes("Nobody is here")`, soon)
	wall.accessible("the wall of a new class, dark")
	wall.agree()
	wall.unfold("set", `!document.querySelector("#p-close").disabled`)
	wall.fill("#p-keep [name=expires]", "2090-01-31")
	wall.tap("#p-keep button")
	wall.until(`document.querySelector("#p-expires").textContent.includes("2090")`, soon)
	wall.tap("#p-close")
	wall.until(`document.querySelector("#w-live").textContent === "Class closed" && !document.querySelector("#p-delete").disabled`, soon)
	wall.tap("#p-archive")
	wall.until(`document.querySelector("#w-live").textContent === "Class archived"`, soon)
	wall.tap("#p-delete")
	wall.until(fmt.Sprintf(`document.querySelector("#w-code")?.textContent === %q`, first), soon)

	// Closed for those who are in it, and for those who come.
	in := c.enter(t, setting{width: 390, height: 844}, ben)
	wall.agree()
	wall.unfold("set", `document.querySelector("#p-close").textContent === "Close the class"`)
	wall.tap("#p-close")
	in.until(`document.querySelector("#c-state").textContent === "Class closed" && document.querySelector("#c-hand").disabled`, soon)
	p.navigate("/class?lang=zh&code=" + strings.ReplaceAll(c.code, "-", ""))
	p.until(`document.querySelector("#join")`, soon)
	p.fill("#j-name", "Eve")
	p.tap("#j-go")
	p.until(`document.querySelector("#j-refused").textContent === "这个课堂不再接收新成员。"`, soon)
	wall.tap("#p-close")
	in.until(`document.querySelector("#c-state").textContent === ""`, soon)
	wall.quiet()
	in.quiet()
	p.quietBut("409", "401")
}
