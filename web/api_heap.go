package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"weir/engine/task"
	"weir/labs"
)

// heapRun is a run whose keyed state can be looked into.
type heapRun interface {
	ViewHeap(subtask int, q task.HeapQuestion) (*task.HeapView, error)
}

type heapInput struct {
	ID      string `path:"id"`
	Subtask int    `query:"subtask" minimum:"0" default:"0" doc:"Of the vertex with keyed state."`
	State   string `query:"state" doc:"Its name; without one the first that the operator made."`
	Group   int    `query:"group" minimum:"-1" maximum:"32767" default:"-1" doc:"The key group; -1 is the subtask's first that has entries."`
}

type heapOutput struct{ Body *task.HeapView }

type configurationOutput struct {
	Body struct {
		YAML string `json:"yaml" doc:"The knobs in force as a configuration of Flink 2.3."`
	}
}

// heapRoutes look into keyed state. They are asked by the panel that shows it, a few times a second.
func (s *Server) heapRoutes(api huma.API) {
	tags := []string{"sessions"}
	huma.Register(api, huma.Operation{
		OperationID: "get-heap", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/heap", Tags: tags,
		Summary: "The copy-on-write map of one state and key group, as its task sees it",
		Description: "At most 64 entries and 64 old ones that are kept for snapshots. The task answers between two records; one that stands at a breakpoint of " +
			"entryCopied is seen as it stood there, with stopped set.",
		Extensions: calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *heapInput) (*heapOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		r, ok := sess.run.(heapRun)
		if !ok {
			return nil, newProblem(http.StatusConflict, "", task.ErrNoHeap.Error())
		}
		v, err := r.ViewHeap(in.Subtask, task.HeapQuestion{State: in.State, KeyGroup: in.Group})
		switch {
		case errors.Is(err, task.ErrNoHeap), errors.Is(err, task.ErrNoView):
			return nil, newProblem(http.StatusConflict, "", err.Error())
		case errors.Is(err, task.ErrNoMap):
			return nil, newProblem(http.StatusUnprocessableEntity, "group", err.Error())
		case err != nil:
			return nil, problemOf(err)
		}
		return &heapOutput{v}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-configuration", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/configuration", Tags: tags,
		Summary:    "The knobs of a session as a configuration of Flink 2.3",
		Extensions: calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *idInput) (*configurationOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		l, err := labs.Find(sess.lab)
		if err != nil {
			return nil, err
		}
		out := &configurationOutput{}
		out.Body.YAML = l.FlinkYAML(labs.Values(sess.run.Snapshot().Knobs))
		return out, nil
	})
}
