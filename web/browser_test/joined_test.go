package browser_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/class/remote"
	"weir/web"
)

// serveOwn serves a learner's own machine, in a class that it joins by its page.
func serveOwn(t *testing.T, c *classroom) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a, err := remote.ParseAddress(c.url, c.code)
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- web.Serve(ctx, web.Options{Addr: "127.0.0.1:0", DataDir: t.TempDir(), Out: w, Join: &web.JoinOptions{Address: a}})
		_ = w.Close()
	}()
	s := &server{}
	lines := bufio.NewScanner(r)
	for s.url == "" && lines.Scan() {
		s.url, _ = strings.CutPrefix(lines.Text(), "listening on ")
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(s.stop)
	return s
}

// A learner with an engine of their own joins by its page, is on the wall as such, follows the spotlight, and goes on when
// the class is away.
func TestOwnMachine(t *testing.T) {
	const patience = time.Minute
	c := serveClass(t)
	own := serveOwn(t, c)
	p := own.open(t, setting{width: 1024, height: 768, alone: true, patience: 4 * time.Minute})
	p.navigate("/")
	p.until(`location.pathname === "/class" && document.querySelector("#j-code")?.value.length >= 8`, patience)
	p.accessible("the page of an own machine to join")
	p.fill("#j-name", "Ana")
	p.click("#j-go")
	p.until(`document.querySelector("#h-name")?.textContent.includes("Ana") && document.querySelector("#cstrip .cown")`, patience)
	p.until(`document.querySelector("#h-link")?.value.startsWith("`+c.url+`/class/p/")`, patience)

	p.navigate("/labs/backpressure")
	wall := c.instructor(t, desktop)
	wall.until(`document.querySelector("#w-rows .wmini button.own:not([hidden])")`, patience)
	wall.click("#w-rows .wmini button.own")
	wall.until(`document.querySelector("dialog[open] p")?.textContent.includes("own machine")`, patience)
	wall.accessible("what the wall says of an own machine")

	wall.navigate("/labs/backpressure")
	wall.until(`document.querySelector("#start-run")`, patience)
	wall.click("#start-run")
	wall.until(`!document.querySelector("#c-show").disabled`, patience)
	wall.click("#c-show")
	p.until(`location.search.includes("watch=1") && document.querySelector("#runstate")?.dataset.state === "RUNNING" && document.querySelectorAll("#gates .strip").length > 0`, patience)
	first := p.text("#clock")
	p.until(`document.querySelector("#clock").textContent !== "`+first+`"`, patience)

	c.stop()
	p.navigate("/labs/backpressure")
	p.until(`document.querySelector("#c-trouble:not([hidden])")?.textContent.includes("results wait on this machine")`, patience)
	p.click("#start-run")
	p.until(`document.querySelector("#runstate")?.dataset.state === "RUNNING"`, patience)
	wall.quietBut("WebSocket", "ERR_CONNECTION", "Failed to load resource", "503")
	p.quietBut("503", "404", "WebSocket") // 404 is the run in the spotlight, which ended with its server
}
