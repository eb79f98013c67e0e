package store

import (
	"context"
	"encoding/json"
	"time"

	"weir/class"
)

// Records are all that a class has at one moment, without the work.
func (s *Store) Records(ctx context.Context, classID string) (*class.Records, error) {
	var r *class.Records
	err := s.read(ctx, "Records", func(q *query) (err error) {
		r = &class.Records{}
		if r.Class, _, err = scanClass(q.row(`SELECT `+classColumns+` FROM classes WHERE id = ?`, classID).scan); err != nil {
			return err
		}
		if r.People, err = q.people(classID); err != nil {
			return err
		}
		if r.Results, err = q.results(classID, ""); err != nil {
			return err
		}
		if r.Deadlines, err = q.deadlines(classID); err != nil {
			return err
		}
		if r.Extensions, err = q.extensions(classID); err != nil {
			return err
		}
		if r.Questions, err = q.questions(classID); err != nil {
			return err
		}
		if r.Answers, err = q.answers(`question IN (SELECT id FROM questions WHERE class = ?)`, classID); err != nil {
			return err
		}
		r.Audit, err = q.auditLog(classID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// PersonalData is all that is kept of one person, for them to take with them; of one who was merged it is the other's.
func (s *Store) PersonalData(ctx context.Context, person string) (d class.PersonalData, err error) {
	err = s.read(ctx, "PersonalData", func(q *query) error {
		d = class.PersonalData{
			Exported: time.Now().UTC(), Results: []class.ExportedResult{}, Answers: []class.PersonalAnswer{},
			Extensions: map[string]time.Time{}, Sessions: []class.PersonalSession{},
		}
		id, err := q.following(person)
		if err != nil {
			return err
		}
		p, _, err := scanPerson(q.row(`SELECT `+personColumns+` FROM people WHERE id = ?`, id).scan)
		if err != nil {
			return err
		}
		d.ID, d.Alias, d.Joined, d.Seen, d.Place = p.ID, p.Alias, p.Joined, p.Seen, p.Place
		return q.personalData(&d, p.Class)
	})
	return d, err
}

func (q *query) personalData(d *class.PersonalData, classID string) error {
	if err := q.row(`SELECT name FROM classes WHERE id = ?`, classID).scan(&d.Class); err != nil {
		return err
	}
	err := q.each(`SELECT name FROM people WHERE id = ? OR merged = ? ORDER BY merged, joined`, []any{d.ID, d.ID}, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		d.Names = append(d.Names, name)
		return err
	})
	if err != nil {
		return err
	}
	progress, err := q.progress(d.ID)
	if err != nil {
		return err
	}
	if json.Valid(progress) {
		d.Progress = progress
	}
	err = q.each(`SELECT `+resultColumns+`, work FROM results WHERE person = ? ORDER BY received, id`, []any{d.ID}, func(scan func(...any) error) error {
		var work []byte
		r, err := scanResult(func(to ...any) error { return scan(append(to, &work)...) })
		x := class.ExportResult(&r)
		x.Work = class.ParseWork(work)
		d.Results = append(d.Results, x)
		return err
	})
	if err != nil {
		return err
	}
	err = q.each(`SELECT q.text, q.choices, a.choice, a.at FROM answers a JOIN questions q ON q.id = a.question WHERE a.person = ? ORDER BY a.at, q.id`,
		[]any{d.ID}, func(scan func(...any) error) error {
			var a class.PersonalAnswer
			var choices []string
			var choice int
			err := scan(&a.Question, asJSON{&choices}, &choice, &a.At)
			if choice >= 0 && choice < len(choices) {
				a.Answer = choices[choice]
			}
			d.Answers = append(d.Answers, a)
			return err
		})
	if err != nil {
		return err
	}
	extensions, err := q.extensions(classID)
	if err != nil {
		return err
	}
	for _, e := range extensions {
		if e.Person == d.ID {
			d.Extensions[e.Exercise] = e.Due
		}
	}
	sessions, err := q.sessions(`person = ?`, d.ID)
	for _, o := range sessions {
		d.Sessions = append(d.Sessions, class.PersonalSession{ID: o.ID, Lab: o.Lab, Knobs: o.Knobs, Started: o.Started})
	}
	return err
}
