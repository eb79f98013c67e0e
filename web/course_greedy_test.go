package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A learner who takes all that they get, of requests, sessions, state, websockets and files, takes nothing of another's.
func TestOneGreedyLearner(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{Sessions: 2, DiskEach: 64 << 10, Disk: 1 << 20})
	greedy, modest := f.joined(t, k.ID, "Greedy"), f.joined(t, k.ID, "Modest")
	start := `{"lab":"backpressure"}`
	refused := func(what string, w *httptest.ResponseRecorder) {
		t.Helper()
		code, body := w.Code, w.Body.String()
		if code != http.StatusTooManyRequests || !strings.Contains(body, "allowed") && !strings.Contains(body, "may have") && !strings.Contains(body, "may be") && !strings.Contains(body, "may run") {
			t.Errorf("%s: %d %s, want 429 with what is allowed", what, code, body)
		}
	}
	w := f.as(greedy.token, "POST", "/api/v1/sessions", `{"lab":"heap","knobs":{"keys":1000000}}`)
	refused("state", w)
	w = f.as(greedy.token, "POST", "/api/v1/sessions", `{"lab":"backpressure","knobs":{"rate":1000000}}`)
	refused("rate", w)
	if w = f.as(greedy.token, "POST", "/api/v1/sessions", start); w.Code != http.StatusCreated {
		t.Fatalf("a first session: %d %s", w.Code, w.Body)
	}
	w = f.as(greedy.token, "POST", "/api/v1/sessions", start)
	refused("sessions", w)
	for range 3 {
		w = uploadOf(t, f, greedy.token, 40<<10)
	}
	refused("disk", w)
	for range 2*requestBurst + requestPerSecond {
		if w = f.as(greedy.token, "GET", "/api/v1/class/me", ""); w.Code == http.StatusTooManyRequests {
			break
		}
	}
	refused("requests", w)
	for range mostSockets {
		f.course.sockets.enter(greedy.Person, mostSockets)
	}

	if w = f.as(modest.token, "GET", "/api/v1/class/me", ""); w.Code != http.StatusOK {
		t.Errorf("another's request: %d %s", w.Code, w.Body)
	}
	if w = f.as(modest.token, "POST", "/api/v1/sessions", start); w.Code != http.StatusCreated {
		t.Errorf("another's session: %d %s", w.Code, w.Body)
	}
	if w = uploadOf(t, f, modest.token, 40<<10); w.Code != http.StatusCreated {
		t.Errorf("another's upload: %d %s", w.Code, w.Body)
	}
	if !f.course.sockets.enter(modest.Person, mostSockets) {
		t.Error("another's websocket is refused")
	}
}
