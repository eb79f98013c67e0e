package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/class"
)

// SetDeadline sets when an exercise is due, or takes the deadline away if Due is zero. Results that are kept already are
// late or in time by the new one.
func (s *Store) SetDeadline(ctx context.Context, d class.Deadline) error {
	if err := d.Valid(); err != nil {
		return fmt.Errorf("store: SetDeadline: %w", err)
	}
	return s.write(ctx, "SetDeadline", func(q *query) error {
		q.changed = true
		// Results that come at the same time are judged before or after, and not by the old deadline.
		if err := q.lockClass(d.Class); err != nil {
			return err
		}
		set := statement{`INSERT INTO deadlines (class, exercise, due, penalty) VALUES (?, ?, ?, ?)
			ON CONFLICT (class, exercise) DO UPDATE SET due = excluded.due, penalty = excluded.penalty`, []any{d.Class, d.Exercise, d.Due, d.Penalty}}
		if d.Due.IsZero() {
			set = statement{`DELETE FROM deadlines WHERE class = ? AND exercise = ?`, []any{d.Class, d.Exercise}}
		}
		return q.all([]statement{set, lateAgain(d.Class, d.Exercise)})
	})
}

// lockClass has others who decide something of a class wait; one that is not there is sql.ErrNoRows.
func (q *query) lockClass(classID string) error {
	var id string
	return q.row(`SELECT id FROM classes WHERE id = ?`+q.locked(), classID).scan(&id)
}

// lateAgain decides anew which results of an exercise, or of all if it is empty, are late. It is class.LateRule in SQL.
func lateAgain(classID, exercise string) statement {
	text := `UPDATE results SET late = CASE WHEN
			received > (SELECT d.due FROM deadlines d WHERE d.class = results.class AND d.exercise = results.exercise)
			AND NOT EXISTS (SELECT 1 FROM extensions e WHERE e.class = results.class AND e.exercise = results.exercise AND e.person = results.person AND e.due >= results.received)
		THEN 1 ELSE 0 END WHERE class = ?`
	if exercise == "" {
		return statement{text, []any{classID}}
	}
	return statement{text + ` AND exercise = ?`, []any{classID, exercise}}
}

// rule is what holds for a person and an exercise.
func (q *query) rule(classID, exercise, person string) (class.LateRule, error) {
	var d class.Deadline
	err := q.row(`SELECT due, penalty FROM deadlines WHERE class = ? AND exercise = ?`, classID, exercise).scan(&d.Due, &d.Penalty)
	if errors.Is(err, sql.ErrNoRows) {
		return class.LateRule{}, nil
	}
	if err != nil {
		return class.LateRule{}, err
	}
	var e class.Extension
	err = q.row(`SELECT due FROM extensions WHERE class = ? AND exercise = ? AND person = ?`, classID, exercise, person).scan(&e.Due)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return class.LateRule{}, err
	}
	return class.RuleFor(d, e.Due), nil
}

// Deadlines are those of a class, by exercise.
func (s *Store) Deadlines(ctx context.Context, classID string) (all []class.Deadline, err error) {
	err = s.read(ctx, "Deadlines", func(q *query) error {
		all, err = q.deadlines(classID)
		return err
	})
	return all, err
}

func (q *query) deadlines(classID string) (all []class.Deadline, err error) {
	err = q.each(`SELECT class, exercise, due, penalty FROM deadlines WHERE class = ? ORDER BY exercise`, []any{classID}, func(scan func(...any) error) error {
		var d class.Deadline
		err := scan(&d.Class, &d.Exercise, &d.Due, &d.Penalty)
		all = append(all, d)
		return err
	})
	return all, err
}

// SetExtension gives one person more time for an exercise, or takes it back if Due is zero. Results that are kept already
// are late or in time by it.
func (s *Store) SetExtension(ctx context.Context, e class.Extension) error {
	if err := (class.Deadline{Exercise: e.Exercise, Due: e.Due}).Valid(); err != nil {
		return fmt.Errorf("store: SetExtension: %w", err)
	}
	return s.write(ctx, "SetExtension", func(q *query) error {
		q.changed = true
		if err := q.lockClass(e.Class); err != nil {
			return err
		}
		person, err := q.current(e.Class, e.Person)
		if err != nil {
			return err
		}
		set := statement{`INSERT INTO extensions (class, exercise, person, due) VALUES (?, ?, ?, ?)
			ON CONFLICT (class, exercise, person) DO UPDATE SET due = excluded.due`, []any{e.Class, e.Exercise, person, e.Due}}
		if e.Due.IsZero() {
			set = statement{`DELETE FROM extensions WHERE class = ? AND exercise = ? AND person = ?`, []any{e.Class, e.Exercise, person}}
		}
		return q.all([]statement{set, lateAgain(e.Class, e.Exercise)})
	})
}

// Extensions are those of a class, by exercise and person.
func (s *Store) Extensions(ctx context.Context, classID string) (all []class.Extension, err error) {
	err = s.read(ctx, "Extensions", func(q *query) error {
		all, err = q.extensions(classID)
		return err
	})
	return all, err
}

func (q *query) extensions(classID string) (all []class.Extension, err error) {
	err = q.each(`SELECT class, exercise, person, due FROM extensions WHERE class = ? ORDER BY exercise, person`, []any{classID}, func(scan func(...any) error) error {
		var e class.Extension
		err := scan(&e.Class, &e.Exercise, &e.Person, &e.Due)
		all = append(all, e)
		return err
	})
	return all, err
}
