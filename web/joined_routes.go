package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/class/remote"
)

// joinedForwards are the calls that a page's own server hands on to the class's, as its learner. Nothing else is, and to
// no other server. They are described by the class's server.
var joinedForwards = []struct{ method, path string }{
	{http.MethodPatch, "/api/v1/class/me"},
	{http.MethodGet, "/api/v1/class/me/export"},
	{http.MethodGet, "/api/v1/class/scoreboard"},
	{http.MethodGet, "/api/v1/class/deadlines"},
	{http.MethodGet, "/api/v1/class/results"},
	{http.MethodGet, "/api/v1/class/results/{id}/work"},
	{http.MethodPost, "/api/v1/class/questions/{id}/answers"},
}

const (
	// maxForwardBytes bounds the body of a call that is handed on; results have a bound of their own.
	maxForwardBytes = 8 << 10
	forwardTime     = 15 * time.Second
)

// joinedRoutes are those of a server for one person that is in a class.
func (s *Server) joinedRoutes(r chi.Router) {
	j := s.joined
	for _, f := range joinedForwards {
		r.Method(f.method, f.path, j.forward(f.path))
	}
	r.Post("/api/v1/class/join", j.joinHere)
	r.Get("/api/v1/class/me", j.meHere)
	r.Delete("/api/v1/class/me", j.deleteMe)
	r.Post("/api/v1/class/leave", j.leaveHere)
	r.Put("/api/v1/class/me/place", j.placeHere)
	r.Post("/api/v1/class/results", j.resultHere)
	r.Get("/api/v1/class/live", j.liveStream(s))
}

// readBounded reads a body, or answers why not.
func readBounded(w http.ResponseWriter, r *http.Request, most int64) ([]byte, bool) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		newProblem(http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("it has more than %d bytes", most)).write(w)
	case err != nil:
		newProblem(http.StatusBadRequest, "body", "it broke off").write(w)
	}
	return b, err == nil
}

// forward hands a call on to the class's server.
func (j *joined) forward(pattern string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := j.member()
		if m == nil {
			notInClass().write(w)
			return
		}
		path := pattern
		if strings.Contains(pattern, "{id}") {
			id := r.PathValue("id")
			if !validID(id) {
				newProblem(http.StatusNotFound, "id", "no such thing").write(w)
				return
			}
			path = strings.Replace(pattern, "{id}", url.PathEscape(id), 1)
		}
		body, ok := readBounded(w, r, maxForwardBytes)
		if !ok {
			return
		}
		ctx, done := context.WithTimeout(r.Context(), forwardTime)
		defer done()
		a, err := j.as(m).Do(ctx, r.Method, path, body)
		if err != nil {
			outOfReach(err).write(w)
			return
		}
		give(w, a)
	}
}

// outOfReach tells a page that the class does not answer. What it asked for may be had later.
func outOfReach(err error) *problem {
	p := newProblem(http.StatusServiceUnavailable, "class", err.Error())
	p.retryAfter = 5
	return p
}

// refusedThere tells a page what the class's server refused: in its words where it gave a reason, else in those of err.
func refusedThere(r *remote.Refusal, err error) *problem {
	p := newProblem(r.Status, r.Field, r.Reason)
	if r.Reason == "" {
		p = newProblem(r.Status, "", err.Error())
	}
	p.retryAfter = int(r.RetryAfter / time.Second)
	return p
}

// give hands an answer of the class's server to a page: JSON, for anything else from another server could be a page or a
// script under this one's name.
func give(w http.ResponseWriter, a *remote.Answer) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if s, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && s > 0 {
		h.Set("Retry-After", strconv.Itoa(s))
	}
	switch {
	case a.Status == http.StatusNoContent:
		w.WriteHeader(a.Status)
		return
	case !a.JSON() || a.Status < 200:
		newProblem(http.StatusBadGateway, "class", fmt.Sprintf("its server answered %d, and not as one of a class", a.Status)).write(w)
		return
	case a.Status >= 300:
		h.Set("Content-Type", "application/problem+json")
	default:
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// joinHere joins the class, for a page that asked for the name.
func (j *joined) joinHere(w http.ResponseWriter, r *http.Request) {
	b, ok := readBounded(w, r, maxForwardBytes)
	if !ok {
		return
	}
	var in struct{ Code, Name, Alias string }
	if err := json.Unmarshal(b, &in); err != nil {
		newProblem(http.StatusUnprocessableEntity, "body", `give {"code", "name"}`).write(w)
		return
	}
	if j.member() != nil {
		newProblem(http.StatusConflict, "class", "this machine is in the class already: leave it first").write(w)
		return
	}
	ctx, done := context.WithTimeout(r.Context(), forwardTime)
	defer done()
	me, err := j.join(ctx, in.Code, in.Name, in.Alias)
	var refused *remote.Refusal
	switch {
	case err == nil:
		writeJSON(w, http.StatusCreated, me)
	case errors.As(err, &refused):
		refusedThere(refused, err).write(w)
	default:
		outOfReach(err).write(w)
	}
}

// meHere says who the learner is; while the class is out of reach, as it said last.
func (j *joined) meHere(w http.ResponseWriter, _ *http.Request) {
	m, live, how, _ := j.state()
	if m == nil {
		notInClass().write(w)
		return
	}
	me := m.Me
	me.Live = shownLive(live, how)
	writeJSON(w, http.StatusOK, me)
}

// leaveHere has this machine in no class any more.
func (j *joined) leaveHere(w http.ResponseWriter, _ *http.Request) {
	if err := j.leave(); err != nil {
		problemOf(err).write(w)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// deleteMe deletes the learner from the class, with all that it keeps, and what waits here for them.
func (j *joined) deleteMe(w http.ResponseWriter, r *http.Request) {
	m := j.member()
	if m == nil {
		notInClass().write(w)
		return
	}
	ctx, done := context.WithTimeout(r.Context(), forwardTime)
	defer done()
	a, err := j.as(m).Do(ctx, http.MethodDelete, "/api/v1/class/me", nil)
	if err != nil {
		outOfReach(err).write(w)
		return
	}
	if a.Refused() != nil {
		give(w, a)
		return
	}
	if err := j.box.empty(m.ID); err != nil {
		j.log.Warn("results that waited are still on this machine", "error", err)
	}
	j.leaveHere(w, r)
}

// placeHere takes what a page of this machine says of itself.
func (j *joined) placeHere(w http.ResponseWriter, r *http.Request) {
	b, ok := readBounded(w, r, maxForwardBytes)
	if !ok {
		return
	}
	var p classPlaceBody
	if err := json.Unmarshal(b, &p); err != nil || len(p.Lab) > 64 || len(p.Exercise) > 64 {
		newProblem(http.StatusUnprocessableEntity, "body", "it is no place").write(w)
		return
	}
	if j.member() == nil {
		notInClass().write(w)
		return
	}
	j.setPlace(p)
	w.WriteHeader(http.StatusNoContent)
}

// resultHere keeps a result that is handed in until the class has it: 200 or 201 are its own word, 202 says that the result
// waits on this machine.
func (j *joined) resultHere(w http.ResponseWriter, r *http.Request) {
	m := j.member()
	if m == nil {
		notInClass().write(w)
		return
	}
	b, ok := readBounded(w, r, maxResultBytes)
	if !ok {
		return
	}
	var in struct{ ID, Exercise string }
	if err := json.Unmarshal(b, &in); err != nil || !validResultID(in.ID) {
		errNoResultID.write(w)
		return
	}
	o, answered, err := j.handIn(r.Context(), m, in.ID, b)
	switch {
	case err != nil:
		problemOf(err).write(w)
	case !answered:
		writeJSON(w, http.StatusAccepted, map[string]any{"id": in.ID, "exercise": in.Exercise, "waiting": true})
	case o.refused != nil:
		refusedThere(o.refused, o.refused).write(w)
	default:
		give(w, o.answer)
	}
}
