package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"weir/class"
)

type peopleOutput struct {
	Body struct {
		People []classPerson `json:"people"`
	}
}

type personOutput struct{ Body classPerson }

type personChange struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Name  *string `json:"name,omitempty" maxLength:"400"`
		Alias *string `json:"alias,omitempty" maxLength:"400"`
		Hand  *bool   `json:"hand,omitempty"`
	}
}

type linkOutput struct {
	Body struct {
		Link string `json:"link"`
	}
}

type mergeInput struct {
	Body struct {
		From string `json:"from" maxLength:"64"`
		Into string `json:"into" maxLength:"64" doc:"Has the results of both; the links of both lead to it."`
	}
}

// peopleRoutes are for the instructor, about learners.
func (s *Server) peopleRoutes(api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "list-people", Method: http.MethodGet, Path: "/api/v1/class/people", Tags: tags,
		Summary: "The learners with their progress, results and sessions", Extensions: calledBy(callerWall, callerScript),
	}, func(ctx context.Context, _ *struct{}) (*peopleOutput, error) {
		all, err := s.people(ctx, callerOf(ctx).Class)
		if err != nil {
			return nil, err
		}
		out := &peopleOutput{}
		out.Body.People = all
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "change-person", Method: http.MethodPatch, Path: "/api/v1/class/people/{id}", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary: "Changes a learner's name or alias, or takes the hand down", Extensions: calledBy(callerWall),
	}, s.changeLearner)
	huma.Register(api, huma.Operation{
		OperationID: "delete-person", Method: http.MethodDelete, Path: "/api/v1/class/people/{id}", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Removes a learner with all that is kept", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, in *classIDInput) (*struct{}, error) {
		who := callerOf(ctx)
		if _, err := s.personOf(ctx, who, in.ID); err != nil {
			return nil, err
		}
		if err := s.deletePerson(ctx, who.Class, in.ID); err != nil {
			return nil, err
		}
		s.course.audit(ctx, who, "delete person", "")
		return nil, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "renew-link", Method: http.MethodPost, Path: "/api/v1/class/people/{id}/link", Tags: tags,
		Summary:     "Makes a new personal link for a learner",
		Description: "For one that lost the browser or the link. The old link and the cookie end; results that were acknowledged stay.",
		Extensions:  calledBy(callerWall),
	}, s.renewLink)
	huma.Register(api, huma.Operation{
		OperationID: "merge-people", Method: http.MethodPost, Path: "/api/v1/class/people/merge", Tags: tags, DefaultStatus: http.StatusNoContent, MaxBodyBytes: 8 << 10,
		Summary: "Makes one learner of two", Extensions: calledBy(callerWall),
	}, s.mergePeople)
}

// changeLearner changes what the instructor may change of a learner.
func (s *Server) changeLearner(ctx context.Context, in *personChange) (*personOutput, error) {
	who := callerOf(ctx)
	if _, err := s.personOf(ctx, who, in.ID); err != nil {
		return nil, err
	}
	err := s.course.store.UpdatePerson(ctx, in.ID, func(p *class.Person) error {
		return changePerson(p, in.Body.Name, in.Body.Alias, in.Body.Hand)
	})
	if err != nil {
		return nil, storeProblem(err)
	}
	s.course.changed(who.Class)
	for what, done := range map[string]bool{"rename": in.Body.Name != nil, "change alias": in.Body.Alias != nil, "hand": in.Body.Hand != nil} {
		if done {
			s.course.audit(ctx, who, what, in.ID)
		}
	}
	all, err := s.people(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(p classPerson) bool { return p.ID == in.ID })
	if i < 0 {
		return nil, storeProblem(class.ErrNotFound)
	}
	return &personOutput{all[i]}, nil
}

// renewLink ends the links of a learner and gives another.
func (s *Server) renewLink(ctx context.Context, in *classIDInput) (*linkOutput, error) {
	who := callerOf(ctx)
	if _, err := s.personOf(ctx, who, in.ID); err != nil {
		return nil, err
	}
	// The links of those who were merged into the learner lead to them as well: they end too.
	merged, err := s.course.store.Merged(ctx, who.Class)
	if err != nil {
		return nil, storeProblem(err)
	}
	for _, p := range merged {
		if p.Merged != in.ID {
			continue
		}
		if _, err := s.newToken(ctx, p.ID); err != nil {
			return nil, err
		}
	}
	token, err := s.newToken(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	s.course.forget(in.ID)
	s.course.audit(ctx, who, "renew link", in.ID)
	out := &linkOutput{}
	out.Body.Link = originOf(requestOf(ctx)) + "/class/p/" + token
	return out, nil
}

// mergePeople makes one learner of two, also of their sessions that run here.
func (s *Server) mergePeople(ctx context.Context, in *mergeInput) (*struct{}, error) {
	who := callerOf(ctx)
	for _, id := range []string{in.Body.From, in.Body.Into} {
		if _, err := s.personOf(ctx, who, id); err != nil {
			return nil, err
		}
	}
	if err := s.course.store.Merge(ctx, who.Class, in.Body.From, in.Body.Into); err != nil {
		return nil, storeProblem(err)
	}
	for _, sess := range s.sessions.list() {
		if of := sess.of(); of == (belongs{who.Class, in.Body.From}) {
			sess.owned.Store(&belongs{who.Class, in.Body.Into})
		}
	}
	s.course.forget(in.Body.From)
	s.course.changed(who.Class)
	s.course.audit(ctx, who, "merge", in.Body.From+" into "+in.Body.Into)
	return nil, nil
}

// newToken ends the token of a person and gives another.
func (s *Server) newToken(ctx context.Context, id string) (string, error) {
	token, hash := class.NewToken()
	err := s.course.store.UpdatePerson(ctx, id, func(p *class.Person) error {
		p.TokenHash = hash
		return nil
	})
	return token, storeProblem(err)
}

// personOf finds a learner of the instructor's own class; one of another is not there: 404.
func (s *Server) personOf(ctx context.Context, who *caller, id string) (class.Person, error) {
	if !validID(id) {
		return class.Person{}, storeProblem(class.ErrNotFound)
	}
	p, err := s.course.store.PersonByID(ctx, id)
	if err == nil && p.Class != who.Class {
		err = class.ErrNotFound
	}
	return p, storeProblem(err)
}

func (s *Server) people(ctx context.Context, classID string) ([]classPerson, error) {
	st := s.course.store
	people, err := st.People(ctx, classID)
	if err != nil {
		return nil, storeProblem(err)
	}
	results, err := st.Results(ctx, classID, "")
	if err != nil {
		return nil, storeProblem(err)
	}
	byPerson := map[string][]classResult{}
	for i := range results {
		byPerson[results[i].Person] = append(byPerson[results[i].Person], describeResult(&results[i], ""))
	}
	sessions := map[string][]classSession{}
	for _, sess := range s.sessions.list() {
		if of := sess.of(); of.Class == classID {
			info := sess.info()
			sessions[of.Person] = append(sessions[of.Person], classSession{ID: sess.id, Lab: sess.lab, State: info.State, Started: sess.started.UTC()})
		}
	}
	all := []classPerson{}
	for i := range people {
		p := &people[i]
		one := classPerson{ID: p.ID, Name: p.Name, Alias: p.Alias, Joined: p.Joined, Seen: p.Seen, Hand: timeOrNil(p.Hand),
			Results: byPerson[p.ID], Sessions: sessions[p.ID]}
		progress, err := st.Progress(ctx, p.ID)
		if err != nil {
			return nil, storeProblem(err)
		}
		if one.Progress = validJSON(progress); one.Progress == nil {
			one.Progress = []byte("{}")
		}
		if one.Results == nil {
			one.Results = []classResult{}
		}
		if one.Sessions == nil {
			one.Sessions = []classSession{}
		}
		all = append(all, one)
	}
	return all, nil
}

// validID tells whether a text can be an id of ours: some databases refuse others as no text at all.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == ""
}

// shownText gives a text without what steers a terminal or what a database refuses; lines may be broken.
func shownText(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s))
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// newestFirst turns a list around by its times.
func newestFirst[T any](list []T, at func(T) time.Time) []T {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b T) int { return at(b).Compare(at(a)) })
	return list
}
