package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"weir/engine/metric"
	"weir/labs"
)

type startInput struct {
	Body struct {
		Lab   string         `json:"lab" doc:"Its id, such as backpressure."`
		Knobs map[string]any `json:"knobs,omitempty" doc:"Values that differ from the lab's defaults."`
		Input string         `json:"input,omitempty" doc:"The id of an uploaded file, or flights for the built-in data."`
		Key   string         `json:"key,omitempty" doc:"The column or field of the input to key by."`
	}
}

type startedOutput struct {
	Location string `header:"Location"`
	Body     struct {
		ID string `json:"id"`
	}
}

type idInput struct {
	ID string `path:"id"`
}

type snapshotOutput struct {
	Body *metric.Snapshot
}

// sessionInfo is a session in the list.
type sessionInfo struct {
	ID        string         `json:"id"`
	Lab       string         `json:"lab"`
	State     string         `json:"state"`
	TimeMs    int64          `json:"timeMs" doc:"The job's own clock."`
	StartedAt time.Time      `json:"startedAt"`
	Viewers   int            `json:"viewers"`
	Knobs     map[string]any `json:"knobs"`
}

type sessionsOutput struct {
	Body struct {
		Sessions []sessionInfo `json:"sessions"`
		Limit    int           `json:"limit" doc:"Jobs that may run at once."`
	}
}

type evidenceOutput struct {
	Body struct {
		Evidence []labs.EvidenceState `json:"evidence"`
		Changes  []labs.KnobChange    `json:"changes"`
	}
}

type knobsInput struct {
	ID   string `path:"id"`
	Body map[string]any
}

type knobsOutput struct {
	Body struct {
		Version int64 `json:"version" doc:"Counts the changes; the Snapshot's knobs show it when the tasks have taken it."`
	}
}

type actionInput struct {
	ID   string `path:"id"`
	Name string `path:"action" enum:"checkpoint,savepoint,stop,rescale,restart,killTaskManager,failNextCheckpoint,loseNotification,cutConnection,damageFrame,stopReading,compact,touchOutsideRecord"`
	Body *map[string]any
}

type actionOutput struct {
	Body any
}

func (s *Server) sessionRoutes(api huma.API) {
	tags := []string{"sessions"}
	huma.Register(api, huma.Operation{
		OperationID: "start-session", Method: http.MethodPost, Path: "/api/v1/sessions", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Starts a job", Extensions: calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *startInput) (*startedOutput, error) {
		sess, err := s.startSession(ctx, in.Body.Lab, in.Body.Knobs, in.Body.Input, in.Body.Key)
		if err != nil {
			return nil, problemOf(err)
		}
		out := &startedOutput{Location: "/api/v1/sessions/" + sess.id}
		out.Body.ID = sess.id
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/api/v1/sessions", Tags: tags,
		Summary: "The sessions there are, newest first", Extensions: calledBy(callerHome, callerScript),
	}, func(ctx context.Context, _ *struct{}) (*sessionsOutput, error) {
		out := &sessionsOutput{}
		out.Body.Limit = s.sessions.limit(callerOf(ctx))
		out.Body.Sessions = []sessionInfo{}
		for _, sess := range s.sessions.listOf(callerOf(ctx)) {
			out.Body.Sessions = append(out.Body.Sessions, sess.info())
		}
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/api/v1/sessions/{id}", Tags: tags,
		Summary: "Its Snapshot", Extensions: calledBy(callerScript),
	}, func(ctx context.Context, in *idInput) (*snapshotOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		return &snapshotOutput{Body: sess.run.Snapshot()}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-evidence", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/evidence", Tags: tags,
		Summary: "Its lab's claims, judged against this run, and the knob changes so far", Extensions: calledBy(callerScript),
	}, func(ctx context.Context, in *idInput) (*evidenceOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		out := &evidenceOutput{}
		out.Body.Evidence, out.Body.Changes = sess.run.Evidence(), sess.run.Events()
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "change-knobs", Method: http.MethodPatch, Path: "/api/v1/sessions/{id}/knobs", Tags: tags,
		Summary:     "Changes knobs of the running job",
		Description: "All of them or none. A knob that takes effect by a restart stops the job with a checkpoint and restores it.",
		Extensions:  calledBy(callerPage, callerScript),
	}, s.changeKnobs)
	huma.Register(api, huma.Operation{
		OperationID: "act", Method: http.MethodPost, Path: "/api/v1/sessions/{id}/actions/{action}", Tags: tags,
		Summary: `Acts on the job; the body has the arguments, such as {"parallelism": 3}`, Extensions: calledBy(callerPage, callerScript),
	}, s.act)
	huma.Register(api, huma.Operation{
		OperationID: "end-session", Method: http.MethodDelete, Path: "/api/v1/sessions/{id}", Tags: tags,
		Summary: "Ends it", Extensions: calledBy(callerPage, callerHome, callerScript),
	}, func(ctx context.Context, in *idInput) (*struct{}, error) {
		if _, err := s.session(ctx, in.ID, toEnd); err != nil {
			return nil, err
		}
		return nil, s.endSession(in.ID)
	})
}

// changeKnobs turns knobs of a running job.
func (s *Server) changeKnobs(ctx context.Context, in *knobsInput) (*knobsOutput, error) {
	sess, err := s.session(ctx, in.ID, toDrive)
	if err != nil {
		return nil, err
	}
	if err := s.mayTurn(ctx, sess, in.Body); err != nil {
		return nil, err
	}
	version, err := sess.run.Set(in.Body)
	if err != nil {
		return nil, problemOf(err)
	}
	s.log.Info("knobs changed", "session", sess.id, "knobs", in.Body)
	s.keepSession(ctx, sess)
	out := &knobsOutput{}
	out.Body.Version = version
	return out, nil
}

// act does an action on a running job.
func (s *Server) act(ctx context.Context, in *actionInput) (*actionOutput, error) {
	sess, err := s.session(ctx, in.ID, toDrive)
	if err != nil {
		return nil, err
	}
	var args map[string]any
	if in.Body != nil {
		args = *in.Body
	}
	if err := s.mayAct(ctx, sess, in.Name, args); err != nil {
		return nil, err
	}
	result, err := sess.run.Action(in.Name, args)
	if err != nil {
		return nil, actionProblem(in.Name, err)
	}
	s.log.Info("action", "session", sess.id, "action", in.Name)
	s.keepSession(ctx, sess)
	if callerOf(ctx).Kind != owner {
		result = withoutPath(result)
	}
	if result == nil {
		result = struct{}{}
	}
	return &actionOutput{Body: result}, nil
}

// actionProblem tells what the job refused to do; that it refused is the caller's matter, not a fault of the server.
func actionProblem(name string, err error) *problem {
	if p := problemOf(err); p.Status != http.StatusInternalServerError {
		return p
	}
	return newProblem(http.StatusConflict, name, err.Error())
}

// startSession starts a lab's job by the words of a request.
func (s *Server) startSession(ctx context.Context, lab string, knobs map[string]any, input, key string) (*session, error) {
	l, err := labs.Find(lab)
	if err != nil {
		return nil, newProblem(http.StatusUnprocessableEntity, "lab", err.Error())
	}
	if err := s.mayStart(ctx, l, knobs); err != nil {
		return nil, err
	}
	o := labs.StartOptions{Lab: lab, Knobs: knobs}
	if input == "" && key != "" {
		return nil, newProblem(http.StatusUnprocessableEntity, "key", "a key column needs an input: upload a file, or give "+flightsInput)
	}
	if input != "" {
		in, err := s.inputs.get(input, callerOf(ctx))
		if err != nil {
			return nil, err
		}
		if o.Input, err = keyed(in, key); err != nil {
			return nil, err
		}
	}
	return s.begin(ctx, o, input)
}

// info is the session's entry in the list.
func (s *session) info() sessionInfo {
	snap := s.run.Snapshot()
	return sessionInfo{ID: s.id, Lab: s.lab, State: snap.State, TimeMs: snap.TimeMs, StartedAt: s.started, Viewers: int(s.viewers.Load()), Knobs: snap.Knobs}
}
