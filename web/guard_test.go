package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	f := newFakeServer(t)
	sess := f.start(t)
	for _, c := range []struct {
		name, method, path, host string
		headers                  map[string]string
		status                   int
		field                    string
	}{
		{"an address", "GET", "/healthz", "127.0.0.1:8090", nil, 200, ""},
		{"localhost", "GET", "/healthz", "localhost:8090", nil, 200, ""},
		{"an address of version 6", "GET", "/healthz", "[::1]:8090", nil, 200, ""},
		{"a name that was made to lead here", "GET", "/healthz", "evil.example:8090", nil, 403, "Host"},
		{"a name that begins like ours", "GET", "/healthz", "localhost.evil.example", nil, 403, "Host"},
		{"a change by a program", "PATCH", "/api/v1/sessions/" + sess.id + "/knobs", "127.0.0.1:8090", nil, 200, ""},
		{"a change by our page", "PATCH", "/api/v1/sessions/" + sess.id + "/knobs", "127.0.0.1:8090", map[string]string{"Origin": "http://127.0.0.1:8090", "Sec-Fetch-Site": "same-origin"}, 200, ""},
		{"a change by another site", "PATCH", "/api/v1/sessions/" + sess.id + "/knobs", "127.0.0.1:8090", map[string]string{"Origin": "https://evil.example"}, 403, "Origin"},
		{"a change by another port", "PATCH", "/api/v1/sessions/" + sess.id + "/knobs", "127.0.0.1:8090", map[string]string{"Origin": "http://127.0.0.1:9999"}, 403, "Origin"},
		{"a change of unknown origin", "PATCH", "/api/v1/sessions/" + sess.id + "/knobs", "127.0.0.1:8090", map[string]string{"Origin": "null"}, 403, "Origin"},
		{"a form of another site", "POST", "/labs/backpressure", "127.0.0.1:8090", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "Sec-Fetch-Site"},
		{"a websocket of another site", "GET", "/api/v1/sessions/" + sess.id + "/stream", "127.0.0.1:8090", map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Origin": "https://evil.example"}, 403, "Origin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(`{"debloat":true}`))
			r.Host = c.host
			r.Header.Set("Content-Type", "application/json")
			for k, v := range c.headers {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Fatalf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if c.field != "" {
				p := problemIn(t, w)
				if p.Field != c.field || p.Reason == "" {
					t.Errorf("problem %+v, want field %s with a reason", p, c.field)
				}
			}
		})
	}
}

// problemIn reads a problem document.
func problemIn(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	if kind := w.Header().Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("content type %q, want application/problem+json", kind)
	}
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	if p.Status != w.Code {
		t.Errorf("the problem says status %d, the answer is %d", p.Status, w.Code)
	}
	return p
}

func TestPolicy(t *testing.T) {
	f := newFakeServer(t)
	w := f.ask(httptest.NewRequest(http.MethodGet, "/", nil))
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy %q lets more in than this server sends", policy)
	}
}
