package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Pages and JSON are packed for who takes that, and are the same for who does not; what is packed already, or must not wait
// in a buffer, is left alone.
func TestAnswersArePacked(t *testing.T) {
	f := newFakeServer(t)
	f.pretendBuilt()
	sess := f.start(t).id
	for _, c := range []struct {
		path   string
		status int
		packed bool
	}{
		{"/", 200, true},
		{"/labs/backpressure", 200, true},
		{"/no/such/page", 404, true},
		{"/api/v1/labs", 200, true},
		{"/api/v1/sessions/" + sess, 200, true},
		{"/api/v1/sessions/none", 404, true},
		{"/api/openapi.json", 200, true},
		{"/api/v1/sessions/" + sess + "/record", 200, false},
		{"/metrics", 200, false},
	} {
		plain := f.ask(httptest.NewRequest(http.MethodGet, c.path, nil))
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header.Set("Accept-Encoding", "br, gzip")
		w := f.ask(r)
		if w.Code != c.status || plain.Code != c.status {
			t.Errorf("%s: %d, and %d packed; want %d", c.path, plain.Code, w.Code, c.status)
		}
		if plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s is %q for who did not ask", c.path, plain.Header().Get("Content-Encoding"))
		}
		if !c.packed {
			if w.Header().Get("Content-Encoding") != "" {
				t.Errorf("%s is packed", c.path)
			}
			continue
		}
		if w.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%s is not packed: %v", c.path, w.Header())
			continue
		}
		size := w.Body.Len()
		unpacked, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(unpacked)
		if err != nil || len(b) == 0 || b[0] != plain.Body.Bytes()[0] {
			t.Errorf("%s: %d bytes, %v", c.path, len(b), err)
		}
		if strings.HasPrefix(c.path, "/labs/") && (string(b) != plain.Body.String() || size*3 > len(b)) {
			t.Errorf("%s: %d bytes of %d, the same page: %t", c.path, size, len(b), string(b) == plain.Body.String())
		}
	}
}

// A check's lines come as they are made: they are not packed.
func TestLinesOfACheckAreNotPacked(t *testing.T) {
	f := newFakeServer(t)
	r := httptest.NewRequest(http.MethodPost, "/api/v1/exercises/under-target/checks", strings.NewReader(`{"record":"AAAA"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept-Encoding", "gzip")
	w := f.ask(r)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-ndjson" || w.Header().Get("Content-Encoding") != "" || !strings.HasPrefix(w.Body.String(), "{") {
		t.Errorf("%d %v %.80s", w.Code, w.Header(), w.Body)
	}
}
