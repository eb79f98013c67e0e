//go:build unix

package browser_test

import (
	"testing"
	"time"

	"weir/class/store/pgtest"
)

// PostgreSQL goes away and comes back: the wall, a learner's page and a page that is opened meanwhile say so in their
// language, what a learner presses is refused with a reason, and all goes on by itself.
func TestStoreAway(t *testing.T) {
	pg, err := pgtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Error(err)
		}
	})
	url, err := pg.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := serveClassOn(t, url)
	ana := c.join(t, "Ana", "")
	p := c.enter(t, setting{width: 390, height: 844}, ana)
	p.navigate("/class?lang=zh")
	p.until(`document.querySelector("#c-trouble").hidden && !document.querySelector("#c-hand").disabled`, soon)
	wall := c.instructor(t, setting{width: 1024, height: 768})
	wall.until(`document.querySelectorAll("#w-rows tr").length === 1 && document.querySelector("#w-trouble").hidden`, soon)
	stranger := c.open(t, setting{width: 1024, height: 768, alone: true, patience: 4 * time.Minute})

	if err := pg.Stop(); err != nil {
		t.Fatal(err)
	}
	wall.until(`document.querySelector("#w-trouble:not([hidden])")?.textContent.includes("The store does not answer") && document.querySelectorAll("#w-rows tr").length === 1`, soon)
	p.until(`document.querySelector("#c-trouble:not([hidden])")?.textContent.includes("课堂的存储暂时没有响应")`, soon)
	p.tap("#c-hand")
	p.until(`document.querySelector("#c-trouble").textContent.includes("没有更改任何内容") && document.querySelector("#c-hand").getAttribute("aria-pressed") === "false"`, soon)
	p.accessible("a learner's page without the store")
	wall.tap("#w-freeze")
	wall.until(`document.querySelector("#w-refused:not([hidden])")?.textContent.includes("nothing was changed")`, soon)
	// A token that this server has not looked up before.
	stranger.navigate("/class/p/nobody-knows-this-token")
	stranger.until(`document.querySelector("main[data-why=away] h1")?.textContent === "The class does not answer right now"`, soon)
	stranger.accessible("a page that waits for the store")

	if err := pg.Start(); err != nil {
		t.Fatal(err)
	}
	wall.until(`document.querySelector("#w-trouble").hidden`, soon)
	p.until(`document.querySelector("#c-trouble").hidden`, soon)
	stranger.until(`document.querySelector("main[data-why=dead]")`, soon)
	p.tap("#c-hand")
	wall.until(`document.querySelector("#w-rows .handup:not([hidden])")`, soon)
	wall.quietBut("503")
	p.quietBut("503")
}
