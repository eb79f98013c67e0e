//go:build unix

package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/class/store/pgtest"
)

// patience bounds what must come sooner or later on a loaded machine.
const patience = 90 * time.Second

// program is the server as learners run it, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "labserver")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/labserver").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if built.Load() {
		if path, err := program(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(status)
}

var built atomic.Bool

// host is a server of classes in a process of its own, which can be killed and started again at the same address.
type host struct {
	t    *testing.T
	args []string
	data string

	announcement
	cmd     *exec.Cmd
	log     *bytes.Buffer
	reading sync.WaitGroup
}

func newHost(t *testing.T, args ...string) *host {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	h := &host{t: t, args: args, data: t.TempDir()}
	h.start("127.0.0.1:0")
	t.Cleanup(h.kill)
	return h
}

// start starts the server and waits until it has said all that a class needs.
func (h *host) start(addr string) {
	h.t.Helper()
	built.Store(true)
	path, err := program()
	if err != nil {
		h.t.Fatal(err)
	}
	h.cmd = exec.Command(path, append([]string{"serve", "--class", "--addr", addr, "--data", h.data}, h.args...)...)
	h.log = &bytes.Buffer{}
	h.cmd.Stderr = h.log
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	said := announced(out)
	if said.url == "" || said.code == "" {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		h.t.Fatalf("the server did not start: %s", h.log)
	}
	h.reading.Go(func() { _, _ = io.Copy(io.Discard, out) })
	switch {
	case h.url == "":
		h.announcement = said
	case h.announcement != said: // learners go by the first one meanwhile
		h.t.Errorf("started again the server says %+v, before it said %+v", said, h.announcement)
	}
}

// announcement is what a server says at its start. link is the instructor's token; empty for a server that did not make
// the class.
type announcement struct{ url, code, link string }

// announced reads it up to the join code.
func announced(out io.Reader) (a announcement) {
	lines := bufio.NewScanner(out)
	for a.code == "" && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case strings.HasPrefix(name, "listening on "):
			a.url = strings.TrimPrefix(lines.Text(), "listening on ")
		case name == "instructor link":
			_, a.link, _ = strings.Cut(value, "/class/i/")
		case name == "join code":
			a.code = value
		}
	}
	return a
}

// kill ends the server as kill -9 does.
func (h *host) kill() { h.end(syscall.SIGKILL) }

// stop ends it as an operator does, and fails if it does not end well.
func (h *host) stop() {
	h.t.Helper()
	if err := h.end(syscall.SIGTERM); err != nil {
		h.t.Errorf("the server ended with %v: %s", err, h.log)
	}
}

func (h *host) end(sig syscall.Signal) error {
	if h.cmd == nil {
		return nil
	}
	_ = h.cmd.Process.Signal(sig)
	h.reading.Wait()
	err := h.cmd.Wait()
	h.cmd = nil
	return err
}

// again starts it where it was.
func (h *host) again() {
	h.t.Helper()
	h.start(strings.TrimPrefix(h.url, "http://"))
}

// at is the address of a path.
func (h *host) at(path string) string { return h.url + path }

var clients = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 50}}

// call asks as somebody and decodes the answer into out, unless that is nil. Status 0 is no answer.
func call(method, url, token string, body, out any) (status int, said string) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, err.Error()
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, url, r)
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := clients.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error() // broken off: not acknowledged
	}
	if out != nil && resp.StatusCode < 300 {
		if err := json.Unmarshal(b, out); err != nil {
			return 0, err.Error()
		}
	}
	return resp.StatusCode, string(b)
}

// must asks and fails the test on any other status than want.
func must(t *testing.T, want int, method, url, token string, body, out any) {
	t.Helper()
	if status, said := call(method, url, token, body, out); status != want {
		t.Fatalf("%s %s: %d, want %d: %s", method, url, status, want, said)
	}
}

type any1 = map[string]any

// insist asks until it is answered with less than 300, as a page does that keeps what is unsent. It gives up with a
// refusal that asking again cannot change.
func insist(ctx context.Context, method, url, token string, body, out any) error {
	for {
		status, said := call(method, url, token, body, out)
		switch {
		case status >= 200 && status < 300:
			return nil
		case status != 0 && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return fmt.Errorf("%s %s: %d: %s", method, url, status, said)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: still %d: %s", method, url, status, said)
		case <-time.After(100*time.Millisecond + rand.N(400*time.Millisecond)):
		}
	}
}

// pupil is a learner who has joined.
type pupil struct {
	ID, Name, Token string
	h               *host
}

func (h *host) join(name string) (*pupil, error) {
	p := &pupil{h: h}
	status, said := call("POST", h.at("/api/v1/class/join"), "", any1{"code": h.code, "name": name}, p)
	if status != http.StatusCreated {
		return nil, fmt.Errorf("joining: %d: %s", status, said)
	}
	return p, nil
}

// joinAll has n learners join, a few at a time.
func (h *host) joinAll(n int) []*pupil {
	h.t.Helper()
	all := make([]*pupil, n)
	var failed atomic.Pointer[error]
	each(n, 10, func(i int) {
		p, err := h.join(fmt.Sprintf("Learner %03d", i))
		if err != nil {
			failed.Store(&err)
		}
		all[i] = p
	})
	if err := failed.Load(); err != nil {
		h.t.Fatal(*err)
	}
	return all
}

// each calls f with 0 to n-1, so many at a time.
func each(n, atOnce int, f func(i int)) {
	var all sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			f(i)
			<-room
		})
	}
	all.Wait()
}

func resultOf(who, n int) any1 {
	return any1{"id": fmt.Sprintf("result-%04d-%d", who, n), "exercise": "under-target", "status": "passed", "points": n, "maxPoints": 10,
		"work": any1{"answer": any1{"under": n}}}
}

// handIns has every learner hand in results until each was acknowledged. After so many acknowledgements, in the middle of
// it all, trouble comes.
func handIns(t *testing.T, all []*pupil, each1, before int, trouble func()) (acknowledged *sync.Map) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	acknowledged = &sync.Map{}
	var count atomic.Int64
	middle := make(chan struct{})
	var once sync.Once
	done := make(chan struct{})
	go func() {
		defer close(done)
		each(len(all), len(all), func(i int) {
			for n := range each1 {
				r := resultOf(i, n)
				if err := insist(ctx, "POST", all[i].h.at("/api/v1/class/results"), all[i].Token, r, nil); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Store(r["id"], all[i].ID)
				if count.Add(1) == int64(before) {
					once.Do(func() { close(middle) })
				}
			}
		})
	}()
	select {
	case <-middle:
	case <-done:
		t.Error("all was over before the trouble came")
	}
	if n := count.Load(); n > int64(len(all)*each1*9/10) {
		t.Errorf("%d results were acknowledged before the trouble: it came too late to tell", n)
	}
	trouble()
	<-done
	return acknowledged
}

// keptOnce fails unless every acknowledged result is there, once, its learner's, and as it was sent.
func keptOnce(t *testing.T, h *host, instructor string, acknowledged *sync.Map, want int) {
	t.Helper()
	var kept struct {
		Results []struct {
			ID, Person, Exercise string
			Points               int
		}
	}
	must(t, 200, "GET", h.at("/api/v1/class/results"), instructor, nil, &kept)
	times := map[string]int{}
	for _, r := range kept.Results {
		times[r.ID]++
		if sent := resultOf(0, r.Points); !strings.HasSuffix(r.ID, fmt.Sprint("-", r.Points)) || r.Exercise != sent["exercise"] {
			t.Errorf("result %s is kept with %d points for %s", r.ID, r.Points, r.Exercise)
		}
		if of, ok := acknowledged.Load(r.ID); !ok || of != r.Person {
			t.Errorf("result %s is kept for %s, acknowledged to %v", r.ID, r.Person, of)
		}
	}
	n := 0
	acknowledged.Range(func(id, _ any) bool {
		n++
		if times[id.(string)] != 1 {
			t.Errorf("result %v was acknowledged and is there %d times", id, times[id.(string)])
		}
		return true
	})
	if n != want || len(kept.Results) != want {
		t.Errorf("%d results were acknowledged and %d are kept, want %d", n, len(kept.Results), want)
	}
}

// The server is killed in the middle of 200 learners handing in, and started again: every acknowledged result is there
// once, people and codes are kept, and sessions come back.
func TestKilledWhileLearnersHandIn(t *testing.T) {
	h := newHost(t)
	instructor := h.link
	all := h.joinAll(200)
	var session struct{ ID string }
	must(t, 201, "POST", h.at("/api/v1/sessions"), all[0].Token, any1{"lab": "backpressure", "knobs": any1{"rate": 500, "checkpointIntervalMs": 500}}, &session)
	must(t, 200, "PATCH", h.at("/api/v1/sessions/"+session.ID+"/knobs"), all[0].Token, any1{"rate": 600}, nil)
	var snap struct {
		State, Lab           string
		Knobs                any1
		RestoredCheckpointID int64
		Checkpoints          []struct{ Status string }
	}
	eventually(t, "a checkpoint to come back from", func() error {
		must(t, 200, "GET", h.at("/api/v1/sessions/"+session.ID), all[0].Token, nil, &snap)
		for _, c := range snap.Checkpoints {
			if c.Status == "COMPLETED" {
				return nil
			}
		}
		return errors.New("none is complete")
	})
	acknowledged := handIns(t, all, 3, 150, func() {
		h.kill()
		h.again() // which fails unless link and code are the same
	})
	keptOnce(t, h, instructor, acknowledged, 600)
	h.keptPeople(instructor, all)
	must(t, 200, "GET", h.at("/api/v1/sessions/"+session.ID), all[0].Token, nil, &snap)
	if snap.Lab != "backpressure" || snap.State != "RUNNING" || snap.RestoredCheckpointID < 1 || snap.Knobs["rate"] != 600.0 {
		t.Errorf("the session came back as %+v", snap)
	}
	if _, err := h.join("Late"); err != nil {
		t.Error(err)
	}
	h.stop()
}

// keptPeople fails unless everybody is there once, by the name and the token they had.
func (h *host) keptPeople(instructor string, all []*pupil) {
	h.t.Helper()
	var people struct {
		People []struct{ ID, Name string }
	}
	must(h.t, 200, "GET", h.at("/api/v1/class/people"), instructor, nil, &people)
	names := map[string]string{}
	for _, p := range people.People {
		names[p.ID] = p.Name
	}
	if len(people.People) != len(all) {
		h.t.Errorf("%d people are there of %d", len(people.People), len(all))
	}
	each(len(all), 10, func(i int) {
		p := all[i]
		if names[p.ID] != p.Name {
			h.t.Errorf("%s is there as %q", p.Name, names[p.ID])
		}
		var me struct{ ID, Name string }
		if status, said := call("GET", h.at("/api/v1/class/me"), p.Token, nil, &me); status != 200 || me.ID != p.ID || me.Name != p.Name {
			h.t.Errorf("the token of %s is %+v's: %d %s", p.Name, me, status, said)
		}
	})
}

// outage is how long PostgreSQL is away.
const outage = 10 * time.Second

// TestPostgres has what needs a PostgreSQL.
func TestPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	pg, err := pgtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Error(err)
		}
	})
	db := func(t *testing.T) string {
		url, err := pg.Database(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return url
	}

	// Two servers are one class: joining on one and handing in on the other works, and the wall of either shows both.
	t.Run("two servers", func(t *testing.T) {
		url := db(t)
		one := newHost(t, "--db", url)
		two := newHost(t, "--db", url)
		if one.code != two.code {
			t.Fatalf("the servers have codes %s and %s", one.code, two.code)
		}
		ana, err := one.join("Ana")
		if err != nil {
			t.Fatal(err)
		}
		ben, err := two.join("Ana")
		if err != nil {
			t.Fatal(err)
		}
		if ben.Name == ana.Name {
			t.Errorf("two people are called %s", ben.Name)
		}
		r := resultOf(1, 7)
		must(t, 201, "POST", two.at("/api/v1/class/results"), ana.Token, r, nil)
		must(t, 200, "POST", one.at("/api/v1/class/results"), ana.Token, r, nil)
		must(t, 201, "POST", one.at("/api/v1/class/results"), ben.Token, resultOf(2, 5), nil)
		for _, h := range []*host{one, two} {
			points := map[string]int{}
			eventually(t, "the wall shows both", func() error {
				var wall struct {
					Rows []struct {
						Name   string
						Points int
					}
				}
				if status, said := call("GET", h.at("/api/v1/class/wall"), one.link, nil, &wall); status != 200 {
					return fmt.Errorf("%d: %s", status, said)
				}
				clear(points)
				for _, row := range wall.Rows {
					points[row.Name] = row.Points
				}
				if points[ana.Name] != 7 || points[ben.Name] != 5 || len(points) != 2 {
					return fmt.Errorf("the wall has %v", points)
				}
				return nil
			})
		}
	})

	t.Run("spotlight on another server", func(t *testing.T) { spotlightOnAnotherServer(t, db(t)) })

	// PostgreSQL goes away while 200 learners hand in: callers are told, nothing acknowledged is lost, and all goes on by
	// itself.
	t.Run("stopped", func(t *testing.T) {
		h := newHost(t, "--db", db(t))
		instructor := h.link
		all := h.joinAll(200)
		var session struct{ ID string }
		must(t, 201, "POST", h.at("/api/v1/sessions"), all[0].Token, any1{"lab": "backpressure"}, &session)
		var wall struct {
			Trouble string
			Rows    []struct{ ID string }
		}
		must(t, 200, "GET", h.at("/api/v1/class/wall"), instructor, nil, &wall)
		acknowledged := handIns(t, all, 3, 150, func() {
			if err := pg.Stop(); err != nil {
				t.Error(err)
			}
			back := time.Now().Add(outage)
			if status, said := call("POST", h.at("/api/v1/class/results"), all[0].Token, resultOf(0, 9), nil); status != 503 || !strings.Contains(said, "store") {
				t.Errorf("handing in without a store: %d: %s", status, said)
			}
			if status, _ := call("GET", h.at("/healthz"), "", nil, nil); status != 200 {
				t.Errorf("healthz without a store: %d", status)
			}
			if status, _ := call("GET", h.at("/readyz"), "", nil, nil); status != 503 {
				t.Errorf("readyz without a store: %d", status)
			}
			// The wall is how it was last, and says so.
			eventually(t, "the wall tells of the trouble", func() error {
				if status, said := call("GET", h.at("/api/v1/class/wall"), instructor, nil, &wall); status != 200 {
					return fmt.Errorf("%d: %s", status, said)
				}
				if wall.Trouble == "" || len(wall.Rows) != len(all) {
					return fmt.Errorf("trouble %q with %d rows", wall.Trouble, len(wall.Rows))
				}
				return nil
			})
			var snap struct{ State string }
			must(t, 200, "GET", h.at("/api/v1/sessions/"+session.ID), all[0].Token, nil, &snap)
			if snap.State != "RUNNING" {
				t.Errorf("a job is %s without a store", snap.State)
			}
			time.Sleep(time.Until(back))
			if err := pg.Start(); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "the server is ready again", func() error {
			if status, said := call("GET", h.at("/readyz"), "", nil, nil); status != 200 {
				return errors.New(said)
			}
			return nil
		})
		keptOnce(t, h, instructor, acknowledged, 600)
		h.keptPeople(instructor, all)
		eventually(t, "the wall is the newest again", func() error {
			wall.Trouble = ""
			if status, said := call("GET", h.at("/api/v1/class/wall"), instructor, nil, &wall); status != 200 || wall.Trouble != "" {
				return fmt.Errorf("%d: %s", status, said)
			}
			return nil
		})
		must(t, 200, "GET", h.at("/api/v1/sessions/"+session.ID), all[0].Token, nil, nil)
		h.stop()
	})
}

// eventually waits for what comes by itself.
func eventually(t *testing.T, what string, is func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := is()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
