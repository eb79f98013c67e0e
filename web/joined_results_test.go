package web

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/class"
	"weir/class/remote"
	"weir/engine/trace"
	"weir/labs"
)

func closeClass(k *class.Class) error {
	k.State = class.Closed
	return nil
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

const oneResult = `{"id":"result-one-1","exercise":"debloater","status":"failed","points":0,"maxPoints":4,"work":{"core":"package core\n"}}`

// Results wait on the disk while the class is away, over a restart, and are kept once, also when its answer was lost.
func TestOwnMachineResultsWait(t *testing.T) {
	n, data := newReach(t), t.TempDir()
	m := mustOwn(t, data, n.URL, n.class.Code, "Ana")
	m.untilUp(t)
	n.leave()
	m.until(t, "the class is away", func(_ classLive, how link) bool { return how == linkAway })
	said := answerOf[struct{ Waiting bool }](t, m.do("POST", "/api/v1/class/results", oneResult), http.StatusAccepted)
	if !said.Waiting || m.j.box.waiting(m.j.member().ID) != 1 {
		t.Errorf("%+v, %d wait", said, m.j.box.waiting(m.j.member().ID))
	}
	m.stop()

	// The next start is without the class too.
	m = mustOwn(t, data, n.URL, n.class.Code, "")
	if me := answerOf[classMe](t, m.do("GET", "/api/v1/class/me", ""), 200); me.Name != "Ana" || me.Live.Away != "away" {
		t.Errorf("%+v", me)
	}
	if w := m.do("POST", "/api/v1/class/results", oneResult); w.Code != http.StatusAccepted {
		t.Errorf("sent again: %d %s", w.Code, w.Body)
	}
	n.deaf.Store(2)
	n.away.Store(false)
	comesToThis(t, "nothing waits any longer", func() bool { return m.j.box.waiting(m.j.member().ID) == 0 })
	all := n.results(t)
	if len(all) != 1 || all[0].ID != "result-one-1" || all[0].Judged != "reported" || all[0].Name != "Ana" {
		t.Errorf("the class has %+v", all)
	}
	if n.deaf.Load() > 0 {
		t.Error("no answer was lost: this tests nothing")
	}
	// The page sends it once more: it learns that it is kept, and it is kept once.
	m.untilUp(t)
	if got := answerOf[classResult](t, m.do("POST", "/api/v1/class/results", oneResult), http.StatusOK); got.ID != "result-one-1" {
		t.Errorf("%+v", got)
	}
	if all := n.results(t); len(all) != 1 {
		t.Errorf("the class has %d results", len(all))
	}
}

// A check on the machine is handed in by it, with its work, and a class that takes none says so.
func TestOwnMachineHandsChecksIn(t *testing.T) {
	n := newReach(t)
	m := mustOwn(t, t.TempDir(), n.URL, n.class.Code, "Ana")
	m.untilUp(t)
	w := m.do("POST", "/api/v1/exercises/under-target/checks?id=checked-one", `{"record":"AAAA"}`)
	if !strings.Contains(w.Body.String(), `"kept":true`) {
		t.Errorf("the page hears %s", w.Body)
	}
	all := n.results(t)
	if len(all) != 1 || all[0].ID != "checked-one" || all[0].Exercise != "under-target" || all[0].Status != "failed" || all[0].Judged != "reported" || all[0].Engine != labs.EngineVersion() {
		t.Fatalf("the class has %+v", all)
	}
	work := answerOf[class.Work](t, n.fake.as(n.teacher, "GET", "/api/v1/class/results/checked-one/work", ""), 200)
	if len(work.Record) != 3 {
		t.Errorf("the work is %+v", work)
	}
	if err := n.fake.course.store.UpdateClass(t.Context(), n.class.ID, closeClass); err != nil {
		t.Fatal(err)
	}
	if p := problemIn(t, m.do("POST", "/api/v1/class/results", oneResult)); p.Status != http.StatusConflict || !strings.Contains(p.Detail, "closed") {
		t.Errorf("into a closed class: %+v", p)
	}
	if m.j.box.waiting(m.j.member().ID) != 0 {
		t.Error("what is refused for good is sent again and again")
	}
}

// The wall shows the row of a learner with an engine of their own, and that its run cannot be opened.
func TestOwnMachineOnTheWall(t *testing.T) {
	n := newReach(t)
	m := mustOwn(t, t.TempDir(), n.URL, n.class.Code, "Ana")
	m.untilUp(t)
	m.start(t)
	if w := m.do("PUT", "/api/v1/class/me/place", `{"lab":"backpressure","step":"observe","session":"local"}`); w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	now := time.Now()
	var said placeSaid
	m.j.tellPlace(t.Context(), m.Server, &said, now)
	row := n.row(t)
	if !row.Own || !row.Online || row.Lab != "backpressure" || row.Step != "observe" || row.Session != "" || row.Here || row.Mini == nil || row.Mini.State != "RUNNING" ||
		len(row.Mini.Busy) != 2 || row.Shown != 1 || len(row.Claims) == 0 {
		t.Errorf("%+v with %+v", row, row.Mini)
	}
	if said.body == "" || said.plain {
		t.Errorf("it said %+v", said)
	}
	// A breakpoint that holds a thread there shows here too.
	v := m.last.tracer.Attach()
	defer v.Close()
	if err := v.Arm(trace.Flush, trace.Condition{}); err != nil {
		t.Fatal(err)
	}
	go m.last.tracer.Hit(trace.Flush, "flusher")
	<-v.Changed()
	m.j.tellPlace(t.Context(), m.Server, &said, now.Add(placesEvery))
	if row = n.row(t); row.Mini == nil || !row.Mini.Held {
		t.Errorf("held at a breakpoint: %+v", row.Mini)
	}
	// Who goes on in the class's own pages is no longer marked.
	n.fake.course.setPlace(row.ID, classPlaceBody{Lab: "backpressure", Step: "explain"})
	if row = n.row(t); row.Own || row.Mini != nil || row.Step != "explain" {
		t.Errorf("%+v", row)
	}
}

// What a learner's machine says of its run is somebody else's word: bounded, and of labs that there are.
func TestOwnRunsAreCleaned(t *testing.T) {
	wild := &classOwn{Lab: "backpressure", Claims: []string{"shown", "<b>", "shown"}, Mini: &classMini{State: strings.Repeat("x\x07", 100), Bottleneck: strings.Repeat("y", 100),
		Busy: make([]float64, 1000), Pressed: []float64{-1, 7}, Durations: make([]int64, 1000), RecordsPer: -5, Changes: -1}}
	o := wild.clean()
	l, _ := labs.Get("backpressure")
	if len(o.Mini.State) > 32 || strings.Contains(o.Mini.State, "\x07") || len(o.Mini.Bottleneck) > 64 || len(o.Mini.Busy) != mostOwnBars || len(o.Mini.Durations) != mostOwnBars ||
		o.Mini.Pressed[0] != 0 || o.Mini.Pressed[1] != 1 || o.Mini.RecordsPer != 0 || o.Mini.Changes != 0 {
		t.Errorf("%+v", o.Mini)
	}
	if len(o.Claims) != len(l.Evidence) || o.Claims[0] != labs.Shown || o.Claims[1] != labs.Waiting {
		t.Errorf("claims %v", o.Claims)
	}
	if len(wild.Mini.Busy) != 1000 {
		t.Error("what was said was changed")
	}
	if o := (&classOwn{Lab: "none", Mini: &classMini{State: "RUNNING"}}).clean(); o.Mini != nil || o.Lab != "" {
		t.Errorf("of a lab that there is not: %+v", o)
	}
}

// A server of an older version takes the place without the run.
func TestOwnMachineWithAnOlderServer(t *testing.T) {
	n := newReach(t)
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/class/me/place" {
			b, ok := readBounded(w, r, maxForwardBytes)
			if ok && strings.Contains(string(b), `"own"`) {
				newProblem(http.StatusUnprocessableEntity, "own", "unexpected property").write(w)
				return
			}
			r.Body = http.NoBody
			w.WriteHeader(http.StatusNoContent)
			return
		}
		n.fake.ServeHTTP(w, r)
	}))
	defer old.Close()
	m := mustOwn(t, t.TempDir(), old.URL, n.class.Code, "Ana")
	m.untilUp(t)
	m.j.setPlace(classPlaceBody{Lab: "backpressure"})
	var said placeSaid
	m.j.tellPlace(t.Context(), m.Server, &said, time.Now())
	if !said.plain || said.body != "" {
		t.Errorf("refused, it said %+v", said)
	}
	m.j.tellPlace(t.Context(), m.Server, &said, time.Now())
	if said.body != `{"lab":"backpressure"}` {
		t.Errorf("then it said %+v", said)
	}
}

// How far the learner is on their machine, the class knows too.
func TestOwnMachineTellsProgress(t *testing.T) {
	n := newReach(t)
	m := mustOwn(t, t.TempDir(), n.URL, n.class.Code, "Ana")
	m.untilUp(t)
	if w := m.do("PUT", "/api/v1/progress", `{"version":1,"labs":{"credit":{"step":"run","done":["predict"],"atMs":5}},"exercises":{}}`); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if !m.j.tellProgress(t.Context(), m.Server) || m.j.tellProgress(t.Context(), m.Server) {
		t.Error("it is told once")
	}
	if all := n.people(t); len(all) != 1 || !strings.Contains(string(all[0].Progress), `"predict"`) {
		t.Errorf("the class has %+v", all)
	}
}

func TestJoinAddresses(t *testing.T) {
	for text, want := range map[string]remote.Address{
		"http://Room.test:8090/class?code=7kq2-9mxd": {Server: "http://room.test:8090", Code: "7KQ29MXD"},
		"room.test:8090":                    {Server: "http://room.test:8090"},
		"https://room.test/class/p/abc_-1":  {Server: "https://room.test", Token: "abc_-1"},
		"http://[::1]:8090/":                {Server: "http://[::1]:8090"},
		"http://192.0.2.7:8090/class?lang=": {Server: "http://192.0.2.7:8090"},
	} {
		if got, err := remote.ParseAddress(text, ""); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ftp://x", "http://", "http://a:b@x", "http://x/labs/credit", "http://x/class/i/secret", "http://x/class?code=short", "file:///etc/passwd"} {
		if got, err := remote.ParseAddress(text, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %+v %v", text, got, err)
		}
	}
}
