package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"weir/engine/trace"
)

const (
	traceEvery  = 100 * time.Millisecond
	traceEvents = 60 // of one message; a page shows no more at once
	// maxTraceMessage is what one message of a viewer may have: a condition is a line.
	maxTraceMessage = 4096
)

// traceRequest is a message of a viewer; each field that is there is done.
type traceRequest struct {
	Watch     *[]string `json:"watch"`
	Arm       string    `json:"arm"`
	When      string    `json:"when"`
	Disarm    string    `json:"disarm"`
	Step      uint64    `json:"step"`
	Resume    uint64    `json:"resume"`
	ResumeAll bool      `json:"resumeAll"`
}

// traceMessage is what a viewer gets: events since the last message, and how things stand where that changed.
type traceMessage struct {
	Events  []trace.Event     `json:"events,omitempty"`
	Counts  map[string]uint64 `json:"counts,omitempty"`
	Stopped []trace.Stop      `json:"stopped"`
	Armed   map[string]string `json:"armed"`
	Error   string            `json:"error,omitempty"`
}

// trace joins a viewer to a session's tracer. When it leaves, for whatever reason, all it stopped goes on.
func (s *Server) trace(w http.ResponseWriter, r *http.Request) {
	sess, err := s.session(r.Context(), r.PathValue("id"), toDrive)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	tracer := sess.run.Tracer()
	if tracer == nil {
		newProblem(http.StatusNotFound, "id", "this job has no trace").write(w)
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
	conn.SetReadLimit(maxTraceMessage)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	v := tracer.Attach()
	defer v.Close()

	failed := make(chan string, 1)
	go func() {
		defer cancel()
		for {
			kind, b, err := conn.Read(ctx)
			if err != nil {
				return
			}
			if kind != websocket.MessageText {
				_ = conn.Close(websocket.StatusUnsupportedData, "send JSON as text messages")
				return
			}
			if err := obey(v, b); err != nil {
				select {
				case failed <- err.Error():
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	go keepAlive(ctx, cancel, conn, pingEvery)
	err = sendTrace(ctx, conn, tracer, v, sess, failed)
	if s.ctx.Err() != nil {
		_ = conn.Close(websocket.StatusGoingAway, "the server stops")
	} else if err == nil {
		_ = conn.Close(websocket.StatusNormalClosure, "the session was ended")
	}
}

// obey does what a viewer's message says. The error is for the viewer.
func obey(v *trace.Viewer, message []byte) error {
	var q traceRequest
	if err := json.Unmarshal(message, &q); err != nil {
		return fmt.Errorf("not a message: %w", err)
	}
	if q.Watch != nil {
		points := make([]trace.Point, 0, len(*q.Watch))
		for _, name := range *q.Watch {
			p, err := trace.ParsePoint(name)
			if err != nil {
				return err
			}
			points = append(points, p)
		}
		v.Watch(points...)
	}
	if q.Arm != "" {
		p, err := trace.ParsePoint(q.Arm)
		if err != nil {
			return err
		}
		c, err := trace.ParseCondition(q.When)
		if err != nil {
			return err
		}
		if err := v.Arm(p, c); err != nil {
			return err
		}
	}
	if q.Disarm != "" {
		p, err := trace.ParsePoint(q.Disarm)
		if err != nil {
			return err
		}
		v.Disarm(p)
	}
	if q.ResumeAll {
		v.ResumeAll()
	}
	if q.Resume > 0 {
		if err := v.Resume(q.Resume); err != nil {
			return err
		}
	}
	if q.Step > 0 {
		return v.Step(q.Step)
	}
	return nil
}

// sendTrace writes what happened until the viewer, the session or the server goes. A viewer that reads slowly gets the
// newest events: the ring keeps no more.
func sendTrace(ctx context.Context, conn *websocket.Conn, tracer *trace.Tracer, v *trace.Viewer, sess *session, failed <-chan string) error {
	tick := time.NewTicker(traceEvery)
	defer tick.Stop()
	var seq uint64
	var last []byte
	changed := v.Changed()
	for {
		m := traceMessage{Stopped: tracer.Stopped(), Armed: map[string]string{}, Counts: tracer.Counts()}
		for p, c := range v.Armed() {
			m.Armed[p.String()] = c.String()
		}
		select {
		case m.Error = <-failed:
		default:
		}
		m.Events = v.Events(seq, traceEvents)
		if n := len(m.Events); n > 0 {
			seq = m.Events[n-1].Seq
		}
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if string(b) != string(last) {
			if err := writeText(ctx, conn, b); err != nil {
				return err
			}
			last = b
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sess.over:
			return nil
		case _, ok := <-changed:
			if !ok {
				changed = nil // the tracer ended with its job; the page keeps what it has
			}
		case <-tick.C:
		}
	}
}
