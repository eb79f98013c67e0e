//go:build unix

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"weir/web"
)

// flaky is a network between learners and a server that breaks each connection off after a short while.
type flaky struct {
	ln   net.Listener
	url  string
	all  sync.WaitGroup
	over chan struct{}
}

func newFlaky(t *testing.T, url string) *flaky {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{ln: ln, url: "http://" + ln.Addr().String(), over: make(chan struct{})}
	to := strings.TrimPrefix(url, "http://")
	f.all.Go(func() {
		for {
			here, err := ln.Accept()
			if err != nil {
				return
			}
			f.all.Go(func() { f.carry(here, to) })
		}
	})
	return f
}

// carry copies both ways until either end or the network's patience ends.
func (f *flaky) carry(here net.Conn, to string) {
	defer func() { _ = here.Close() }()
	there, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var ways sync.WaitGroup
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{here, there}, {there, here}} {
		ways.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		})
	}
	life := time.NewTimer(300*time.Millisecond + rand.N(2*time.Second))
	defer life.Stop()
	select {
	case <-life.C:
		if c, ok := here.(*net.TCPConn); ok {
			_ = c.SetLinger(0) // a reset, not an end
		}
	case <-ended:
	case <-f.over:
	}
	_ = here.Close()
	_ = there.Close()
	ways.Wait()
}

func (f *flaky) close() {
	close(f.over)
	_ = f.ln.Close()
	f.all.Wait()
}

// A lesson with 30 learners over a network that breaks connections off: they join, are sent a lab, run it, change knobs,
// hand in, follow the spotlight, leave and return. It leaves no goroutine, no session and no file behind. Here it takes as
// long as it must; WEIR_LESSON=10m has it take a whole lesson (docs/hosting.md has the command).
func TestLessonLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	before := goleak.IgnoreCurrent()
	data := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := web.Serve(ctx, web.Options{Addr: "127.0.0.1:0", DataDir: data, Out: in, Class: &web.ClassOptions{}})
		_ = in.Close()
		served <- err
	}()
	h := &host{t: t, data: data, announcement: announced(out)}
	go func() { _, _ = io.Copy(io.Discard, out) }()

	const learners = 30
	l := &lesson{t: t, ctx: ctx, h: h, far: newFlaky(t, h.url), began: time.Now(), long: lessonTime(t)}
	must(t, 200, "POST", h.at("/api/v1/class/lab"), h.link, any1{"lab": "backpressure", "knobs": any1{"workMs": 2}}, nil)
	pupils := make([]*pupil, learners)
	each(learners, learners, func(i int) { pupils[i] = l.firstHalf(i) })
	if t.Failed() {
		stop()
		<-served
		return
	}
	must(t, 200, "POST", h.at("/api/v1/class/spotlight"), h.link, any1{"session": l.session(pupils[0])}, nil)
	each(learners, learners, func(i int) { l.secondHalf(pupils[i]) })
	must(t, 200, "POST", h.at("/api/v1/class/spotlight"), h.link, any1{"session": ""}, nil)
	must(t, 204, "DELETE", h.at("/api/v1/sessions/"+l.session(pupils[0])), pupils[0].Token, nil, nil)

	var kept struct{ Results []struct{ ID string } }
	must(t, 200, "GET", h.at("/api/v1/class/results"), h.link, nil, &kept)
	if len(kept.Results) != learners {
		t.Errorf("%d results are kept of %d learners", len(kept.Results), learners)
	}
	var wall struct {
		Server struct{ Sessions, Queue, Viewers int }
	}
	eventually(t, "nobody is left", func() error {
		must(t, 200, "GET", h.at("/api/v1/class/wall"), h.link, nil, &wall)
		if s := wall.Server; s.Sessions+s.Queue+s.Viewers != 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	l.far.close()
	clients.CloseIdleConnections()
	stop()
	if err := <-served; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	// What stays is the class's: its store and what the server is known by.
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(data, path)
		if err == nil && !d.IsDir() && filepath.Dir(rel) != "class" && filepath.Dir(rel) != "." {
			t.Errorf("left behind: %s", rel)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	clients.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// lesson is what the learners of the test do.
type lesson struct {
	t   *testing.T
	ctx context.Context
	h   *host
	far *flaky
	// began and long are when it began and how long it is to take at least.
	began time.Time
	long  time.Duration
}

// lessonTime is how long the lesson is to take at least.
func lessonTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("WEIR_LESSON")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		t.Fatalf("WEIR_LESSON is %q: give a time such as 10m", text)
	}
	return d
}

// patience bounds one half of the lesson.
func (l *lesson) patience() time.Duration { return patience + l.long }

// follow reads pictures of a session until a share of the lesson is over, and some in any case.
func (l *lesson) follow(ctx context.Context, p *pupil, id string, share float64) {
	l.watch(ctx, p, id, 6)
	ctx, cancel := context.WithDeadline(ctx, l.began.Add(time.Duration(share*float64(l.long))))
	defer cancel()
	for ctx.Err() == nil && !l.t.Failed() {
		l.watchOnce(ctx, p, id, math.MaxInt)
		l.wait(ctx, 100*time.Millisecond+rand.N(400*time.Millisecond))
	}
}

// wait is over at once with ctx.
func (l *lesson) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (l *lesson) check(err error) bool {
	if err != nil {
		l.t.Error(err)
	}
	return err == nil
}

// firstHalf joins, runs the lab that was sent, changes a knob and hands in.
func (l *lesson) firstHalf(i int) *pupil {
	ctx, cancel := context.WithTimeout(l.ctx, l.patience())
	defer cancel()
	p := &pupil{h: l.h}
	// A join whose answer is lost leaves a name without a learner; the next one gets a suffix.
	if !l.check(insist(ctx, "POST", l.far.url+"/api/v1/class/join", "", any1{"code": l.h.code, "name": fmt.Sprintf("Learner %02d", i)}, p)) {
		return p
	}
	var me struct {
		Live struct {
			Lab   string
			Knobs any1
		}
	}
	if !l.check(insist(ctx, "GET", l.far.url+"/api/v1/class/me", p.Token, nil, &me)) {
		return p
	}
	if me.Live.Lab != "backpressure" || me.Live.Knobs["workMs"] != 2.0 {
		l.t.Errorf("%s was sent %+v", p.Name, me.Live)
		return p
	}
	l.start(ctx, p, any1{"lab": me.Live.Lab, "knobs": me.Live.Knobs})
	id := l.session(p)
	if id == "" {
		l.t.Errorf("%s has no session", p.Name)
		return p
	}
	l.follow(ctx, p, id, 0.25)
	l.check(insist(ctx, "PATCH", l.far.url+"/api/v1/sessions/"+id+"/knobs", p.Token, any1{"debloat": true}, nil))
	l.follow(ctx, p, id, 0.5)
	l.check(insist(ctx, "POST", l.far.url+"/api/v1/class/results", p.Token, resultOf(i, 1), nil))
	return p
}

// start starts a run. An answer that was lost leaves one that the next try is told of: one is allowed.
func (l *lesson) start(ctx context.Context, p *pupil, body any1) {
	for ctx.Err() == nil && l.session(p) == "" {
		_, _ = call("POST", l.far.url+"/api/v1/sessions", p.Token, body, nil)
	}
}

// session is the learner's own session; empty for none.
func (l *lesson) session(p *pupil) string {
	var mine struct{ Sessions []struct{ ID string } }
	if status, _ := call("GET", l.h.at("/api/v1/sessions"), p.Token, nil, &mine); status != 200 || len(mine.Sessions) == 0 {
		return ""
	}
	return mine.Sessions[0].ID
}

// secondHalf follows the spotlight, leaves, returns, and ends the run.
func (l *lesson) secondHalf(p *pupil) {
	ctx, cancel := context.WithTimeout(l.ctx, l.patience())
	defer cancel()
	var me struct {
		Name string
		Live struct{ Spotlight string }
	}
	if !l.check(insist(ctx, "GET", l.far.url+"/api/v1/class/me", p.Token, nil, &me)) {
		return
	}
	if me.Live.Spotlight == "" {
		l.t.Errorf("%s sees no spotlight", p.Name)
		return
	}
	l.follow(ctx, p, me.Live.Spotlight, 0.9)
	// Away: no page is open. Back by the personal token, with a run where it was.
	l.wait(ctx, l.long/10)
	if l.check(insist(ctx, "GET", l.far.url+"/api/v1/class/me", p.Token, nil, &me)) && me.Name != p.Name {
		l.t.Errorf("%s came back as %s", p.Name, me.Name)
	}
	id := l.session(p)
	if id == "" {
		l.t.Errorf("%s has no session after coming back", p.Name)
	} else if id != me.Live.Spotlight {
		// An answer that was lost leaves nothing to end.
		for ctx.Err() == nil {
			if status, _ := call("DELETE", l.far.url+"/api/v1/sessions/"+id, p.Token, nil, nil); status == 204 || status == 404 {
				break
			}
		}
	}
}

// watch reads pictures of a session, over as many connections as it takes.
func (l *lesson) watch(ctx context.Context, p *pupil, id string, pictures int) {
	for pictures > 0 {
		if ctx.Err() != nil {
			l.t.Errorf("%s lacks %d pictures of %s", p.Name, pictures, id)
			return
		}
		pictures -= l.watchOnce(ctx, p, id, pictures)
	}
}

func (l *lesson) watchOnce(ctx context.Context, p *pupil, id string, most int) (got int) {
	c, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(l.far.url, "http")+"/api/v1/sessions/"+id+"/stream?hz=5",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + p.Token}}, HTTPClient: clients})
	if err != nil {
		if resp != nil && resp.StatusCode == http.StatusNotFound {
			l.t.Errorf("%s may not follow %s", p.Name, id)
			return most
		}
		return 0
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(4 << 20)
	for got < most {
		_, b, err := c.Read(ctx)
		if err != nil {
			return got
		}
		if !json.Valid(b) {
			l.t.Errorf("%s got %.100s", p.Name, b)
		}
		got++
	}
	return got
}
