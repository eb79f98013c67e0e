package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"rsc.io/qr"

	"weir/class"
	"weir/labs"
)

// Who calls the routes of a class.
const (
	callerClass = "class pages"
	callerWall  = "instructor's wall"
)

type classIDInput struct {
	ID string `path:"id" maxLength:"64"`
}

type meOutput struct {
	SetCookie *http.Cookie `header:"Set-Cookie"`
	Body      classMe
}

type joinInput struct {
	Body struct {
		Code  string `json:"code" maxLength:"64"`
		Name  string `json:"name" maxLength:"400"`
		Alias string `json:"alias,omitempty" maxLength:"400" doc:"For the scoreboard, which shows no names."`
	}
}

type meChange struct {
	Body struct {
		Alias *string `json:"alias,omitempty" maxLength:"400"`
		Hand  *bool   `json:"hand,omitempty"`
	}
}

type cookieOutput struct {
	SetCookie []*http.Cookie `header:"Set-Cookie"`
}

// classRoutes add the class to the API.
func (s *Server) classRoutes(r chi.Router, api huma.API) {
	s.memberRoutes(api)
	s.taughtRoutes(api)
	s.peopleRoutes(api)
	s.steeringRoutes(api)
	s.questionRoutes(api)
	s.resultRoutes(r, api)
	s.deadlineRoutes(api)
	s.wallRoutes(r, api)
	r.Get("/class/p/{token}", s.personalLink)
	r.Get("/class/i/{token}", s.instructorLink)
}

// memberRoutes are how a learner comes and goes.
func (s *Server) memberRoutes(api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "join-class", Method: http.MethodPost, Path: "/api/v1/class/join", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: 8 << 10,
		Summary:     "Joins the class of a code",
		Description: "Answers who one is, and a cookie. A name that somebody has gets a suffix. Wrong codes are 403, many of them from one address 429; a right one never is.",
		Extensions:  calledBy(callerClass, callerScript),
	}, s.join)
	huma.Register(api, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/api/v1/class/me", Tags: tags,
		Summary: "Who one is in the class, and how it stands", Extensions: calledBy(callerClass),
	}, func(ctx context.Context, _ *struct{}) (*meOutput, error) {
		me, err := s.describeMe(ctx, callerOf(ctx))
		if err != nil {
			return nil, err
		}
		return &meOutput{Body: *me}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "change-me", Method: http.MethodPatch, Path: "/api/v1/class/me", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary: "Changes one's alias, or puts the hand up or down", Extensions: calledBy(callerClass),
	}, func(ctx context.Context, in *meChange) (*meOutput, error) {
		who := callerOf(ctx)
		err := s.course.store.UpdatePerson(ctx, who.Person, func(p *class.Person) error {
			return changePerson(p, nil, in.Body.Alias, in.Body.Hand)
		})
		if err != nil {
			return nil, storeProblem(err)
		}
		s.course.changed(who.Class)
		if _, err := s.course.fresh(ctx, who.Class); err != nil {
			return nil, err
		}
		me, err := s.describeMe(ctx, who)
		if err != nil {
			return nil, err
		}
		return &meOutput{Body: *me}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "put-place", Method: http.MethodPut, Path: "/api/v1/class/me/place", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary: "Says which page the learner looks at", Extensions: calledBy(callerClass),
	}, func(ctx context.Context, in *struct{ Body classPlaceBody }) (*struct{}, error) {
		s.course.setPlace(callerOf(ctx).Person, in.Body)
		return nil, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "leave-line", Method: http.MethodDelete, Path: "/api/v1/class/line", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Leaves the line before a full server", Extensions: calledBy(callerClass),
	}, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		s.course.line.leave(callerOf(ctx).Person)
		return nil, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "leave-class", Method: http.MethodPost, Path: "/api/v1/class/leave", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Takes the cookies away; what is kept of the learner stays, and the personal link leads back", Extensions: calledBy(callerClass),
	}, func(ctx context.Context, _ *struct{}) (*cookieOutput, error) {
		r := requestOf(ctx)
		return &cookieOutput{[]*http.Cookie{cookieFor(r, personCookie, "", time.Time{}), cookieFor(r, instructorCookie, "", time.Time{})}}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "export-me", Method: http.MethodGet, Path: "/api/v1/class/me/export", Tags: tags,
		Summary: "All that is kept of the learner, as a file", Responses: fileResponse("application/json", anyJSON), Extensions: calledBy(callerClass),
	}, s.exportMe)
	huma.Register(api, huma.Operation{
		OperationID: "delete-me", Method: http.MethodDelete, Path: "/api/v1/class/me", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Deletes the learner with results, answers and sessions", Extensions: calledBy(callerClass),
	}, func(ctx context.Context, _ *struct{}) (*cookieOutput, error) {
		who := callerOf(ctx)
		if err := s.deletePerson(ctx, who.Class, who.Person); err != nil {
			return nil, err
		}
		return &cookieOutput{[]*http.Cookie{cookieFor(requestOf(ctx), personCookie, "", time.Time{})}}, nil
	})
}

// join takes somebody in who has the code.
func (s *Server) join(ctx context.Context, in *joinInput) (*meOutput, error) {
	c, r := s.course, requestOf(ctx)
	address := addressOf(r)
	if wait := c.guesses.wait(address, time.Now()); wait > 0 && !pauseFor(ctx, wait) {
		return nil, storeProblem(ctx.Err())
	}
	k, err := s.classOfCode(ctx, in.Body.Code)
	if err != nil {
		return nil, err
	}
	if k == nil {
		if !c.guesses.tell(address, time.Now()) {
			p := newProblem(http.StatusTooManyRequests, "code", "too many wrong codes from this address: wait a little. The right code is taken at once")
			p.retryAfter = 5
			return nil, p
		}
		return nil, newProblem(http.StatusForbidden, "code", "no class has it: look at the screen in front again")
	}
	if old, err := s.joinedBefore(ctx, k, in.Body.Name); err != nil || old != nil {
		return old, err
	}
	token, hash := class.NewToken()
	p, err := timed(c, func() (class.Person, error) { return c.store.AddPerson(ctx, k.ID, in.Body.Name, in.Body.Alias, hash) })
	if err != nil {
		return nil, storeProblem(err)
	}
	c.changed(k.ID)
	s.log.Info("joined", "class", k.ID, "person", p.ID)
	if _, err := c.fresh(ctx, k.ID); err != nil {
		return nil, err
	}
	me, err := s.describeMe(ctx, &caller{Kind: learner, Class: k.ID, Person: p.ID, token: token})
	if err != nil {
		return nil, err
	}
	return &meOutput{SetCookie: cookieFor(r, personCookie, token, k.Expires), Body: *me}, nil
}

// joinedBefore answers one who is in the class already and gives the same name: a form that was sent twice, or a page that
// was opened anew. Nil is somebody new.
func (s *Server) joinedBefore(ctx context.Context, k *class.Class, name string) (*meOutput, error) {
	r := requestOf(ctx)
	_, token, _ := shownTokens(r)
	if token == "" {
		return nil, nil
	}
	who, err := s.course.whoHas(ctx, token)
	if err != nil || who == nil || who.Kind != learner || who.Class != k.ID {
		return nil, err
	}
	p, err := s.course.store.PersonByID(ctx, who.Person)
	if err != nil {
		return nil, storeProblem(err)
	}
	clean, err := class.CleanName(name)
	if err != nil || class.NameKey(clean) != class.NameKey(p.Name) {
		return nil, nil
	}
	me, err := s.describeMe(ctx, who)
	if err != nil {
		return nil, err
	}
	return &meOutput{SetCookie: cookieFor(r, personCookie, token, k.Expires), Body: *me}, nil
}

// classOfCode finds the class that a typed code is of; nil for none.
func (s *Server) classOfCode(ctx context.Context, typed string) (*class.Class, error) {
	code, err := class.ParseCode(typed)
	if err != nil {
		return nil, nil // no code of a class: wrong, like one that nobody has
	}
	k, err := timed(s.course, func() (class.Class, error) { return s.course.store.ClassByCode(ctx, code) })
	switch {
	case errors.Is(err, class.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, storeProblem(err)
	case k.State != class.Open:
		return nil, storeProblem(class.ErrClosed)
	}
	return &k, nil
}

func (s *Server) describeMe(ctx context.Context, who *caller) (*classMe, error) {
	v, err := s.course.view(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	me := &classMe{Kind: "instructor", Class: publicOf(&v.class), Live: s.liveOf(v, who), Sessions: mostOfInstructor}
	if who.Kind == instructor {
		return me, nil
	}
	p, ok := v.people[who.Person]
	if !ok { // joined since
		if v, err = s.course.fresh(ctx, who.Class); err != nil {
			return nil, err
		}
		if p, ok = v.people[who.Person]; !ok {
			return nil, storeProblem(class.ErrNotFound)
		}
	}
	me.Kind, me.ID, me.Name, me.Alias, me.Sessions = "learner", p.ID, p.Name, p.Alias, s.course.limits.PerLearner
	if !p.Hand.IsZero() {
		me.Hand = &p.Hand
	}
	me.Token, me.Engine = who.token, labs.EngineVersion()
	me.Link = originOf(requestOf(ctx)) + "/class/p/" + who.token
	return me, nil
}

// liveOf is what a member sees of a class, with the lab of the session in the spotlight.
func (s *Server) liveOf(v *roomView, who *caller) classLive {
	l := v.live(who)
	l.Line, l.Turn = s.lineOf(who, l.Frozen)
	if l.Spotlight != "" {
		if sess, err := s.sessions.get(l.Spotlight); err == nil {
			l.SpotlightLab = sess.lab
		} else {
			l.SpotlightLab = v.spotLab
		}
	}
	return l
}

func publicOf(k *class.Class) classPublic {
	return classPublic{ID: k.ID, Name: k.Name, Zone: k.Zone, State: string(k.State), Scoreboard: k.Scoreboard, MayDrive: k.MayDrive}
}

// changePerson changes what is given. The store looks at names and aliases.
func changePerson(p *class.Person, name, alias *string, hand *bool) error {
	if name != nil {
		p.Name = *name
	}
	if alias != nil {
		p.Alias = ""
		if strings.TrimSpace(*alias) != "" {
			clean, err := class.CleanName(*alias)
			if err != nil {
				return err
			}
			p.Alias = clean
		}
	}
	switch {
	case hand == nil:
	case !*hand:
		p.Hand = time.Time{}
	case p.Hand.IsZero():
		p.Hand = time.Now().UTC()
	}
	return nil
}

// deletePerson removes somebody with all they have: on this server at once, on others when their sessions are next asked
// for.
func (s *Server) deletePerson(ctx context.Context, classID, person string) error {
	if err := s.course.store.DeletePerson(ctx, person); err != nil {
		return storeProblem(err)
	}
	s.endAllOf(classID, person)
	s.inputs.removeOf(person)
	s.course.changed(classID)
	return nil
}

// exportMe gives a learner all that is kept of them.
func (s *Server) exportMe(ctx context.Context, _ *struct{}) (*fileOutput, error) {
	who := callerOf(ctx)
	st := s.course.store
	out, err := st.PersonalData(ctx, who.Person)
	if err != nil {
		return nil, storeProblem(err)
	}
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, err
	}
	return &fileOutput{"application/json", `attachment; filename="weir-my-data.json"`, "no-store", b}, nil
}

// validJSON gives JSON, and leaves out what is none.
func validJSON(b []byte) json.RawMessage {
	if !json.Valid(b) {
		return nil
	}
	return b
}

// personalLink lets a learner in again, in this browser. The token leaves the address at once.
func (s *Server) personalLink(w http.ResponseWriter, r *http.Request) {
	s.exchange(w, r, learner)
}

// instructorLink lets the instructor in, in this browser.
func (s *Server) instructorLink(w http.ResponseWriter, r *http.Request) {
	s.exchange(w, r, instructor)
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request, as kind) {
	token := r.PathValue("token")
	who, err := s.course.whoHas(r.Context(), token)
	if err != nil {
		s.lostPage(w, r, http.StatusServiceUnavailable)
		return
	}
	if who == nil || who.Kind != as {
		s.lostPage(w, r, http.StatusNotFound)
		return
	}
	k, err := s.course.store.ClassByID(r.Context(), who.Class)
	switch {
	case errors.Is(err, class.ErrNotFound):
		s.lostPage(w, r, http.StatusNotFound)
		return
	case err != nil:
		s.lostPage(w, r, http.StatusServiceUnavailable)
		return
	}
	name, value := personCookie, token
	if as == instructor {
		name, value = instructorCookie, s.course.heldWith(r, token)
	} else {
		// Whoever opens a learner's link wants to be that learner, not the instructor.
		http.SetCookie(w, cookieFor(r, instructorCookie, "", time.Time{}))
	}
	http.SetCookie(w, cookieFor(r, name, value, k.Expires))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, "/class", http.StatusSeeOther)
}

// heldWith is the value of an instructor's cookie with a token in front.
func (c *course) heldWith(r *http.Request, token string) string {
	held, _, _ := shownTokens(r)
	held = slices.DeleteFunc(held, func(t string) bool { return t == token })
	held = append([]string{token}, held...)
	return strings.Join(held[:min(len(held), mostClassesHeld)], ".")
}

// originOf is the address that the caller knows this server by.
func originOf(r *http.Request) string {
	u := url.URL{Scheme: "http", Host: r.Host}
	if overTLS(r) {
		u.Scheme = "https"
	}
	return u.String()
}

// qrOf draws an address as a QR code.
func qrOf(address string) ([]byte, error) {
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		return nil, err
	}
	code.Scale = 8
	return bytes.Clone(code.PNG()), nil
}
