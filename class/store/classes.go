package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"weir/class"
)

const classColumns = `id, name, code, zone, state, created, expires, scoreboard, may_drive, steering, token_hash, revision`

// updateTries bounds how often a change of one row is tried while others change it.
const updateTries = 50

// errOvertaken is an update that somebody else was faster with.
var errOvertaken = errors.New("overtaken")

func scanClass(scan func(...any) error) (c class.Class, revision int64, err error) {
	err = scan(&c.ID, &c.Name, &c.Code, &c.Zone, &c.State, &c.Created, &c.Expires, &c.Scoreboard, &c.MayDrive,
		asJSON{&c.Steering}, &c.TokenHash, &revision)
	return c, revision, err
}

// CreateClass adds a class. It is an ErrConflict if there is one with its ID or code.
func (s *Store) CreateClass(ctx context.Context, c class.Class) error {
	if c.ID == "" || c.Code == "" || len(c.TokenHash) == 0 {
		return fmt.Errorf("store: CreateClass: %w: a class needs an ID, a code and a token", class.ErrInvalid)
	}
	if c.State == "" {
		c.State = class.Open
	}
	return s.write(ctx, "CreateClass", func(q *query) error {
		q.changed = true
		return q.exec(`INSERT INTO classes (`+classColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
			c.ID, c.Name, c.Code, c.Zone, c.State, c.Created, c.Expires, c.Scoreboard, c.MayDrive, asJSON{c.Steering}, c.TokenHash)
	})
}

// ClassByID finds a class.
func (s *Store) ClassByID(ctx context.Context, id string) (class.Class, error) {
	return s.oneClass(ctx, "ClassByID", "id", id)
}

// ClassByCode finds the class of a join code, as class.ParseCode gives it.
func (s *Store) ClassByCode(ctx context.Context, code string) (class.Class, error) {
	return s.oneClass(ctx, "ClassByCode", "code", code)
}

// ClassByToken finds the class whose instructor has the token of this hash.
func (s *Store) ClassByToken(ctx context.Context, hash []byte) (class.Class, error) {
	return s.oneClass(ctx, "ClassByToken", "token_hash", hash)
}

func (s *Store) oneClass(ctx context.Context, method, column string, value any) (c class.Class, err error) {
	err = s.read(ctx, method, func(q *query) error {
		c, _, err = scanClass(q.row(`SELECT `+classColumns+` FROM classes WHERE `+column+` = ?`, value).scan)
		return err
	})
	return c, err
}

// Classes are all, the oldest first.
func (s *Store) Classes(ctx context.Context) (all []class.Class, err error) {
	err = s.read(ctx, "Classes", func(q *query) error {
		all = nil
		return q.each(`SELECT `+classColumns+` FROM classes ORDER BY created, id`, nil, func(scan func(...any) error) error {
			c, _, err := scanClass(scan)
			all = append(all, c)
			return err
		})
	})
	return all, err
}

// UpdateClass changes a class by f, which may be called again when somebody else changed it meanwhile, and whose error ends it. The
// version of Steering counts by itself. An ErrConflict is a code that another class has, or no end of others' changes.
func (s *Store) UpdateClass(ctx context.Context, id string, f func(*class.Class) error) error {
	return s.update(ctx, "UpdateClass", func(ctx context.Context) error {
		before, revision, err := s.classAt(ctx, id)
		if err != nil {
			return err
		}
		c := before
		was, err := json.Marshal(before.Steering) // now, because f may change the knobs where they are
		if err != nil {
			return err
		}
		if err := f(&c); err != nil {
			return err
		}
		c.ID, c.Steering.Version = before.ID, before.Steering.Version
		is, err := json.Marshal(c.Steering)
		if err != nil {
			return fmt.Errorf("store: UpdateClass: %w: steering: %w", class.ErrInvalid, err)
		}
		if !bytes.Equal(was, is) {
			c.Steering.Version++
		}
		return s.write(ctx, "UpdateClass", func(q *query) error {
			q.changed = true
			n, err := q.count(`UPDATE classes SET name = ?, code = ?, zone = ?, state = ?, created = ?, expires = ?, scoreboard = ?, may_drive = ?,
				steering = ?, token_hash = ?, revision = revision + 1 WHERE id = ? AND revision = ?`,
				c.Name, c.Code, c.Zone, c.State, c.Created, c.Expires, c.Scoreboard, c.MayDrive, asJSON{c.Steering}, c.TokenHash, c.ID, revision)
			return overtaken(n, err)
		})
	})
}

func (s *Store) classAt(ctx context.Context, id string) (c class.Class, revision int64, err error) {
	err = s.read(ctx, "UpdateClass", func(q *query) error {
		c, revision, err = scanClass(q.row(`SELECT `+classColumns+` FROM classes WHERE id = ?`, id).scan)
		return err
	})
	return c, revision, err
}

// overtaken is the error of an update that found no row as it was read.
func overtaken(rows int64, err error) error {
	if err == nil && rows == 0 {
		// An ErrConflict is handed on as it is, with what tells this one from others in it.
		return fmt.Errorf("%w: %w", class.ErrConflict, errOvertaken)
	}
	return err
}

// update tries a change until nobody else was faster.
func (s *Store) update(ctx context.Context, method string, once func(context.Context) error) error {
	for try := 0; ; try++ {
		err := once(ctx)
		if !errors.Is(err, errOvertaken) || try == updateTries {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("store: %s: %w", method, err)
		}
	}
}

// DeleteClass removes a class with all it has.
func (s *Store) DeleteClass(ctx context.Context, id string) error {
	return s.write(ctx, "DeleteClass", func(q *query) error {
		q.changed = true
		return found(q.count(`DELETE FROM classes WHERE id = ?`, id))
	})
}

// found is an ErrNotFound if no row was touched.
func found(rows int64, err error) error {
	if err == nil && rows == 0 {
		return class.ErrNotFound
	}
	return err
}

// Sweep removes the classes that have expired, with all they have, and names them.
func (s *Store) Sweep(ctx context.Context, now time.Time) (removed []string, err error) {
	err = s.write(ctx, "Sweep", func(q *query) error {
		removed = nil
		err := q.each(`SELECT id FROM classes WHERE expires <> 0 AND expires <= ? ORDER BY id`+q.locked(), []any{now}, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			removed = append(removed, id)
			return err
		})
		q.changed = len(removed) > 0
		for _, id := range removed {
			if err == nil {
				err = q.exec(`DELETE FROM classes WHERE id = ?`, id)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}
