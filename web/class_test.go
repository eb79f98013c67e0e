package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/class"
	"weir/labs"
)

// from sends a join from an address.
func (f *fakeServer) joinFrom(address, code, name string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/class/join", strings.NewReader(fmt.Sprintf(`{"code":%q,"name":%q}`, code, name)))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = address
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return f.ask(r)
}

func TestJoining(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{})
	w := f.joinFrom("192.0.2.1:5", strings.ToLower(class.ShowCode(k.Code)), " Ana <b>x</b> ")
	me := answerOf[classMe](t, w, 201)
	c := w.Result().Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteLaxMode || c[0].Secure || c[0].Value != me.Token {
		t.Errorf("cookies %v, want one that no script reads, of plain HTTP", c)
	}
	if me.Kind != "learner" || me.Name != "Ana <b>x</b>" || me.Class.Name != "Streams" || !strings.HasSuffix(me.Link, "/class/p/"+me.Token) {
		t.Errorf("%+v", me)
	}
	if again := answerOf[classMe](t, f.joinFrom("192.0.2.1:5", k.Code, "Ana <b>x</b>", c...), 201); again.ID != me.ID {
		t.Error("joining twice from one browser made another learner")
	}
	if other := answerOf[classMe](t, f.joinFrom("192.0.2.1:6", k.Code, "ANA <b>x</b>"), 201); other.ID == me.ID || other.Name != "ANA <b>x</b> 2" {
		t.Errorf("an equal name from another browser: %+v", other)
	}
	for _, name := range []string{"", " ", strings.Repeat("x", 61)} {
		if p := problemIn(t, f.joinFrom("192.0.2.1:5", k.Code, name)); p.Status != 422 || p.Field != "name" {
			t.Errorf("the name %q: %+v", name, p)
		}
	}
	// The token also counts as a bearer's, and one that nobody has does not fall back to a cookie.
	r := httptest.NewRequest(http.MethodGet, "/api/v1/class/me", nil)
	r.Header.Set("Authorization", "Bearer "+me.Token)
	if got := answerOf[classMe](t, f.ask(r), 200); got.ID != me.ID {
		t.Errorf("by bearer token: %+v", got)
	}
	r = httptest.NewRequest(http.MethodGet, "/api/v1/class/me", nil)
	r.Header.Set("Authorization", "Bearer nobodys")
	r.AddCookie(c[0])
	if w := f.ask(r); w.Code != 401 {
		t.Errorf("a wrong bearer token beside a cookie: %d", w.Code)
	}
}

// Who guesses is slowed down; who has the code joins at once, from the same address too.
func TestGuessingCodes(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{})
	refused := 0
	for i := range wrongBurst + 5 {
		w := f.joinFrom("192.0.2.9:1", fmt.Sprintf("0000%04d", i), "Mallory")
		switch w.Code {
		case 403:
		case 429:
			refused++
		default:
			t.Fatalf("a wrong code: %d %s", w.Code, w.Body)
		}
	}
	if refused != 5 {
		t.Errorf("%d of 5 guesses beyond the burst were refused", refused)
	}
	if f.course.guesses.wait("192.0.2.9", time.Now()) == 0 {
		t.Error("the next guess of that address does not wait")
	}
	answerOf[classMe](t, f.joinFrom("192.0.2.9:2", k.Code, "Honest"), 201)
	if w := f.joinFrom("192.0.2.10:2", "00000000", "Typo"); w.Code != 403 {
		t.Errorf("a wrong code of another address: %d", w.Code)
	}
}

func TestLinksAreExchanged(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	w := f.ask(httptest.NewRequest(http.MethodGet, "/class/i/"+teacher, nil))
	c := w.Result().Cookies()
	if w.Code != 303 || w.Header().Get("Location") != "/class" || len(c) != 1 || c[0].Name != instructorCookie || c[0].Value != teacher {
		t.Fatalf("instructor link: %d to %q with %v", w.Code, w.Header().Get("Location"), c)
	}
	if w := f.ask(httptest.NewRequest(http.MethodGet, "/class/i/"+ann.token, nil)); w.Code != 404 {
		t.Errorf("a learner's token as an instructor's: %d", w.Code)
	}
	// Over TLS the cookie is for TLS alone, also where a trusted proxy ends it; an untrusted one is not believed.
	for _, one := range []struct {
		peer string
		want bool
	}{{"10.1.2.3:9", true}, {"192.0.2.5:9", false}} {
		f.trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		f.router = f.routes()
		r := httptest.NewRequest(http.MethodGet, "/class/p/"+ann.token, nil)
		r.RemoteAddr = one.peer
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set(forwardedTLS, "1")
		for _, c := range f.ask(r).Result().Cookies() {
			if c.Secure != one.want {
				t.Errorf("by %s: cookie %v", one.peer, c)
			}
		}
	}
	if got := loggedPath("/class/p/" + ann.token); strings.Contains(got, ann.token) {
		t.Errorf("the log has %s", got)
	}
	// A renewed link ends the old one.
	made := answerOf[struct{ Link string }](t, f.as(teacher, "POST", "/api/v1/class/people/"+ann.Person+"/link", ""), 200)
	if w := f.as(ann.token, "GET", "/api/v1/class/me", ""); w.Code != 401 {
		t.Errorf("the old token: %d", w.Code)
	}
	_, token, _ := strings.Cut(made.Link, "/class/p/")
	if me := answerOf[classMe](t, f.as(token, "GET", "/api/v1/class/me", ""), 200); me.ID != ann.Person {
		t.Errorf("the new link is of %+v", me)
	}
}

func TestClassHosts(t *testing.T) {
	f, _, _ := newFakeClass(t, ClassLimits{})
	for host, want := range map[string]int{"192.0.2.7:8090": 200, "weir.test": 200, "weir.test:8090": 200, "localhost:8090": 200, "rebound.example": 403, "notweir.test": 403} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host = host
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %s: %d, want %d", host, w.Code, want)
		}
	}
}

func TestFreezeAndSpotlight(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	sess := f.startAs(t, ann)
	at := "/api/v1/sessions/" + sess.id
	if w := f.as(ben.token, "GET", at, ""); w.Code != 404 {
		t.Errorf("Ben looks at Ann's run: %d", w.Code)
	}
	live := answerOf[classLive](t, f.as(teacher, "POST", "/api/v1/class/spotlight", `{"session":"`+sess.id+`"}`), 200)
	if live.Spotlight != sess.id || live.SpotlightLab != "backpressure" || live.Version == 0 {
		t.Errorf("%+v", live)
	}
	if w := f.as(ben.token, "GET", at, ""); w.Code != 200 {
		t.Errorf("Ben follows the spotlight: %d", w.Code)
	}
	if w := f.as(ben.token, "PATCH", at+"/knobs", `{"debloat":true}`); w.Code != 404 {
		t.Errorf("Ben turns a knob of the run in the spotlight: %d", w.Code)
	}
	if w := f.as(ben.token, "POST", "/api/v1/exercises/skew-cure/checks", `{"session":"`+sess.id+`"}`); w.Code != 404 {
		t.Errorf("Ben hands in Ann's run: %d %s", w.Code, w.Body)
	}
	answerOf[classLive](t, f.as(teacher, "POST", "/api/v1/class/freeze", `{"frozen":true}`), 200)
	for _, call := range []struct{ method, path, body string }{
		{"PATCH", at + "/knobs", `{"debloat":true}`}, {"POST", at + "/actions/checkpoint", `{}`}, {"POST", "/api/v1/sessions", `{"lab":"backpressure"}`},
	} {
		if p := problemIn(t, f.as(ann.token, call.method, call.path, call.body)); p.Status != http.StatusLocked {
			t.Errorf("%s %s while frozen: %+v", call.method, call.path, p)
		}
	}
	if w := f.as(teacher, "PATCH", at+"/knobs", `{"debloat":true}`); w.Code != 403 {
		t.Errorf("the instructor drives without being allowed: %d", w.Code)
	}
	answerOf[classInfo](t, f.as(teacher, "PATCH", "/api/v1/class", `{"mayDrive":true}`), 200)
	if w := f.as(teacher, "PATCH", at+"/knobs", `{"debloat":true}`); w.Code != 200 {
		t.Errorf("the instructor drives: %d %s", w.Code, w.Body)
	}
	answerOf[classLive](t, f.as(teacher, "POST", "/api/v1/class/freeze", `{"frozen":false}`), 200)
	if w := f.as(ann.token, "PATCH", at+"/knobs", `{"debloat":false}`); w.Code != 200 {
		t.Errorf("after the freeze: %d", w.Code)
	}
	log := answerOf[struct{ Audit []classAudited }](t, f.as(teacher, "GET", "/api/v1/class/audit", ""), 200)
	said := fmt.Sprint(log.Audit)
	for _, want := range []string{"spotlight", "freeze", "resume", "drive", "change class"} {
		if !strings.Contains(said, want) {
			t.Errorf("the audit log lacks %s: %s", want, said)
		}
	}
}

func TestQueue(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{Sessions: 2})
	var people []*caller
	for i := range 4 {
		people = append(people, f.joined(t, k.ID, fmt.Sprint("L", i)))
	}
	start := func(who *caller) (int, problem) {
		w := f.as(who.token, "POST", "/api/v1/sessions", `{"lab":"backpressure"}`)
		if w.Code == 201 {
			return w.Code, problem{}
		}
		if w.Header().Get("Retry-After") == "" && problemIn(t, w).Place > 0 {
			t.Error("a place in the queue without Retry-After")
		}
		return w.Code, problemIn(t, w)
	}
	for _, who := range people[:2] {
		if code, p := start(who); code != 201 {
			t.Fatal(p)
		}
	}
	if code, p := start(people[0]); code != 429 || p.Place != 0 || !strings.Contains(p.Detail, "each learner may run 1") {
		t.Errorf("a second job of one learner: %d %+v", code, p)
	}
	if _, p := start(people[2]); p.Place != 1 {
		t.Errorf("the first who waits: %+v", p)
	}
	if _, p := start(people[3]); p.Place != 2 {
		t.Errorf("the second who waits: %+v", p)
	}
	first := f.sessions.listOf(people[0])[0].id
	if w := f.as(people[0].token, "DELETE", "/api/v1/sessions/"+first, ""); w.Code != 204 {
		t.Fatal(w.Code)
	}
	if _, p := start(people[3]); p.Place != 2 {
		t.Errorf("the second gets the place before the first: %+v", p)
	}
	if code, p := start(people[2]); code != 201 {
		t.Errorf("the first does not get the place: %+v", p)
	}
	if _, p := start(people[3]); p.Place != 1 {
		t.Errorf("then the second is: %+v", p)
	}
}

func TestQueueForgetsWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(func(string) bool { return false })
		q.ask("a", 0)
		if place, _ := q.ask("b", 0); place != 2 {
			t.Fatal(place)
		}
		time.Sleep(queuePatience / 2)
		q.ask("b", 0)
		time.Sleep(queuePatience/2 + time.Second)
		if place, ok := q.ask("b", 1); !ok {
			t.Errorf("b is at %d after a left", place)
		}
	})
}

func TestKnobsOfLearnersAreCapped(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{Rate: 30_000, StateBytes: 1 << 20})
	ann := f.joined(t, k.ID, "Ann")
	for _, c := range []struct{ knobs, field string }{
		{`"rate":30001`, "rate"},
		{`"rate":0`, "rate"},
		{`"keys":1000000`, "keys"},
		{`"parallelism":9`, "parallelism"},
		{`"networkMemoryBytes":1000000000`, "networkMemoryBytes"},
		{`"workKind":"cpu","parallelism":4`, "parallelism"},
		{`"recordBytes":1000000`, "recordBytes"},
	} {
		p := problemIn(t, f.as(ann.token, "POST", "/api/v1/sessions", `{"lab":"backpressure","knobs":{`+c.knobs+`}}`))
		if p.Status != 429 || p.Field != c.field {
			t.Errorf("%s: %+v", c.knobs, p)
		}
	}
	sess := f.startAs(t, ann)
	if p := problemIn(t, f.as(ann.token, "PATCH", "/api/v1/sessions/"+sess.id+"/knobs", `{"rate":1000000}`)); p.Status != 429 || p.Field != "rate" {
		t.Errorf("a running job: %+v", p)
	}
	if p := problemIn(t, f.as(ann.token, "POST", "/api/v1/sessions/"+sess.id+"/actions/rescale", `{"parallelism":50}`)); p.Status != 429 {
		t.Errorf("rescale: %+v", p)
	}
	if w := f.as(teacher, "POST", "/api/v1/sessions", `{"lab":"backpressure","knobs":{"rate":30001}}`); w.Code != 201 {
		t.Errorf("the instructor is capped: %s", w.Body)
	}
}

// Every lab starts with its own defaults under the caps of a class.
func TestLabsFitTheCaps(t *testing.T) {
	f, _, _ := newFakeClass(t, ClassLimits{})
	for _, l := range labs.All() {
		if err := f.course.capKnobs(l, nil, l.Defaults()); err != nil {
			t.Errorf("lab %s: %v", l.ID, err)
		}
	}
}

func TestBombs(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/v1/class/results", `{"id":"12345678","exercise":"skew-cure","status":"passed","points":1,"maxPoints":1,"work":` + deep},
		{"POST", "/api/v1/sessions", `{"lab":"backpressure","knobs":{"a":` + deep},
		{"PUT", "/api/v1/progress", deep},
		{"POST", "/api/v1/exercises/skew-cure/checks", `{"answer":` + deep},
		{"POST", "/api/v1/class/results", `{"id":"12345678","exercise":"skew-cure","status":"passed","points":1,"maxPoints":1,"work":{"core":"` + strings.Repeat("x", maxResultBytes) + `"}}`},
		{"POST", "/api/v1/class/join", `{"code":"` + strings.Repeat("0", 1<<20) + `"}`},
	} {
		if w := f.as(ann.token, c.method, c.path, c.body); w.Code < 400 || w.Code >= 500 {
			t.Errorf("%s %s: %d %.200s", c.method, c.path, w.Code, w.Body)
		}
	}
}

func TestUploadsOfLearners(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{Uploads: 1})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	id, _, err := f.inputs.take("a.csv", strings.NewReader("a,b\n1,2\n"), ann)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"lab":"key-groups","input":"` + id + `","key":"a"}`
	if p := problemIn(t, f.as(ben.token, "POST", "/api/v1/sessions", body)); p.Status != 422 || !strings.Contains(p.Detail, "no such input") {
		t.Errorf("Ben reads Ann's file: %+v", p)
	}
	if _, _, err := f.inputs.take("b.csv", strings.NewReader("a,b\n1,2\n"), ben); err != nil {
		t.Fatal(err)
	}
	if w := f.as(ann.token, "POST", "/api/v1/sessions", body); w.Code != 201 {
		t.Errorf("Ann's file after Ben uploaded one: %s", w.Body)
	}
	if _, _, err := f.inputs.take("c.csv", strings.NewReader("a,b\n1,2\n"), ann); err != nil {
		t.Fatal(err)
	}
	if _, err := f.inputs.get(id, ann); err == nil {
		t.Error("Ann keeps two files where one is allowed")
	}
	wide := strings.Repeat("c,", 1_000_000) + "c\n"
	if _, _, err := f.inputs.take("wide.csv", strings.NewReader(wide), ann); problemOf(err).Status != 422 {
		t.Errorf("a million columns: %v", err)
	}
}
