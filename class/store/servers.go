package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"weir/class"
)

const (
	secretBytes = 32
	// forgottenAfter is when a server that gives no sign is no longer known.
	forgottenAfter = 7 * 24 * time.Hour
)

// Secret is something random that all servers on the database share; the first that asks makes it. Backups do not have it.
func (s *Store) Secret(ctx context.Context, name string) (value []byte, err error) {
	made := make([]byte, secretBytes)
	_, _ = rand.Read(made) // never fails
	err = s.write(ctx, "Secret", func(q *query) error {
		if err := q.exec(`INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, name, made); err != nil {
			return err
		}
		return q.row(`SELECT value FROM secrets WHERE name = ?`, name).scan(&value)
	})
	return value, err
}

// PutServer says that a server is there now, and where. It is not told to the others: they ask.
func (s *Store) PutServer(ctx context.Context, v class.Server) error {
	if v.ID == "" || v.URL == "" {
		return fmt.Errorf("store: PutServer: %w: a server needs an ID and a URL", class.ErrInvalid)
	}
	return s.write(ctx, "PutServer", func(q *query) error {
		if err := q.exec(`DELETE FROM servers WHERE seen < ?`, v.Seen.Add(-forgottenAfter)); err != nil {
			return err
		}
		return q.exec(`INSERT INTO servers (id, url, pin, seen) VALUES (?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET url = excluded.url, pin = excluded.pin, seen = excluded.seen`, v.ID, v.URL, v.Pin, v.Seen)
	})
}

// DeleteServer takes a server off that is not there any more; one that was not there is no error.
func (s *Store) DeleteServer(ctx context.Context, id string) error {
	return s.write(ctx, "DeleteServer", func(q *query) error {
		return q.exec(`DELETE FROM servers WHERE id = ?`, id)
	})
}

// Servers are those on the database.
func (s *Store) Servers(ctx context.Context) (all []class.Server, err error) {
	err = s.read(ctx, "Servers", func(q *query) error {
		all = nil
		return q.each(`SELECT id, url, pin, seen FROM servers ORDER BY id`, nil, func(scan func(...any) error) error {
			var v class.Server
			err := scan(&v.ID, &v.URL, &v.Pin, &v.Seen)
			all = append(all, v)
			return err
		})
	})
	return all, err
}

// SessionServer finds a session of whatever server, and that server as far as it is known: without a URL it is not.
func (s *Store) SessionServer(ctx context.Context, id string) (o class.Session, v class.Server, err error) {
	err = s.read(ctx, "SessionServer", func(q *query) error {
		if o, err = scanSession(q.row(`SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id).scan); err != nil {
			return err
		}
		v = class.Server{ID: o.Server}
		return q.each(`SELECT url, pin, seen FROM servers WHERE id = ?`, []any{o.Server}, func(scan func(...any) error) error {
			return scan(&v.URL, &v.Pin, &v.Seen)
		})
	})
	return o, v, err
}
