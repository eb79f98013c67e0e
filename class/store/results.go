package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/class"
)

const resultColumns = `id, class, person, exercise, status, points, max_points, verified, late, engine, digest, source, sent, received, report`

func scanResult(scan func(...any) error) (r class.Result, err error) {
	err = scan(&r.ID, &r.Class, &r.Person, &r.Exercise, &r.Status, &r.Points, &r.MaxPoints, &r.Verified, &r.Late, &r.Engine, &r.Digest,
		&r.Source, &r.Sent, &r.Received, &r.Report)
	return r, err
}

// AddResult keeps a result, once for an ID however often it is sent: kept says whether it was this time, and stored is what is kept,
// without its work. Whether it is late goes by Received, the server's clock; a zero Received is now. An ErrLate is a
// result after a deadline that takes none, an ErrConflict an ID that somebody else has.
func (s *Store) AddResult(ctx context.Context, r class.Result) (kept bool, stored class.Result, err error) {
	if r.ID == "" || r.Exercise == "" {
		return false, class.Result{}, fmt.Errorf("store: AddResult: %w: a result needs an ID and an exercise", class.ErrInvalid)
	}
	if r.Received.IsZero() {
		r.Received = time.Now()
	}
	r.Received = time.UnixMicro(micros(r.Received)).UTC() // as it is kept, so that it is judged now as it will be later
	r.Source = class.SourceDigest([]byte(class.ParseWork(r.Work).Core))
	err = s.write(ctx, "AddResult", func(q *query) error {
		kept, stored = false, class.Result{}
		// An end of the class that comes at the same time waits for this, or this for it.
		var state class.State
		if err := q.row(`SELECT state FROM classes WHERE id = ?`+q.shared(), r.Class).scan(&state); err != nil {
			return err
		}
		// The lock on the person has the same result, sent twice at once, come one after the other.
		person, err := q.current(r.Class, r.Person)
		if err != nil {
			return err
		}
		stored, err = scanResult(q.row(`SELECT `+resultColumns+` FROM results WHERE id = ?`, r.ID).scan)
		switch {
		case err == nil && (stored.Person != person || stored.Exercise != r.Exercise):
			stored = class.Result{}
			return fmt.Errorf("%w: another result has the id %s", class.ErrConflict, r.ID)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if state != class.Open {
			return class.ErrClosed
		}
		rule, err := q.rule(r.Class, r.Exercise, person)
		if err != nil {
			return err
		}
		if !rule.Taken(r.Received) {
			return class.ErrLate
		}
		n := r
		n.Person, n.Late = person, rule.Late(r.Received)
		err = q.exec(`INSERT INTO results (`+resultColumns+`, work) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			n.ID, n.Class, n.Person, n.Exercise, n.Status, n.Points, n.MaxPoints, n.Verified, n.Late, n.Engine, n.Digest, n.Source, n.Sent, n.Received, n.Report, n.Work)
		if err != nil {
			return err
		}
		q.changed, kept = true, true
		stored, err = scanResult(q.row(`SELECT `+resultColumns+` FROM results WHERE id = ?`, r.ID).scan)
		return err
	})
	if err != nil {
		return false, class.Result{}, err
	}
	return kept, stored, nil
}

// Results are those of a class in the order they were received, without the work: of one person, also for one
// who was merged, or of all if person is empty.
func (s *Store) Results(ctx context.Context, classID, person string) (all []class.Result, err error) {
	err = s.read(ctx, "Results", func(q *query) error {
		if person != "" {
			if person, err = q.following(person); errors.Is(err, sql.ErrNoRows) {
				return nil // nobody has no results
			}
			if err != nil {
				return err
			}
		}
		all, err = q.results(classID, person)
		return err
	})
	return all, err
}

func (q *query) results(classID, person string) (all []class.Result, err error) {
	where, args := `class = ?`, []any{classID}
	if person != "" {
		where, args = where+` AND person = ?`, append(args, person)
	}
	err = q.each(`SELECT `+resultColumns+` FROM results WHERE `+where+` ORDER BY received, id`, args, func(scan func(...any) error) error {
		r, err := scanResult(scan)
		all = append(all, r)
		return err
	})
	return all, err
}

// Work is what was handed in with a result.
func (s *Store) Work(ctx context.Context, result string) (work []byte, err error) {
	err = s.read(ctx, "Work", func(q *query) error {
		return q.row(`SELECT work FROM results WHERE id = ?`, result).scan(&work)
	})
	return work, err
}
