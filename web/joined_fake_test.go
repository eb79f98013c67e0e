package web

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/class"
	"weir/class/remote"
)

// reach is the network between a learner's machine and the class's server.
type reach struct {
	*httptest.Server
	line    *line
	fake    *fakeServer
	class   *class.Class
	teacher string
	// away breaks every connection off; deaf has the server do what it is asked, and its answer be lost, so many times.
	away atomic.Bool
	deaf atomic.Int32
}

func newReach(t *testing.T) *reach {
	t.Helper()
	n := &reach{}
	n.fake, n.class, n.teacher = newFakeClass(t, ClassLimits{})
	n.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.away.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.Method == http.MethodPost && r.URL.Path == "/api/v1/class/results" && n.deaf.Add(-1) >= 0 {
			n.fake.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		n.fake.ServeHTTP(w, r)
	}))
	n.line = &line{Listener: n.Listener}
	n.Listener = n.line
	n.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	n.Start()
	t.Cleanup(n.Close)
	return n
}

// leave takes the class out of reach: nothing new comes in, and what is open ends.
func (n *reach) leave() {
	n.away.Store(true)
	n.line.cut()
}

// line knows its connections, so that they can be cut: also those of websockets.
type line struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (l *line) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.open = append(l.open, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

func (n *reach) people(t *testing.T) []classPerson {
	t.Helper()
	return answerOf[struct{ People []classPerson }](t, n.fake.as(n.teacher, "GET", "/api/v1/class/people", ""), 200).People
}

func (n *reach) results(t *testing.T) []classResult {
	t.Helper()
	return answerOf[struct{ Results []classResult }](t, n.fake.as(n.teacher, "GET", "/api/v1/class/results", ""), 200).Results
}

func (n *reach) row(t *testing.T) classRow {
	t.Helper()
	if err := n.fake.writePlaces(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.fake.course.fresh(t.Context(), n.class.ID); err != nil {
		t.Fatal(err)
	}
	w := answerOf[classWall](t, n.fake.as(n.teacher, "GET", "/api/v1/class/wall", ""), 200)
	if len(w.Rows) != 1 {
		t.Fatalf("the wall has %d rows", len(w.Rows))
	}
	return w.Rows[0]
}

// steer is what the instructor does.
func (n *reach) steer(t *testing.T, what, body string) {
	t.Helper()
	if w := n.fake.as(n.teacher, "POST", "/api/v1/class/"+what, body); w.Code >= 300 {
		t.Fatalf("%s: %d %s", what, w.Code, w.Body)
	}
}

// ownMachine is a learner's own server, with fake runs.
type ownMachine struct {
	*fakeServer
	j    *joined
	stop func()
}

// startOwn starts a learner's own server as labserver serve --join does.
func startOwn(t *testing.T, data, address, code, name string) (*ownMachine, error) {
	t.Helper()
	a, err := remote.ParseAddress(address, code)
	if err != nil {
		t.Fatal(err)
	}
	return startOwnWith(t, data, &JoinOptions{Address: a, Name: name})
}

func startOwnWith(t *testing.T, data string, o *JoinOptions) (*ownMachine, error) {
	t.Helper()
	f, stop := newFake(t, Options{DataDir: data, Join: o})
	j := f.Server.joined
	j.first, j.longest = 5*time.Millisecond, 50*time.Millisecond
	j.contact, j.patience = time.Minute, time.Minute
	if err := j.begin(f.ctx); err != nil {
		stop()
		return nil, err
	}
	f.housekeeping.Go(func() { j.run(f.ctx, f.Server) })
	return &ownMachine{fakeServer: f, j: j, stop: stop}, nil
}

func mustOwn(t *testing.T, data, address, code, name string) *ownMachine {
	t.Helper()
	m, err := startOwn(t, data, address, code, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// until waits for what the machine hears of the class, or loses.
func (m *ownMachine) until(t *testing.T, what string, is func(live classLive, how link) bool) {
	t.Helper()
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	for {
		_, live, how, changed := m.j.state()
		if is(live, how) {
			return
		}
		select {
		case <-changed:
		case <-patience.C:
			t.Fatalf("the machine never heard that %s: %+v %q", what, live, how)
		}
	}
}

func (m *ownMachine) untilUp(t *testing.T) {
	t.Helper()
	m.until(t, "the class is there", func(_ classLive, how link) bool { return how == linkUp })
}

// eventually asks again until something is so, for as long as a loaded machine may need.
func comesToThis(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// do sends a request of a page of the machine.
func (m *ownMachine) do(method, path, body string, more ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(more); i += 2 {
		r.Header.Set(more[i], more[i+1])
	}
	return m.ask(r)
}
