package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/class"
)

// TestResultOnce has one result sent many times at once, to two servers.
func TestResultOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		c := aClass(t, s)
		p := aPerson(t, s, c.ID, "Ana")
		r := aResult(p, "credit", noon)
		second := opened(t, url)
		var kept atomic.Int32
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				was, stored, err := []*Store{s, second}[i%2].AddResult(ctx, r)
				if err != nil || stored.ID != r.ID {
					t.Errorf("%+v, %v", stored, err)
				}
				if was {
					kept.Add(1)
				}
			})
		}
		all.Wait()
		if kept.Load() != 1 {
			t.Errorf("kept %d times", kept.Load())
		}
		without := r
		without.Work = nil
		same(t, got(s.Results(ctx, c.ID, ""))(t), []class.Result{without})
		same(t, got(s.Work(ctx, r.ID))(t), r.Work)
		_, err := s.Work(ctx, "none")
		refused(t, err, class.ErrNotFound)

		// After the class is closed, what was kept is still acknowledged, and nothing new is taken.
		ok(t, s.UpdateClass(ctx, c.ID, func(c *class.Class) error { c.State = class.Closed; return nil }))
		was, stored, err := s.AddResult(ctx, r)
		if was || err != nil {
			t.Errorf("sent again: %v, %v", was, err)
		}
		same(t, stored, without)
		_, _, err = s.AddResult(ctx, aResult(p, "credit", noon))
		refused(t, err, class.ErrClosed)
	})
}

func TestResultsOfOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c, foreign := aClass(t, s), aClass(t, s)
		p, other := aPerson(t, s, c.ID, "Ana"), aPerson(t, s, c.ID, "Bo")
		r := aResult(p, "credit", noon)
		_, _, err := s.AddResult(ctx, r)
		ok(t, err)
		stolen := r
		stolen.Person = other.ID
		_, seen, err := s.AddResult(ctx, stolen)
		refused(t, err, class.ErrConflict)
		same(t, seen, class.Result{})
		wrong := aResult(p, "credit", noon)
		wrong.Class = foreign.ID
		_, _, err = s.AddResult(ctx, wrong)
		refused(t, err, class.ErrNotFound)
		if all := got(s.Results(ctx, c.ID, other.ID))(t); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		_, _, err = s.AddResult(ctx, class.Result{Class: c.ID, Person: p.ID})
		refused(t, err, class.ErrInvalid)
		bad := aResult(p, "a\xffb", noon)
		_, _, err = s.AddResult(ctx, bad)
		refused(t, err, class.ErrInvalid)
	})
}

func TestDeadlines(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		p, other := aPerson(t, s, c.ID, "Ana"), aPerson(t, s, c.ID, "Bo")
		ok(t, s.SetDeadline(ctx, class.Deadline{Class: c.ID, Exercise: "e", Due: noon, Penalty: 30}))
		lates := func() (late []bool) {
			t.Helper()
			for _, r := range got(s.Results(ctx, c.ID, ""))(t) {
				late = append(late, r.Late)
			}
			return late
		}
		add := func(p class.Person, at time.Time) (class.Result, error) {
			_, stored, err := s.AddResult(ctx, aResult(p, "e", at))
			return stored, err
		}
		for _, r := range []struct {
			who  class.Person
			at   time.Time
			late bool
		}{{p, noon, false}, {p, noon.Add(time.Microsecond), true}, {other, noon.Add(time.Hour), true}} {
			if stored := got(add(r.who, r.at))(t); stored.Late != r.late {
				t.Errorf("received %v after: late %v", r.at.Sub(noon), stored.Late)
			}
		}
		// An extension makes what was late be in time, of this person only.
		e := class.Extension{Class: c.ID, Exercise: "e", Person: other.ID, Due: noon.Add(time.Hour)}
		ok(t, s.SetExtension(ctx, e))
		same(t, lates(), []bool{false, true, false})
		same(t, got(s.Extensions(ctx, c.ID))(t), []class.Extension{e})
		// A later deadline for all is not shortened by an extension; an earlier one leaves the extension.
		d := class.Deadline{Class: c.ID, Exercise: "e", Due: noon.Add(2 * time.Hour), Penalty: 100}
		ok(t, s.SetDeadline(ctx, d))
		same(t, lates(), []bool{false, false, false})
		same(t, got(s.Deadlines(ctx, c.ID))(t), []class.Deadline{d})
		if r := got(add(other, noon.Add(90*time.Minute)))(t); r.Late {
			t.Error("an extension before the deadline took time away")
		}
		_, err := add(other, noon.Add(3*time.Hour))
		refused(t, err, class.ErrLate)
		refused(t, err, class.ErrClosed)
		d.Due = noon.Add(-time.Hour)
		ok(t, s.SetDeadline(ctx, d))
		same(t, lates(), []bool{true, true, false, true})
		ok(t, s.SetDeadline(ctx, class.Deadline{Class: c.ID, Exercise: "e"}))
		same(t, lates(), []bool{false, false, false, false})
		if all := got(s.Deadlines(ctx, c.ID))(t); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		e.Due = time.Time{}
		ok(t, s.SetExtension(ctx, e))
		if all := got(s.Extensions(ctx, c.ID))(t); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		refused(t, s.SetDeadline(ctx, class.Deadline{Class: c.ID, Exercise: "e", Due: noon, Penalty: 101}), class.ErrInvalid)
		refused(t, s.SetDeadline(ctx, class.Deadline{Class: "no", Exercise: "e", Due: noon}), class.ErrNotFound)
		refused(t, s.SetExtension(ctx, class.Extension{Class: c.ID, Exercise: "e", Person: "no", Due: noon}), class.ErrNotFound)
	})
}

func TestMerge(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		p, twin, oldest := aPerson(t, s, c.ID, "Ana"), aPerson(t, s, c.ID, "Ana"), aPerson(t, s, c.ID, "Ana")
		ok(t, s.SetDeadline(ctx, class.Deadline{Class: c.ID, Exercise: "e", Due: noon, Penalty: 50}))
		ok(t, s.SetExtension(ctx, class.Extension{Class: c.ID, Exercise: "e", Person: p.ID, Due: noon.Add(time.Hour)}))
		ok(t, s.SetExtension(ctx, class.Extension{Class: c.ID, Exercise: "e", Person: twin.ID, Due: noon.Add(time.Minute)}))
		sent := aResult(twin, "e", noon.Add(30*time.Minute))
		_, stored, err := s.AddResult(ctx, sent)
		ok(t, err)
		if !stored.Late {
			t.Error("the twin's own result is late")
		}
		for i, q := range []string{"q1", "q2"} {
			ok(t, s.Ask(ctx, class.Question{ID: q, Class: c.ID, Choices: []string{"a", "b"}, Asked: noon}))
			_, err = s.AddAnswer(ctx, class.Answer{Question: q, Person: p.ID, Choice: 0, At: noon.Add(time.Duration(1+i) * time.Minute)})
			ok(t, err)
			_, err = s.AddAnswer(ctx, class.Answer{Question: q, Person: twin.ID, Choice: 1, At: noon.Add(time.Duration(2-i) * time.Minute)})
			ok(t, err)
		}
		ok(t, s.PutSession(ctx, class.Session{ID: "s", Class: c.ID, Person: twin.ID, Server: "a"}))
		ok(t, s.SetProgress(ctx, twin.ID, []byte("twin's")))
		ok(t, s.Merge(ctx, c.ID, oldest.ID, twin.ID))
		ok(t, s.Merge(ctx, c.ID, twin.ID, p.ID))

		for _, one := range []class.Person{p, twin, oldest} {
			if found := got(s.PersonByToken(ctx, one.TokenHash))(t); found.ID != p.ID {
				t.Errorf("the token of %s is of %s", one.Name, found.Name)
			}
		}
		same(t, got(s.People(ctx, c.ID))(t), []class.Person{got(s.PersonByID(ctx, p.ID))(t)})
		if m := got(s.Merged(ctx, c.ID))(t); len(m) != 2 || m[0].Merged != p.ID || m[1].Merged != p.ID || m[0].ID == m[1].ID {
			t.Errorf("merged into the first: %+v", m)
		}
		if r := got(s.Results(ctx, c.ID, p.ID))(t); len(r) != 1 || r[0].Late {
			t.Errorf("results of both, in time by the later extension: %+v", r)
		}
		same(t, got(s.Extensions(ctx, c.ID))(t), []class.Extension{{Class: c.ID, Exercise: "e", Person: p.ID, Due: noon.Add(time.Hour)}})
		for q, first := range map[string]int{"q1": 0, "q2": 1} {
			if a := got(s.Answers(ctx, q))(t); len(a) != 1 || a[0].Choice != first || a[0].Person != p.ID {
				t.Errorf("%s: %+v", q, a)
			}
		}
		if o := got(s.SessionByID(ctx, "s"))(t); o.Person != p.ID {
			t.Errorf("%+v", o)
		}
		same(t, got(s.Progress(ctx, p.ID))(t), []byte("twin's"))
		ok(t, s.SetProgress(ctx, twin.ID, []byte("of both")))
		same(t, got(s.Progress(ctx, p.ID))(t), []byte("of both"))
		same(t, got(s.Results(ctx, c.ID, oldest.ID))(t), got(s.Results(ctx, c.ID, p.ID))(t))
		// Sent again by the twin's page, which does not know yet.
		if kept, stored, err := s.AddResult(ctx, sent); kept || err != nil || stored.Person != p.ID {
			t.Errorf("%v %+v %v", kept, stored, err)
		}
		if _, stored, err := s.AddResult(ctx, aResult(oldest, "e2", noon)); err != nil || stored.Person != p.ID {
			t.Errorf("%+v %v", stored, err)
		}
		refused(t, s.Merge(ctx, c.ID, twin.ID, p.ID), class.ErrConflict)
		refused(t, s.Merge(ctx, c.ID, p.ID, p.ID), class.ErrInvalid)
		refused(t, s.Merge(ctx, aClass(t, s).ID, p.ID, twin.ID), class.ErrNotFound)
		ok(t, s.DeletePerson(ctx, p.ID))
		_, err = s.PersonByToken(ctx, oldest.TokenHash)
		refused(t, err, class.ErrNotFound)
	})
}
