package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"

	"weir/class/remote"
	"weir/engine/metric"
)

// A learner joins with the code, and is the same at the next start; another name is somebody else.
func TestOwnMachineJoins(t *testing.T) {
	n, data := newReach(t), t.TempDir()
	m := mustOwn(t, data, n.URL+"/class?code="+n.class.Code, "", "Ana")
	me := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200)
	if me.Name != "Ana" || me.Class.Name != "Streams" || !strings.HasPrefix(me.Link, n.URL+"/class/p/") {
		t.Errorf("%+v", me)
	}
	file := filepath.Join(data, "joined", "class.json")
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v %v", info, err)
	}
	m.untilUp(t)
	page := m.do("GET", "/class", "").Body.String()
	if !strings.Contains(page, `"own":true`) || !strings.Contains(page, me.ID) || !strings.Contains(page, `class="cown"`) {
		t.Error("the page does not say who the learner is, on whose machine")
	}
	m.stop()

	for _, again := range []string{n.URL + "/class?code=" + strings.ToLower(n.class.Code), n.URL, me.Link} {
		m = mustOwn(t, data, again, "", "")
		if back := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200); back.ID != me.ID {
			t.Errorf("by %s another came back: %+v", again, back)
		}
		m.stop()
	}
	m = mustOwn(t, data, n.URL, n.class.Code, "Ben")
	if ben := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200); ben.ID == me.ID || ben.Name != "Ben" {
		t.Errorf("Ben is %+v", ben)
	}
	m.stop()
	if all := n.people(t); len(all) != 2 {
		t.Errorf("%d people are in the class, want Ana and Ben", len(all))
	}
	m = mustOwn(t, data, n.URL, n.class.Code, "ana")
	if back := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200); back.ID != me.ID {
		t.Errorf("Ana by name is %+v", back)
	}
}

// Without a name the page asks for it.
func TestOwnMachineAsksForTheName(t *testing.T) {
	n := newReach(t)
	m := mustOwn(t, t.TempDir(), n.URL, n.class.Code, "")
	if w := m.do("GET", "/", ""); w.Code != 303 || w.Header().Get("Location") != "/class" {
		t.Errorf("the catalogue before the name: %d %v", w.Code, w.Header())
	}
	page := m.do("GET", "/class", "").Body.String()
	if !strings.Contains(page, n.class.Code[:4]+"-"+n.class.Code[4:]) || !strings.Contains(page, n.URL) {
		t.Error("the page has not the code, or does not say where the class is")
	}
	if w := m.do("GET", "/api/v1/class/me", ""); w.Code != 401 {
		t.Errorf("nobody is %d", w.Code)
	}
	if p := problemIn(t, m.do("POST", "/api/v1/class/join", `{"code":"00000000","name":"Ana"}`)); p.Status != 403 || p.Field != "code" {
		t.Errorf("a wrong code: %+v", p)
	}
	if p := problemIn(t, m.do("POST", "/api/v1/class/join", fmt.Sprintf(`{"code":%q,"name":" "}`, n.class.Code))); p.Status != 422 || p.Field != "name" {
		t.Errorf("no name: %+v", p)
	}
	me := answerOf[classMe](t, m.do("POST", "/api/v1/class/join", fmt.Sprintf(`{"code":%q,"name":"Ana"}`, n.class.Code)), 201)
	if me.Name != "Ana" {
		t.Errorf("%+v", me)
	}
	m.untilUp(t)
	if w := m.do("GET", "/", ""); w.Code != 200 {
		t.Errorf("the catalogue: %d", w.Code)
	}
	// Who leaves is asked again.
	if w := m.do("POST", "/api/v1/class/leave", ""); w.Code != 204 {
		t.Errorf("leaving: %d", w.Code)
	}
	if w := m.do("GET", "/api/v1/class/me", ""); w.Code != 401 {
		t.Errorf("who left is %d", w.Code)
	}
}

// What is wrong with an address, a code or a certificate comes as one line that says so.
func TestOwnMachineRefusals(t *testing.T) {
	n := newReach(t)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer page.Close()
	sent := httptest.NewServer(http.RedirectHandler("https://elsewhere.test/class", http.StatusPermanentRedirect))
	defer sent.Close()
	secret := httptest.NewUnstartedServer(n.fake)
	secret.Config.ErrorLog = n.Config.ErrorLog
	secret.StartTLS()
	defer secret.Close()
	closed, _, err := n.fake.course.makeClass(t.Context(), "Closed", "")
	if err != nil {
		t.Fatal(err)
	}
	token := n.fake.joined(t, closed.ID, "Zoe").token
	if err := n.fake.course.store.UpdateClass(t.Context(), closed.ID, closeClass); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ address, code, says string }{
		{n.URL, "0000-0000", "no class at " + n.URL + " has the code 0000-0000"},
		{n.URL, "", "has no join code"},
		{n.URL, closed.Code, "is closed"},
		{n.URL + "/class/p/nobodys", "", "the personal link leads nowhere"},
		{n.URL + "/class/p/" + n.teacher, "", "is the instructor's"},
		{gone.URL, n.class.Code, "does not answer"},
		{other.URL, n.class.Code, "there is no class"},
		{page.URL, n.class.Code, "there is no class"},
		{page.URL + "/class/p/x", "", "there is no class"},
		{sent.URL, n.class.Code, "sends callers on to https://elsewhere.test"},
		{secret.URL, n.class.Code, "--join-ca FILE"},
		{strings.Replace(secret.URL, "https", "http", 1), n.class.Code, "speaks TLS"},
		{strings.Replace(n.URL, "http", "https", 1), n.class.Code, "does not speak TLS"},
	} {
		_, err := startOwn(t, t.TempDir(), c.address, c.code, "Ana")
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: %v, want one line that says %q", c.address, c.code, err, c.says)
		}
	}
	// A class that is closed still lets its learners look.
	mustOwn(t, t.TempDir(), n.URL+"/class/p/"+token, "", "")
}

// revoke gives the learner a new link, as the instructor can.
func (n *reach) revoke(t *testing.T, person string) (link string) {
	t.Helper()
	return answerOf[struct{ Link string }](t, n.fake.as(n.teacher, "POST", "/api/v1/class/people/"+person+"/link", ""), 200).Link
}

// A link that was renewed ends the machine's own; the new one has it be the same learner again, with what waited.
func TestOwnMachineWithARevokedLink(t *testing.T) {
	n, data := newReach(t), t.TempDir()
	m := mustOwn(t, data, n.URL, n.class.Code, "Ana")
	m.untilUp(t)
	me := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200)
	fresh := n.revoke(t, me.ID)
	fresh = n.URL + "/class/p/" + fresh[strings.LastIndex(fresh, "/")+1:]
	n.line.cut()
	m.until(t, "the link is revoked", func(_ classLive, how link) bool { return how == linkRevoked })
	if live := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200).Live; live.Away != "revoked" {
		t.Errorf("pages hear %+v", live)
	}
	if w := m.do("POST", "/api/v1/class/results", `{"id":"result-1","exercise":"debloater","status":"passed","points":1,"maxPoints":1}`); w.Code != http.StatusAccepted {
		t.Errorf("a result meanwhile: %d %s", w.Code, w.Body)
	}
	if w := m.do("POST", "/api/v1/sessions", `{"lab":"backpressure"}`); w.Code != 201 {
		t.Errorf("the lab does not go on: %d %s", w.Code, w.Body)
	}
	m.stop()
	if _, err := startOwn(t, data, n.URL, n.class.Code, ""); err == nil || !strings.Contains(err.Error(), "knows you no longer") {
		t.Errorf("the next start: %v", err)
	}
	m = mustOwn(t, data, fresh, "", "")
	if back := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200); back.ID != me.ID {
		t.Errorf("by the new link: %+v", back)
	}
	comesToThis(t, "the result that waited is handed in", func() bool { return len(n.results(t)) == 1 })
}

// The certificate of a class's server may be given.
func TestOwnMachineTrustsACertificate(t *testing.T) {
	n := newReach(t)
	secret := httptest.NewTLSServer(n.fake)
	defer secret.Close()
	file := filepath.Join(t.TempDir(), "class.pem")
	if err := os.WriteFile(file, pemOf(secret.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := remote.ParseAddress(secret.URL, n.class.Code)
	if err != nil {
		t.Fatal(err)
	}
	m, err := startOwnWith(t, t.TempDir(), &JoinOptions{Address: a, Name: "Ana", CA: file})
	if err != nil {
		t.Fatal(err)
	}
	m.untilUp(t) // the websocket trusts it too
	m.stop()
}

// What the class has pages do reaches the machine, and what the learner says back reaches the class.
func TestOwnMachineFollowsTheClass(t *testing.T) {
	n := newReach(t)
	m := mustOwn(t, t.TempDir(), n.URL, n.class.Code, "Ana")
	m.untilUp(t)
	pages := httptest.NewServer(m)
	defer pages.Close()
	conn := dialPage(t, pages.URL+"/api/v1/class/live")
	live := readJSON[classLive](t, conn)
	if live.Away != "" || live.State != "open" {
		t.Errorf("at first %+v", live)
	}
	n.steer(t, "lab", `{"lab":"backpressure","knobs":{"debloat":true}}`)
	for live.Lab == "" {
		live = readJSON[classLive](t, conn)
	}
	if live.Lab != "backpressure" || live.Knobs["debloat"] != true {
		t.Errorf("sent was backpressure with debloating, heard %+v", live)
	}
	n.steer(t, "questions", `{"text":"Up or down?","choices":["up","down"]}`)
	for live.Question == nil {
		live = readJSON[classLive](t, conn)
	}
	if q := answerOf[classQuestion](t, m.do("POST", "/api/v1/class/questions/"+live.Question.ID+"/answers", `{"choice":1}`), 201); q.Mine == nil || *q.Mine != 1 {
		t.Errorf("answered: %+v", q)
	}
	answerOf[classMe](t, m.do("PATCH", "/api/v1/class/me", `{"hand":true}`), 200)
	if row := n.row(t); row.HandFor == 0 || row.Name != "Ana" {
		t.Errorf("the wall: %+v", row)
	}
	// Frozen, the machine refuses what the class's own server would; out of its reach the lab goes on.
	n.steer(t, "freeze", `{"frozen":true}`)
	m.until(t, "the class is frozen", func(l classLive, _ link) bool { return l.Frozen })
	if p := problemIn(t, m.do("POST", "/api/v1/sessions", `{"lab":"backpressure"}`)); p.Status != http.StatusLocked {
		t.Errorf("a start while frozen: %+v", p)
	}
	n.leave()
	m.until(t, "the class is away", func(_ classLive, how link) bool { return how == linkAway })
	for live.Away == "" {
		live = readJSON[classLive](t, conn)
	}
	if live.Away != "away" || live.Frozen || live.Question != nil {
		t.Errorf("away: %+v", live)
	}
	if w := m.do("POST", "/api/v1/sessions", `{"lab":"backpressure"}`); w.Code != 201 {
		t.Errorf("a start while the class is away: %d %s", w.Code, w.Body)
	}
	if p := problemIn(t, m.do("GET", "/api/v1/class/deadlines", "")); p.Status != 503 {
		t.Errorf("deadlines while away: %+v", p)
	}
	n.away.Store(false)
	for live.Away != "" {
		live = readJSON[classLive](t, conn)
	}
	if !live.Frozen || live.Question == nil {
		t.Errorf("back: %+v", live)
	}
}

// A page of the machine follows the run in the spotlight, and reads and changes nothing else of the class.
func TestOwnMachineFollowsTheSpotlight(t *testing.T) {
	n := newReach(t)
	m := mustOwn(t, t.TempDir(), n.URL, n.class.Code, "Ana")
	m.untilUp(t)
	who, err := n.fake.course.whoHas(t.Context(), n.teacher)
	if err != nil {
		t.Fatal(err)
	}
	sess, hidden := n.fake.startAs(t, who), n.fake.startAs(t, who)
	n.steer(t, "spotlight", `{"session":"`+sess.id+`"}`)
	m.until(t, "there is a spotlight", func(l classLive, _ link) bool { return l.Spotlight == sess.id && l.SpotlightLab == "backpressure" })
	pages := httptest.NewServer(m)
	defer pages.Close()
	at := "/api/v1/sessions/" + sess.id
	picture := readJSON[metric.Snapshot](t, dialPage(t, pages.URL+at+"/stream?hz=10"))
	if picture.Lab != "backpressure" || len(picture.Vertices) != 2 {
		t.Errorf("the first picture: %+v", picture)
	}
	if page := m.do("GET", "/labs/backpressure?watch=1&session="+sess.id, "").Body.String(); !strings.Contains(page, `"session":"`+sess.id+`"`) {
		t.Error("the lab's page does not follow the run")
	}
	if w := m.do("GET", at+"/evidence", ""); w.Code != 200 || !strings.Contains(w.Body.String(), "source-pressed") {
		t.Errorf("its evidence: %d %s", w.Code, w.Body)
	}
	for _, call := range []struct{ method, path, body string }{
		{"PATCH", at + "/knobs", `{"debloat":true}`}, {"POST", at + "/actions/checkpoint", `{}`}, {"DELETE", at, ""}, {"GET", at + "/record", ""},
		{"GET", at + "/trace", ""}, {"GET", "/api/v1/sessions/" + hidden.id, ""}, {"GET", "/api/v1/sessions/" + hidden.id + "/stream", ""},
		{"GET", "/api/v1/class/wall", ""}, {"GET", "/api/v1/class/people", ""}, {"POST", "/api/v1/class/spotlight", `{"session":""}`},
		{"GET", at + "/../../class/people", ""},
	} {
		if w := m.do(call.method, call.path, call.body); w.Code != 404 && w.Code != 405 {
			t.Errorf("%s %s: %d %s", call.method, call.path, w.Code, w.Body)
		}
	}
	n.steer(t, "spotlight", `{"session":""}`)
	m.until(t, "the spotlight ended", func(l classLive, _ link) bool { return l.Spotlight == "" })
	if w := m.do("GET", at, ""); w.Code != 404 {
		t.Errorf("after the spotlight: %d", w.Code)
	}
}

// What is handed on is what a learner may call, and a page of another site calls nothing.
func TestOwnMachineRoutes(t *testing.T) {
	n := newReach(t)
	m := mustOwn(t, t.TempDir(), n.URL, n.class.Code, "Ana")
	err := chi.Walk(m.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/api/v1/class") && access[method+" "+route]&(learner|nobody) == 0 {
			t.Errorf("%s %s is not for a learner", method, route)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, call := range []struct{ method, path string }{
		{"POST", "/api/v1/class/leave"}, {"PATCH", "/api/v1/class/me"}, {"DELETE", "/api/v1/class/me"}, {"POST", "/api/v1/class/results"},
	} {
		if p := problemIn(t, m.do(call.method, call.path, `{}`, "Origin", "http://evil.test")); p.Status != 403 {
			t.Errorf("%s %s from another site: %+v", call.method, call.path, p)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/api/v1/class/me", nil)
	r.Host = "rebound.test"
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	if w.Code != 403 || strings.Contains(w.Body.String(), "token") {
		t.Errorf("under another name: %d %s", w.Code, w.Body)
	}
	if w := m.do("PATCH", "/api/v1/class/me", `{"alias":"`+strings.Repeat("x", maxForwardBytes)+`"}`); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d", w.Code)
	}
}

// A server that answers with a page does not have it shown under this machine's name.
func TestForeignPagesAreNotShown(t *testing.T) {
	for _, kind := range []string{"text/html", "application/json"} {
		w := httptest.NewRecorder()
		give(w, &remote.Answer{Status: 200, Header: http.Header{"Content-Type": {kind}, "Set-Cookie": {"a=b"}}, Body: []byte("<script>")})
		if p := problemIn(t, w); p.Status != http.StatusBadGateway || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: %+v", kind, p)
		}
	}
}

func dialPage(t *testing.T, address string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(address, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(1 << 20)
	return conn
}

func readJSON[T any](t *testing.T, conn *websocket.Conn) T {
	t.Helper()
	var v T
	_, b, err := conn.Read(t.Context())
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}
