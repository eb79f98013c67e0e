package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"weir/class"
	"weir/exercises"
)

type deadlinesOutput struct {
	Body struct {
		Deadlines []classDeadline `json:"deadlines"`
	}
}

type deadlineOutput struct{ Body classDeadline }

type deadlineInput struct {
	Exercise string `path:"exercise" maxLength:"64"`
	Body     struct {
		Due     *time.Time `json:"due" doc:"null takes the deadline away."`
		Penalty int        `json:"penalty,omitempty" minimum:"0" maximum:"100"`
	}
}

type extensionInput struct {
	Exercise string `path:"exercise" maxLength:"64"`
	Person   string `path:"person" maxLength:"64"`
	Body     struct {
		Due *time.Time `json:"due" doc:"null takes the extension away."`
	}
}

// deadlineRoutes set and show when exercises are due.
func (s *Server) deadlineRoutes(api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "list-deadlines", Method: http.MethodGet, Path: "/api/v1/class/deadlines", Tags: tags,
		Summary: "When exercises are due; a learner's extension is in due", Extensions: calledBy(callerClass, callerWall),
	}, func(ctx context.Context, _ *struct{}) (*deadlinesOutput, error) {
		all, err := s.deadlines(ctx, callerOf(ctx))
		if err != nil {
			return nil, err
		}
		out := &deadlinesOutput{}
		out.Body.Deadlines = all
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "set-deadline", Method: http.MethodPut, Path: "/api/v1/class/deadlines/{exercise}", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary: "Sets when an exercise is due, and what a late result loses", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, in *deadlineInput) (*deadlineOutput, error) {
		who := callerOf(ctx)
		if _, err := exercises.Find(in.Exercise); err != nil {
			return nil, newProblem(http.StatusNotFound, "exercise", err.Error())
		}
		d := class.Deadline{Class: who.Class, Exercise: in.Exercise, Penalty: in.Body.Penalty}
		if in.Body.Due != nil {
			d.Due = in.Body.Due.UTC()
		}
		if err := s.course.store.SetDeadline(ctx, d); err != nil {
			return nil, storeProblem(err)
		}
		s.course.changed(who.Class)
		s.course.audit(ctx, who, "deadline", in.Exercise)
		return &deadlineOutput{classDeadline{Exercise: d.Exercise, Due: d.Due, Penalty: d.Penalty}}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "set-extension", Method: http.MethodPut, Path: "/api/v1/class/deadlines/{exercise}/extensions/{person}", Tags: tags, MaxBodyBytes: 8 << 10,
		DefaultStatus: http.StatusNoContent,
		Summary:       "Gives one learner more time", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, in *extensionInput) (*struct{}, error) {
		who := callerOf(ctx)
		if _, err := exercises.Find(in.Exercise); err != nil {
			return nil, newProblem(http.StatusNotFound, "exercise", err.Error())
		}
		if _, err := s.personOf(ctx, who, in.Person); err != nil {
			return nil, err
		}
		x := class.Extension{Class: who.Class, Exercise: in.Exercise, Person: in.Person}
		if in.Body.Due != nil {
			x.Due = in.Body.Due.UTC()
		}
		if err := s.course.store.SetExtension(ctx, x); err != nil {
			return nil, storeProblem(err)
		}
		s.course.changed(who.Class)
		s.course.audit(ctx, who, "extension", in.Exercise+" for "+in.Person)
		return nil, nil
	})
}

func (s *Server) deadlines(ctx context.Context, who *caller) ([]classDeadline, error) {
	all, err := s.course.store.Deadlines(ctx, who.Class)
	if err != nil {
		return nil, storeProblem(err)
	}
	extensions, err := s.course.store.Extensions(ctx, who.Class)
	if err != nil {
		return nil, storeProblem(err)
	}
	out := []classDeadline{}
	for _, d := range all {
		one := classDeadline{Exercise: d.Exercise, Due: d.Due, Penalty: d.Penalty}
		for _, x := range extensions {
			switch {
			case x.Exercise != d.Exercise:
			case who.Kind == instructor:
				one.Extensions = append(one.Extensions, classExtension{x.Person, x.Due})
			case x.Person == who.Person:
				one.Due = class.RuleFor(d, x.Due).Due
			}
		}
		out = append(out, one)
	}
	return out, nil
}
