package web

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/class"
	"weir/labs"
	"weir/web/delta"
)

// pair is two servers of classes on one store, each at an address, and a class.
type pair struct {
	a, b    *fakeServer
	http    [2]*httptest.Server
	lines   [2]*line
	k       *class.Class
	teacher string
	// seen is what came to the first server from the second.
	mu   sync.Mutex
	seen []*http.Request
}

func newPair(t *testing.T) *pair {
	t.Helper()
	db := "sqlite:" + filepath.Join(t.TempDir(), "both.db")
	p := &pair{}
	for i, to := range []**fakeServer{&p.a, &p.b} {
		*to, _ = newFake(t, Options{Class: &ClassOptions{DB: db}})
		p.open(t, i)
	}
	var err error
	if p.k, p.teacher, err = p.a.course.makeClass(t.Context(), "Streams", "UTC"); err != nil {
		t.Fatal(err)
	}
	return p
}

// open has one of the servers listen at a new address, and tells the store.
func (p *pair) open(t *testing.T, i int) {
	t.Helper()
	f := []*fakeServer{p.a, p.b}[i]
	p.http[i] = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i == 0 && r.Header.Get(statementHeader) != "" {
			p.mu.Lock()
			p.seen = append(p.seen, r.Clone(context.Background()))
			p.mu.Unlock()
		}
		f.ServeHTTP(w, r)
	}))
	p.lines[i] = &line{Listener: p.http[i].Listener}
	p.http[i].Listener = p.lines[i]
	p.http[i].Start()
	t.Cleanup(p.http[i].Close)
	if err := f.course.store.PutServer(t.Context(), class.Server{ID: f.course.server, URL: p.http[i].URL, Seen: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// follow opens a stream at the second server.
func (p *pair) follow(t *testing.T, token, id string) *websocket.Conn {
	t.Helper()
	c, resp, err := websocket.Dial(t.Context(), p.http[1].URL+"/api/v1/sessions/"+id+"/stream?hz=10",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("%v: %s", err, b)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	c.SetReadLimit(1 << 20)
	return c
}

// Learners of one server follow a run of the other one: its pictures come over one websocket, whoever follows, with the
// knobs that the instructor turns from either server.
func TestSpotlightOfAnotherServer(t *testing.T) {
	p := newPair(t)
	instructor, err := p.a.course.whoHas(t.Context(), p.teacher)
	if err != nil {
		t.Fatal(err)
	}
	sess := p.a.startAs(t, instructor)
	job := p.a.run()
	ann, ben := p.b.joined(t, p.k.ID, "Ann"), p.b.joined(t, p.k.ID, "Ben")
	stream := "/api/v1/sessions/" + sess.id + "/stream"
	if w := p.b.as(ann.token, "GET", stream, ""); w.Code != http.StatusNotFound {
		t.Errorf("before the spotlight a learner of the other server is answered %d", w.Code)
	}
	live := answerOf[classLive](t, p.b.as(p.teacher, "POST", "/api/v1/class/spotlight", `{"session":"`+sess.id+`"}`), http.StatusOK)
	if live.SpotlightLab != "backpressure" || live.Spotlight != sess.id {
		t.Errorf("the other server says %+v", live)
	}
	if w := p.b.as(ann.token, "PATCH", "/api/v1/sessions/"+sess.id+"/knobs", `{"debloat":true}`); w.Code != http.StatusNotFound {
		t.Errorf("a learner who follows turns a knob: %d %s", w.Code, w.Body)
	}

	readers := []*websocket.Conn{p.follow(t, ann.token, sess.id), p.follow(t, ben.token, sess.id), p.follow(t, p.teacher, sess.id)}
	pictures := make([]any, len(readers))
	for i, c := range readers {
		first := read(t, c)
		if first["session"] != sess.id || first["state"] != "RUNNING" {
			t.Fatalf("the first message is %v", first)
		}
		pictures[i] = first
	}
	if n := sess.viewers.Load(); n != 1 {
		t.Errorf("%d connections follow the run on its own server", n)
	}
	if followed, viewers := p.b.course.others.follows.counts(); followed != 1 || viewers != len(readers) {
		t.Errorf("%d sessions are followed by %d viewers", followed, viewers)
	}
	if w := p.b.as(p.teacher, "PATCH", "/api/v1/sessions/"+sess.id+"/knobs", `{"debloat":true}`); w.Code != http.StatusOK {
		t.Errorf("the instructor turns a knob: %d %s", w.Code, w.Body)
	}
	if knobs := job.Snapshot().Knobs; knobs["debloat"] != true {
		t.Errorf("the job has %v", knobs)
	}
	for i, c := range readers {
		for pictures[i].(map[string]any)["knobs"].(map[string]any)["debloat"] != true {
			pictures[i] = delta.Merge(pictures[i], read(t, c))
		}
		if changes := pictures[i].(map[string]any)["changes"].([]any); len(changes) != 1 {
			t.Errorf("reader %d sees the changes %v", i, changes)
		}
	}
	if w := p.b.as(ann.token, "GET", "/api/v1/sessions/"+sess.id+"/evidence", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "source-pressed") {
		t.Errorf("evidence: %d %s", w.Code, w.Body)
	}

	// No cookie and no token of anybody went from one server to the other.
	p.mu.Lock()
	if len(p.seen) < 4 {
		t.Errorf("%d requests were handed on", len(p.seen))
	}
	for _, r := range p.seen {
		var all strings.Builder
		_ = r.Header.Write(&all)
		for _, secret := range []string{ann.token, ben.token, p.teacher} {
			if strings.Contains(all.String()+r.URL.String(), secret) {
				t.Errorf("%s %s was handed on with a token", r.Method, r.URL)
			}
		}
	}
	p.mu.Unlock()

	// The run ends: so do the streams, as those of a run of one's own server.
	if w := p.b.as(p.teacher, "DELETE", "/api/v1/sessions/"+sess.id, ""); w.Code != http.StatusNoContent {
		t.Errorf("ending it: %d %s", w.Code, w.Body)
	}
	for i, c := range readers {
		if status := endOf(t, c); status != websocket.StatusNormalClosure {
			t.Errorf("reader %d is left with %v", i, status)
		}
	}
	if w := p.b.as(ann.token, "GET", stream, ""); w.Code != http.StatusNotFound {
		t.Errorf("after its end: %d", w.Code)
	}
}

// endOf reads to the end of a stream.
func endOf(t *testing.T, c *websocket.Conn) websocket.StatusCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// The server of a run goes away: who follows is told, and what asks for the run is told why. It comes back, elsewhere, and
// the run with it.
func TestAnotherServerGoesAway(t *testing.T) {
	p := newPair(t)
	ann := p.a.joined(t, p.k.ID, "Ann") // who has been moved to the other server since
	sess := p.a.startAs(t, ann)
	c := p.follow(t, ann.token, sess.id)
	read(t, c)
	_ = p.lines[0].Close()
	p.lines[0].cut()
	if status := endOf(t, c); status != websocket.StatusTryAgainLater {
		t.Errorf("the reader is left with %v", status)
	}
	for _, path := range []string{"/evidence", "/stream"} {
		w := p.b.as(ann.token, "GET", "/api/v1/sessions/"+sess.id+path, "")
		said := answerOf[problem](t, w, http.StatusServiceUnavailable)
		if said.Field != "server" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %+v", path, said)
		}
	}
	p.open(t, 0)
	if w := p.b.as(ann.token, "PATCH", "/api/v1/sessions/"+sess.id+"/knobs", `{"debloat":true}`); w.Code != http.StatusOK {
		t.Errorf("back: %d %s", w.Code, w.Body)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		c, _, err := websocket.Dial(t.Context(), p.http[1].URL+"/api/v1/sessions/"+sess.id+"/stream",
			&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + ann.token}}})
		if err == nil {
			if first := read(t, c); first["session"] != sess.id {
				t.Errorf("back, the first message is %v", first)
			}
			_ = c.CloseNow()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not followed again: %v", err)
		}
	}
}

// Who may do what with a run of another server is decided there, as it is with one's own.
func TestAnotherServerLooksAtCallers(t *testing.T) {
	p := newPair(t)
	_, otherTeacher, err := p.b.course.makeClass(t.Context(), "Another course", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	ann, ben := p.a.joined(t, p.k.ID, "Ann"), p.b.joined(t, p.k.ID, "Ben")
	sess := p.a.startAs(t, ann)
	at := "/api/v1/sessions/" + sess.id
	for _, c := range []struct {
		who, token, method, path, body string
		want                           int
	}{
		{"nobody", "", "GET", "/evidence", "", 401},
		{"the learner", ann.token, "GET", "/evidence", "", 200},
		{"another learner", ben.token, "GET", "/evidence", "", 404},
		{"another learner", ben.token, "DELETE", "", "", 404},
		{"another learner", ben.token, "GET", "/stream", "", 404},
		{"the instructor of another class", otherTeacher, "GET", "/evidence", "", 404},
		{"the instructor of another class", otherTeacher, "GET", "/stream", "", 404},
		{"the instructor", p.teacher, "GET", "/evidence", "", 200},
		{"the instructor, who may not drive", p.teacher, "PATCH", "/knobs", `{"debloat":true}`, 403},
		{"the learner", ann.token, "PATCH", "/knobs", `{"debloat":true}`, 200},
		{"the learner", ann.token, "PATCH", "/knobs", `{"none":1}`, 422},
		{"the learner", ann.token, "POST", "/actions/checkpoint", `{}`, 200},
		{"the learner", ann.token, "GET", "/trace", "", 426},
	} {
		if w := p.b.as(c.token, c.method, at+c.path, c.body); w.Code != c.want {
			t.Errorf("%s, %s %s: %d, want %d: %s", c.who, c.method, c.path, w.Code, c.want, w.Body)
		}
	}
	w := p.b.as(ann.token, "GET", at+"/evidence", "")
	for name, values := range w.Header() {
		if len(values) > 1 || name == proofHeader {
			t.Errorf("the answer has %s: %v", name, values)
		}
	}
	answerOf[classLive](t, p.b.as(p.teacher, "POST", "/api/v1/class/freeze", `{"frozen":true}`), 200)
	lookAnew := func() {
		if _, err := p.a.course.fresh(t.Context(), p.k.ID); err != nil {
			t.Fatal(err)
		}
	}
	lookAnew()
	if w := p.b.as(ann.token, "PATCH", at+"/knobs", `{"debloat":false}`); w.Code != http.StatusLocked {
		t.Errorf("frozen: %d %s", w.Code, w.Body)
	}
	if err := p.b.course.store.UpdateClass(t.Context(), p.k.ID, func(k *class.Class) error { k.MayDrive = true; return nil }); err != nil {
		t.Fatal(err)
	}
	lookAnew()
	if w := p.b.as(p.teacher, "PATCH", at+"/knobs", `{"debloat":false}`); w.Code != http.StatusOK {
		t.Errorf("the instructor, who may drive: %d %s", w.Code, w.Body)
	}
	log, err := p.b.course.store.AuditLog(t.Context(), p.k.ID)
	if err != nil || len(log) == 0 || log[len(log)-1].What != "drive" || log[len(log)-1].About != sess.id {
		t.Errorf("the audit log ends with %+v, %v", log, err)
	}

	// The trace is a websocket of each who looks.
	c, _, err := websocket.Dial(t.Context(), p.http[1].URL+at+"/trace", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + p.teacher}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	if m := read(t, c); m["armed"] == nil {
		t.Errorf("the trace says %v", m)
	}
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"arm":"nowhere"}`)); err != nil {
		t.Fatal(err)
	}
	for m := read(t, c); m["error"] == nil; m = read(t, c) {
	}
}

// A statement holds for one request to one server by one that knows the secret, once if it changes something.
func TestStatements(t *testing.T) {
	p := newPair(t)
	ann := p.a.joined(t, p.k.ID, "Ann")
	sess := p.a.startAs(t, ann)
	here, there := p.a.course.trust, p.b.course.trust
	target := "/api/v1/sessions/" + sess.id + "/knobs"
	body := `{"debloat":true}`
	hash := class.HashToken(ann.token)
	send := func(stated, method, target, body string) int {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(statementHeader, stated)
		w := p.a.ask(r)
		if ok := w.Code != http.StatusUnauthorized; ok != (w.Header().Get(proofHeader) != "") {
			t.Errorf("%d with the proof %q", w.Code, w.Header().Get(proofHeader))
		}
		return w.Code
	}
	good := there.state(here.server, "PATCH", target, []byte(body), hash).String()
	if code := send(good, "PATCH", target, body); code != 200 {
		t.Fatalf("a good one: %d", code)
	}
	stranger := newTrust(there.server, make([]byte, 32))
	old := there.state(here.server, "PATCH", target, []byte(body), hash)
	old.at = "1700000000000"
	old.mac = there.macOf(old, "PATCH", target)
	another := strings.Split(there.state(here.server, "PATCH", target, []byte(body), hash).String(), " ")
	another[4] = nobodysHash // on whose behalf
	for name, c := range map[string][4]string{
		"sent again":           {good, "PATCH", target, body},
		"another body":         {there.state(here.server, "PATCH", target, []byte(body), hash).String(), "PATCH", target, `{"debloat":false}`},
		"another method":       {there.state(here.server, "GET", target, []byte(body), hash).String(), "PATCH", target, body},
		"another address":      {there.state(here.server, "PATCH", target+"?x", []byte(body), hash).String(), "PATCH", target, body},
		"another server":       {there.state("third", "PATCH", target, []byte(body), hash).String(), "PATCH", target, body},
		"on another's behalf":  {strings.Join(another, " "), "PATCH", target, body},
		"without the secret":   {stranger.state(here.server, "PATCH", target, []byte(body), hash).String(), "PATCH", target, body},
		"too old":              {old.String(), "PATCH", target, body},
		"nobody's token":       {there.state(here.server, "PATCH", target, []byte(body), class.HashToken("made up")).String(), "PATCH", target, body},
		"one's own, come back": {here.state(here.server, "PATCH", target, []byte(body), hash).String(), "PATCH", target, body},
		"no statement":         {"x", "PATCH", target, body},
	} {
		r := httptest.NewRequest(c[1], c[2], strings.NewReader(c[3]))
		r.Header.Set(statementHeader, c[0])
		r.Header.Set("Content-Type", "application/json")
		if w := p.a.ask(r); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	// A server for itself may follow, and nothing else.
	for target, want := range map[string]int{
		"/api/v1/sessions/" + sess.id + "/stream": 426, "/api/v1/sessions/" + sess.id: 403, "/api/v1/class/people": 403,
		"/api/v1/sessions/none/stream": 404, "/metrics": 403, "/healthz": 403,
	} {
		if code := send(there.state(here.server, "GET", target, nil, nil).String(), "GET", target, ""); code != want {
			t.Errorf("a server asks for %s: %d, want %d", target, code, want)
		}
	}
}

// An address of the store at which somebody else listens learns nothing, and is not believed.
func TestAddressOfSomebodyElse(t *testing.T) {
	p := newPair(t)
	ann := p.a.joined(t, p.k.ID, "Ann")
	sess := p.a.startAs(t, ann)
	var asked atomic.Int64
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasSuffix(r.URL.Path, "/stream") {
			if c, err := websocket.Accept(w, r, nil); err == nil {
				_ = c.Write(r.Context(), websocket.MessageText, []byte(`{"session":"`+sess.id+`","state":"RUNNING"}`))
				_ = c.CloseNow()
			}
			return
		}
		w.Header().Set(proofHeader, "AAAA")
		_, _ = w.Write([]byte(`{"evidence":[]}`))
	}))
	defer liar.Close()
	if err := p.a.course.store.PutServer(t.Context(), class.Server{ID: p.a.course.server, URL: liar.URL, Seen: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/evidence", "/stream"} {
		said := answerOf[problem](t, p.b.as(ann.token, "GET", "/api/v1/sessions/"+sess.id+path, ""), http.StatusServiceUnavailable)
		if said.Field != "server" {
			t.Errorf("%s: %+v", path, said)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("it was asked %d times", asked.Load())
	}
	for _, bad := range []string{"", "ftp://x", "http://", "http://user:word@x", "http://x/path", "file:///etc/passwd"} {
		if _, err := p.b.course.others.to(class.Server{ID: "x", URL: bad}); err == nil {
			t.Errorf("%q is called", bad)
		}
	}
}

// What comes of the messages of another server is what that server shows, and what it sends is handed on as it is to who saw
// the picture before.
func TestNextPicture(t *testing.T) {
	f := &followed{}
	first, err := f.next(nil, []byte(`{"state":"RUNNING","v":[{"n":1},{"n":2}],"gone":1}`), true)
	if err != nil {
		t.Fatal(err)
	}
	raw := `{"v":{"1":{"n":3}},"gone":null}`
	second, err := f.next(first, []byte(raw), false)
	if err != nil {
		t.Fatal(err)
	}
	third, err := f.next(second, []byte(`{"skipped":4,"state":"FINISHED"}`), false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.next(third, []byte(`{"state":"FINISHED","v":[]}`), true)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		to, seen *frame
		skipped  int64
		want     string
	}{
		{second, first, 0, raw},
		{second, nil, 0, `{"state":"RUNNING","v":[{"n":1},{"n":3}]}`},
		{third, second, 0, `{"state":"FINISHED"}`},
		{third, first, 1, `{"skipped":1,"gone":null,"state":"FINISHED","v":{"1":{"n":3}}}`},
		{again, third, 0, `{"v":[]}`},
		{again, again, 0, ``},
	} {
		b, err := c.to.message(c.seen, c.skipped)
		if err != nil || string(b) != c.want {
			t.Errorf("%d: %s, want %s, %v", i, b, c.want, err)
		}
	}
	if n := first.tree["v"].([]any)[1].(map[string]any)["n"]; n != json.Number("2") {
		t.Errorf("a picture that others hold was changed to %v", n)
	}
	if _, err := f.next(first, []byte(`[`), false); err == nil {
		t.Error("nonsense is taken")
	}
}

// The page of a run of another server is the one of a run of this server: with its knobs.
func TestPageOfAnotherServersRun(t *testing.T) {
	p := newPair(t)
	p.b.pretendBuilt()
	ann := p.a.joined(t, p.k.ID, "Ann")
	sess := p.a.startAs(t, ann)
	row, err := p.a.course.store.SessionByID(t.Context(), sess.id)
	if err != nil {
		t.Fatal(err)
	}
	row.Knobs = maps.Clone(row.Knobs)
	row.Knobs["rate"] = 777.0
	delete(row.Knobs, "none")
	if err := p.a.course.store.PutSession(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	page := func(token string) string {
		return p.b.as(token, "GET", "/labs/backpressure?session="+sess.id, "").Body.String()
	}
	if got := page(ann.token); !strings.Contains(got, sess.id) || !strings.Contains(got, "777") {
		t.Error("the page does not have the run and its knobs")
	}
	if ben := p.b.joined(t, p.k.ID, "Ben"); strings.Contains(page(ben.token), `"session":"`+sess.id) {
		t.Error("another learner's page has the run")
	}
}

// A run of another server is handed in as one's own, judged by the server that answers.
func TestRecordOfAnotherServersRun(t *testing.T) {
	p := newPair(t)
	ann, ben := p.a.joined(t, p.k.ID, "Ann"), p.b.joined(t, p.k.ID, "Ben")
	sess := p.a.startAs(t, ann)
	b, err := p.b.recordElsewhere(t.Context(), ann, sess.id)
	if err != nil {
		t.Fatal(err)
	}
	record, origin, err := labs.ReadRecord(strings.NewReader(string(b)), p.b.signKey.Public().(ed25519.PublicKey))
	if err != nil || origin != labs.OriginVerified || record.Lab != "backpressure" {
		t.Errorf("%+v, %s, %v", record, origin, err)
	}
	if _, err := p.b.recordElsewhere(t.Context(), ben, sess.id); !errors.Is(err, errNoSession) {
		t.Errorf("another learner's: %v", err)
	}
}

// The certificate that the store has of a server is taken, whoever signed it, and no other that nobody vouches for.
func TestPinnedCertificate(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }))
	defer s.Close()
	for name, c := range map[string]struct {
		pin  string
		well bool
	}{"its own": {pinOf(s.Certificate().Raw), true}, "another's": {pinOf([]byte("x")), false}, "none": {"", false}} {
		to, err := newOthers().to(class.Server{ID: "x", URL: s.URL, Pin: c.pin})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: to.transport}).Get(s.URL)
		if (err == nil) != c.well {
			t.Errorf("with the pin %s: %v", name, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
		to.transport.CloseIdleConnections()
	}
}
