package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"weir/labs"
)

// pretendBuilt lets the pages be seen whether or not scripts were built.
func (f *fakeServer) pretendBuilt() {
	for _, name := range []string{"dist/lab.js", "dist/home.js", "dist/weir.css"} {
		if _, ok := f.assets.byName[name]; !ok {
			f.assets.byName[name] = asset{etag: `"0"`}
		}
	}
}

// missing is a text that the catalogue lacks, as i18n writes it.
var missing = regexp.MustCompile(`\[[a-z]+(\.[A-Za-z0-9/-]+)+\]`)

func TestPages(t *testing.T) {
	f := newFakeServer(t)
	f.pretendBuilt()
	paths := []string{"/", "/nowhere"}
	for _, l := range labs.All() {
		paths = append(paths, "/labs/"+l.ID)
	}
	for _, path := range paths {
		for _, lang := range []string{"en", "zh"} {
			for _, theme := range []string{"", "light", "dark"} {
				w := f.ask(httptest.NewRequest(http.MethodGet, path+"?lang="+lang+"&theme="+theme, nil))
				page := w.Body.String()
				if want := map[bool]int{true: 404, false: 200}[path == "/nowhere"]; w.Code != want {
					t.Errorf("%s: status %d, want %d", path, w.Code, want)
				}
				if !strings.Contains(page, `<html lang="`+lang+`"`) {
					t.Errorf("%s in %s: the page does not say its language", path, lang)
				}
				if got := strings.Contains(page, "data-theme="); got != (theme != "") {
					t.Errorf("%s with theme %q: theme on the page %v", path, theme, got)
				}
				if bad := missing.FindString(page); bad != "" {
					t.Errorf("%s in %s shows the text %s, which the catalogue lacks", path, lang, bad)
				}
				if strings.Contains(page, " style=") || strings.Contains(page, "javascript:") || strings.Contains(page, " onclick=") {
					t.Errorf("%s has an inline style or script, which the policy forbids", path)
				}
				for _, outside := range regexp.MustCompile(`(?:src|href)="(https?:)?//[^"]*"`).FindAllString(page, -1) {
					t.Errorf("%s refers to another host: %s", path, outside)
				}
			}
		}
	}
}

func TestLanguageOfABrowser(t *testing.T) {
	f := newFakeServer(t)
	f.pretendBuilt()
	for _, c := range []struct{ query, cookie, accept, want string }{
		{"", "", "", "en"},
		{"", "", "zh-CN,zh;q=0.9,en;q=0.8", "zh"},
		{"", "", "zh-TW", "zh"},
		{"", "", "de-DE,de;q=0.9", "en"},
		{"", "zh", "en-US", "zh"},
		{"?lang=en", "zh", "zh", "en"},
		{"?lang=xx", "", "", "en"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/"+c.query, nil)
		r.Header.Set("Accept-Language", c.accept)
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: "lang", Value: c.cookie})
		}
		if page := f.ask(r).Body.String(); !strings.Contains(page, `<html lang="`+c.want+`"`) {
			t.Errorf("%+v: the page is not in %s", c, c.want)
		}
	}
}

// Opening a link fills the knobs and starts nothing.
func TestLinkFillsKnobs(t *testing.T) {
	f := newFakeServer(t)
	f.pretendBuilt()
	w := f.ask(httptest.NewRequest(http.MethodGet, "/labs/backpressure?debloat=true&rate=5000&workMs=abc&step=observe", nil))
	page := w.Body.String()
	for _, want := range []string{`"debloat":true`, `"rate":5000`, `"workMs":1`, `id="step-observe"`, `"step":"observe"`, `aria-checked="true"`, "knob workMs: &#34;abc&#34;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if n := len(f.sessions.list()); n != 0 {
		t.Errorf("%d sessions were started", n)
	}
	if w := f.ask(httptest.NewRequest(http.MethodGet, "/labs/backpressure?session=gone", nil)); w.Code != 200 {
		t.Errorf("a link to a run that is over: status %d", w.Code)
	}
}

func TestStartForm(t *testing.T) {
	f := newFakeServer(t)
	f.pretendBuilt()
	r := httptest.NewRequest(http.MethodPost, "/labs/backpressure?lang=zh", nil)
	w := f.ask(r)
	at := w.Header().Get("Location")
	if w.Code != 303 || !strings.HasPrefix(at, "/labs/backpressure?lang=zh&session=") {
		t.Fatalf("%d to %q", w.Code, at)
	}
	page := f.ask(httptest.NewRequest(http.MethodGet, at, nil)).Body.String()
	if id := f.sessions.list()[0].id; !strings.Contains(page, `"session":"`+id+`"`) {
		t.Errorf("the page does not follow session %s", id)
	}
	for range maxRunning - 1 {
		f.ask(httptest.NewRequest(http.MethodPost, "/labs/backpressure", nil))
	}
	w = f.ask(httptest.NewRequest(http.MethodPost, "/labs/backpressure", nil))
	if w.Code != 429 || !strings.Contains(w.Body.String(), "8 are allowed at once") {
		t.Errorf("over the limit: %d", w.Code)
	}
}

func TestPlaceholder(t *testing.T) {
	f := newFakeServer(t)
	for name := range f.assets.byName {
		if strings.HasPrefix(name, "dist/") {
			delete(f.assets.byName, name)
		}
	}
	w := f.ask(httptest.NewRequest(http.MethodGet, "/labs/backpressure", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "make build") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAssets(t *testing.T) {
	f := newFakeServer(t)
	w := f.ask(httptest.NewRequest(http.MethodGet, "/favicon.svg", nil))
	if w.Code != 200 || w.Header().Get("Content-Type") != "image/svg+xml" || w.Header().Get("ETag") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	r := httptest.NewRequest(http.MethodGet, "/favicon.svg", nil)
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	if w := f.ask(r); w.Code != 304 {
		t.Errorf("seen before: %d", w.Code)
	}
	plain := w
	r = httptest.NewRequest(http.MethodGet, "/favicon.svg", nil)
	r.Header.Set("Accept-Encoding", "br, gzip")
	w = f.ask(r)
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("ETag") == plain.Header().Get("ETag") {
		t.Errorf("asked for gzip: %v", w.Header())
	}
	unpacked, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(b, plain.Body.Bytes()) {
		t.Errorf("the packed file is another one: %v %s", err, b)
	}
	if w := f.ask(httptest.NewRequest(http.MethodGet, "/static/../server.go", nil)); w.Code == 200 {
		t.Error("a file beside static/ was served")
	}
}
