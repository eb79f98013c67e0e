package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"weir/engine/metric"
	"weir/labs"
)

// spotlightReads are what a page that follows the spotlight reads of a session, besides its stream.
var spotlightReads = []string{"", "evidence", "comparisons", "keyloads", "frames", "compositekey", "heap", "configuration"}

const sessionsPath = "/api/v1/sessions/"

// spotlit has pages of this machine read the run that the class has in its spotlight: its server is asked. Any other
// session is of this machine.
func (s *Server) spotlit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, sessionsPath)
		if !ok || r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		id, what, _ := strings.Cut(rest, "/")
		m, live, how, _ := s.joined.state()
		if m == nil || how == linkRevoked || id == "" || live.Spotlight != id {
			next.ServeHTTP(w, r)
			return
		}
		switch {
		case how == linkAway: // it is not gone: it may be had again
			outOfReach(errors.New("the class's server does not answer now: what it has in the spotlight shows again when it does")).write(w)
		case what == "stream":
			s.joined.streamSpotlight(s, w, r, m, id)
		case slices.Contains(spotlightReads, what):
			s.joined.readSpotlight(w, r, m, id, what)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func spotlightPath(id, what string, q url.Values) string {
	path := sessionsPath + url.PathEscape(id)
	if what != "" {
		path += "/" + what
	}
	if query := q.Encode(); query != "" {
		path += "?" + query
	}
	return path
}

func (j *joined) readSpotlight(w http.ResponseWriter, r *http.Request, m *membership, id, what string) {
	if len(r.URL.RawQuery) > 2<<10 {
		newProblem(http.StatusRequestURITooLong, "", "the query is too long").write(w)
		return
	}
	ctx, done := context.WithTimeout(r.Context(), forwardTime)
	defer done()
	a, err := j.as(m).Do(ctx, http.MethodGet, spotlightPath(id, what, r.URL.Query()), nil)
	if err != nil {
		outOfReach(err).write(w)
		return
	}
	give(w, a)
}

// streamSpotlight hands the pictures of the run in the spotlight on to a page. A page that reads slowly is read for as
// slowly, and the class's server then leaves pictures out.
func (j *joined) streamSpotlight(s *Server, w http.ResponseWriter, r *http.Request, m *membership, id string) {
	rate, err := hz(r)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	dctx, done := context.WithTimeout(r.Context(), j.contact)
	from, err := j.as(m).Dial(dctx, spotlightPath(id, "stream", url.Values{"hz": {strconv.Itoa(rate)}}))
	done()
	switch {
	case isRefusal(err, http.StatusNotFound):
		errNoSession.write(w)
		return
	case err != nil:
		outOfReach(err).write(w)
		return
	}
	defer func() { _ = from.CloseNow() }()
	to, err := accept(w, r)
	if err != nil {
		return // accept has answered
	}
	defer func() { _ = to.CloseNow() }()
	ctx, cancel := context.WithCancel(readNothing(s.ctx, to))
	defer cancel()
	go keepAlive(ctx, cancel, to, pingEvery)
	for {
		kind, b, err := from.Read(ctx)
		if err == nil && kind != websocket.MessageText {
			err = errors.New("no text")
		}
		if err != nil {
			if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
				_ = to.Close(websocket.StatusNormalClosure, "the session was ended")
			} else {
				_ = to.Close(websocket.StatusGoingAway, "the class is out of reach, or shows something else")
			}
			return
		}
		if writeText(ctx, to, b) != nil {
			return
		}
	}
}

// spotlightKnobs are the knobs of the run in the spotlight, for the page that follows it; ok is false for any other.
func (j *joined) spotlightKnobs(ctx context.Context, id string, l *labs.Lab) (knobs map[string]any, ok bool) {
	m, live, how, _ := j.state()
	if m == nil || how != linkUp || id == "" || live.Spotlight != id || live.SpotlightLab != l.ID {
		return nil, false
	}
	ctx, done := context.WithTimeout(ctx, 5*time.Second)
	defer done()
	a, err := j.as(m).Do(ctx, http.MethodGet, spotlightPath(id, "", nil), nil)
	if err != nil || a.Refused() != nil {
		return nil, false
	}
	var snap metric.Snapshot
	if json.Unmarshal(a.Body, &snap) != nil {
		return nil, false
	}
	values, err := l.Values(snap.Knobs, nil)
	if err != nil {
		return nil, true // knobs of another version: those of the lab stand until the first picture comes
	}
	return values, true
}
