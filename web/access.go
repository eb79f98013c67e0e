package web

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
)

// access names for every route which kinds of caller may call it. A route that is not in it is refused to all, and a test
// fails. That a session, an input, a result or a question belongs to somebody else is told by the handlers: 404.
var access = map[string]kind{
	// Pages. Nobody is led to the page that joins a class.
	"GET /":                members,
	"GET /labs/{id}":       members,
	"POST /labs/{id}":      members,
	"GET /exercises":       members,
	"GET /exercises/{id}":  members,
	"GET /class":           anyone,
	"GET /class/p/{token}": anyone,
	"GET /class/i/{token}": anyone,
	"GET /static/*":        anyone,
	"GET /favicon.svg":     anyone,
	"GET /healthz":         anyone,
	"GET /readyz":          anyone,
	"GET /metrics":         instructor | owner,

	"GET /api/openapi.json":     anyone,
	"GET /api/openapi.yaml":     anyone,
	"GET /api/openapi-3.0.json": anyone,
	"GET /api/openapi-3.0.yaml": anyone,

	"GET /api/v1/labs":                            members,
	"POST /api/v1/keygroups":                      members,
	"POST /api/v1/inputs":                         members,
	"POST /api/v1/sessions":                       members,
	"GET /api/v1/sessions":                        members,
	"GET /api/v1/sessions/{id}":                   members,
	"DELETE /api/v1/sessions/{id}":                members,
	"PATCH /api/v1/sessions/{id}/knobs":           members,
	"POST /api/v1/sessions/{id}/actions/{action}": members,
	"GET /api/v1/sessions/{id}/stream":            members | anotherServer,
	"GET /api/v1/sessions/{id}/trace":             members,
	"GET /api/v1/sessions/{id}/evidence":          members,
	"GET /api/v1/sessions/{id}/record":            members,
	"GET /api/v1/sessions/{id}/comparisons":       members,
	"GET /api/v1/sessions/{id}/keyloads":          members,
	"GET /api/v1/sessions/{id}/frames":            members,
	"GET /api/v1/sessions/{id}/compositekey":      members,
	"GET /api/v1/sessions/{id}/heap":              members,
	"GET /api/v1/sessions/{id}/configuration":     members,
	"GET /api/v1/exercises":                       members,
	"POST /api/v1/exercises/{id}/checks":          members,
	"GET /api/v1/progress":                        members,
	"PUT /api/v1/progress":                        members,

	"POST /api/v1/class/join":                                    anyone,
	"POST /api/v1/class/leave":                                   learner | instructor,
	"GET /api/v1/class/me":                                       learner | instructor,
	"PATCH /api/v1/class/me":                                     learner,
	"PUT /api/v1/class/me/place":                                 learner,
	"DELETE /api/v1/class/line":                                  learner,
	"GET /api/v1/class/me/export":                                learner,
	"DELETE /api/v1/class/me":                                    learner,
	"GET /api/v1/class/live":                                     learner | instructor,
	"GET /api/v1/class/scoreboard":                               learner | instructor,
	"GET /api/v1/class/deadlines":                                learner | instructor,
	"GET /api/v1/class/results":                                  learner | instructor,
	"GET /api/v1/class/results/{id}/work":                        learner | instructor,
	"POST /api/v1/class/results":                                 learner,
	"GET /api/v1/class/questions":                                instructor,
	"POST /api/v1/class/questions":                               instructor,
	"POST /api/v1/class/questions/{id}/answers":                  learner,
	"POST /api/v1/class/questions/{id}/close":                    instructor,
	"POST /api/v1/class/questions/{id}/run":                      instructor,
	"GET /api/v1/class":                                          instructor,
	"PATCH /api/v1/class":                                        instructor,
	"DELETE /api/v1/class":                                       instructor,
	"GET /api/v1/class/qr.png":                                   instructor,
	"GET /api/v1/class/wall":                                     instructor,
	"GET /api/v1/class/wall/stream":                              instructor,
	"GET /api/v1/class/people":                                   instructor,
	"PATCH /api/v1/class/people/{id}":                            instructor,
	"DELETE /api/v1/class/people/{id}":                           instructor,
	"POST /api/v1/class/people/{id}/link":                        instructor,
	"POST /api/v1/class/people/merge":                            instructor,
	"POST /api/v1/class/spotlight":                               instructor,
	"POST /api/v1/class/lab":                                     instructor,
	"POST /api/v1/class/freeze":                                  instructor,
	"POST /api/v1/class/timer":                                   instructor,
	"GET /api/v1/class/export":                                   instructor,
	"GET /api/v1/class/audit":                                    instructor,
	"PUT /api/v1/class/deadlines/{exercise}":                     instructor,
	"PUT /api/v1/class/deadlines/{exercise}/extensions/{person}": instructor,
	"GET /api/v1/classes":                                        instructor,
	"POST /api/v1/classes":                                       instructor,
	"POST /api/v1/classes/{id}/enter":                            instructor,
}

// admit lets a request through to a route that its caller may call.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !utf8.ValidString(r.URL.Path) || strings.ContainsRune(r.URL.Path, 0) {
			newProblem(http.StatusBadRequest, "", "the address is no text").write(w)
			return
		}
		rctx := chi.NewRouteContext()
		if !s.router.Match(rctx, r.Method, r.URL.Path) {
			next.ServeHTTP(w, r) // 404 or 405
			return
		}
		may := access[r.Method+" "+rctx.RoutePattern()]
		var who *caller
		var err error
		if r.Header.Get(statementHeader) != "" {
			var stated *statement
			if who, stated, err = s.course.identifyServer(r.Context(), r); err != nil {
				problemOf(err).write(w)
				return
			}
			w.Header().Set(proofHeader, s.course.trust.proof(stated))
		} else {
			who, err = s.course.identify(r)
		}
		if err != nil {
			if may&nobody == 0 || r.URL.Path == "/class" {
				if isPage(r) && problemOf(err).Status == http.StatusServiceUnavailable {
					s.lostPage(w, r, http.StatusServiceUnavailable)
					return
				}
				problemOf(err).write(w)
				return
			}
			who = &caller{Kind: nobody}
		}
		if who.Kind&may == 0 {
			refuseCaller(w, r, who)
			return
		}
		if p := s.course.busy(who, r); p != nil {
			p.write(w)
			return
		}
		if isJSON(r) && r.Body != nil {
			r.Body = &shallow{r: r.Body}
		}
		r = withCaller(r, who)
		if strings.HasPrefix(rctx.RoutePattern(), "/api/v1/sessions/{id}") && s.handOn(w, r, who, rctx.URLParam("id")) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseCaller tells a caller that the route is not for them. A page leads to the one that joins a class.
func refuseCaller(w http.ResponseWriter, r *http.Request, who *caller) {
	switch {
	case who.Kind != nobody:
		newProblem(http.StatusForbidden, "", "this is not for a "+map[kind]string{learner: "learner", instructor: "instructor", anotherServer: "server"}[who.Kind]).write(w)
	case isPage(r):
		http.Redirect(w, r, "/class", http.StatusSeeOther)
	default:
		newProblem(http.StatusUnauthorized, "", "join the class first: open /class and give its code, or show a bearer token").write(w)
	}
}
