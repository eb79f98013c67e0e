package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/class"
)

// newFakeClass serves classes with fake runs. There is one class and its instructor's token.
func newFakeClass(t *testing.T, limits ClassLimits) (f *fakeServer, k *class.Class, instructorToken string) {
	t.Helper()
	f, _ = newFake(t, Options{Class: &ClassOptions{Limits: limits, Hosts: []string{"weir.test"}}})
	f.course.addresses = []string{"http://192.0.2.7:8090"}
	k, instructorToken, err := f.course.makeClass(t.Context(), "Streams", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return f, k, instructorToken
}

// joined adds a learner and gives who it is.
func (f *fakeServer) joined(t *testing.T, classID, name string) *caller {
	t.Helper()
	token, hash := class.NewToken()
	p, err := f.course.store.AddPerson(t.Context(), classID, name, "", hash)
	if err != nil {
		t.Fatal(err)
	}
	f.course.changed(classID)
	return &caller{Kind: learner, Class: classID, Person: p.ID, token: token}
}

// startAs starts a session for somebody of a class.
func (f *fakeServer) startAs(t *testing.T, who *caller) *session {
	t.Helper()
	sess, err := f.startSession(context.WithValue(t.Context(), callerKey{}, who), "backpressure", nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return sess
}

// as sends a request with the cookie of a token; an empty one has none.
func (f *fakeServer) as(token, method, path, body string, more ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		name := personCookie
		if who, err := f.course.whoHas(context.Background(), token); err == nil && who != nil && who.Kind == instructor {
			name = instructorCookie
		}
		r.AddCookie(&http.Cookie{Name: name, Value: token})
	}
	for i := 0; i+1 < len(more); i += 2 {
		r.Header.Set(more[i], more[i+1])
	}
	return f.ask(r)
}

// answerOf decodes an answer, which has to have a status.
func answerOf[T any](t *testing.T, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	var out T
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil && status != http.StatusNoContent {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return out
}
