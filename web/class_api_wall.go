package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"weir/class"
	"weir/web/delta"
)

type wallOutput struct{ Body classWall }

const (
	// wallEvery is how often the wall is sent, liveEvery how often a page looks whether the class has changed.
	wallEvery = 500 * time.Millisecond
	liveEvery = 250 * time.Millisecond
)

// wallRoutes show the class live.
func (s *Server) wallRoutes(r chi.Router, api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "get-wall", Method: http.MethodGet, Path: "/api/v1/class/wall", Tags: tags,
		Summary: "Every learner's row, those who are stuck first", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, _ *struct{}) (*wallOutput, error) {
		v, err := s.course.view(ctx, callerOf(ctx).Class)
		if err != nil {
			return nil, err
		}
		return &wallOutput{s.wall(v, callerOf(ctx), requestOf(ctx))}, nil
	})
	switching := map[string]*huma.Response{
		"101":     {Description: "The websocket."},
		"default": {Description: "A problem.", Content: map[string]*huma.MediaType{"application/problem+json": {}}},
	}
	r.Get("/api/v1/class/wall/stream", s.wallStream)
	api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "stream-wall", Method: http.MethodGet, Path: "/api/v1/class/wall/stream", Tags: tags,
		Summary:     "The wall, twice a second, a websocket",
		Description: "The first message is whole; each further one is what changed, merged as the stream of a session is.",
		Responses:   switching, Extensions: calledBy(callerWall),
	})
	r.Get("/api/v1/class/live", s.liveStream)
	api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "stream-live", Method: http.MethodGet, Path: "/api/v1/class/live", Tags: tags,
		Summary: "What the instructor has all pages do, a websocket", Description: "Each message is whole; one comes when something changed.",
		Responses: switching, Extensions: calledBy(callerClass),
	})
}

// wall makes the instructor's wall.
func (s *Server) wall(v *roomView, who *caller, r *http.Request) classWall {
	w := classWall{Live: s.liveOf(v, who), Class: s.infoOf(v, r), Rows: []classRow{}, Server: s.load(), Trouble: v.trouble}
	now := time.Now()
	hands := map[string]time.Time{}
	for id, p := range v.people {
		row := s.row(&p, v, now)
		hands[id] = p.Hand
		w.Rows = append(w.Rows, row)
		switch row.Step {
		case "predict":
			w.Steps.Predict++
		case "run":
			w.Steps.Run++
		case "observe":
			w.Steps.Observe++
		case "explain":
			w.Steps.Explain++
		case "done":
			w.Steps.Done++
		}
	}
	slices.SortFunc(w.Rows, func(a, b classRow) int {
		ah, bh := hands[a.ID], hands[b.ID]
		if ah.IsZero() != bh.IsZero() {
			return cmp.Compare(b.HandFor, a.HandFor)
		}
		if c := ah.Compare(bh); c != 0 {
			return c
		}
		if a.Online != b.Online {
			if a.Online {
				return -1
			}
			return 1
		}
		if c := v.people[a.ID].Place.Since.Compare(v.people[b.ID].Place.Since); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return w
}

// row is one learner on the wall.
func (s *Server) row(p *class.Person, v *roomView, now time.Time) classRow {
	row := classRow{ID: p.ID, Name: p.Name, Alias: p.Alias, Online: now.Sub(p.Seen) < onlineFor, Lab: p.Place.Lab, Step: p.Place.Step,
		Exercise: p.Place.Exercise, Session: p.Place.Session, Shown: p.Place.Shown, Of: p.Place.Claims,
		Line: s.course.line.place(p.ID)}
	if !p.Hand.IsZero() {
		row.HandFor = max(1, int(now.Sub(p.Hand).Seconds()))
	}
	since := p.Place.Since
	if since.IsZero() {
		since = p.Joined
	}
	row.Stuck = max(0, int(now.Sub(since).Seconds()))
	for _, r := range v.points[p.ID] {
		row.Points += r.Points
	}
	row.ExerciseStatus = v.points[p.ID][p.Place.Exercise].Status
	if choice, ok := v.answers[p.ID]; ok {
		row.Answer = &choice
	}
	if row.Session != "" {
		_, err := s.sessions.get(row.Session)
		// The page of one that runs on another server is shown here, and followed there.
		row.Here = err == nil || p.Place.Server != s.course.server && there(v.servers[p.Place.Server], now)
	}
	var m mini
	if len(p.Place.Mini) > 0 && json.Unmarshal(p.Place.Mini, &m) == nil {
		row.Mini, row.Claims, row.Own = &m.classMini, m.Claims, m.Own
		if m.Own && (m.State == "" || !row.Online) {
			row.Mini, row.Claims = nil, nil // nothing runs there, or nobody knows
		}
	}
	return row
}

// load is how full this server is.
func (s *Server) load() classLoad {
	l := classLoad{Limit: s.course.limits.Sessions, Queue: s.course.line.length()}
	for _, sess := range s.sessions.list() {
		if !sess.ended() {
			l.Sessions++
		}
		l.Viewers += int(sess.viewers.Load())
	}
	return l
}

// wallStream sends the wall until the instructor goes.
func (s *Server) wallStream(w http.ResponseWriter, r *http.Request) {
	var before delta.Tree
	s.follow(w, r, wallEvery, func(v *roomView, who *caller) ([]byte, error) {
		now, err := delta.Of(s.wall(v, who, r))
		if err != nil {
			return nil, err
		}
		b, err := delta.Message(before, now)
		before = now
		return b, err
	})
}

// liveStream sends what the instructor has all pages do, until the page goes.
func (s *Server) liveStream(w http.ResponseWriter, r *http.Request) {
	var seen *roomView
	var before classLive
	s.follow(w, r, liveEvery, func(v *roomView, who *caller) ([]byte, error) {
		// The line moves when jobs end, of which the class's own look knows nothing.
		if place, turn := s.lineOf(who, v.class.Steering.Frozen); v == seen && place == before.Line && turn == before.Turn {
			return nil, nil
		}
		live := s.liveOf(v, who)
		same := live
		same.Now = before.Now
		if seen != nil && reflect.DeepEqual(same, before) {
			return nil, nil
		}
		seen, before = v, live
		return json.Marshal(live)
	})
}

// follow sends a member of a class what message makes of it, until the member or the class goes. What is unchanged is nil.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, every time.Duration, message func(*roomView, *caller) ([]byte, error)) {
	if s.course == nil {
		newProblem(http.StatusNotFound, "", "this server has no classes: start it with --class").write(w)
		return
	}
	who := callerOf(r.Context())
	if _, err := s.course.view(r.Context(), who.Class); err != nil {
		problemOf(err).write(w)
		return
	}
	leave, refused := s.socket(r)
	if refused != nil {
		refused.write(w)
		return
	}
	defer leave()
	conn, err := accept(w, r)
	if err != nil {
		return // accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	ctx, cancel := context.WithCancel(readNothing(s.ctx, conn))
	defer cancel()
	go keepAlive(ctx, cancel, conn, pingEvery)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		if !s.stillThere(ctx, who) {
			_ = conn.Close(websocket.StatusPolicyViolation, "not of this class any more")
			return
		}
		if v, err := s.course.view(ctx, who.Class); err == nil {
			b, err := message(v, who)
			if err == nil && b != nil {
				err = writeText(ctx, conn, b)
			}
			if err != nil {
				return
			}
		} else if problemOf(err).Status == http.StatusNotFound {
			_ = conn.Close(websocket.StatusNormalClosure, "the class is gone")
			return
		}
		select {
		case <-ctx.Done():
			if s.ctx.Err() != nil {
				_ = conn.Close(websocket.StatusGoingAway, "the server stops")
			}
			return
		case <-t.C:
		}
	}
}

// stillThere tells whether a caller's token is still theirs. In doubt it is.
func (s *Server) stillThere(ctx context.Context, who *caller) bool {
	now, err := s.course.whoHas(ctx, who.token)
	return err != nil || now != nil && now.Class == who.Class && now.Person == who.Person
}
