package web

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"weir/exercises"
	"weir/labs"
	"weir/web/i18n"
	"weir/web/templates"
)

// flagship is the lab that the catalogue's one primary action starts.
const flagship = "backpressure"

// base gathers what every page needs.
func (s *Server) base(r *http.Request) templates.Base {
	lang := i18n.Pick(r)
	theme := r.URL.Query().Get("theme")
	if theme == "" {
		if c, err := r.Cookie("theme"); err == nil {
			theme = c.Value
		}
	}
	if theme != "light" && theme != "dark" {
		theme = ""
	}
	b := templates.Base{
		Lang: lang, Theme: theme, Path: r.URL.Path, Query: r.URL.Query(), Asset: s.assets.url, Texts: s.texts.Texts(lang),
		T: func(key string, args ...any) string { return s.texts.T(lang, key, args...) },
	}
	s.addMember(&b, callerOf(r.Context()))
	return b
}

// page writes a page, or the placeholder where scripts and styles were not built.
func (s *Server) page(w http.ResponseWriter, r *http.Request, status int, page templ.Component) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store") // a page shows what runs now
	h.Set("Vary", "Cookie, Accept-Language")
	if !s.assets.built() {
		w.WriteHeader(status)
		_, _ = w.Write(s.assets.byName["placeholder.html"].body)
		return
	}
	w.WriteHeader(status)
	if err := page.Render(r.Context(), w); err != nil {
		s.log.Debug("page not written", "path", r.URL.Path, "reason", err)
	}
}

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	if s.joined.asksName() {
		http.Redirect(w, r, "/class", http.StatusSeeOther)
		return
	}
	s.homePage(w, r, http.StatusOK, "")
}

func (s *Server) homePage(w http.ResponseWriter, r *http.Request, status int, refused string) {
	b := s.base(r)
	if refused != "" {
		b.Path = "/" // the language switch leads to a page that can be read
	}
	h := templates.Home{Base: b, Refused: refused, Exercises: map[string][]string{}}
	for _, e := range exercises.All() {
		h.Exercises[e.Lab] = append(h.Exercises[e.Lab], e.ID)
		h.AllExercises = append(h.AllExercises, e.ID)
	}
	h.Flagship, _ = labs.Get(flagship)
	for _, l := range labs.All() {
		i := slices.IndexFunc(h.Chapters, func(c templates.Chapter) bool { return c.ID == l.Chapter })
		if i < 0 {
			h.Chapters = append(h.Chapters, templates.Chapter{ID: l.Chapter})
			i = len(h.Chapters) - 1
		}
		h.Chapters[i].Labs = append(h.Chapters[i].Labs, l)
	}
	for _, sess := range s.sessions.listOf(callerOf(r.Context())) {
		info := sess.info()
		title := info.Lab
		if l, ok := labs.Get(info.Lab); ok {
			title = l.Title.In(b.Lang)
		}
		h.Running = append(h.Running, templates.Running{
			ID: info.ID, Lab: info.Lab, Title: title, State: b.T("state." + info.State),
			Clock: fmt.Sprintf("%02d:%02d", info.TimeMs/60000, info.TimeMs/1000%60), Over: sess.ended(),
		})
	}
	s.page(w, r, status, templates.HomePage(h))
}

func (s *Server) lab(w http.ResponseWriter, r *http.Request) {
	l, ok := labs.Get(r.PathValue("id"))
	if !ok {
		s.notFound(w, r)
		return
	}
	b := s.base(r)
	lesson, err := l.Lesson(b.Lang)
	if err != nil {
		s.log.Error("no lesson", "lab", l.ID, "error", err)
		problemOf(err).write(w)
		return
	}
	q := r.URL.Query()
	p := templates.Lab{Base: b, Lab: l, Lesson: lesson, Values: map[string]any{}, Step: labs.StepIDs[0], Panel: q.Get("panel"), Present: q.Has("present")}
	if slices.Contains(labs.StepIDs, q.Get("step")) {
		p.Step = q.Get("step")
	}
	for i, e := range exercises.All() {
		if e.Lab == l.ID {
			p.Exercises = append(p.Exercises, templates.ExerciseRow{Number: i + 1, Exercise: e, Lab: l})
		}
	}
	p.Refused = fill(p.Values, l, q)
	// A run that was ended is no reason for an error: the page offers to start it anew.
	if sess, err := s.session(r.Context(), q.Get("session"), toLook); err == nil && sess.lab == l.ID {
		p.Session = sess.id
		maps.Copy(p.Values, sess.run.Snapshot().Knobs)
	} else if s.joined != nil {
		if knobs, ok := s.joined.spotlightKnobs(r.Context(), q.Get("session"), l); ok {
			p.Session = q.Get("session")
			maps.Copy(p.Values, knobs)
		}
	} else if errors.Is(err, errNoSession) {
		s.fillElsewhere(r, &p, q.Get("session"))
	}
	s.page(w, r, http.StatusOK, templates.LabPage(p))
}

// fillElsewhere fills in a session that runs on another server, as the store has it; the page follows it from there.
func (s *Server) fillElsewhere(r *http.Request, p *templates.Lab, id string) {
	row, _, _ := s.elsewhere(r.Context(), callerOf(r.Context()), id)
	if row == nil || row.Lab != p.Lab.ID {
		return
	}
	p.Session = row.ID
	if values, err := p.Lab.Values(row.Knobs, nil); err == nil {
		maps.Copy(p.Values, values)
	}
}

// fill takes the knobs of an address over the lab's defaults; it gives those that were refused.
func fill(values map[string]any, l *labs.Lab, q url.Values) []labs.KnobError {
	var refused []labs.KnobError
	for i := range l.Knobs {
		k := &l.Knobs[i]
		values[k.Name] = k.Default
		if !q.Has(k.Name) {
			continue
		}
		v, err := k.Parse(q.Get(k.Name))
		if err != nil {
			p := problemOf(err)
			refused = append(refused, labs.KnobError{Field: p.Field, Value: q.Get(k.Name), Reason: p.Reason})
			continue
		}
		values[k.Name] = v
	}
	return refused
}

// startForm starts a lab's job from a page without a script's help and leads to it.
func (s *Server) startForm(w http.ResponseWriter, r *http.Request) {
	l, ok := labs.Get(r.PathValue("id"))
	if !ok {
		s.notFound(w, r)
		return
	}
	sess, err := s.startSession(r.Context(), l.ID, nil, "", "")
	if err != nil {
		p := problemOf(err)
		why := p.Detail
		switch {
		case full(p) && s.course == nil:
			why = s.base(r).T("home.full", "n", maxRunning)
		case full(p):
			why = s.base(r).T("start.full")
		case p.Place > 0:
			why = s.base(r).T("home.line")
		case p.Status == http.StatusLocked:
			why = s.base(r).T("problem.frozen")
		}
		s.homePage(w, r, p.Status, why)
		return
	}
	q := url.Values{"session": {sess.id}}
	if r.URL.Query().Has("lang") {
		q.Set("lang", i18n.Pick(r))
	}
	http.Redirect(w, r, "/labs/"+l.ID+"?"+q.Encode(), http.StatusSeeOther)
}

// full tells whether a start was refused because as many jobs run as one person may have.
func full(p *problem) bool {
	return p.Status == http.StatusTooManyRequests && p.Field == "sessions" && p.Place == 0
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		newProblem(http.StatusNotFound, "", "no such address: "+r.URL.Path).write(w)
		return
	}
	b := s.base(r)
	b.Path, b.Nowhere = "/", true
	s.page(w, r, http.StatusNotFound, templates.NotFoundPage(b, r.URL.Path))
}
