package web

import (
	"slices"
	"sync"
	"time"
)

// queue has the learners that wait for a place on the server, first come first served. Who neither asks again within
// queuePatience nor has a page of the class open has left. A page that nobody looks at is too slow to ask by itself: it is told
// when it is its turn. Who does not ask then is passed over, and keeps the place.
type queue struct {
	mu      sync.Mutex
	waiting []waiter
	here    func(who string) bool // whether somebody has a page open
}

type waiter struct {
	who    string
	asked  time.Time
	called time.Time // since when it has been their turn, if they have not asked since
}

const (
	queuePatience = 15 * time.Second
	// longestWait ends the wait of a page that is open and never asks.
	longestWait = 30 * time.Minute
)

func newQueue(here func(who string) bool) *queue { return &queue{here: here} }

// ask tells whether who may have one of the free places, or at which place they wait.
func (q *queue) ask(who string, free int) (place int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	at := q.find(who, now)
	if q.call(at, free, now) {
		if at < len(q.waiting) {
			q.waiting = slices.Delete(q.waiting, at, at+1)
		}
		return 0, true
	}
	if at == len(q.waiting) {
		q.waiting = append(q.waiting, waiter{who: who})
	}
	q.waiting[at].asked, q.waiting[at].called = now, time.Time{}
	return at + 1, false
}

// look tells at which place somebody waits, 0 for who does not, and whether it is their turn.
func (q *queue) look(who string, free int) (place int, turn bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	at := q.find(who, now)
	if at == len(q.waiting) {
		return 0, false
	}
	return at + 1, q.call(at, free, now)
}

// place is where somebody waits, 0 for who does not.
func (q *queue) place(who string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := q.find(who, time.Now()); at < len(q.waiting) {
		return at + 1
	}
	return 0
}

// leave takes somebody out of the line.
func (q *queue) leave(who string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w waiter) bool { return w.who == who })
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(time.Now())
	return len(q.waiting)
}

// find is where somebody waits: behind all others who do not.
func (q *queue) find(who string, now time.Time) int {
	q.expire(now)
	if at := slices.IndexFunc(q.waiting, func(w waiter) bool { return w.who == who }); at >= 0 {
		return at
	}
	return len(q.waiting)
}

// call notes whose turn it is with so many places free, and tells whether it is that of the one at a place.
func (q *queue) call(at, free int, now time.Time) (turn bool) {
	for i := range q.waiting {
		if i == at {
			turn = free > 0
		}
		w := &q.waiting[i]
		passed := !w.called.IsZero() && now.Sub(w.called) > queuePatience && now.Sub(w.asked) > queuePatience
		if free <= 0 || passed {
			continue
		}
		if w.called.IsZero() {
			w.called = now
		}
		free--
	}
	return turn || at == len(q.waiting) && free > 0
}

func (q *queue) expire(now time.Time) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w waiter) bool {
		silent := now.Sub(w.asked)
		return silent > longestWait || silent > queuePatience && !q.here(w.who)
	})
}

// lineOf is where a learner stands in the line, 0 for who is not in it, and whether the job may start now.
func (s *Server) lineOf(who *caller, frozen bool) (place int, turn bool) {
	if who.Kind != learner || s.course.line.place(who.Person) == 0 {
		return 0, false
	}
	free := s.course.limits.Sessions - s.sessions.running()
	if frozen {
		free = 0
	}
	return s.course.line.look(who.Person, free)
}
