package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// kind is what a caller may be. Kinds are bits, so that a route names all that may call it.
type kind uint8

const (
	nobody kind = 1 << iota
	learner
	instructor
	// owner is everyone on a server without classes: one person has all.
	owner
	// anotherServer is a server on the same store, for itself.
	anotherServer

	members = learner | instructor | owner
	anyone  = nobody | members
)

// caller is who sent a request.
type caller struct {
	Kind   kind
	Class  string // its id; empty for nobody and the owner
	Person string // a learner's id
	// token is what the caller showed, to be shown back to nobody else.
	token string
	// via is the server that handed the request on; empty for one that came here itself.
	via string
}

// belongs says whose a session or a file is; it is empty without classes, and has no person where it is the instructor's.
type belongs struct{ Class, Person string }

// mine tells whether something is the caller's own.
func (c *caller) mine(of belongs) bool {
	return c.Kind == owner || of == belongs{c.Class, c.Person}
}

type callerKey struct{}

// callerOf is who sent the request that ctx belongs to. Without classes it is the owner.
func callerOf(ctx context.Context) *caller {
	if c, ok := ctx.Value(callerKey{}).(*caller); ok {
		return c
	}
	return &caller{Kind: owner}
}

// The cookies of a class. One of an instructor has the tokens of all classes that the browser has opened the link of,
// joined by dots; the first is the one that is looked at.
const (
	personCookie     = "weir-person"
	instructorCookie = "weir-instructor"
	mostClassesHeld  = 8
	tokenBytes       = 64 // no token is longer
)

// shownTokens are the tokens of a request: the instructor's first.
func shownTokens(r *http.Request) (instructors []string, person, bearer string) {
	if kind, t, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(kind, "Bearer") {
		bearer = strings.TrimSpace(t)
	}
	if c, err := r.Cookie(instructorCookie); err == nil && len(c.Value) <= mostClassesHeld*(tokenBytes+1) {
		for t := range strings.SplitSeq(c.Value, ".") {
			if t != "" && !slices.Contains(instructors, t) {
				instructors = append(instructors, t)
			}
		}
	}
	if c, err := r.Cookie(personCookie); err == nil {
		person = c.Value
	}
	return instructors, person, bearer
}

// identify finds out who sent a request, by the bearer token, the instructor's cookie or the learner's. A bearer token that
// nobody has is no reason to look at cookies: a program that shows one means it.
func (c *course) identify(r *http.Request) (*caller, error) {
	instructors, person, bearer := shownTokens(r)
	ctx := r.Context()
	if bearer != "" {
		if who, err := c.whoHas(ctx, bearer); err != nil || who != nil {
			return who, err
		}
		return &caller{Kind: nobody}, nil
	}
	for _, t := range instructors {
		who, err := c.whoHas(ctx, t)
		if err != nil {
			return nil, err
		}
		if who != nil && who.Kind == instructor {
			return who, nil
		}
	}
	if person != "" {
		who, err := c.whoHas(ctx, person)
		if err != nil {
			return nil, err
		}
		if who != nil && who.Kind == learner {
			return who, nil
		}
	}
	return &caller{Kind: nobody}, nil
}

// withCaller puts the caller and the request into the request's context.
func withCaller(r *http.Request, who *caller) *http.Request {
	ctx := context.WithValue(r.Context(), callerKey{}, who)
	return r.WithContext(context.WithValue(ctx, requestKey{}, r))
}

type requestKey struct{}

// requestOf is the request that ctx belongs to; only on a server of classes.
func requestOf(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey{}).(*http.Request)
	return r
}

// cookieFor keeps a token in the browser: not for scripts, not sent along by other sites' forms, and over TLS only where
// the page came over TLS. An empty value takes the cookie away.
func cookieFor(r *http.Request, name, value string, until time.Time) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: overTLS(r)}
	switch {
	case value == "":
		c.MaxAge = -1
	case !until.IsZero():
		c.Expires = until
	}
	return c
}
