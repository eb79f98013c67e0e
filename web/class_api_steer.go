package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"weir/class"
	"weir/labs"
)

type liveOutput struct{ Body classLive }

type spotlightInput struct {
	Body struct {
		Session string `json:"session" maxLength:"64" doc:"Empty ends the spotlight."`
	}
}

type sendLabInput struct {
	Body struct {
		Lab   string         `json:"lab" maxLength:"64" doc:"Empty ends it."`
		Knobs map[string]any `json:"knobs,omitempty" doc:"Preset for it."`
	}
}

type freezeInput struct {
	Body struct {
		Frozen bool `json:"frozen"`
	}
}

// steeringRoutes are what the instructor has all pages do.
func (s *Server) steeringRoutes(api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "spotlight", Method: http.MethodPost, Path: "/api/v1/class/spotlight", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary: "Has every learner's page follow a session", Extensions: calledBy(callerWall, callerScript),
	}, func(ctx context.Context, in *spotlightInput) (*liveOutput, error) {
		if in.Body.Session != "" {
			if err := s.ofClass(ctx, in.Body.Session); err != nil {
				return nil, err
			}
		}
		return s.steer(ctx, "spotlight", in.Body.Session, func(t *class.Steering) { t.Spotlight = in.Body.Session })
	})
	huma.Register(api, huma.Operation{
		OperationID: "send-lab", Method: http.MethodPost, Path: "/api/v1/class/lab", Tags: tags,
		Summary: "Has every learner's page open a lab with these knobs", Extensions: calledBy(callerWall, callerScript),
	}, func(ctx context.Context, in *sendLabInput) (*liveOutput, error) {
		if in.Body.Lab != "" {
			if err := knownKnobs(in.Body.Lab, in.Body.Knobs); err != nil {
				return nil, err
			}
		}
		return s.steer(ctx, "send lab", in.Body.Lab, func(t *class.Steering) {
			t.Lab, t.Knobs = in.Body.Lab, in.Body.Knobs
			if t.Lab == "" {
				t.Knobs = nil
			}
		})
	})
	huma.Register(api, huma.Operation{
		OperationID: "freeze", Method: http.MethodPost, Path: "/api/v1/class/freeze", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary:     "Freezes all runs, or lets them go on",
		Description: "Pages stand still, and knobs, actions and starts of learners are refused with 423. The jobs behind run on: a job that was held would measure something else.",
		Extensions:  calledBy(callerWall, callerScript),
	}, func(ctx context.Context, in *freezeInput) (*liveOutput, error) {
		what := "freeze"
		if !in.Body.Frozen {
			what = "resume"
		}
		return s.steer(ctx, what, "", func(t *class.Steering) { t.Frozen = in.Body.Frozen })
	})
	huma.Register(api, huma.Operation{
		OperationID: "set-timer", Method: http.MethodPost, Path: "/api/v1/class/timer", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary: "Has all pages count down", Extensions: calledBy(callerWall, callerScript),
	}, s.setTimer)
}

type timerInput struct {
	Body struct {
		Minutes float64 `json:"minutes" minimum:"0" maximum:"1440" doc:"From now; 0 ends it."`
	}
}

// setTimer has all pages count down.
func (s *Server) setTimer(ctx context.Context, in *timerInput) (*liveOutput, error) {
	var until time.Time
	what, about := "timer", fmt.Sprint(in.Body.Minutes)
	if in.Body.Minutes > 0 {
		until = time.Now().UTC().Add(time.Duration(in.Body.Minutes * float64(time.Minute))).Truncate(time.Second)
	} else {
		what, about = "end timer", ""
	}
	return s.steer(ctx, what, about, func(t *class.Steering) { t.Until = until })
}

// steer changes what all pages do.
func (s *Server) steer(ctx context.Context, what, about string, how func(*class.Steering)) (*liveOutput, error) {
	who := callerOf(ctx)
	err := s.course.store.UpdateClass(ctx, who.Class, func(k *class.Class) error {
		how(&k.Steering)
		return nil
	})
	if err != nil {
		return nil, storeProblem(err)
	}
	s.course.audit(ctx, who, what, about)
	v, err := s.course.fresh(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	return &liveOutput{s.liveOf(v, who)}, nil
}

// ofClass makes sure that a session is of the instructor's class, on whichever server it runs.
func (s *Server) ofClass(ctx context.Context, id string) error {
	_, err := s.session(ctx, id, toLook)
	if err == nil || !validID(id) {
		return err
	}
	row, serr := s.course.store.SessionByID(ctx, id)
	switch {
	case serr == nil && row.Class == callerOf(ctx).Class && row.Server != s.course.server:
		return nil
	case serr != nil && !errors.Is(serr, class.ErrNotFound):
		return storeProblem(serr)
	}
	return err
}

// knownKnobs refuses a lab or knobs that there are not.
func knownKnobs(lab string, knobs map[string]any) error {
	l, err := labs.Find(lab)
	if err != nil {
		return newProblem(http.StatusUnprocessableEntity, "lab", err.Error())
	}
	if _, err := l.Values(knobs, nil); err != nil {
		return problemOf(err)
	}
	return nil
}

type questionOutput struct {
	Status int
	Body   classQuestion
}

type questionsOutput struct {
	Body struct {
		Questions []classQuestion `json:"questions"`
	}
}

type answerInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Choice int `json:"choice" minimum:"0" maximum:"7"`
	}
}

type runOutput struct {
	Body struct {
		ID string `json:"id"`
	}
}

// questionRoutes are for predictions that are asked of all.
func (s *Server) questionRoutes(api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "list-questions", Method: http.MethodGet, Path: "/api/v1/class/questions", Tags: tags,
		Summary: "The questions asked, newest first, with the answers by choice", Extensions: calledBy(callerWall),
	}, s.listQuestions)
	huma.Register(api, huma.Operation{
		OperationID: "ask", Method: http.MethodPost, Path: "/api/v1/class/questions", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: 64 << 10,
		Summary: "Asks a question of all; the one asked before ends", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, in *struct{ Body classQuestionBody }) (*questionOutput, error) {
		return s.ask(ctx, &in.Body)
	})
	huma.Register(api, huma.Operation{
		OperationID: "answer", Method: http.MethodPost, Path: "/api/v1/class/questions/{id}/answers", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: 8 << 10,
		Summary: "Answers a question; the first answer counts", Extensions: calledBy(callerClass),
	}, s.answer)
	huma.Register(api, huma.Operation{
		OperationID: "close-question", Method: http.MethodPost, Path: "/api/v1/class/questions/{id}/close", Tags: tags,
		Summary: "Takes no more answers; learners then see those of all", Extensions: calledBy(callerWall),
	}, s.closeQuestion)
	huma.Register(api, huma.Operation{
		OperationID: "run-question", Method: http.MethodPost, Path: "/api/v1/class/questions/{id}/run", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Starts the run that decides, in the spotlight, and takes no more answers", Extensions: calledBy(callerWall),
	}, s.runQuestion)
}

// listQuestions shows all questions with their answers.
func (s *Server) listQuestions(ctx context.Context, _ *struct{}) (*questionsOutput, error) {
	who := callerOf(ctx)
	all, err := s.course.store.Questions(ctx, who.Class)
	if err != nil {
		return nil, storeProblem(err)
	}
	out := &questionsOutput{}
	out.Body.Questions = []classQuestion{}
	for _, q := range newestFirst(all, func(q class.Question) time.Time { return q.Asked }) {
		d, err := s.question(ctx, who, &q)
		if err != nil {
			return nil, err
		}
		out.Body.Questions = append(out.Body.Questions, *d)
	}
	return out, nil
}

// closeQuestion ends a question.
func (s *Server) closeQuestion(ctx context.Context, in *classIDInput) (*questionOutput, error) {
	who := callerOf(ctx)
	q, err := s.questionOf(ctx, who, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.course.store.EndQuestion(ctx, q.ID, time.Now().UTC()); err != nil {
		return nil, storeProblem(err)
	}
	s.course.changed(who.Class)
	s.course.audit(ctx, who, "close question", q.ID)
	if q, err = s.questionOf(ctx, who, in.ID); err != nil {
		return nil, err
	}
	d, err := s.question(ctx, who, q)
	if err != nil {
		return nil, err
	}
	return &questionOutput{http.StatusOK, *d}, nil
}

// runQuestion starts the run that decides a question, and ends it.
func (s *Server) runQuestion(ctx context.Context, in *classIDInput) (*runOutput, error) {
	who := callerOf(ctx)
	q, err := s.questionOf(ctx, who, in.ID)
	if err != nil {
		return nil, err
	}
	if q.Lab == "" {
		return nil, newProblem(http.StatusConflict, "lab", "the question names no lab whose run could decide it")
	}
	sess, err := s.startSession(ctx, q.Lab, q.Knobs, "", "")
	if err != nil {
		return nil, problemOf(err)
	}
	if err := s.course.store.EndQuestion(ctx, q.ID, time.Now().UTC()); err != nil {
		return nil, storeProblem(err)
	}
	if _, err := s.steer(ctx, "spotlight", sess.id, func(t *class.Steering) { t.Spotlight = sess.id }); err != nil {
		return nil, err
	}
	out := &runOutput{}
	out.Body.ID = sess.id
	return out, nil
}

const mostChoiceBytes = 200

func (s *Server) ask(ctx context.Context, b *classQuestionBody) (*questionOutput, error) {
	who := callerOf(ctx)
	if b.Text = shownText(b.Text); b.Text == "" {
		return nil, newProblem(http.StatusUnprocessableEntity, "text", "there is none")
	}
	for i, c := range b.Choices {
		c = shownText(c)
		b.Choices[i] = c
		if c == "" || len(c) > mostChoiceBytes {
			return nil, newProblem(http.StatusUnprocessableEntity, fmt.Sprintf("choices[%d]", i), fmt.Sprintf("a choice has 1 to %d bytes", mostChoiceBytes))
		}
	}
	if b.Lab != "" {
		if err := knownKnobs(b.Lab, b.Knobs); err != nil {
			return nil, err
		}
	}
	v, err := s.course.fresh(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	if before := v.class.Steering.Question; before != "" {
		if err := s.course.store.EndQuestion(ctx, before, now); err != nil && !errors.Is(err, class.ErrNotFound) {
			return nil, storeProblem(err)
		}
	}
	q := class.Question{ID: class.NewID(), Class: who.Class, Text: b.Text, Choices: b.Choices, Lab: b.Lab, Knobs: b.Knobs, Asked: now}
	if err := s.course.store.Ask(ctx, q); err != nil {
		return nil, storeProblem(err)
	}
	if _, err := s.steer(ctx, "ask", q.ID, func(t *class.Steering) { t.Question = q.ID }); err != nil {
		return nil, err
	}
	return &questionOutput{http.StatusCreated, describeQuestion(&q, nil, len(v.people), who)}, nil
}

func (s *Server) answer(ctx context.Context, in *answerInput) (*questionOutput, error) {
	who := callerOf(ctx)
	q, err := s.questionOf(ctx, who, in.ID)
	if err != nil {
		return nil, err
	}
	if in.Body.Choice >= len(q.Choices) {
		return nil, newProblem(http.StatusUnprocessableEntity, "choice", fmt.Sprintf("%d is not from 0 to %d", in.Body.Choice, len(q.Choices)-1))
	}
	kept, err := s.course.store.AddAnswer(ctx, class.Answer{Question: q.ID, Person: who.Person, Choice: in.Body.Choice, At: time.Now().UTC()})
	if errors.Is(err, class.ErrClosed) {
		return nil, newProblem(http.StatusConflict, "question", "it takes no more answers")
	}
	if err != nil {
		return nil, storeProblem(err)
	}
	s.course.changed(who.Class)
	d, err := s.question(ctx, who, q)
	if err != nil {
		return nil, err
	}
	if kept {
		return &questionOutput{http.StatusCreated, *d}, nil
	}
	return &questionOutput{http.StatusOK, *d}, nil
}

// questionOf finds a question of the caller's class.
func (s *Server) questionOf(ctx context.Context, who *caller, id string) (*class.Question, error) {
	all, err := s.course.store.Questions(ctx, who.Class)
	if err != nil {
		return nil, storeProblem(err)
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, newProblem(http.StatusNotFound, "id", "no such question")
}

// question shows a question with its answers.
func (s *Server) question(ctx context.Context, who *caller, q *class.Question) (*classQuestion, error) {
	v, err := s.course.view(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	given, err := s.course.store.Answers(ctx, q.ID)
	if err != nil {
		return nil, storeProblem(err)
	}
	answers := map[string]int{}
	for _, a := range given {
		answers[a.Person] = a.Choice
	}
	d := describeQuestion(q, answers, len(v.people), who)
	return &d, nil
}
