package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"weir/class"
)

// stage is a class with somebody and something of each kind, for one call.
type stage struct {
	f                         *fakeServer
	k                         *class.Class
	ann, ben                  *caller // two learners
	teacher, otherTeacher     string  // tokens
	session, question, result string
}

func newStage(t *testing.T, f *fakeServer, k *class.Class, teacher, otherTeacher string) *stage {
	s := &stage{f: f, k: k, teacher: teacher, otherTeacher: otherTeacher}
	s.ann, s.ben = f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	s.session = f.startAs(t, s.ann).id
	q := class.Question{ID: class.NewID(), Class: k.ID, Text: "?", Choices: []string{"a", "b"}, Lab: "backpressure", Asked: k.Created}
	r := class.Result{ID: class.NewID(), Class: k.ID, Person: s.ann.Person, Exercise: someExercise, Status: "passed", Points: 1, MaxPoints: 1}
	if err := f.course.store.Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.course.store.AddResult(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	s.question, s.result = q.ID, r.ID
	return s
}

func (s *stage) end(t *testing.T) {
	for _, sess := range s.f.sessions.list() {
		if err := s.f.endSession(sess.id); err != nil {
			t.Error(err)
		}
	}
}

const someExercise = "skew-cure"

// path fills in the names of a route, so that they lead to what is Ann's.
func (s *stage) path(route string) string {
	id := map[bool]string{true: s.session}[strings.Contains(route, "/sessions/")]
	switch {
	case strings.Contains(route, "/questions/"):
		id = s.question
	case strings.Contains(route, "/results/"):
		id = s.result
	case strings.Contains(route, "/people/"):
		id = s.ann.Person
	case strings.Contains(route, "/classes/"):
		id = s.k.ID
	case strings.HasPrefix(route, "/labs/"):
		id = "backpressure"
	case strings.Contains(route, "/exercises/"):
		id = someExercise
	}
	token := s.ann.token
	if strings.Contains(route, "/class/i/") {
		token = s.teacher
	}
	p := strings.NewReplacer("{id}", id, "{action}", "checkpoint", "{token}", token, "{exercise}", someExercise, "{person}", s.ann.Person, "*", "nothing.js").Replace(route)
	switch {
	case strings.HasSuffix(route, "/compositekey"):
		p += "?key=1"
	}
	return p
}

// bodies are what a route takes.
func (s *stage) body(route string) string {
	switch route {
	case "POST /api/v1/keygroups":
		return `{"parallelism":2}`
	case "POST /api/v1/sessions":
		return `{"lab":"backpressure"}`
	case "PATCH /api/v1/sessions/{id}/knobs":
		return `{"debloat":true}`
	case "PUT /api/v1/progress":
		return `{"version":1,"labs":{},"exercises":{}}`
	case "POST /api/v1/class/join":
		return `{"code":"` + s.k.Code + `","name":"Eve"}`
	case "PUT /api/v1/class/me/place":
		return `{"lab":"backpressure","step":"run"}`
	case "POST /api/v1/class/results":
		return `{"id":"` + class.NewID() + `","exercise":"` + someExercise + `","status":"passed","points":1,"maxPoints":1,"work":{"answer":{}}}`
	case "POST /api/v1/class/questions":
		return `{"text":"?","choices":["a","b"]}`
	case "POST /api/v1/class/questions/{id}/answers":
		return `{"choice":1}`
	case "POST /api/v1/class/people/merge":
		return `{"from":"` + s.ben.Person + `","into":"` + s.ann.Person + `"}`
	case "POST /api/v1/class/spotlight":
		return `{"session":"` + s.session + `"}`
	case "POST /api/v1/class/lab":
		return `{"lab":"backpressure","knobs":{"debloat":true}}`
	case "POST /api/v1/class/freeze":
		return `{"frozen":false}`
	case "POST /api/v1/class/timer":
		return `{"minutes":5}`
	case "PUT /api/v1/class/deadlines/{exercise}", "PUT /api/v1/class/deadlines/{exercise}/extensions/{person}":
		return `{"due":"2100-01-01T00:00:00Z"}`
	case "POST /api/v1/classes":
		return `{"name":"Another"}`
	}
	return `{}`
}

// statuses are what each kind of caller is answered: nobody, the learner whose things they are, another learner, the
// instructor, the instructor of another class, and the learner's browser with a page of another site.
type statuses [6]int

var kindsOfCaller = []string{"nobody", "learner", "other learner", "instructor", "other instructor", "other origin"}

func (s *stage) call(route string, kind int) int {
	method, path, _ := strings.Cut(route, " ")
	token := []string{"", s.ann.token, s.ben.token, s.teacher, s.otherTeacher, s.ann.token}[kind]
	var more []string
	if kind == 5 {
		more = []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}
		if strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/trace") || strings.HasSuffix(path, "/live") {
			more = append(more, "Upgrade", "websocket", "Connection", "Upgrade")
		}
	}
	return s.f.as(token, method, s.path(path), s.body(route), more...).Code
}

// asServer calls a route as another server on the store, for itself: it may follow sessions and nothing else.
func (s *stage) asServer(t *testing.T, route string) {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	path, body := s.path(path), s.body(route)
	want := http.StatusForbidden
	if strings.HasSuffix(route, "/sessions/{id}/stream") {
		want = http.StatusUpgradeRequired
	}
	c := s.f.course
	stated := newTrust("another", c.trust.secret).state(c.server, method, path, []byte(body), nil)
	if got := s.f.as("", method, path, body, statementHeader, stated.String()).Code; got != want {
		t.Errorf("%s, another server: %d, want %d", route, got, want)
	}
	stated = newTrust("another", []byte("guessed")).state(c.server, method, path, []byte(body), nil)
	if got := s.f.as("", method, path, body, statementHeader, stated.String()).Code; got != http.StatusUnauthorized {
		t.Errorf("%s, somebody who claims to be a server: %d, want 401", route, got)
	}
}

// TestEveryRouteForEveryCaller fails when a route is in the router and not in the table, and when anybody is answered
// otherwise than the table says.
func TestEveryRouteForEveryCaller(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	f.pretendBuilt()
	_, other, err := f.course.makeClass(t.Context(), "Another course", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	if err := chi.Walk(f.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if _, ok := everyRoute[method+" "+route]; !ok {
			t.Errorf("%s %s is not in the table of this test", method, route)
		}
		if _, ok := access[method+" "+route]; !ok {
			t.Errorf("%s %s is not in the table of access", method, route)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(f.ask(httptestGet("/api/openapi.json")).Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths {
		for method := range item {
			if _, ok := everyRoute[strings.ToUpper(method)+" "+path]; !ok {
				t.Errorf("%s %s is described and not in the table of this test", method, path)
			}
		}
	}
	routes := make([]string, 0, len(everyRoute))
	for route := range everyRoute {
		routes = append(routes, route)
	}
	slices.Sort(routes)
	for _, route := range routes {
		var got statuses
		for kind := range kindsOfCaller {
			s := newStage(t, f, k, teacher, other)
			if kind == 0 {
				s.asServer(t, route)
			}
			got[kind] = s.call(route, kind)
			s.end(t)
			if want := everyRoute[route][kind]; got[kind] != want {
				t.Errorf("%s, %s: %d, want %d", route, kindsOfCaller[kind], got[kind], want)
			}
		}
	}
}

func httptestGet(path string) *http.Request {
	r, _ := http.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:8090"
	r.RemoteAddr = "127.0.0.1:1"
	return r
}
