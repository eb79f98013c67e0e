package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/class"
)

func resultBody(id string, points int) string {
	// As labserver check --submit sends it, with fields that the page does not send.
	return fmt.Sprintf(`{"id":%q,"exercise":"skew-cure","title":"Skew","kind":"live","status":"failed","points":%d,"maxPoints":8,`+
		`"checks":[{"name":"<script>alert(1)</script>"}],"engine":"test","work":{"record":"QUJD","digest":"made up"}}`, id, points)
}

func TestResultsAreKeptOnce(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann, ben := f.joined(t, k.ID, `=cmd|"/c calc"`), f.joined(t, k.ID, "Ben")
	first := answerOf[classResult](t, f.as(ann.token, "POST", "/api/v1/class/results", resultBody("one-result", 3)), 201)
	again := answerOf[classResult](t, f.as(ann.token, "POST", "/api/v1/class/results", resultBody("one-result", 8)), 200)
	if first.Judged != "reported" || again.Points != 3 || again.Received != first.Received {
		t.Errorf("sent once %+v, and once more %+v", first, again)
	}
	if w := f.as(ben.token, "POST", "/api/v1/class/results", resultBody("one-result", 8)); w.Code != 409 {
		t.Errorf("another learner sends that id: %d %s", w.Code, w.Body)
	}
	for _, c := range []struct{ body, field string }{
		{strings.Replace(resultBody("another-one", 1), "skew-cure", "none-such", 1), "exercise"},
		{resultBody("x", 1), "id"},
		{strings.Replace(resultBody("another-one", 1), "another-one", `another\u0000one`, 1), "id"},
		{resultBody("another-one", 9), "points"},
		{strings.Replace(resultBody("another-one", 1), `"failed"`, `"great"`, 1), "status"},
		{strings.Replace(resultBody("another-one", 1), `"QUJD"`, `7`, 1), "work"},
	} {
		if p := problemIn(t, f.as(ann.token, "POST", "/api/v1/class/results", c.body)); p.Status != 422 || p.Field != c.field {
			t.Errorf("%s: %+v", c.body, p)
		}
	}
	work := answerOf[struct{ Record, Digest string }](t, f.as(teacher, "GET", "/api/v1/class/results/one-result/work", ""), 200)
	if work.Record != "QUJD" || work.Digest == "made up" || work.Digest == "" {
		t.Errorf("work %+v", work)
	}
	rows, err := csv.NewReader(f.as(teacher, "GET", "/api/v1/class/export?format=csv", "").Body).ReadAll()
	if err != nil || len(rows) != 3 || strings.HasPrefix(rows[1][0], "=") && strings.HasPrefix(rows[2][0], "=") {
		t.Errorf("%v: a name as a formula in %q", err, rows)
	}
	if !strings.Contains(fmt.Sprint(rows), "reported") {
		t.Errorf("no result is reported in %v", rows)
	}
	for _, format := range []string{"json", "gradescope"} {
		if w := f.as(teacher, "GET", "/api/v1/class/export?format="+format, ""); w.Code != 200 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %.200s", format, w.Code, w.Body)
		}
	}
	if w := f.as(teacher, "GET", "/api/v1/class/export?format=xml", ""); w.Code != 422 {
		t.Errorf("xml: %d", w.Code)
	}
	people := answerOf[struct{ People []classPerson }](t, f.as(teacher, "GET", "/api/v1/class/people", ""), 200).People
	if len(people) != 2 || len(people[0].Results)+len(people[1].Results) != 1 {
		t.Errorf("%+v", people)
	}
}

// What this server judged itself is entered as verified, and the learner's progress is kept in the store.
func TestCheckOfThePageIsVerified(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	w := f.as(ann.token, "POST", "/api/v1/exercises/buffer-timeouts/checks", `{"answer":{"at100":1,"at1":1,"at0":1,"onlyFull":1}}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"kept":true`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	all := answerOf[struct{ Results []classResult }](t, f.as(teacher, "GET", "/api/v1/class/results", ""), 200).Results
	if len(all) != 1 || all[0].Judged != "verified" || all[0].Exercise != "buffer-timeouts" || all[0].Name != "Ann" {
		t.Errorf("%+v", all)
	}
	p := answerOf[Progress](t, f.as(ann.token, "GET", "/api/v1/progress", ""), 200)
	if p.Exercises["buffer-timeouts"].Tries != 1 {
		t.Errorf("progress %+v", p.Exercises)
	}
	ben := f.joined(t, k.ID, "Ben")
	if p := answerOf[Progress](t, f.as(ben.token, "GET", "/api/v1/progress", ""), 200); len(p.Exercises) != 0 {
		t.Errorf("Ben has Ann's progress: %+v", p)
	}
}

func TestDeadlines(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	past := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	at := "/api/v1/class/deadlines/skew-cure"
	if w := f.as(teacher, "PUT", at, `{"due":"`+past+`","penalty":25}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if w := f.as(teacher, "PUT", at+"/extensions/"+ben.Person, `{"due":"2100-01-01T00:00:00Z"}`); w.Code != 204 {
		t.Fatal(w.Body)
	}
	if r := answerOf[classResult](t, f.as(ann.token, "POST", "/api/v1/class/results", resultBody("ann-is-late", 4)), 201); !r.Late {
		t.Errorf("%+v", r)
	}
	if r := answerOf[classResult](t, f.as(ben.token, "POST", "/api/v1/class/results", resultBody("ben-has-more", 4)), 201); r.Late {
		t.Errorf("%+v", r)
	}
	due := answerOf[struct{ Deadlines []classDeadline }](t, f.as(ben.token, "GET", "/api/v1/class/deadlines", ""), 200).Deadlines
	if len(due) != 1 || due[0].Due.Year() != 2100 || due[0].Extensions != nil {
		t.Errorf("Ben's deadline: %+v", due)
	}
	if w := f.as(teacher, "PUT", at, `{"due":"`+past+`","penalty":100}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if p := problemIn(t, f.as(ann.token, "POST", "/api/v1/class/results", resultBody("ann-is-too-late", 4))); p.Status != 409 || p.Field != "deadline" {
		t.Errorf("%+v", p)
	}
	if w := f.as(teacher, "PATCH", "/api/v1/class", `{"state":"closed"}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if p := problemIn(t, f.as(ben.token, "POST", "/api/v1/class/results", resultBody("ben-after-all", 4))); p.Status != 409 || p.Field != "class" {
		t.Errorf("a result of a closed class: %+v", p)
	}
	if w := f.joinFrom("192.0.2.1:1", k.Code, "Eve"); w.Code != 409 {
		t.Errorf("joining a closed class: %d", w.Code)
	}
}

func TestQuestions(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	q := answerOf[classQuestion](t, f.as(teacher, "POST", "/api/v1/class/questions", `{"text":"How long?","choices":["1 s","2 s"],"lab":"backpressure"}`), 201)
	answer := "/api/v1/class/questions/" + q.ID + "/answers"
	if got := answerOf[classQuestion](t, f.as(ann.token, "POST", answer, `{"choice":1}`), 201); *got.Mine != 1 || got.Counts != nil {
		t.Errorf("Ann sees %+v while the question is open", got)
	}
	if got := answerOf[classQuestion](t, f.as(ann.token, "POST", answer, `{"choice":0}`), 200); *got.Mine != 1 {
		t.Errorf("a second answer counts: %+v", got)
	}
	if w := f.as(ben.token, "POST", answer, `{"choice":2}`); w.Code != 422 {
		t.Errorf("a choice that is none: %d", w.Code)
	}
	run := answerOf[struct{ ID string }](t, f.as(teacher, "POST", "/api/v1/class/questions/"+q.ID+"/run", ""), 201)
	me, err := f.course.fresh(t.Context(), k.ID)
	if err != nil {
		t.Fatal(err)
	}
	live := f.liveOf(me, ben)
	if live.Spotlight != run.ID || live.Question == nil || live.Question.Ended == nil || fmt.Sprint(live.Question.Counts) != "[0 1]" {
		t.Errorf("the run that decides: %+v", live)
	}
	if w := f.as(ben.token, "POST", answer, `{"choice":0}`); w.Code != 409 {
		t.Errorf("an answer after the end: %d", w.Code)
	}
}

func TestMergeTakesTheRunAlong(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann, twin := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ann")
	sess := f.startAs(t, twin)
	if w := f.as(teacher, "POST", "/api/v1/class/people/merge", fmt.Sprintf(`{"from":%q,"into":%q}`, twin.Person, ann.Person)); w.Code != 204 {
		t.Fatal(w.Body)
	}
	for _, token := range []string{ann.token, twin.token} {
		if w := f.as(token, "GET", "/api/v1/sessions/"+sess.id, ""); w.Code != 200 {
			t.Errorf("after the merge: %d", w.Code)
		}
	}
}

// While the store does not answer, who is known goes on looking and driving; what would have to be kept is refused with 503.
func TestStoreTrouble(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	sess := f.startAs(t, ann)
	answerOf[classMe](t, f.as(ann.token, "GET", "/api/v1/class/me", ""), 200)
	answerOf[classWall](t, f.as(teacher, "GET", "/api/v1/class/wall", ""), 200)
	if err := f.course.store.Close(); err != nil {
		t.Fatal(err)
	}
	f.course.mu.Lock()
	for _, known := range f.course.known {
		known.at = known.at.Add(-2 * knownFor)
	}
	f.course.rooms[k.ID].tried, f.course.rooms[k.ID].dirty = time.Time{}, true
	f.course.mu.Unlock()
	w := f.as(ann.token, "POST", "/api/v1/class/results", resultBody("not-kept-now", 1))
	if p := problemIn(t, w); p.Status != 503 || p.Field != "store" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%+v %v", p, w.Header())
	}
	if w := f.as(ann.token, "PATCH", "/api/v1/sessions/"+sess.id+"/knobs", `{"debloat":true}`); w.Code != 200 {
		t.Errorf("a knob: %d %s", w.Code, w.Body)
	}
	wall := answerOf[classWall](t, f.as(teacher, "GET", "/api/v1/class/wall", ""), 200)
	if wall.Trouble == "" || len(wall.Rows) != 1 {
		t.Errorf("the wall: %+v", wall)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503} {
		if w := f.ask(httptest.NewRequest("GET", path, nil)); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	if w := f.joinFrom("192.0.2.1:1", k.Code, "Eve"); w.Code != 503 {
		t.Errorf("joining: %d %s", w.Code, w.Body)
	}
}

func TestWallStream(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	sess := f.startAs(t, ann)
	answerOf[classMe](t, f.as(ann.token, "PATCH", "/api/v1/class/me", `{"hand":true}`), 200)
	f.course.setPlace(ann.Person, classPlaceBody{Lab: "backpressure", Step: "observe"})
	if err := f.writePlaces(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.course.fresh(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(f)
	defer web.Close()
	dial := func(token, path string) *websocket.Conn {
		name := personCookie
		if token == teacher {
			name = instructorCookie
		}
		o := &websocket.DialOptions{HTTPHeader: map[string][]string{"Cookie": {name + "=" + token}}}
		conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http")+path, o)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(1 << 20)
		return conn
	}
	next := func(conn *websocket.Conn, to any) {
		_, b, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, to); err != nil {
			t.Fatal(err)
		}
	}
	conn := dial(teacher, "/api/v1/class/wall/stream")
	defer func() { _ = conn.CloseNow() }()
	var wall classWall
	next(conn, &wall)
	if len(wall.Rows) != 1 {
		t.Fatalf("%+v", wall)
	}
	row := wall.Rows[0]
	if row.Step != "observe" || row.Session != sess.id || !row.Here || row.HandFor == 0 || row.Mini == nil || row.Mini.State != "RUNNING" || row.Of != 1 || row.Shown != 1 || wall.Steps.Observe != 1 {
		t.Errorf("%+v", row)
	}
	live := dial(ann.token, "/api/v1/class/live")
	defer func() { _ = live.CloseNow() }()
	var now classLive
	next(live, &now)
	if !now.Hand {
		t.Errorf("%+v", now)
	}
	answerOf[classLive](t, f.as(teacher, "POST", "/api/v1/class/lab", `{"lab":"backpressure","knobs":{"debloat":true}}`), 200)
	next(live, &now)
	if now.Lab != "backpressure" || now.Knobs["debloat"] != true {
		t.Errorf("%+v", now)
	}
	// Who is removed is not told any more.
	if w := f.as(teacher, "DELETE", "/api/v1/class/people/"+ann.Person, ""); w.Code != 204 {
		t.Fatal(w.Body)
	}
	if _, err := f.sessions.get(sess.id); err == nil {
		t.Error("the run of a removed learner goes on")
	}
	for {
		if _, _, err := live.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("closed by %v", err)
			}
			break
		}
	}
}

func TestSeveralClasses(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	w := f.as(teacher, "POST", "/api/v1/classes", `{"name":"Evening","zone":"Asia/Shanghai"}`)
	made := answerOf[classInfo](t, w, 201)
	cookies := w.Result().Cookies()
	if made.Link == "" || made.Code == class.ShowCode(k.Code) || len(cookies) != 1 || !strings.HasPrefix(cookies[0].Value, teacher+".") {
		t.Fatalf("%+v %v", made, cookies)
	}
	r := httptest.NewRequest("POST", "/api/v1/classes/"+made.ID+"/enter", nil)
	r.AddCookie(cookies[0])
	w = f.ask(r)
	if w.Code != 204 {
		t.Fatal(w.Body)
	}
	r = httptest.NewRequest("GET", "/api/v1/class", nil)
	r.AddCookie(w.Result().Cookies()[0])
	if info := answerOf[classInfo](t, f.ask(r), 200); info.ID != made.ID || info.Zone != "Asia/Shanghai" {
		t.Errorf("it looks at %+v", info)
	}
}
