package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

const (
	// placeAgain is how often the class hears of a learner who does nothing new, placeFor how long a page's word counts.
	placeAgain = 20 * time.Second
	placeFor   = 50 * time.Second
	// progressEvery is the least time between two sendings of the progress.
	progressEvery = 10 * time.Second
)

// setPlace notes what a page of this machine says of itself.
func (j *joined) setPlace(p classPlaceBody) {
	p.Session, p.Own = "", nil
	j.mu.Lock()
	defer j.mu.Unlock()
	j.place = placed{p, time.Now()}
}

// progressed notes that the class has not the progress that this server has.
func (j *joined) progressed() {
	if j == nil {
		return
	}
	j.mu.Lock()
	j.behind = true
	j.mu.Unlock()
}

// tellPlaces tells the class where the learner is, how their run does, and how far they are, until ctx ends.
func (j *joined) tellPlaces(ctx context.Context, s *Server) {
	t := time.NewTicker(placesEvery)
	defer t.Stop()
	var said placeSaid
	var sent time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now := time.Now()
		j.tellPlace(ctx, s, &said, now)
		if now.Sub(sent) >= progressEvery && j.tellProgress(ctx, s) {
			sent = now
		}
	}
}

// placeSaid is what the class was told last.
type placeSaid struct {
	member string
	body   string
	at     time.Time
	plain  bool // its server knows nothing of runs on learners' machines
}

// tellPlace tells the class where the learner is, if that is new or it has not heard for a while.
func (j *joined) tellPlace(ctx context.Context, s *Server, said *placeSaid, now time.Time) {
	j.mu.Lock()
	m, how, place := j.me, j.link, j.place
	j.mu.Unlock()
	if m == nil || how != linkUp || place.at.IsZero() || now.Sub(place.at) > placeFor {
		return
	}
	if said.member != m.ID {
		*said = placeSaid{member: m.ID}
	}
	p := place.classPlaceBody
	if !said.plain {
		p.Own = s.ownRun()
	}
	b, err := json.Marshal(p)
	if err != nil || string(b) == said.body && now.Sub(said.at) < placeAgain {
		return
	}
	actx, done := context.WithTimeout(ctx, j.contact)
	defer done()
	a, err := j.as(m).Do(actx, http.MethodPut, "/api/v1/class/me/place", b)
	if err != nil {
		return // the connection tells of a class that is away
	}
	if a.Status == http.StatusUnprocessableEntity && !said.plain {
		j.log.Warn("the class's server knows nothing of runs on learners' machines: its wall shows where you are, not your run")
		said.plain = true
		return
	}
	if a.Refused() == nil {
		said.body, said.at = string(b), now
	}
}

// ownRun is the newest run of this machine in small.
func (s *Server) ownRun() *classOwn {
	own := &classOwn{}
	for _, sess := range s.sessions.list() {
		if sess.ended() {
			continue
		}
		m, _ := sess.mini()
		own.Lab, own.Mini, own.Claims = sess.lab, &m.classMini, m.Claims
		break
	}
	return own
}

// tellProgress gives the class the progress that this server has, if the class has not; it tells whether it tried.
func (j *joined) tellProgress(ctx context.Context, s *Server) bool {
	j.mu.Lock()
	m, how, behind := j.me, j.link, j.behind
	if m == nil || how != linkUp || !behind {
		j.mu.Unlock()
		return false
	}
	j.behind = false
	j.mu.Unlock()
	b, err := json.Marshal(s.progress.get())
	if err != nil {
		return true
	}
	actx, done := context.WithTimeout(ctx, j.contact)
	defer done()
	a, err := j.as(m).Do(actx, http.MethodPut, "/api/v1/progress", b)
	if err != nil || a.Status >= 500 || a.Status == http.StatusTooManyRequests {
		j.progressed()
	}
	return true
}
