package store

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/class"
)

var ctx = context.Background()

// databases are the dialects, each with a way to a new database.
var databases = map[string]func(t *testing.T) string{
	"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "class file?%23.db") },
	"postgres": func(t *testing.T) string {
		s := postgres(t)
		url, err := s.Database(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return url
	},
}

// onBoth runs a test on a new database of each dialect.
func onBoth(t *testing.T, f func(t *testing.T, s *Store, url string)) {
	for _, name := range sorted(databases) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databases[name](t)
			f(t, opened(t, url), url)
		})
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func opened(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ok fails the test with an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got fails the test with an error, or gives the value.
func got[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		ok(t, err)
		return v
	}
}

// refused sees that an error is of a kind, and not of another.
func refused(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || kind != class.ErrUnavailable && errors.Is(err, class.ErrUnavailable) {
		t.Errorf("error %v, expected %v", err, kind)
	}
}

// same compares what was kept with what came back.
func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

var noon = time.Date(2026, 3, 27, 12, 0, 0, 123456000, time.UTC)

// aClass makes an open class.
func aClass(t *testing.T, s *Store) class.Class {
	t.Helper()
	_, hash := class.NewToken()
	c := class.Class{
		ID: class.NewID(), Name: "Streams, spring <2026>", Code: class.NewCode(), Zone: "Europe/Berlin", State: class.Open,
		Created: noon, Expires: noon.AddDate(0, 6, 0), Scoreboard: true, TokenHash: hash,
		Steering: class.Steering{Lab: "credit", Knobs: map[string]any{"rate": 1000.0, "transport": "tcp"}},
	}
	ok(t, s.CreateClass(ctx, c))
	return c
}

func aPerson(t *testing.T, s *Store, classID, name string) class.Person {
	t.Helper()
	_, hash := class.NewToken()
	return got(s.AddPerson(ctx, classID, name, "", hash))(t)
}

func aResult(p class.Person, exercise string, received time.Time) class.Result {
	return class.Result{
		ID: class.NewID(), Class: p.Class, Person: p.ID, Exercise: exercise, Status: "passed", Points: 7, MaxPoints: 10, Verified: true,
		Engine: "0.9", Digest: "abc", Sent: received.Add(-time.Minute), Received: received, Report: []byte(`{"checks": [ {"id":"a"} ]}`),
		Work: []byte{0, 1, 0xff, 0xfe},
	}
}

func TestClasses(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		c := aClass(t, s)
		for name, found := range map[string]class.Class{
			"id": got(s.ClassByID(ctx, c.ID))(t), "code": got(s.ClassByCode(ctx, c.Code))(t), "token": got(s.ClassByToken(ctx, c.TokenHash))(t),
		} {
			t.Log(name)
			same(t, found, c)
		}
		_, err := s.ClassByID(ctx, "nobody")
		refused(t, err, class.ErrNotFound)
		_, err = s.ClassByToken(ctx, nil)
		refused(t, err, class.ErrNotFound)
		_, err = s.ClassByCode(ctx, "a\x00b")
		refused(t, err, class.ErrInvalid)
		other := c
		other.ID = class.NewID()
		refused(t, s.CreateClass(ctx, other), class.ErrConflict) // the code is taken
		other.Code, other.Created = class.NewCode(), noon.Add(-time.Hour)
		_, other.TokenHash = class.NewToken()
		ok(t, s.CreateClass(ctx, other))
		same(t, got(s.Classes(ctx))(t), []class.Class{other, c})
		refused(t, s.CreateClass(ctx, class.Class{ID: "x"}), class.ErrInvalid)

		ok(t, s.UpdateClass(ctx, c.ID, func(c *class.Class) error {
			c.Name, c.State, c.MayDrive = "Streams", class.Closed, true
			return nil
		}))
		c.Name, c.State, c.MayDrive = "Streams", class.Closed, true
		same(t, got(s.ClassByID(ctx, c.ID))(t), c) // the version of Steering is the same
		refused(t, s.UpdateClass(ctx, c.ID, func(c *class.Class) error { c.Code = other.Code; return nil }), class.ErrConflict)
		refused(t, s.UpdateClass(ctx, "nobody", func(*class.Class) error { return nil }), class.ErrNotFound)
		stop := errors.New("no")
		if err := s.UpdateClass(ctx, c.ID, func(c *class.Class) error { c.Name = "never"; return stop }); !errors.Is(err, stop) {
			t.Error(err)
		}
		_, err = s.AddPerson(ctx, c.ID, "Ana", "", []byte{1})
		refused(t, err, class.ErrClosed)
		ok(t, s.DeleteClass(ctx, c.ID))
		refused(t, s.DeleteClass(ctx, c.ID), class.ErrNotFound)

		// All is there after the store is opened again.
		same(t, got(opened(t, url).Classes(ctx))(t), []class.Class{other})
	})
}

func TestUpdateClassAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		c := aClass(t, s)
		second := opened(t, url) // as another server
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				store := []*Store{s, second}[i%2]
				err := store.UpdateClass(ctx, c.ID, func(c *class.Class) error {
					n, _ := c.Steering.Knobs["changes"].(float64)
					c.Steering.Knobs["changes"] = n + 1
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		c = got(s.ClassByID(ctx, c.ID))(t)
		if c.Steering.Version != 12 || c.Steering.Knobs["changes"] != 12.0 {
			t.Errorf("after 12 changes at once: %+v", c.Steering)
		}
	})
}

func TestPeople(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		_, hash := class.NewToken()
		p := got(s.AddPerson(ctx, c.ID, "  Ana\tÁlvarez\u202e ", "fox", hash))(t)
		if p.Name != "Ana Álvarez" || p.Alias != "fox" || p.Joined.IsZero() {
			t.Errorf("%+v", p)
		}
		same(t, got(s.PersonByID(ctx, p.ID))(t), p)
		same(t, got(s.PersonByToken(ctx, hash))(t), p)
		_, err := s.PersonByToken(ctx, class.HashToken("guess"))
		refused(t, err, class.ErrNotFound)
		_, err = s.AddPerson(ctx, "nobody's", "Ana", "", hash)
		refused(t, err, class.ErrNotFound)
		_, err = s.AddPerson(ctx, c.ID, " \u200b ", "", hash)
		refused(t, err, class.ErrInvalid)

		p.Hand, p.Alias = noon, "owl"
		p.Place = class.Place{Lab: "credit", Shown: 1, Claims: 3, Since: noon, Server: "a", Session: "s1", Mini: []byte(`{"rate":[1,2]}`)}
		ok(t, s.UpdatePerson(ctx, p.ID, func(to *class.Person) error { to.Hand, to.Alias, to.Place = p.Hand, p.Alias, p.Place; return nil }))
		same(t, got(s.PersonByID(ctx, p.ID))(t), p)
		ok(t, s.Seen(ctx, p.ID, noon.Add(time.Hour)))
		p.Seen = noon.Add(time.Hour)
		p.Place.Step = "3"
		ok(t, s.SetPlaces(ctx, map[string]class.Place{p.ID: p.Place, "gone": {}}))
		same(t, got(s.PersonByID(ctx, p.ID))(t), p)
		refused(t, s.Seen(ctx, "nobody", noon), class.ErrNotFound)

		other := aPerson(t, s, c.ID, "Bo")
		refused(t, s.UpdatePerson(ctx, other.ID, func(to *class.Person) error { to.Name = "ana ÁLVAREZ"; return nil }), class.ErrConflict)
		same(t, got(s.People(ctx, c.ID))(t), []class.Person{p, other})

		if b := got(s.Progress(ctx, p.ID))(t); b != nil {
			t.Errorf("progress %q before any", b)
		}
		ok(t, s.SetProgress(ctx, p.ID, []byte(`{"a":1}`)))
		ok(t, s.SetProgress(ctx, p.ID, []byte(`{"a":2}`)))
		if b := got(s.Progress(ctx, p.ID))(t); !bytes.Equal(b, []byte(`{"a":2}`)) {
			t.Errorf("progress %q", b)
		}
		refused(t, s.SetProgress(ctx, "nobody", nil), class.ErrNotFound)
		_, err = s.Progress(ctx, "nobody")
		refused(t, err, class.ErrNotFound)
	})
}

// TestEqualNamesAtOnce has two servers add people of one name: each gets a name of their own, without a gap.
func TestEqualNamesAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		c := aClass(t, s)
		second := opened(t, url)
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if _, err := []*Store{s, second}[i%2].AddPerson(ctx, c.ID, []string{"Ana", "ana"}[i/5], "", []byte{byte(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		keys := map[string]bool{}
		for _, p := range got(s.People(ctx, c.ID))(t) {
			keys[class.NameKey(p.Name)] = true
		}
		want := map[string]bool{"ana": true, "ana 2": true, "ana 3": true, "ana 4": true, "ana 5": true, "ana 6": true, "ana 7": true, "ana 8": true, "ana 9": true, "ana 10": true}
		same(t, keys, want)
	})
}

func TestSessionsAndAudit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		p := aPerson(t, s, c.ID, "Ana")
		mine := class.Session{ID: "s1", Class: c.ID, Person: p.ID, Server: "a", Lab: "credit", Knobs: map[string]any{"rate": 5.0}, Dir: "/x", Started: noon}
		instructors := class.Session{ID: "s2", Class: c.ID, Server: "a", Lab: "skew", Started: noon.Add(time.Second)}
		ok(t, s.PutSession(ctx, mine))
		ok(t, s.PutSession(ctx, instructors))
		mine.Knobs["rate"] = 6.0
		ok(t, s.PutSession(ctx, mine))
		same(t, got(s.SessionsOf(ctx, "a"))(t), []class.Session{mine, instructors})
		same(t, got(s.SessionByID(ctx, "s1"))(t), mine)
		ok(t, s.DeleteSession(ctx, "s1"))
		ok(t, s.DeleteSession(ctx, "s1"))
		_, err := s.SessionByID(ctx, "s1")
		refused(t, err, class.ErrNotFound)
		refused(t, s.PutSession(ctx, class.Session{ID: "s3", Class: "no"}), class.ErrNotFound)

		a := class.Audited{Class: c.ID, At: noon, Who: "instructor", What: "spotlight", About: "s2"}
		b := class.Audited{Class: c.ID, At: noon.Add(1e6), Who: "instructor", What: "extension", About: "credit for " + p.ID}
		ok(t, s.Audit(ctx, b))
		ok(t, s.Audit(ctx, a))
		same(t, got(s.AuditLog(ctx, c.ID))(t), []class.Audited{a, b})
		ok(t, s.DeletePerson(ctx, p.ID))
		b.About = "credit for (deleted)"
		same(t, got(s.AuditLog(ctx, c.ID))(t), []class.Audited{a, b})
	})
}

func TestQuestions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		p, other := aPerson(t, s, c.ID, "Ana"), aPerson(t, s, c.ID, "Bo")
		q := class.Question{ID: "q1", Class: c.ID, Text: "Which?", Choices: []string{"<a>", "b"}, Lab: "credit", Knobs: map[string]any{"x": true}, Asked: noon}
		ok(t, s.Ask(ctx, q))
		refused(t, s.Ask(ctx, q), class.ErrConflict)
		same(t, got(s.Questions(ctx, c.ID))(t), []class.Question{q})

		// Of many answers at once one is kept.
		kept := make(chan int, 8)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				was, err := s.AddAnswer(ctx, class.Answer{Question: "q1", Person: p.ID, Choice: i % 2, At: noon.Add(time.Second)})
				if err != nil {
					t.Error(err)
				}
				if was {
					kept <- i % 2
				}
			})
		}
		all.Wait()
		close(kept)
		if len(kept) != 1 {
			t.Fatalf("%d answers of one person were kept", len(kept))
		}
		first := class.Answer{Question: "q1", Person: p.ID, Choice: <-kept, At: noon.Add(time.Second)}
		same(t, got(s.Answers(ctx, "q1"))(t), []class.Answer{first})

		_, err := s.AddAnswer(ctx, class.Answer{Question: "q1", Person: other.ID, Choice: 2})
		refused(t, err, class.ErrInvalid)
		_, err = s.AddAnswer(ctx, class.Answer{Question: "q2", Person: other.ID})
		refused(t, err, class.ErrNotFound)
		stranger := aPerson(t, s, aClass(t, s).ID, "Cy")
		_, err = s.AddAnswer(ctx, class.Answer{Question: "q1", Person: stranger.ID})
		refused(t, err, class.ErrNotFound)

		ok(t, s.EndQuestion(ctx, "q1", noon.Add(time.Minute)))
		ok(t, s.EndQuestion(ctx, "q1", noon.Add(time.Hour))) // the first end stays
		_, err = s.AddAnswer(ctx, class.Answer{Question: "q1", Person: other.ID, At: noon.Add(2 * time.Minute)})
		refused(t, err, class.ErrClosed)
		if was, err := s.AddAnswer(ctx, class.Answer{Question: "q1", Person: p.ID, At: noon.Add(2 * time.Minute)}); was || err != nil {
			t.Errorf("an answer sent again after the end: %v, %v", was, err)
		}
		refused(t, s.EndQuestion(ctx, "q2", noon), class.ErrNotFound)
	})
}

func TestSweepAndDelete(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		p := filled(t, s, c)
		other := aClass(t, s)
		q := filled(t, s, other)
		ok(t, s.UpdateClass(ctx, other.ID, func(c *class.Class) error { c.Expires = c.Expires.Add(time.Microsecond); return nil }))
		if removed := got(s.Sweep(ctx, c.Expires.Add(-time.Microsecond)))(t); removed != nil {
			t.Errorf("removed before: %v", removed)
		}
		same(t, got(s.Sweep(ctx, c.Expires))(t), []string{c.ID})
		_, err := s.PersonByID(ctx, p.ID)
		refused(t, err, class.ErrNotFound)
		count(t, s, map[string]int{"classes": 1, "people": 1, "progress": 1, "results": 1, "deadlines": 1, "extensions": 1, "questions": 1, "answers": 1, "sessions": 1, "audit": 1})
		ok(t, s.DeletePerson(ctx, q.ID))
		refused(t, s.DeletePerson(ctx, q.ID), class.ErrNotFound)
		count(t, s, map[string]int{"classes": 1, "people": 0, "progress": 0, "results": 0, "deadlines": 1, "extensions": 0, "questions": 1, "answers": 0, "sessions": 0, "audit": 1})
	})
}

// filled has a row in every table for a class.
func filled(t *testing.T, s *Store, c class.Class) class.Person {
	t.Helper()
	p := aPerson(t, s, c.ID, "=Ana\u4f60\U0001f98a")
	ok(t, s.SetProgress(ctx, p.ID, []byte(`{"a":"\u0000"}`)))
	ok(t, s.SetDeadline(ctx, class.Deadline{Class: c.ID, Exercise: "e1", Due: noon, Penalty: 50}))
	ok(t, s.SetExtension(ctx, class.Extension{Class: c.ID, Exercise: "e1", Person: p.ID, Due: noon.Add(time.Hour)}))
	if kept, _, err := s.AddResult(ctx, aResult(p, "e1", noon)); !kept || err != nil {
		t.Fatal(kept, err)
	}
	id := class.NewID()
	ok(t, s.Ask(ctx, class.Question{ID: id, Class: c.ID, Choices: []string{"a"}, Asked: noon}))
	_, err := s.AddAnswer(ctx, class.Answer{Question: id, Person: p.ID, At: noon})
	ok(t, err)
	ok(t, s.PutSession(ctx, class.Session{ID: class.NewID(), Class: c.ID, Person: p.ID, Server: "a", Started: noon}))
	ok(t, s.Audit(ctx, class.Audited{Class: c.ID, At: noon, Who: "instructor", What: "x"}))
	return p
}

// count compares the rows of tables.
func count(t *testing.T, s *Store, want map[string]int) {
	t.Helper()
	have := map[string]int{}
	ok(t, s.read(ctx, "count", func(q *query) error {
		for name := range want {
			var n int
			if err := q.row(`SELECT COUNT(*) FROM ` + name).scan(&n); err != nil {
				return err
			}
			have[name] = n
		}
		return nil
	}))
	same(t, have, want)
}

func TestBadURL(t *testing.T) {
	for _, url := range []string{"", "mysql://u:secret@h/d", "sqlite:", "postgres://u:secret@h:port/"} {
		_, err := Open(ctx, url)
		refused(t, err, class.ErrInvalid)
		if err != nil && bytes.Contains([]byte(err.Error()), []byte("secret")) {
			t.Errorf("the password is in %q", err)
		}
	}
	_, err := Open(ctx, "postgres://u:secret@127.0.0.1:1/d")
	refused(t, err, class.ErrUnavailable)
	if err == nil || bytes.Contains([]byte(err.Error()), []byte("secret")) {
		t.Errorf("the password is in %q", err)
	}
}
