package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"weir/class"
	"weir/web/delta"
)

// A session of another server is followed once, however many look at it here: its pictures come over one websocket at 10 Hz
// and go out to all viewers as they come. What a viewer holds is the last picture it was sent, as with a session of this
// server.

const (
	// lingerFor is how long a session is followed with nobody looking: a page that is opened anew finds it there.
	lingerFor = 3 * time.Second
	// awayFor is how long the server of a session that does not answer is not asked again, however many pages try.
	awayFor = time.Second
	// firstPicture bounds the wait of a viewer for the first picture.
	firstPicture = 10 * time.Second
	// lineEvery is how often it is looked at whether the line to another server is dead.
	lineEvery = 5 * time.Second
	// mostPicture is the longest message taken from another server.
	mostPicture = 32 << 20
)

// follows are the sessions of other servers that are followed here.
type follows struct {
	mu     sync.Mutex
	of     map[string]*followed // by session
	closed bool
	all    sync.WaitGroup
}

// followState is how it stands with a followed session.
type followState int

const (
	opening followState = iota
	flowing
	away // the server does not answer
	over // the session was ended
)

// followed is a session of another server with its viewers here.
type followed struct {
	id     string
	cancel context.CancelFunc

	mu      sync.Mutex
	viewers int
	idle    int // counts how often the last viewer left
	state   followState
	last    *frame
	fresh   chan struct{} // closed when last or state is another one
}

// look gives how it stands, and a channel that is closed when that changes.
func (f *followed) look() (*frame, followState, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.state, f.fresh
}

func (f *followed) set(state followState, last *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state, f.last = state, last
	close(f.fresh)
	f.fresh = make(chan struct{})
}

// newest implements pictures.
func (f *followed) newest(time.Duration) (latest *frame, taken bool, err error) {
	latest, _, _ = f.look()
	return latest, false, nil
}

// join counts a viewer in, and begins to follow with the first. Nil means that the server is stopping.
func (l *follows) join(s *Server, id string, to *way) *followed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	f := l.of[id]
	if f == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		f = &followed{id: id, cancel: cancel, fresh: make(chan struct{})}
		l.of[id] = f
		l.all.Go(func() {
			defer cancel()
			s.followElsewhere(ctx, f, to)
			l.forget(f)
		})
	}
	f.mu.Lock()
	f.viewers++
	f.mu.Unlock()
	return f
}

// leave counts a viewer out. A little after the last one the session is not followed any more.
func (l *follows) leave(f *followed) {
	f.mu.Lock()
	f.viewers--
	f.idle++
	n, last := f.idle, f.viewers == 0
	f.mu.Unlock()
	if !last {
		return
	}
	time.AfterFunc(lingerFor, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.viewers == 0 && f.idle == n {
			f.cancel()
			if l.of[f.id] == f {
				delete(l.of, f.id)
			}
		}
	})
}

func (l *follows) forget(f *followed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[f.id] == f {
		delete(l.of, f.id)
	}
}

func (l *follows) close() {
	l.mu.Lock()
	l.closed = true
	for _, f := range l.of {
		f.cancel()
	}
	l.mu.Unlock()
	l.all.Wait()
}

// counts are the sessions followed and those who look at them.
func (l *follows) counts() (sessions, viewers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.of {
		f.mu.Lock()
		viewers += f.viewers
		f.mu.Unlock()
	}
	return len(l.of), viewers
}

// followElsewhere follows a session until it ends, its server is away, or ctx ends.
func (s *Server) followElsewhere(ctx context.Context, f *followed, to *way) {
	for {
		flowed, err := s.followOnce(ctx, f, to)
		status := websocket.CloseStatus(err)
		last, _, _ := f.look()
		switch {
		case ctx.Err() != nil:
			f.set(away, last)
			return
		case status == websocket.StatusNormalClosure || errors.Is(err, errNoSession):
			f.set(over, last)
			return
		case flowed && status != websocket.StatusGoingAway:
			s.log.Info("the line to another server was lost: calling it again", "server", to.ID, "session", f.id, "error", err)
			if pauseFor(ctx, 50*time.Millisecond+rand.N(100*time.Millisecond)) {
				continue
			}
		default:
			s.log.Warn("the server of a session does not answer", "server", to.ID, "session", f.id, "error", err)
		}
		f.set(away, last)
		pauseFor(ctx, awayFor)
		return
	}
}

// streamElsewhere sends the pictures of another server's session until the reader goes, the session ends, its server does
// not answer any more or this one stops.
func (s *Server) streamElsewhere(w http.ResponseWriter, r *http.Request, row *class.Session, to *way, rate int) {
	leave, refused := s.socket(r)
	if refused != nil {
		refused.write(w)
		return
	}
	defer leave()
	l := &s.course.others.follows
	f := l.join(s, row.ID, to)
	if f == nil {
		errStopping.write(w)
		return
	}
	defer l.leave(f)
	// Told before the websocket is there: a page learns the reason by asking for the session.
	switch f.await(r.Context()) {
	case over:
		errNoSession.write(w)
		return
	case opening, away:
		errServerAway.write(w)
		return
	case flowing:
	}
	conn, err := accept(w, r)
	if err != nil {
		return // accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	s.streams.opened.Add(1)
	ctx, cancel := context.WithCancel(readNothing(s.ctx, conn))
	defer cancel()
	if who := callerOf(r.Context()); !who.mine(belongs{row.Class, row.Person}) {
		go s.whileAllowed(ctx, cancel, who, func() bool {
			v, err := s.course.view(ctx, who.Class)
			return err != nil || who.Kind != learner || v.class.Steering.Spotlight == row.ID
		})
	}
	state, err := s.viewer(conn, f, rate).follow(ctx, f)
	switch {
	case s.ctx.Err() != nil:
		_ = conn.Close(websocket.StatusGoingAway, "the server stops")
	case err != nil:
		s.log.Debug("stream ended", "session", row.ID, "reason", err)
	case state == over:
		_ = conn.Close(websocket.StatusNormalClosure, "the session was ended")
	default:
		_ = conn.Close(websocket.StatusTryAgainLater, "the server that runs it does not answer")
	}
}

// await waits for the first picture, or for the word that there is none.
func (f *followed) await(ctx context.Context) followState {
	ctx, cancel := context.WithTimeout(ctx, firstPicture)
	defer cancel()
	for {
		_, state, fresh := f.look()
		if state != opening {
			return state
		}
		select {
		case <-fresh:
		case <-ctx.Done():
			return opening
		}
	}
}

// follow sends pictures as they come until ctx ends, and gives how it stands with the session when none comes any more.
func (v *viewer) follow(ctx context.Context, f *followed) (followState, error) {
	every := max(1, int64(v.interval*defaultHz/time.Second)) // pictures that come between two that are sent
	quiet := time.NewTimer(pingEvery)
	defer quiet.Stop()
	for {
		latest, state, fresh := f.look()
		now := time.Now()
		switch {
		case v.mute(now) || v.unread.Load() < v.window:
			if v.seen != nil {
				if late := latest.seq - v.seen.seq - every; late > 0 {
					v.skipped += late
					v.counts.dropped.Add(late)
				}
			}
			if err := v.send(ctx); err != nil {
				return state, err
			}
		case now.Sub(v.answered()) > pongPatience:
			return state, errReaderGone
		}
		if state == over || state == away {
			return state, nil
		}
		if every > 1 && !pauseFor(ctx, v.interval) {
			return state, ctx.Err()
		}
		quiet.Reset(pingEvery)
		select {
		case <-fresh:
		case <-quiet.C:
		case <-ctx.Done():
			return state, ctx.Err()
		}
	}
}

// followOnce follows a session over one connection, and tells whether pictures came.
func (s *Server) followOnce(ctx context.Context, f *followed, to *way) (flowed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	target := "/api/v1/sessions/" + f.id + "/stream?hz=" + strconv.Itoa(defaultHz)
	stated := s.course.trust.state(to.ID, http.MethodGet, target, nil, nil)
	dctx, done := context.WithTimeout(ctx, answerTime)
	conn, resp, err := websocket.Dial(dctx, to.base.String()+target, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: to.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		HTTPHeader: http.Header{statementHeader: {stated.String()}}, CompressionMode: websocket.CompressionDisabled,
	})
	done()
	proved := resp != nil && s.course.trust.proves(stated, resp.Header)
	if err != nil {
		if proved && resp.StatusCode == http.StatusNotFound {
			return false, errNoSession
		}
		return false, err
	}
	defer func() { _ = conn.CloseNow() }()
	if !proved {
		return false, errors.New("what answers there is not the server that the store tells of")
	}
	conn.SetReadLimit(mostPicture)
	go keepAlive(ctx, cancel, conn, lineEvery)
	before, _, _ := f.look()
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return flowed, err
		}
		next, err := f.next(before, b, !flowed)
		if err != nil {
			return flowed, err
		}
		s.streams.pictures.Add(1)
		f.set(flowing, next)
		before, flowed = next, true
	}
}

// next makes the picture that a message tells of. The first of a connection is whole; what each further one says is handed on
// to viewers that saw the picture before, as it came.
func (f *followed) next(before *frame, message []byte, whole bool) (*frame, error) {
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	var said delta.Tree
	if err := d.Decode(&said); err != nil {
		return nil, err
	}
	next := &frame{seq: 1, tree: said}
	if before != nil {
		next.seq = before.seq + 1
	}
	_, behind := said["skipped"]
	delete(said, "skipped") // how far this server was behind is not how far its viewers are
	if whole || before == nil {
		return next, nil
	}
	next.tree, _ = delta.Merge(before.tree, said).(delta.Tree)
	if !behind {
		e := &encoded{b: message}
		e.once.Do(func() {})
		next.merges = map[int64]*encoded{before.seq: e}
	}
	return next, nil
}
