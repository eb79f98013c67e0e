// Package browser_test drives the pages in a real Chromium against a server in this process, with the real engine.
package browser_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"weir/exercises/kit/sandbox"
	"weir/web"
)

// browserContext has the one browser of all tests.
var browserContext context.Context

func TestMain(m *testing.M) {
	sandbox.RunChild() // the checks of learners' code start this program anew
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser tests:", err)
		code = 1
	}
	os.Exit(code)
}

// run says what is missing rather than skip.
func run(m *testing.M) (int, error) {
	if _, err := os.Stat("../static/dist/lab.js"); err != nil {
		return 1, errors.New("the pages are not built: run make build first")
	}
	if _, err := os.Stat(axeFile); err != nil {
		return 1, errors.New("axe-core is missing: run npm ci first")
	}
	path, err := findChromium()
	if err != nil {
		return 1, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	actx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancelBrowser := chromedp.NewContext(actx)
	defer cancelBrowser()
	if err := chromedp.Do(ctx); err != nil {
		return 1, fmt.Errorf("%s does not start: %w", path, err)
	}
	browserContext = ctx
	code := m.Run()
	return code, chromedp.Cancel(ctx)
}

func findChromium() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium found: apt-get install -y chromium, or name it in CHROMIUM")
}

// server is one web.Serve of this process.
type server struct {
	url  string
	stop func()
}

// serve starts a server; addr is empty for any free port.
func serve(t *testing.T, addr string) *server {
	t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- web.Serve(ctx, web.Options{Addr: addr, DataDir: t.TempDir(), Out: w})
		_ = w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-done)
	}
	var once sync.Once
	s := &server{url: strings.TrimSpace(strings.TrimPrefix(line, "listening on "))}
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

// api calls the server and decodes its answer.
func (s *server) api(t *testing.T, method, path, body string, out any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, b, err)
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *server) start(t *testing.T, body string) string {
	t.Helper()
	var out struct{ ID string }
	s.api(t, "POST", "/api/v1/sessions", body, &out)
	return out.ID
}

// endAll ends every session.
func (s *server) endAll(t *testing.T) {
	t.Helper()
	var list struct{ Sessions []struct{ ID string } }
	s.api(t, "GET", "/api/v1/sessions", "", &list)
	for _, sess := range list.Sessions {
		s.api(t, "DELETE", "/api/v1/sessions/"+sess.ID, "", nil)
	}
}

// tab is one page with what it complained about.
type tab struct {
	ctx context.Context
	s   *server
	t   *testing.T

	mu       sync.Mutex
	errors   []string
	requests []string
}

// setting is how a tab looks at pages.
type setting struct {
	width, height int64
	dark, still   bool
	pointers      bool          // whether the one-time pointers may show
	patience      time.Duration // with the whole tab; 0 is two minutes
	alone         bool          // with cookies and storage of its own, as another person's browser
}

var desktop = setting{width: 1440, height: 900}

// open opens a tab.
func (s *server) open(t *testing.T, o setting) *tab {
	t.Helper()
	var options []chromedp.ContextOption
	if o.alone {
		options = append(options, chromedp.WithNewBrowserContext())
	}
	ctx, cancel := chromedp.NewContext(browserContext, options...)
	ctx, stop := context.WithTimeout(ctx, cmp.Or(o.patience, 2*time.Minute))
	p := &tab{ctx: ctx, s: s, t: t}
	t.Cleanup(func() { stop(); cancel() })
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(o.width, o.height)); err != nil {
		t.Fatal(err)
	}
	messages := chromedp.Console(ctx)
	sent := chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleException || m.Type == "error" || m.Type == "warning" {
				p.mu.Lock()
				p.errors = append(p.errors, string(m.Type)+": "+m.Text)
				p.mu.Unlock()
			}
		}
	}()
	go func() {
		for e, err := range sent {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.requests = append(p.requests, e.Request.URL)
			p.mu.Unlock()
		}
	}()
	// Cookies do not tell ports apart: what another test chose must not count here.
	if _, err := chromedp.Call(ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	scheme, motion := "light", "no-preference"
	if o.dark {
		scheme = "dark"
	}
	if o.still {
		motion = "reduce"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}})
	if err != nil {
		t.Fatal(err)
	}
	seen := "localStorage.clear();"
	if !o.pointers {
		seen += `localStorage.setItem("weir.pointers","seen");`
	}
	// Only once a tab: what a page keeps must be there for the next one.
	script := `if (!sessionStorage.getItem("begun")) { sessionStorage.setItem("begun", "1"); ` + seen + ` }`
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) navigate(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.s.url + path))
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// until waits for an expression to be true.
func (p *tab) until(expression string, patience time.Duration) {
	p.t.Helper()
	var err error
	for deadline := time.Now().Add(patience); ; {
		left := time.Until(deadline)
		_, err = chromedp.Run(p.ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(max(left, time.Millisecond))))
		// A page that is just being left takes its world with it.
		if err == nil || left <= 0 || !strings.Contains(err.Error(), "context") && !strings.Contains(err.Error(), "navigated") {
			break
		}
	}
	if err != nil {
		p.t.Fatalf("waiting for %s: %v; the page says %q", expression, err, p.text("#runstate"))
	}
}

// eval gives the value of an expression.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%q)?.textContent.trim() ?? ""`, selector))
}

// quiet fails if the page complained, or asked anything of another host.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.errors {
		p.t.Errorf("the console has %s", e)
	}
	for _, r := range p.requests {
		ws := "ws" + strings.TrimPrefix(p.s.url, "http")
		if !strings.HasPrefix(r, p.s.url) && !strings.HasPrefix(r, ws) && !strings.HasPrefix(r, "data:") && r != "about:blank" {
			p.t.Errorf("a request left for %s", r)
		}
	}
}

var axeFile = filepath.Join("..", "..", "node_modules", "axe-core", "axe.min.js")

// accessible fails on what axe finds that is serious.
func (p *tab) accessible(what string) {
	p.t.Helper()
	src, err := os.ReadFile(axeFile)
	if err != nil {
		p.t.Fatal(err)
	}
	eval[any](p, string(src)+";null")
	found := eval[[]string](p, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.flatMap(v => v.nodes.map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " "))))`)
	for _, f := range found {
		p.t.Errorf("%s: axe finds %s", what, f)
	}
}
