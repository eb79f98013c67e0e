package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// All pages count down to the moment that the instructor set, until it is taken away.
func TestTimer(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	begun := time.Now()
	set := answerOf[classLive](t, f.as(teacher, "POST", "/api/v1/class/timer", `{"minutes":2.5}`), 200)
	if set.Until == nil || set.Until.Before(begun.Add(149*time.Second)) || set.Until.After(time.Now().Add(150*time.Second)) {
		t.Fatalf("2.5 minutes end at %v, it is %v", set.Until, begun)
	}
	if me := answerOf[classMe](t, f.as(ann.token, "GET", "/api/v1/class/me", ""), 200); me.Live.Until == nil || !me.Live.Until.Equal(*set.Until) {
		t.Errorf("the learner counts down to %v", me.Live.Until)
	}
	for _, minutes := range []string{"-1", "1441", `"5"`} {
		if w := f.as(teacher, "POST", "/api/v1/class/timer", `{"minutes":`+minutes+`}`); w.Code != 422 {
			t.Errorf("%s minutes: %d", minutes, w.Code)
		}
	}
	if ended := answerOf[classLive](t, f.as(teacher, "POST", "/api/v1/class/timer", `{"minutes":0}`), 200); ended.Until != nil {
		t.Errorf("ended, it counts down to %v", ended.Until)
	}
	log := answerOf[struct{ Audit []classAudited }](t, f.as(teacher, "GET", "/api/v1/class/audit", ""), 200)
	if len(log.Audit) != 2 || log.Audit[0].What != "end timer" || log.Audit[1].What != "timer" || log.Audit[1].About != "2.5" {
		t.Errorf("the audit log: %+v", log.Audit)
	}
}

// A new personal link ends the links of those too who were merged into the learner; the log still names them.
func TestNewLinkAfterMerge(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann, twin, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	answerOf[any](t, f.as(teacher, "POST", "/api/v1/class/people/merge", `{"from":"`+twin.Person+`","into":"`+ann.Person+`"}`), 204)
	if me := answerOf[classMe](t, f.as(twin.token, "GET", "/api/v1/class/me", ""), 200); me.ID != ann.Person {
		t.Fatalf("the twin's link leads to %+v", me)
	}
	answerOf[any](t, f.as(teacher, "POST", "/api/v1/class/people/"+ann.Person+"/link", ""), 200)
	for who, want := range map[*caller]int{ann: 401, twin: 401, ben: 200} {
		if w := f.as(who.token, "GET", "/api/v1/class/me", ""); w.Code != want {
			t.Errorf("the old link of %s: %d, want %d", who.Person, w.Code, want)
		}
	}
	log := answerOf[struct{ Names map[string]string }](t, f.as(teacher, "GET", "/api/v1/class/audit", ""), 200)
	if log.Names[twin.Person] != "Ann 2" || log.Names[ann.Person] != "Ann" || len(log.Names) != 3 {
		t.Errorf("the log names %v", log.Names)
	}
}

// While the store does not answer, a page is a page that says so, also for somebody whose cookie is not known here; what a
// program asks for is a problem document.
func TestPagesWithoutTheStore(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{})
	f.pretendBuilt()
	ann := f.joined(t, k.ID, "Ann")
	answerOf[classMe](t, f.as(ann.token, "GET", "/api/v1/class/me", ""), 200)
	if err := f.course.store.Close(); err != nil {
		t.Fatal(err)
	}
	f.course.mu.Lock()
	f.course.rooms[k.ID].tried, f.course.rooms[k.ID].dirty = time.Time{}, true
	f.course.mu.Unlock()
	if me := answerOf[classMe](t, f.as(ann.token, "GET", "/api/v1/class/me", ""), 200); !me.Live.Trouble {
		t.Error("a learner's page is not told that the store is away")
	}
	for path, kind := range map[string]string{"/class": "text/html", "/labs/backpressure": "text/html", "/class/p/unknown": "text/html", "/api/v1/class/me": "application/problem+json"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.AddCookie(&http.Cookie{Name: personCookie, Value: "not-looked-up-before"})
		r.Header.Set("Accept-Language", "zh")
		w := f.ask(r)
		if w.Code != 503 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if kind == "text/html" && !strings.Contains(w.Body.String(), "课堂暂时没有响应") {
			t.Errorf("%s does not say so: %.200s", path, w.Body)
		}
	}
	// Who has no cookie may read the page that joins.
	if w := f.ask(httptest.NewRequest(http.MethodGet, "/class", nil)); w.Code != 200 {
		t.Errorf("the page to join: %d", w.Code)
	}
}
