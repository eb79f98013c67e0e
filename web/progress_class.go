package web

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"weir/class"
)

// progressOf is how far a caller is: in the data folder of the one person that a server has, in the store for a learner of
// a class.
func (s *Server) progressOf(ctx context.Context) (*Progress, error) {
	if s.course == nil {
		return s.progress.get(), nil
	}
	return s.course.progress(ctx, callerOf(ctx))
}

// changeProgress changes how far a caller is, and keeps it.
func (s *Server) changeProgress(ctx context.Context, how func(*Progress)) error {
	if s.course == nil {
		defer s.joined.progressed()
		return s.progress.change(how)
	}
	c, who := s.course, callerOf(ctx)
	key := who.Person
	if who.Kind != learner {
		key = "instructor of " + who.Class
	}
	defer c.writes.lock(key)()
	p, err := c.progress(ctx, who)
	if err != nil {
		return err
	}
	how(p)
	if who.Kind != learner {
		c.mu.Lock()
		c.teaching[who.Class] = p
		c.mu.Unlock()
		return nil
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = timed(c, func() (struct{}, error) { return struct{}{}, c.store.SetProgress(ctx, who.Person, b) })
	return storeProblem(err)
}

// progress is a copy.
func (c *course) progress(ctx context.Context, who *caller) (*Progress, error) {
	if who.Kind != learner {
		c.mu.Lock()
		defer c.mu.Unlock()
		p := c.teaching[who.Class]
		if p == nil {
			return emptyProgress(), nil
		}
		return p.copy(), nil
	}
	b, err := timed(c, func() ([]byte, error) { return c.store.Progress(ctx, who.Person) })
	if err != nil && !errors.Is(err, class.ErrNotFound) {
		return nil, storeProblem(err)
	}
	p := emptyProgress()
	if len(b) == 0 {
		return p, nil
	}
	kept := emptyProgress()
	if err := json.Unmarshal(b, kept); err != nil {
		c.log.Error("progress is damaged and begins anew", "person", who.Person, "error", err)
		return p, nil
	}
	p.merge(kept)
	return p, nil
}

// checkFor has one learner's work judged at a time: whoever sends two at once must not hold the places of others.
func (c *course) checkFor(who *caller) (done func(), ok bool) {
	if c == nil || who.Kind != learner {
		return func() {}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checking[who.Person] {
		return nil, false
	}
	c.checking[who.Person] = true
	return func() {
		c.mu.Lock()
		delete(c.checking, who.Person)
		c.mu.Unlock()
	}, true
}

// keyedMutex is a lock for each key.
type keyedMutex struct {
	mu sync.Mutex
	of map[string]*keyedLock
}

type keyedLock struct {
	sync.Mutex
	users int
}

func (k *keyedMutex) lock(key string) (unlock func()) {
	k.mu.Lock()
	if k.of == nil {
		k.of = map[string]*keyedLock{}
	}
	l := k.of[key]
	if l == nil {
		l = &keyedLock{}
		k.of[key] = l
	}
	l.users++
	k.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.of, key)
		}
	}
}
