package web

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"time"

	"github.com/coder/websocket"

	"weir/class/remote"
	"weir/labs"
)

// livePing is how often the class's server is asked whether it is still there, and how long it has to answer.
const livePing = 15 * time.Second

var errRevoked = errors.New("the class knows this machine's learner no more")

// follow keeps the connection to the class until ctx ends: after a loss it comes back by itself, with waits that grow and
// are spread at random.
func (j *joined) follow(ctx context.Context) {
	wait := j.first
	for ctx.Err() == nil {
		m, _, _, changed := j.state()
		if m == nil {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		up, err := j.stay(ctx, m)
		if ctx.Err() != nil {
			return
		}
		if up {
			wait = j.first
			j.log.Info("the class is out of reach: the labs go on, results wait", "reason", err)
		}
		now := linkAway
		if errors.Is(err, errRevoked) {
			j.log.Warn("the class knows this learner no more: ask the instructor for a new link and start again with --join LINK", "results waiting", j.box.waiting(m.ID))
			now = linkRevoked
		}
		changed = j.lost(m, now)
		t := time.NewTimer(remote.Spread(wait))
		if now == linkRevoked {
			t.Stop() // nothing is to be hoped for until somebody joins
		}
		wait = min(j.longest, 2*wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-changed: // somebody else is in the class, or nobody
			wait = j.first
		}
		t.Stop()
	}
}

// sameMember tells whether two are one learner by one token.
func sameMember(a, b *membership) bool {
	return a != nil && b != nil && a.ID == b.ID && a.Token == b.Token
}

// lost notes that the class cannot be reached, unless somebody else is in it by now; it gives what is closed at the next
// change.
func (j *joined) lost(m *membership, how link) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if sameMember(j.me, m) && j.link != how {
		j.link = how
		j.tell()
	}
	return j.changed
}

// stay follows the class for one learner until the connection is lost; up tells whether there was one.
func (j *joined) stay(ctx context.Context, m *membership) (up bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if m, err = j.look(ctx, m); err != nil {
		return false, err
	}
	dctx, done := context.WithTimeout(ctx, j.contact)
	conn, err := j.as(m).Dial(dctx, "/api/v1/class/live")
	done()
	if isRefusal(err, http.StatusUnauthorized) {
		return false, errRevoked
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.CloseNow() }()
	go keepAlive(ctx, cancel, conn, livePing)
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) == websocket.StatusPolicyViolation {
				return up, errRevoked
			}
			return up, err
		}
		var live classLive
		if err := json.Unmarshal(b, &live); err != nil {
			return up, err
		}
		if !j.heard(m, &live, !up) {
			return up, errors.New("somebody else is in the class by now")
		}
		up = true
	}
}

// look asks the class who the learner is by now: the instructor may have given another name, or made one of two people.
func (j *joined) look(ctx context.Context, m *membership) (*membership, error) {
	actx, done := context.WithTimeout(ctx, j.contact)
	defer done()
	me, err := j.ask(actx, m.Token)
	switch {
	case isRefusal(err, http.StatusUnauthorized):
		return m, errRevoked
	case err != nil:
		return m, err
	}
	now := clone(m)
	now.Me = *me
	if !reflect.DeepEqual(now.Me, m.Me) {
		if err := j.people.keep(now); err != nil {
			j.log.Warn("not kept", "error", err)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !sameMember(j.me, m) {
		return m, errors.New("somebody else is in the class by now")
	}
	j.me = now
	return now, nil
}

// heard takes what the class has pages do. It answers false when it is for somebody who is not in the class any more.
func (j *joined) heard(m *membership, live *classLive, first bool) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !sameMember(j.me, m) {
		return false
	}
	j.live, j.link, j.skew = j.clean(*live), linkUp, time.Until(live.Now)
	j.tell()
	if first {
		j.behind = true // the server may be another one, or an older copy
		j.log.Info("in the class", "class", m.Me.Class.Name, "server", m.Server)
		j.box.hurry()
	}
	return true
}

// clean leaves of what a class says what pages of this program can show: labs and knobs that there are. A newer server may
// have others.
func (j *joined) clean(l classLive) classLive {
	if l.Lab != "" && knownKnobs(l.Lab, l.Knobs) != nil {
		j.log.Warn("the class sends a lab that this version does not have with these knobs: use the version that the class's server has", "lab", cutText(shownText(l.Lab), 64))
		l.Lab, l.Knobs = "", nil
	}
	l.Knobs = maps.Clone(l.Knobs)
	if _, ok := labs.Get(l.SpotlightLab); !ok || !validID(l.Spotlight) {
		l.Spotlight, l.SpotlightLab = "", ""
	}
	if l.Question != nil && (!validID(l.Question.ID) || knownKnobs(l.Question.Lab, l.Question.Knobs) != nil) {
		q := *l.Question
		q.Lab, q.Knobs = "", nil
		l.Question = &q
		if !validID(q.ID) {
			l.Question = nil
		}
	}
	l.Away = ""
	return l
}

// shownLive is what pages here do: while the class is out of reach, nothing that only it could go on with.
func shownLive(l classLive, how link) classLive {
	if how != linkUp {
		l.Away = string(how)
		l.Frozen, l.Spotlight, l.SpotlightLab, l.Question = false, "", "", nil
	}
	if l.State == "" {
		l.State = "open"
	}
	return l
}

// thawed refuses a learner while the instructor has frozen the class. Out of its reach the lab goes on.
func (j *joined) thawed() error {
	if j == nil {
		return nil
	}
	if _, live, how, _ := j.state(); how == linkUp && live.Frozen {
		return errFrozen
	}
	return nil
}

// liveStream tells a page of this machine what the class has all pages do, until the page goes.
func (j *joined) liveStream(s *Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		first := j.member()
		if first == nil {
			notInClass().write(w)
			return
		}
		conn, err := accept(w, r)
		if err != nil {
			return // accept has answered
		}
		defer func() { _ = conn.CloseNow() }()
		ctx, cancel := context.WithCancel(readNothing(s.ctx, conn))
		defer cancel()
		go keepAlive(ctx, cancel, conn, pingEvery)
		var before *classLive
		for {
			m, live, how, changed := j.state()
			if m == nil || m.ID != first.ID {
				_ = conn.Close(websocket.StatusPolicyViolation, "not of this class any more")
				return
			}
			live = shownLive(live, how)
			same := live
			if before != nil {
				same.Now = before.Now
			}
			if before == nil || !reflect.DeepEqual(same, *before) {
				b, err := json.Marshal(live)
				if err == nil {
					err = writeText(ctx, conn, b)
				}
				if err != nil {
					return
				}
				before = &live
			}
			select {
			case <-ctx.Done():
				if s.ctx.Err() != nil {
					_ = conn.Close(websocket.StatusGoingAway, "the server stops")
				}
				return
			case <-changed:
			}
		}
	}
}

func notInClass() *problem {
	return newProblem(http.StatusUnauthorized, "", "join the class first: open /class and give your name")
}
