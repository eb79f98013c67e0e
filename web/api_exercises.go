package web

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"weir/exercises"
	"weir/exercises/kit"
	"weir/exercises/kit/runner"
	"weir/web/i18n"
)

// maxWorkBytes bounds what is handed in for one check.
const maxWorkBytes = 24 << 20

// exerciseInfo describes an exercise in one language.
type exerciseInfo struct {
	ID        string      `json:"id"`
	Number    int         `json:"number"`
	Kind      kit.Kind    `json:"kind" enum:"predict,live,code"`
	Lab       string      `json:"lab"`
	Title     string      `json:"title"`
	Summary   string      `json:"summary"`
	Minutes   int         `json:"minutes"`
	Level     string      `json:"level"`
	MaxPoints int         `json:"maxPoints"`
	Checks    []checkInfo `json:"checks"`
}

// checkInfo is one check before it ran; a hidden one has no name.
type checkInfo struct {
	Name   string `json:"name"`
	Hidden bool   `json:"hidden"`
	Points int    `json:"points"`
}

type languageInput struct {
	Lang string `query:"lang" enum:"en,zh" default:"en" doc:"The language of the texts."`
}

type exercisesOutput struct{ Body []exerciseInfo }

type progressBody struct {
	Disposition  string `header:"Content-Disposition"`
	CacheControl string `header:"Cache-Control"`
	Body         *Progress
}

type progressInput struct{ Body Progress }

func describeExercise(n int, e *kit.Exercise, lang string) exerciseInfo {
	info := exerciseInfo{ID: e.ID, Number: n, Kind: e.Kind, Lab: e.Lab, Title: e.Title.In(lang), Summary: e.Summary.In(lang), Minutes: e.Minutes,
		Level: e.Level, MaxPoints: e.MaxPoints(), Checks: []checkInfo{}}
	for i := range e.Checks {
		c := checkInfo{Hidden: e.Checks[i].Hidden, Points: e.Checks[i].Points}
		if !c.Hidden {
			c.Name = e.Checks[i].Name.In(lang)
		}
		info.Checks = append(info.Checks, c)
	}
	return info
}

func (s *Server) exerciseRoutes(r chi.Router, api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-exercises", Method: http.MethodGet, Path: "/api/v1/exercises", Tags: []string{"exercises"},
		Summary: "The exercises, in the catalogue's order", Extensions: calledBy(callerScript),
	}, func(_ context.Context, in *languageInput) (*exercisesOutput, error) {
		out := &exercisesOutput{Body: []exerciseInfo{}}
		for i, e := range exercises.All() {
			out.Body = append(out.Body, describeExercise(i+1, e, in.Lang))
		}
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-progress", Method: http.MethodGet, Path: "/api/v1/progress", Tags: []string{"exercises"},
		Summary: "How far the learner is, as a file to keep", Extensions: calledBy(callerPage, callerHome),
	}, func(ctx context.Context, _ *struct{}) (*progressBody, error) {
		p, err := s.progressOf(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return &progressBody{Disposition: `attachment; filename="weir-progress.json"`, CacheControl: "no-store", Body: p}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "put-progress", Method: http.MethodPut, Path: "/api/v1/progress", Tags: []string{"exercises"}, MaxBodyBytes: 8 << 20,
		Summary:     "Adds what a page or an export has; answers all that there is now",
		Description: "Steps that are done stay done, the first answer and the best result stay. What is of no lab or exercise is left out.",
		Extensions:  calledBy(callerPage, callerHome),
	}, func(ctx context.Context, in *progressInput) (*progressBody, error) {
		if in.Body.Version != progressVersion {
			return nil, newProblem(http.StatusUnprocessableEntity, "version", fmt.Sprintf("%d is not known, expected %d", in.Body.Version, progressVersion))
		}
		var now *Progress
		err := s.changeProgress(ctx, func(mine *Progress) {
			mine.merge(&in.Body)
			now = mine.copy()
		})
		if err != nil {
			return nil, problemOf(err)
		}
		return &progressBody{CacheControl: "no-store", Body: now}, nil
	})

	r.Post("/api/v1/exercises/{id}/checks", s.checkExercise)
	lines := "Lines of JSON: {\"step\": …} before each step, at last {\"result\": …}, as labserver check --format json has it. To cancel, close the connection."
	api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "check-exercise", Method: http.MethodPost, Path: "/api/v1/exercises/{id}/checks", Tags: []string{"exercises"},
		Summary: "Judges the work handed in", Description: lines,
		Parameters: []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
			Schema: schemaOf[workBody](api)}}},
		Responses: map[string]*huma.Response{
			"200":     {Description: "The steps and the result.", Content: map[string]*huma.MediaType{"application/x-ndjson": {}}},
			"default": aProblem(api),
		},
		Extensions: calledBy(callerPage),
	})
}

// workBody is what is handed in: what the kind of the exercise asks for.
type workBody struct {
	Core    string         `json:"core,omitempty" doc:"core.go of a code exercise"`
	Answer  map[string]any `json:"answer,omitempty" doc:"the answer of a predict exercise, by field"`
	Session string         `json:"session,omitempty" doc:"the run that a live exercise is judged from"`
	Record  []byte         `json:"record,omitempty" doc:"or its record, a run.weir file in base64"`
}

// checkStep is a line that says what the checker is about to do.
type checkStep struct {
	Waiting  bool   `json:"waiting,omitempty"` // for another check to end
	Building bool   `json:"building,omitempty"`
	Index    int    `json:"index"`
	Of       int    `json:"of"`
	Name     string `json:"name,omitempty"`
	Seed     uint64 `json:"seed,omitempty"`
}

func (s *Server) checkExercise(w http.ResponseWriter, r *http.Request) {
	e, err := exercises.Find(r.PathValue("id"))
	if err != nil {
		newProblem(http.StatusNotFound, "id", err.Error()).write(w)
		return
	}
	var body workBody
	most := int64(maxWorkBytes)
	if s.course != nil {
		most = maxResultBytes
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&body); err != nil {
		newProblem(http.StatusUnprocessableEntity, "body", "not the work of an exercise: "+err.Error()).write(w)
		return
	}
	sub, err := s.submission(r.Context(), e, &body)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	checked, ok := s.course.checkFor(callerOf(r.Context()))
	if !ok {
		newProblem(http.StatusTooManyRequests, "checks", "one check of yours runs already, and each learner may run one at once: wait for it, or cancel it").write(w)
		return
	}
	defer checked()
	lang := i18n.Pick(r)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	out := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	line := func(v any) {
		_ = out.Encode(v) // one that is gone ends ctx
		_ = flush.Flush()
	}
	leave, ok := s.placeToCheck(ctx, func() { line(map[string]any{"step": checkStep{Waiting: true, Of: len(e.Checks)}}) })
	if !ok {
		return
	}
	defer leave()
	result := runner.Check(ctx, e, sub, runner.Options{
		Trusted: []ed25519.PublicKey{s.signKey.Public().(ed25519.PublicKey)},
		Run:     runner.RunLab,
		Progress: func(step runner.Step) {
			l := checkStep{Building: step.Building, Index: step.Index, Of: len(e.Checks), Seed: step.Seed}
			if step.Check != nil && !step.Check.Hidden {
				l.Name = step.Check.Name.In(lang)
			}
			line(map[string]any{"step": l})
		},
	})
	if ctx.Err() != nil {
		return
	}
	// Judged, it counts: also when the page goes before it hears so.
	ctx = context.WithoutCancel(r.Context())
	s.keepResult(ctx, e, &body, result)
	report := runner.NewReport([]*kit.Result{result}, lang).Exercises[0]
	last := map[string]any{"result": report}
	id := r.URL.Query().Get("id")
	if s.course != nil {
		ctx, done := context.WithTimeout(ctx, keepTime)
		defer done()
		last["kept"] = s.enterResult(ctx, id, e, sub, result, report)
	} else if m := s.joined.member(); m != nil {
		last["kept"] = s.joined.report(ctx, m, id, &report, sub)
	}
	line(last)
}

// keepTime is what a class's store has to keep a result.
const keepTime = 20 * time.Second

// placeToCheck waits for one of the places of checks that run at once; waiting is called first where none is free.
func (s *Server) placeToCheck(ctx context.Context, waiting func()) (leave func(), ok bool) {
	leave = func() { <-s.checking }
	select {
	case s.checking <- struct{}{}:
		return leave, true
	default:
	}
	waiting()
	select {
	case s.checking <- struct{}{}:
		return leave, true
	case <-ctx.Done():
		return nil, false
	}
}

// submission makes the files of what was handed in. The first answer to a question is the one that counts.
func (s *Server) submission(ctx context.Context, e *kit.Exercise, body *workBody) (*runner.Submission, error) {
	sub := &runner.Submission{}
	switch e.Kind {
	case kit.Code:
		if body.Core != "" {
			sub.Core = []byte(body.Core)
		}
	case kit.Predict:
		if body.Answer == nil {
			return sub, nil
		}
		mine, err := s.progressOf(ctx)
		if err != nil {
			return nil, err
		}
		if first := mine.Exercises[e.ID].Answer; first != nil && !maps.EqualFunc(first, body.Answer, func(a, b any) bool { return a == b }) {
			return nil, newProblem(http.StatusConflict, "answer", "the first answer counts, and it was another one: open the page anew to see it")
		}
		b, err := json.Marshal(body.Answer)
		if err != nil {
			return nil, err
		}
		sub.Answer = b
	case kit.Live:
		if body.Session == "" {
			sub.Record = body.Record
			return sub, nil
		}
		sess, err := s.session(ctx, body.Session, toHandIn)
		if errors.Is(err, errNoSession) {
			sub.Record, err = s.recordElsewhere(ctx, callerOf(ctx), body.Session)
			return sub, err
		}
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := sess.run.Record().Write(&b, s.signKey); err != nil {
			return nil, err
		}
		sub.Record = b.Bytes()
	}
	return sub, nil
}

// keepResult notes what came of a check. An answer is committed to once it was one: not if a field was missing.
func (s *Server) keepResult(ctx context.Context, e *kit.Exercise, body *workBody, r *kit.Result) {
	now := time.Now().UnixMilli()
	err := s.changeProgress(ctx, func(p *Progress) {
		mine := p.Exercises[e.ID]
		next := ExerciseProgress{Status: r.Status, Points: r.Points, MaxPoints: r.MaxPoints, Tries: mine.Tries + 1, Core: body.Core, AtMs: now}
		if e.Kind == kit.Predict && body.Answer != nil && len(r.Problem.En) == 0 {
			next.Answer, next.AnsweredMs = body.Answer, now
		}
		p.Exercises[e.ID] = mine.with(next)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Error("progress not kept", "exercise", e.ID, "error", err)
	}
}
