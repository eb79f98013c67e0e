package web

import (
	"context"
	"encoding/json"
	"time"

	"weir/class"
	"weir/engine/metric"
	"weir/exercises"
	"weir/labs"
)

const (
	// placesEvery is how often a server writes where its learners are and how their jobs do.
	placesEvery = 2 * time.Second
	// idleAlone is when a learner's job that nobody looks at is ended, idleWanted when others wait for its place.
	idleAlone  = 30 * time.Minute
	idleWanted = 2 * time.Minute
	sweepEvery = 10 * time.Minute
	// onlineFor is how long after the last sign somebody counts as here; pages give one each twenty seconds.
	onlineFor = time.Minute
)

// housekeep does what a server of classes does by itself, until ctx ends.
func (s *Server) housekeep(ctx context.Context) {
	t := time.NewTicker(placesEvery)
	defer t.Stop()
	swept := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := s.writePlaces(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("the places of learners are not written", "error", err)
		}
		s.endIdle(ctx)
		if time.Since(swept) >= sweepEvery {
			swept = time.Now()
			s.sweep(ctx)
		}
	}
}

// sweep removes classes that have expired, with their sessions.
func (s *Server) sweep(ctx context.Context) {
	gone, err := s.course.store.Sweep(ctx, time.Now())
	if err != nil {
		s.log.Warn("expired classes are not removed yet", "error", err)
		return
	}
	for _, id := range gone {
		s.log.Info("class expired", "class", id)
		s.endAllOf(id, "")
	}
}

// endAllOf ends the sessions of a person, or of a whole class.
func (s *Server) endAllOf(classID, person string) {
	for _, sess := range s.sessions.list() {
		if of := sess.of(); of.Class == classID && (person == "" || of.Person == person) {
			_ = s.endSession(sess.id) // another may have ended it
		}
	}
	s.course.forget(person)
}

// endIdle ends learners' jobs that nobody looks at.
func (s *Server) endIdle(ctx context.Context) {
	limit := idleAlone
	if s.course.line.length() > 0 {
		limit = idleWanted
	}
	for _, sess := range s.sessions.list() {
		if sess.unkept.Load() {
			s.keepSession(ctx, sess)
		}
		if sess.viewers.Load() > 0 {
			sess.seen.Store(time.Now().UnixNano())
			continue
		}
		if sess.of().Person != "" && time.Since(time.Unix(0, sess.seen.Load())) > limit {
			s.log.Info("session ended: nobody looks at it", "session", sess.id)
			_ = s.endSession(sess.id) // another may have ended it
		}
	}
}

// mini is what a place keeps of a session.
type mini struct {
	classMini
	Claims []string `json:"claims"`
	Own    bool     `json:"own,omitempty"` // the run is on the learner's own machine
}

// mini makes the miniature of a session.
func (s *session) mini() (m mini, shown int) {
	m, shown = miniOf(s.run.Snapshot(), s.run.Evidence(), len(s.run.Events()))
	if t := s.run.Tracer(); t != nil {
		m.Held = len(t.Stopped()) > 0
	}
	return m, shown
}

// miniOf makes the miniature of a run, as its readings tell.
func miniOf(snap *metric.Snapshot, evidence []labs.EvidenceState, changes int) (m mini, shown int) {
	m.State, m.TimeMs, m.Changes = snap.State, snap.TimeMs, changes
	for i := range snap.Vertices {
		busy, pressed := 0.0, 0.0
		for j := range snap.Vertices[i].Subtasks {
			t := &snap.Vertices[i].Subtasks[j]
			busy = max(busy, t.Recent.Busy/1000)
			pressed = max(pressed, t.Recent.BackPressured/1000)
			if i == 0 {
				m.RecordsPer += t.Recent.NumRecordsOut
			}
		}
		m.Busy, m.Pressed = append(m.Busy, twoDigits(busy)), append(m.Pressed, twoDigits(pressed))
	}
	m.RecordsPer = twoDigits(m.RecordsPer)
	for i := len(snap.Checkpoints) - 1; i >= 0; i-- {
		if c := &snap.Checkpoints[i]; c.Status == "COMPLETED" {
			m.Durations = append(m.Durations, c.EndToEndDurationMs)
			m.Checkpoint = c.EndToEndDurationMs
		}
	}
	if snap.Diagnosis != nil {
		m.Bottleneck = snap.Diagnosis.Bottleneck
	}
	m.Claims = []string{}
	for i := range evidence {
		m.Claims = append(m.Claims, string(evidence[i].State))
		if evidence[i].State == labs.Shown {
			shown++
		}
	}
	return m, shown
}

func twoDigits(f float64) float64 { return float64(int64(f*100+0.5)) / 100 }

// setPlace notes what a learner's page says of itself, for the next write.
func (c *course) setPlace(person string, p classPlaceBody) {
	if _, ok := labs.Get(p.Lab); !ok {
		p.Lab = ""
	}
	if _, err := exercises.Find(p.Exercise); err != nil {
		p.Exercise = ""
	}
	if p.Own != nil {
		p.Own = p.Own.clean()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places[person] = placed{p, time.Now().UTC()}
}

type placed struct {
	classPlaceBody
	at time.Time
}

// writePlaces writes in one batch where the learners of this server are, and the miniatures of their sessions, so that the
// wall of every server shows them.
func (s *Server) writePlaces(ctx context.Context) error {
	c := s.course
	c.mu.Lock()
	said := c.places
	c.places = map[string]placed{}
	c.mu.Unlock()
	running := map[string]*session{}
	classes := map[string]bool{}
	sessions := s.sessions.list() // newest first: the newest of a person is shown
	for _, sess := range sessions {
		of := sess.of()
		if of.Person == "" {
			continue
		}
		if old, ok := running[of.Person]; !ok || old.ended() && !sess.ended() {
			running[of.Person] = sess
		}
		classes[of.Class] = true
	}
	people := map[string]class.Person{}
	for person := range said {
		p, err := c.store.PersonByID(ctx, person)
		if err == nil {
			people[person] = p
		}
	}
	for id := range classes {
		all, err := timed(c, func() ([]class.Person, error) { return c.store.People(ctx, id) })
		if err != nil {
			c.sayAgain(said)
			return err
		}
		for _, p := range all {
			people[p.ID] = p
		}
	}
	write := map[string]class.Place{}
	now := time.Now().UTC()
	for id, p := range people {
		place, changed := placeOf(&p, said[id], running[id], c.server, now)
		if changed {
			write[id] = place
		}
		if at := said[id].at; !at.IsZero() && at.Sub(p.Seen) > onlineFor/4 {
			if err := c.store.Seen(ctx, id, at); err != nil {
				c.sayAgain(said)
				return err
			}
		}
	}
	err := c.store.SetPlaces(ctx, write)
	if err != nil {
		c.sayAgain(said)
	}
	return err
}

// sayAgain keeps what pages said for the next write, where they have not said something newer.
func (c *course) sayAgain(said map[string]placed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range said {
		if _, newer := c.places[id]; !newer {
			c.places[id] = p
		}
	}
}

// placeOf joins what the store has of a learner's place with what the page said and the session shows.
func placeOf(p *class.Person, said placed, sess *session, server string, now time.Time) (class.Place, bool) {
	place := p.Place
	changed := false
	if place.Since.IsZero() {
		place.Since, changed = p.Joined, true
	}
	if !said.at.IsZero() && (said.Lab != place.Lab || said.Step != place.Step || said.Exercise != place.Exercise) {
		if said.Lab != place.Lab {
			place.Shown, place.Claims = 0, 0
		}
		place.Lab, place.Step, place.Exercise = said.Lab, said.Step, said.Exercise
		place.Since, changed = said.at, true
	}
	switch own := ownMini(&place); {
	case said.Own != nil:
		said.Own.put(&place, now)
		return place, changed || string(place.Mini) != string(p.Place.Mini)
	case own && said.at.IsZero():
		return place, changed // of a machine that says no more, the wall knows by when it was heard last
	case own:
		place.Mini, changed = nil, true // the learner works here again
	}
	if sess == nil {
		if place.Session != "" && place.Server == server {
			place.Session, place.Server, place.Mini = "", "", nil
			changed = true
		}
		return place, changed
	}
	m, shown := sess.mini()
	b, err := json.Marshal(m)
	if err != nil {
		return place, changed
	}
	if place.Session != sess.id || shown > place.Shown {
		place.Since = now
	}
	if place.Lab == "" && place.Exercise == "" {
		place.Lab = sess.lab
	}
	place.Session, place.Server, place.Shown, place.Claims, place.Mini = sess.id, server, shown, len(m.Claims), b
	return place, changed || string(b) != string(p.Place.Mini) || p.Place.Session != sess.id
}
