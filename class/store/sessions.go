package store

import (
	"context"
	"database/sql"
	"fmt"

	"weir/class"
)

const sessionColumns = `id, class, person, server, lab, knobs, dir, started`

func scanSession(scan func(...any) error) (o class.Session, err error) {
	var person sql.NullString
	err = scan(&o.ID, &o.Class, &person, &o.Server, &o.Lab, asJSON{&o.Knobs}, &o.Dir, &o.Started)
	o.Person = person.String
	return o, err
}

// PutSession keeps a session, or what has changed of it.
func (s *Store) PutSession(ctx context.Context, o class.Session) error {
	if o.ID == "" {
		return fmt.Errorf("store: PutSession: %w: a session needs an ID", class.ErrInvalid)
	}
	return s.write(ctx, "PutSession", func(q *query) error {
		q.changed = true
		person := sql.NullString{String: o.Person, Valid: o.Person != ""}
		if o.Person != "" {
			current, err := q.current(o.Class, o.Person)
			if err != nil {
				return err
			}
			person.String = current
		}
		return q.exec(`INSERT INTO sessions (`+sessionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET class = excluded.class, person = excluded.person, server = excluded.server, lab = excluded.lab,
			knobs = excluded.knobs, dir = excluded.dir, started = excluded.started`,
			o.ID, o.Class, person, o.Server, o.Lab, asJSON{o.Knobs}, o.Dir, o.Started)
	})
}

// DeleteSession forgets a session; one that is not there is no error.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	return s.write(ctx, "DeleteSession", func(q *query) error {
		n, err := q.count(`DELETE FROM sessions WHERE id = ?`, id)
		q.changed = n > 0
		return err
	})
}

// SessionsOf are those of one server, the oldest first.
func (s *Store) SessionsOf(ctx context.Context, server string) (all []class.Session, err error) {
	err = s.read(ctx, "SessionsOf", func(q *query) error {
		all, err = q.sessions(`server = ?`, server)
		return err
	})
	return all, err
}

func (q *query) sessions(where string, arg any) (all []class.Session, err error) {
	err = q.each(`SELECT `+sessionColumns+` FROM sessions WHERE `+where+` ORDER BY started, id`, []any{arg}, func(scan func(...any) error) error {
		o, err := scanSession(scan)
		all = append(all, o)
		return err
	})
	return all, err
}

// SessionByID finds a session of whatever server.
func (s *Store) SessionByID(ctx context.Context, id string) (o class.Session, err error) {
	err = s.read(ctx, "SessionByID", func(q *query) error {
		o, err = scanSession(q.row(`SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id).scan)
		return err
	})
	return o, err
}
