package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"weir/class"
	"weir/exercises"
	"weir/exercises/kit"
	"weir/exercises/kit/runner"
	"weir/labs"
)

// maxResultBytes bounds a result with its work: a record has 2 MB at most, in base64.
const maxResultBytes = 4 << 20

// mostResultPoints is more than any exercise has.
const mostResultPoints = 10_000

type resultInput struct {
	RawBody []byte
	Body    classResultBody
}

type resultOutput struct {
	Status int
	Body   classResult
}

type resultsOutput struct {
	Body struct {
		Results []classResult `json:"results"`
		Equal   []class.Equal `json:"equal,omitempty" doc:"For the instructor: who handed in the same code. A hint, no points depend on it."`
	}
}

type scoresOutput struct {
	Body struct {
		Rows []classScore `json:"rows"`
	}
}

func describeResult(r *class.Result, name string) classResult {
	return classResult{ID: r.ID, Person: r.Person, Name: name, Exercise: r.Exercise, Status: r.Status, Points: r.Points, MaxPoints: r.MaxPoints,
		Judged: r.Judged(), Late: r.Late, Engine: r.Engine, Sent: r.Sent, Received: r.Received}
}

// resultRoutes take results and show them.
func (s *Server) resultRoutes(r chi.Router, api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "hand-in", Method: http.MethodPost, Path: "/api/v1/class/results", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: maxResultBytes,
		Summary:     "Takes the result of a check with its work",
		Description: "201 when it was kept by this call, 200 when it had been. It counts as reported: what this server judged itself it enters itself, as verified.",
		Extensions:  calledBy(callerClass, callerScript),
	}, s.handIn)
	huma.Register(api, huma.Operation{
		OperationID: "list-results", Method: http.MethodGet, Path: "/api/v1/class/results", Tags: tags,
		Summary: "The results kept, newest first: a learner's own, or all for the instructor", Extensions: calledBy(callerClass, callerWall),
	}, func(ctx context.Context, _ *struct{}) (*resultsOutput, error) {
		who := callerOf(ctx)
		all, err := s.course.store.Results(ctx, who.Class, who.Person)
		if err != nil {
			return nil, storeProblem(err)
		}
		v, err := s.course.view(ctx, who.Class)
		if err != nil {
			return nil, err
		}
		out := &resultsOutput{}
		out.Body.Results = []classResult{}
		for _, r := range newestFirst(all, func(r class.Result) time.Time { return r.Received }) {
			name := ""
			if who.Kind == instructor {
				name = v.people[r.Person].Name
			}
			out.Body.Results = append(out.Body.Results, describeResult(&r, name))
		}
		if who.Kind == instructor {
			out.Body.Equal = class.EqualSources(all, starterDigests()...)
		}
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-work", Method: http.MethodGet, Path: "/api/v1/class/results/{id}/work", Tags: tags,
		Summary: "What was handed in with a result", Responses: fileResponse("application/json", anyJSON), Extensions: calledBy(callerWall),
	}, func(ctx context.Context, in *classIDInput) (*fileOutput, error) {
		who := callerOf(ctx)
		all, err := s.course.store.Results(ctx, who.Class, who.Person)
		if err != nil {
			return nil, storeProblem(err)
		}
		if !slices.ContainsFunc(all, func(r class.Result) bool { return r.ID == in.ID }) {
			return nil, newProblem(http.StatusNotFound, "id", "no such result")
		}
		work, err := s.course.store.Work(ctx, in.ID)
		if err != nil {
			return nil, storeProblem(err)
		}
		if !json.Valid(work) {
			work = []byte("null")
		}
		return &fileOutput{"application/json", `attachment; filename="work.json"`, "no-store", work}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-scoreboard", Method: http.MethodGet, Path: "/api/v1/class/scoreboard", Tags: tags,
		Summary: "Points by alias; who has none is not in it", Extensions: calledBy(callerClass, callerWall),
	}, s.scoreboard)
	s.exportRoute(r, api)
}

var errNoResultID = newProblem(http.StatusUnprocessableEntity, "id", "give a random id of 8 to 64 letters, digits and dashes, the same each time this result is sent")

// validResultID tells whether a sender's id is long enough to be nobody else's.
func validResultID(id string) bool { return len(id) >= 8 && validID(id) }

func (s *Server) handIn(ctx context.Context, in *resultInput) (*resultOutput, error) {
	b := &in.Body
	e, err := exercises.Find(b.Exercise)
	if err != nil {
		return nil, newProblem(http.StatusUnprocessableEntity, "exercise", err.Error())
	}
	switch known := []kit.Status{kit.Passed, kit.Failed, kit.NotRun, kit.NotJudged, kit.Error}; {
	case !validResultID(b.ID):
		return nil, errNoResultID
	case !slices.Contains(known, kit.Status(b.Status)):
		return nil, newProblem(http.StatusUnprocessableEntity, "status", fmt.Sprintf("%q is none of %v", b.Status, known))
	case b.MaxPoints < 0 || b.MaxPoints > mostResultPoints || b.Points < 0 || b.Points > b.MaxPoints:
		return nil, newProblem(http.StatusUnprocessableEntity, "points", fmt.Sprintf("%d of %d are not points of a check", b.Points, b.MaxPoints))
	}
	who := callerOf(ctx)
	now := time.Now().UTC()
	r := class.Result{ID: b.ID, Class: who.Class, Person: who.Person, Exercise: e.ID, Status: b.Status, Points: b.Points, MaxPoints: b.MaxPoints,
		Engine: cutText(shownText(b.Engine), 100), Sent: now, Received: now}
	if b.Sent != nil && b.Sent.Year() >= 2000 && b.Sent.Year() < 9999 {
		r.Sent = b.Sent.UTC()
	}
	if b.Work != nil {
		if err := addWork(&r, *b.Work); err != nil {
			return nil, newProblem(http.StatusUnprocessableEntity, "work", err.Error())
		}
	}
	if r.Report, err = withoutWork(in.RawBody); err != nil {
		return nil, newProblem(http.StatusUnprocessableEntity, "body", err.Error())
	}
	kept, stored, err := s.addResult(ctx, r)
	if err != nil {
		return nil, storeProblem(err)
	}
	status := http.StatusOK
	if kept {
		status = http.StatusCreated
	}
	return &resultOutput{status, describeResult(&stored, "")}, nil
}

func (s *Server) addResult(ctx context.Context, r class.Result) (kept bool, stored class.Result, err error) {
	start := time.Now()
	kept, stored, err = s.course.store.AddResult(ctx, r)
	s.course.latency.observe(time.Since(start), err)
	if err == nil {
		s.course.changed(r.Class)
	}
	return kept, stored, err
}

// addWork adds the work that came with a result. The digests are this server's own: what the sender says of them is not
// believed.
func addWork(r *class.Result, raw json.RawMessage) error {
	if string(raw) == "null" {
		return nil
	}
	var h class.Work
	if err := json.Unmarshal(raw, &h); err != nil {
		return errors.New(`not work: give {"core": text}, {"answer": {…}} or {"record": base64}`)
	}
	sub := runner.Submission{Answer: h.Answer, Record: h.Record}
	if h.Core != "" {
		sub.Core = []byte(h.Core)
	}
	return keepWork(r, &sub)
}

// keepWork puts work into a result.
func keepWork(r *class.Result, sub *runner.Submission) (err error) {
	h := class.Work{Core: string(sub.Core), Answer: sub.Answer, Record: sub.Record, Digest: sub.Digest()}
	r.Digest = h.Digest
	r.Work, err = json.Marshal(h)
	return err
}

// withoutWork is the report in what was sent: all of it but the work, which is kept beside it.
func withoutWork(raw []byte) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	delete(all, "work")
	b, err := json.Marshal(all)
	const most = 512 << 10
	if len(b) > most {
		return nil, fmt.Errorf("the report without the work has more than %d KiB", most>>10)
	}
	return b, err
}

func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// judgedTries is how often a result that this server judged is tried to be kept; between them lies judgedPause, doubled
// each time: a store that is restarted is back by then.
const (
	judgedTries = 5
	judgedPause = time.Second
)

// enterResult keeps a result that this server judged itself, under the id that the page made before the check: where it is
// in doubt whether the result is kept, the page hands it in under the same id. It answers whether it is kept.
func (s *Server) enterResult(ctx context.Context, id string, e *kit.Exercise, sub *runner.Submission, result *kit.Result, report any) bool {
	who := callerOf(ctx)
	if who.Kind != learner {
		return false
	}
	said, err := json.Marshal(report)
	if err != nil {
		s.log.Error("report not kept", "exercise", e.ID, "error", err)
		return false
	}
	now := time.Now().UTC()
	if !validResultID(id) {
		id = class.NewID() // a program that made none
	}
	r := class.Result{ID: id, Class: who.Class, Person: who.Person, Exercise: e.ID, Status: string(result.Status), Points: result.Points,
		MaxPoints: result.MaxPoints, Verified: true, Engine: labs.EngineVersion(), Sent: now, Received: now, Report: said}
	if err := keepWork(&r, sub); err != nil {
		s.log.Error("work not kept", "exercise", e.ID, "error", err)
		return false
	}
	pause := judgedPause
	for try := 1; ; try++ {
		_, _, err := s.addResult(ctx, r)
		if err == nil {
			return true
		}
		if try == judgedTries || ctx.Err() != nil || problemOf(storeProblem(err)).Status != http.StatusServiceUnavailable {
			s.log.Warn("a result is not kept", "exercise", e.ID, "person", who.Person, "error", err)
			return false
		}
		if !pauseFor(ctx, pause) {
			return false
		}
		pause *= 2
	}
}

func (s *Server) scoreboard(ctx context.Context, _ *struct{}) (*scoresOutput, error) {
	who := callerOf(ctx)
	v, err := s.course.view(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	if !v.class.Scoreboard && who.Kind == learner {
		return nil, newProblem(http.StatusNotFound, "scoreboard", "this class shows none")
	}
	out := &scoresOutput{}
	out.Body.Rows = []classScore{}
	for id, p := range v.people {
		if p.Alias == "" {
			continue
		}
		row := classScore{Alias: p.Alias, Me: id == who.Person}
		for _, r := range v.points[id] {
			row.Points += r.Points
			if kit.Status(r.Status) == kit.Passed {
				row.Passed++
			}
		}
		out.Body.Rows = append(out.Body.Rows, row)
	}
	slices.SortFunc(out.Body.Rows, func(a, b classScore) int {
		return cmp.Or(b.Points-a.Points, b.Passed-a.Passed, cmp.Compare(a.Alias, b.Alias))
	})
	return out, nil
}
