package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// bucket lets so many through at once and then so many a second.
type bucket struct {
	left float64
	at   time.Time
}

func (b *bucket) take(now time.Time, burst, perSecond float64) bool {
	if b.at.IsZero() {
		b.left = burst
	} else {
		b.left = min(burst, b.left+now.Sub(b.at).Seconds()*perSecond)
	}
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// mostAddresses bounds what is remembered of callers; the oldest are forgotten.
const mostAddresses = 10_000

// rates bounds the requests of each caller.
type rates struct {
	mu sync.Mutex
	of map[string]*bucket
}

func newRates() *rates { return &rates{of: map[string]*bucket{}} }

// A page asks a few times a second; a script that asks more often waits.
const (
	requestBurst     = 200
	requestPerSecond = 40
)

func (r *rates) take(who string, burst, perSecond float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	b := r.of[who]
	if b == nil {
		if len(r.of) >= mostAddresses {
			for k, old := range r.of {
				if now.Sub(old.at) > time.Minute {
					delete(r.of, k)
				}
			}
		}
		if len(r.of) >= mostAddresses {
			clear(r.of)
		}
		b = &bucket{}
		r.of[who] = b
	}
	return b.take(now, burst, perSecond)
}

// busy refuses a caller that asks too often. Callers that have not joined count by their address, and generously: a class
// may share one.
func (c *course) busy(who *caller, r *http.Request) *problem {
	ok := true
	switch who.Kind {
	case learner:
		ok = c.requests.take(who.Person, requestBurst, requestPerSecond)
	case instructor:
		ok = c.requests.take(who.Class, 5*requestBurst, 5*requestPerSecond)
	default:
		return nil // what nobody may call is cheap, and joining has its own rule
	}
	if ok {
		return nil
	}
	p := newProblem(http.StatusTooManyRequests, "requests", fmt.Sprintf("%d a second are allowed for each learner", requestPerSecond))
	p.retryAfter = 1
	return p
}

// guesses slows down who tries join codes: after wrongBurst wrong ones each try of that address is answered one after the
// other, guessPause apart. A right code is never refused for it: a class may share one address with somebody who guesses.
type guesses struct {
	wrong *rates

	mu   sync.Mutex
	next map[string]time.Time // when the next try of a suspect is looked at
}

const (
	wrongBurst     = 10
	wrongPerSecond = 0.2
	guessPause     = 50 * time.Millisecond
	mostGuessWait  = 3 * time.Second
)

func newGuesses() *guesses { return &guesses{wrong: newRates(), next: map[string]time.Time{}} }

// wait is how long a try of an address has to wait before it is looked at.
func (g *guesses) wait(address string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	next, suspect := g.next[address]
	if !suspect {
		return 0
	}
	if now.Sub(next) > time.Minute {
		delete(g.next, address)
		return 0
	}
	wait := min(max(next.Sub(now), 0), mostGuessWait)
	g.next[address] = now.Add(min(wait+guessPause, mostGuessWait))
	return wait
}

// tell notes a wrong code; false is one too many.
func (g *guesses) tell(address string, now time.Time) bool {
	if g.wrong.take(address, wrongBurst, wrongPerSecond) {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.next) >= mostAddresses {
		clear(g.next)
	}
	if _, ok := g.next[address]; !ok {
		g.next[address] = now
	}
	return false
}

// addressOf is what a caller counts by: an address, and of version 6 its network, of which one caller has all.
func addressOf(r *http.Request) string {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := a.Addr().Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// tally counts what is open by whom.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

// mostSockets are the websockets that one learner may have open: a few pages with two or three each.
const mostSockets = 16

func newTally() *tally { return &tally{n: map[string]int{}} }

func (t *tally) enter(who string, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n[who] >= most {
		return false
	}
	t.n[who]++
	return true
}

func (t *tally) leave(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n[who]--; t.n[who] <= 0 {
		delete(t.n, who)
	}
}

// open tells whether somebody has a websocket open: a page.
func (t *tally) open(who string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[who] > 0
}

// socket counts a websocket in; the caller calls leave when it is closed.
func (s *Server) socket(r *http.Request) (leave func(), refused *problem) {
	who := callerOf(r.Context())
	if s.course == nil || who.Kind != learner {
		return func() {}, nil
	}
	if !s.course.sockets.enter(who.Person, mostSockets) {
		return nil, newProblem(http.StatusTooManyRequests, "websockets", fmt.Sprintf("%d may be open at once for each learner: close other pages of the lab", mostSockets))
	}
	return func() { s.course.sockets.leave(who.Person) }, nil
}
