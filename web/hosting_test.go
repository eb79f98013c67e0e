package web

import (
	"context"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every metric that docs/hosting.md names is there, with its help and type, and the load is what it is.
func TestMetricsOfTheHandbook(t *testing.T) {
	b, err := os.ReadFile("../docs/hosting.md")
	if err != nil {
		t.Fatal(err)
	}
	f, k, teacher := newFakeClass(t, ClassLimits{Sessions: 1})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	f.startAs(t, ann)
	if p := problemIn(t, f.as(ben.token, "POST", "/api/v1/sessions", `{"lab":"backpressure"}`)); p.Place != 1 {
		t.Errorf("Ben does not wait: %+v", p)
	}
	w := f.as(teacher, "GET", "/metrics", "")
	said := w.Body.String()
	names := regexp.MustCompile("`(weir_[a-z_]+)`").FindAllStringSubmatch(string(b), -1)
	if len(names) < 10 {
		t.Errorf("the handbook has %d metrics", len(names))
	}
	for _, m := range names {
		for _, want := range []string{"# HELP " + m[1] + " ", "# TYPE " + m[1] + " "} {
			if !strings.Contains(said, want) {
				t.Errorf("the metrics lack %q, which docs/hosting.md has", want)
			}
		}
	}
	for _, want := range []string{"\nweir_sessions 1\n", "\nweir_sessions_limit 1\n", "\nweir_queue 1\n", "\nweir_stream_viewers 0\n", "\nweir_store_unavailable_total 0\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	if m := regexp.MustCompile(`\nweir_store_seconds_count (\d+)\n`).FindStringSubmatch(said); m == nil || m[1] == "0" {
		t.Errorf("the store was called, and %v is counted", m)
	}
}

// A server that is stopping is not ready: a balancer sends nobody there, and nobody restarts it.
func TestReadyUntilItStops(t *testing.T) {
	f, _, _ := newFakeClass(t, ClassLimits{})
	if w := f.ask(httptest.NewRequest("GET", "/readyz", nil)); w.Code != 200 {
		t.Errorf("a server that runs: %d", w.Code)
	}
	stopping, stop := context.WithCancel(context.Background())
	stop()
	f.ctx = stopping
	if p := problemIn(t, f.ask(httptest.NewRequest("GET", "/readyz", nil))); p.Status != 503 || !strings.Contains(p.Detail, "stopping") {
		t.Errorf("a server that stops: %+v", p)
	}
	if w := f.ask(httptest.NewRequest("GET", "/healthz", nil)); w.Code != 200 {
		t.Errorf("healthz of a server that stops: %d", w.Code)
	}
}
