package store

import (
	"encoding/json"
	"testing"
	"time"

	"weir/class"
)

func TestRecordsAndPersonalData(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		p := filled(t, s, c)
		filled(t, s, aClass(t, s)) // another class, of which nothing is seen
		twin := aPerson(t, s, c.ID, "Ana")
		for _, one := range []class.Person{p, twin} {
			r := aResult(one, "code", noon.Add(time.Minute))
			r.Work = got(json.Marshal(class.Work{Core: "package core // of " + one.Name}))(t)
			_, stored, err := s.AddResult(ctx, r)
			ok(t, err)
			if stored.Source != class.SourceDigest([]byte("package core")) {
				t.Errorf("source %q", stored.Source)
			}
		}
		r := got(s.Records(ctx, c.ID))(t)
		if len(r.People) != 2 || len(r.Results) != 3 || len(r.Deadlines) != 1 || len(r.Extensions) != 1 || len(r.Questions) != 1 || len(r.Answers) != 1 || len(r.Audit) != 1 {
			t.Errorf("%+v", r)
		}
		same(t, r.Class, c)
		if g := class.NewGradeBook(r, nil); len(g.Equal) != 1 || len(g.Equal[0].People) != 2 {
			t.Errorf("equal sources: %+v", g.Equal)
		}
		_, err := s.Records(ctx, "none")
		refused(t, err, class.ErrNotFound)

		ok(t, s.Merge(ctx, c.ID, twin.ID, p.ID))
		d := got(s.PersonalData(ctx, p.ID))(t)
		same(t, d.Names, []string{p.Name, "Ana"})
		if len(d.Results) != 3 || d.Results[1].Work.Core == "" || len(d.Answers) != 1 || d.Answers[0].Answer != "a" || len(d.Sessions) != 1 ||
			!d.Extensions["e1"].Equal(noon.Add(time.Hour)) || string(d.Progress) != `{"a":"\u0000"}` || d.Class != c.Name {
			t.Errorf("%+v", d)
		}
		same(t, got(s.PersonalData(ctx, twin.ID))(t).ID, p.ID) // asked by a page that does not know of the merge yet
		_, err = json.Marshal(d)
		ok(t, err)
		_, err = s.PersonalData(ctx, "none")
		refused(t, err, class.ErrNotFound)
	})
}
