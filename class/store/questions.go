package store

import (
	"context"
	"fmt"
	"time"

	"weir/class"
)

const questionColumns = `id, class, text, choices, lab, knobs, asked, ended`

// Ask keeps a question. It is an ErrConflict if there is one with its ID.
func (s *Store) Ask(ctx context.Context, a class.Question) error {
	if a.ID == "" || len(a.Choices) == 0 {
		return fmt.Errorf("store: Ask: %w: a question needs an ID and choices", class.ErrInvalid)
	}
	return s.write(ctx, "Ask", func(q *query) error {
		q.changed = true
		return q.exec(`INSERT INTO questions (`+questionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			a.ID, a.Class, a.Text, asJSON{a.Choices}, a.Lab, asJSON{a.Knobs}, a.Asked, a.Ended)
	})
}

// EndQuestion has a question take no answers after a moment. An earlier end stays.
func (s *Store) EndQuestion(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "EndQuestion", func(q *query) error {
		q.changed = true
		return found(q.count(`UPDATE questions SET ended = CASE WHEN ended = 0 OR ended > ? THEN ? ELSE ended END WHERE id = ?`, at, at, id))
	})
}

// Questions are those of a class, the first asked first.
func (s *Store) Questions(ctx context.Context, classID string) (all []class.Question, err error) {
	err = s.read(ctx, "Questions", func(q *query) error {
		all, err = q.questions(classID)
		return err
	})
	return all, err
}

func (q *query) questions(classID string) (all []class.Question, err error) {
	err = q.each(`SELECT `+questionColumns+` FROM questions WHERE class = ? ORDER BY asked, id`, []any{classID}, func(scan func(...any) error) error {
		var a class.Question
		err := scan(&a.ID, &a.Class, &a.Text, asJSON{&a.Choices}, &a.Lab, asJSON{&a.Knobs}, &a.Asked, &a.Ended)
		all = append(all, a)
		return err
	})
	return all, err
}

// AddAnswer keeps somebody's answer unless they have one: the first counts, and kept says whether it was this. An
// ErrClosed is a question that has ended; a zero At is now.
func (s *Store) AddAnswer(ctx context.Context, a class.Answer) (kept bool, err error) {
	if a.At.IsZero() {
		a.At = time.Now()
	}
	err = s.write(ctx, "AddAnswer", func(q *query) error {
		kept = false
		var classID string
		var choices []string
		var ended time.Time
		err := q.row(`SELECT class, choices, ended FROM questions WHERE id = ?`+q.shared(), a.Question).scan(&classID, asJSON{&choices}, &ended)
		if err != nil {
			return err
		}
		person, err := q.current(classID, a.Person)
		switch {
		case err != nil:
			return err
		case a.Choice < 0 || a.Choice >= len(choices):
			return fmt.Errorf("%w: choice %d, expected from 0 to %d", class.ErrInvalid, a.Choice, len(choices)-1)
		}
		var n int64
		if !ended.IsZero() && a.At.After(ended) {
			// Sent again, it was kept in time.
			err := q.row(`SELECT COUNT(*) FROM answers WHERE question = ? AND person = ?`, a.Question, person).scan(&n)
			if err == nil && n == 0 {
				err = fmt.Errorf("the question has ended: %w", class.ErrClosed)
			}
			return err
		}
		n, err = q.count(`INSERT INTO answers (question, person, choice, at) VALUES (?, ?, ?, ?) ON CONFLICT (question, person) DO NOTHING`,
			a.Question, person, a.Choice, a.At)
		kept = n > 0
		q.changed = kept
		return err
	})
	return kept && err == nil, err
}

// Answers are those to a question, the first first.
func (s *Store) Answers(ctx context.Context, question string) (all []class.Answer, err error) {
	err = s.read(ctx, "Answers", func(q *query) error {
		all, err = q.answers(`question = ?`, question)
		return err
	})
	return all, err
}

func (q *query) answers(where string, arg any) (all []class.Answer, err error) {
	err = q.each(`SELECT question, person, choice, at FROM answers WHERE `+where+` ORDER BY at, person`, []any{arg}, func(scan func(...any) error) error {
		var a class.Answer
		err := scan(&a.Question, &a.Person, &a.Choice, &a.At)
		all = append(all, a)
		return err
	})
	return all, err
}
