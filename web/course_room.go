package web

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"weir/class"
)

// How old a look at a class may be. One that is known to have changed is looked at again at once, but not more often than
// roomEvery, however many pages follow it; on several servers a change elsewhere shows by the store's word, or after
// roomStale.
const (
	roomEvery    = 200 * time.Millisecond
	roomStale    = 2 * time.Second
	resultsEvery = 2 * time.Second
)

// room is what all pages of one class show, read from the store once for all of them.
type room struct {
	mu    sync.Mutex
	now   *roomView
	tried time.Time
	dirty bool
	// counted is when the results were added up: they are many, and a second late is early enough.
	counted time.Time
}

// roomView is a look at a class. It is not changed after it was made.
type roomView struct {
	class    class.Class
	people   map[string]class.Person
	question *class.Question
	answers  map[string]int // by person
	points   map[string]map[string]class.Result
	// spotLab is the lab of the session in the spotlight, on whichever server it runs.
	spotLab string
	servers map[string]class.Server // by id
	trouble string
}

// changed has the pages of a class look at it anew.
func (c *course) changed(classID string) {
	c.mu.Lock()
	r := c.rooms[classID]
	c.mu.Unlock()
	if r != nil {
		r.mu.Lock()
		r.dirty = true
		r.mu.Unlock()
	}
}

// follow marks every class when the store says that something changed, by whichever server. It ends with ctx.
func (c *course) follow(ctx context.Context) {
	for range c.store.Changes(ctx) {
		c.mu.Lock()
		rooms := slices.Collect(maps.Values(c.rooms))
		c.mu.Unlock()
		for _, r := range rooms {
			r.mu.Lock()
			r.dirty = true
			r.mu.Unlock()
		}
	}
}

// view looks at a class. While the store does not answer it is the last look there was, with trouble set.
func (c *course) view(ctx context.Context, classID string) (*roomView, error) {
	c.mu.Lock()
	r := c.rooms[classID]
	if r == nil {
		r = &room{dirty: true}
		c.rooms[classID] = r
	}
	c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	age := time.Since(r.tried)
	if r.now != nil && (age < roomEvery || !r.dirty && age < roomStale) {
		return r.now, nil
	}
	r.dirty = false
	v, err := timed(c, func() (*roomView, error) { return c.look(ctx, classID, r) })
	r.tried = time.Now()
	switch {
	case err == nil:
		r.now = v
	case errors.Is(err, class.ErrNotFound) || r.now == nil || ctx.Err() != nil:
		r.dirty = true
		return nil, storeProblem(err)
	case r.now.trouble == "":
		old := *r.now
		old.trouble = "the store does not answer: this is how it was last"
		r.now, r.dirty = &old, true
	}
	return r.now, nil
}

// fresh is view after a change of one's own.
func (c *course) fresh(ctx context.Context, classID string) (*roomView, error) {
	c.mu.Lock()
	r := c.rooms[classID]
	c.mu.Unlock()
	if r != nil {
		r.mu.Lock()
		r.dirty, r.tried = true, time.Time{}
		r.mu.Unlock()
	}
	return c.view(ctx, classID)
}

// look reads a class. r is locked.
func (c *course) look(ctx context.Context, classID string, r *room) (*roomView, error) {
	k, err := c.store.ClassByID(ctx, classID)
	if err != nil {
		return nil, err
	}
	v := &roomView{class: k, people: map[string]class.Person{}}
	people, err := c.store.People(ctx, classID)
	if err != nil {
		return nil, err
	}
	for _, p := range people {
		if p.Merged == "" {
			v.people[p.ID] = p
		}
	}
	if r.now != nil && time.Since(r.counted) < resultsEvery {
		v.points = r.now.points
	} else {
		if v.points, err = c.best(ctx, classID); err != nil {
			return nil, err
		}
		r.counted = time.Now()
	}
	if err := c.lookAround(ctx, v); err != nil {
		return nil, err
	}
	if k.Steering.Question == "" {
		return v, nil
	}
	questions, err := c.store.Questions(ctx, classID)
	if err != nil {
		return nil, err
	}
	for i := range questions {
		if questions[i].ID == k.Steering.Question {
			v.question = &questions[i]
		}
	}
	if v.question != nil {
		answers, err := c.store.Answers(ctx, v.question.ID)
		if err != nil {
			return nil, err
		}
		v.answers = map[string]int{}
		for _, a := range answers {
			v.answers[a.Person] = a.Choice
		}
	}
	return v, nil
}

// lookAround reads what there is on other servers.
func (c *course) lookAround(ctx context.Context, v *roomView) error {
	servers, err := c.store.Servers(ctx)
	if err != nil {
		return err
	}
	v.servers = map[string]class.Server{}
	for _, one := range servers {
		v.servers[one.ID] = one
	}
	if v.class.Steering.Spotlight == "" {
		return nil
	}
	row, err := c.store.SessionByID(ctx, v.class.Steering.Spotlight)
	if errors.Is(err, class.ErrNotFound) {
		return nil
	}
	v.spotLab = row.Lab
	return err
}

// live is what a member sees of it.
func (v *roomView) live(who *caller) classLive {
	s := v.class.Steering
	l := classLive{Version: s.Version, Lab: s.Lab, Knobs: s.Knobs, Spotlight: s.Spotlight, Frozen: s.Frozen, State: string(v.class.State),
		Until: timeOrNil(s.Until), Trouble: v.trouble != "", Now: time.Now().UTC()}
	if p, ok := v.people[who.Person]; ok {
		l.Hand = !p.Hand.IsZero()
	}
	if v.question != nil {
		q := describeQuestion(v.question, v.answers, len(v.people), who)
		l.Question = &q
	}
	return l
}

// describeQuestion shows a question. A learner sees the answers of the others once it ended.
func describeQuestion(q *class.Question, answers map[string]int, people int, who *caller) classQuestion {
	out := classQuestion{ID: q.ID, Text: q.Text, Choices: q.Choices, Asked: q.Asked}
	if !q.Ended.IsZero() {
		out.Ended = &q.Ended
	}
	if who.Kind == instructor {
		out.Lab, out.Knobs = q.Lab, q.Knobs
	}
	if who.Kind == instructor || !q.Ended.IsZero() {
		out.Counts, out.Of = make([]int, len(q.Choices)), people
		for _, choice := range answers {
			if choice >= 0 && choice < len(out.Counts) {
				out.Counts[choice]++
			}
		}
	}
	if mine, ok := answers[who.Person]; ok && who.Kind == learner {
		out.Mine = &mine
	}
	return out
}

// best are the best results, by person and exercise.
func (c *course) best(ctx context.Context, classID string) (map[string]map[string]class.Result, error) {
	results, err := c.store.Results(ctx, classID, "")
	if err != nil {
		return nil, err
	}
	points := map[string]map[string]class.Result{}
	for i := range results {
		r := &results[i]
		mine := points[r.Person]
		if mine == nil {
			mine = map[string]class.Result{}
			points[r.Person] = mine
		}
		if best, ok := mine[r.Exercise]; !ok || r.Points > best.Points {
			mine[r.Exercise] = *r
		}
	}
	return points, nil
}
