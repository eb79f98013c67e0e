package web

import (
	"net/http"
	"strings"

	"weir/class"
	"weir/exercises"
	"weir/labs"
	"weir/web/templates"
)

// classPage is one address for all: who is in no class joins, a learner sees what is theirs, an instructor the wall.
func (s *Server) classPage(w http.ResponseWriter, r *http.Request) {
	b := s.base(r)
	switch {
	case b.Member == nil && !b.Hosting:
		s.page(w, r, http.StatusOK, templates.ClassNonePage(b))
	case b.Member == nil:
		j := templates.Join{Base: b, Code: r.URL.Query().Get("code")}
		if s.joined != nil {
			j.Server = s.joined.client.Server()
			if j.Code == "" {
				j.Code = class.ShowCode(s.joined.o.Address.Code)
			}
		}
		s.page(w, r, http.StatusOK, templates.JoinPage(j))
	case b.Member.Kind == "learner":
		s.page(w, r, http.StatusOK, templates.ClassHomePage(b))
	default:
		s.page(w, r, http.StatusOK, templates.WallPage(wallOf(b)))
	}
}

// wallOf gathers what the wall needs to know of labs and exercises.
func wallOf(b templates.Base) templates.Wall {
	w := templates.Wall{Base: b}
	for _, l := range labs.All() {
		one := templates.WallLab{ID: l.ID, Number: l.Number, Title: b.Say(l.Title), Claims: []templates.WallClaim{}, Knobs: []templates.WallKnob{}}
		for _, e := range l.Evidence {
			one.Claims = append(one.Claims, templates.WallClaim{ID: e.ID, Text: b.Say(e.Claim)})
		}
		for i := range l.Knobs {
			one.Knobs = append(one.Knobs, templates.WallKnob{KnobInfo: l.Knobs[i].Info(), Text: b.Say(l.Knobs[i].Label)})
		}
		w.Labs = append(w.Labs, one)
	}
	for _, e := range exercises.All() {
		w.Exercises = append(w.Exercises, templates.WallExercise{ID: e.ID, Title: b.Say(e.Title)})
	}
	return w
}

// addMember tells a page who looks at it, and the titles that a member's pages speak of.
func (s *Server) addMember(b *templates.Base, who *caller) {
	b.Hosting = s.course != nil || s.joined != nil
	if m := s.joined.member(); m != nil {
		who = &caller{Kind: learner, Class: m.Me.Class.ID, Person: m.Me.ID}
	}
	if who.Kind != learner && who.Kind != instructor {
		return
	}
	m := &templates.Member{Kind: "learner", Class: who.Class, Person: who.Person, Own: s.joined != nil, Labs: map[string]string{}, Exercises: map[string]string{}}
	if who.Kind == instructor {
		m.Kind = "instructor"
	}
	for _, l := range labs.All() {
		m.Labs[l.ID] = b.Say(l.Title)
	}
	for _, e := range exercises.All() {
		m.Exercises[e.ID] = b.Say(e.Title)
	}
	b.Member = m
}

// isPage tells whether a browser would show the answer to whoever asks: a problem document is for programs.
func isPage(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/metrics"
}

// lostPage says in the reader's language why a page of a class is not shown: for 404 its link leads nowhere any more, for
// 503 the store does not answer now.
func (s *Server) lostPage(w http.ResponseWriter, r *http.Request, status int) {
	b := s.base(r)
	why := "dead"
	if status == http.StatusServiceUnavailable {
		why = "away"
		w.Header().Set("Retry-After", "2")
	} else {
		b.Path = "/class" // the language switch must not ask for the link again
	}
	s.page(w, r, status, templates.ClassLostPage(b, why, why == "away"))
}
