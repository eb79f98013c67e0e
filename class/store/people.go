package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir/class"
)

const personColumns = `id, class, name, name_key, alias, joined, seen, hand, place, merged, token_hash, revision`

func scanPerson(scan func(...any) error) (p class.Person, revision int64, err error) {
	var key string
	err = scan(&p.ID, &p.Class, &p.Name, &key, &p.Alias, &p.Joined, &p.Seen, &p.Hand, asJSON{&p.Place}, &p.Merged, &p.TokenHash, &revision)
	p.Place.Since = p.Place.Since.UTC()
	return p, revision, err
}

// AddPerson adds somebody to a class that is open. An equal name gets a suffix, such as "Ana 2"; an empty alias is none.
func (s *Store) AddPerson(ctx context.Context, classID, name, alias string, tokenHash []byte) (p class.Person, err error) {
	if name, err = class.CleanName(name); err == nil && alias != "" {
		alias, err = class.CleanName(alias)
	}
	if err == nil && len(tokenHash) == 0 {
		err = fmt.Errorf("%w: a person needs a token", class.ErrInvalid)
	}
	if err != nil {
		return class.Person{}, fmt.Errorf("store: AddPerson: %w", err)
	}
	now := time.UnixMicro(time.Now().UnixMicro()).UTC()
	p = class.Person{ID: class.NewID(), Class: classID, Alias: alias, Joined: now, Seen: now, TokenHash: tokenHash}
	err = s.write(ctx, "AddPerson", func(q *query) error {
		q.changed = true
		// The lock on the class has people with equal names come one after the other.
		if err := q.open(classID); err != nil {
			return err
		}
		keys := map[string]bool{}
		err := q.each(`SELECT name_key FROM people WHERE class = ?`, []any{classID}, func(scan func(...any) error) error {
			var key string
			err := scan(&key)
			keys[key] = true
			return err
		})
		if err != nil {
			return err
		}
		p.Name = class.FreeName(name, func(key string) bool { return keys[key] })
		return q.exec(`INSERT INTO people (`+personColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
			p.ID, p.Class, p.Name, class.NameKey(p.Name), p.Alias, p.Joined, p.Seen, p.Hand, asJSON{p.Place}, p.Merged, p.TokenHash)
	})
	if err != nil {
		return class.Person{}, err
	}
	return p, nil
}

// open locks a class and sees that it takes something new.
func (q *query) open(classID string) error {
	var state class.State
	if err := q.row(`SELECT state FROM classes WHERE id = ?`+q.locked(), classID).scan(&state); err != nil {
		return err
	}
	if state != class.Open {
		return class.ErrClosed
	}
	return nil
}

// PersonByID finds somebody, also one that was merged into another.
func (s *Store) PersonByID(ctx context.Context, id string) (p class.Person, err error) {
	err = s.read(ctx, "PersonByID", func(q *query) error {
		p, _, err = scanPerson(q.row(`SELECT `+personColumns+` FROM people WHERE id = ?`, id).scan)
		return err
	})
	return p, err
}

// PersonByToken finds who has the token of this hash. The token of one that was merged is the other's from then on.
func (s *Store) PersonByToken(ctx context.Context, hash []byte) (p class.Person, err error) {
	err = s.read(ctx, "PersonByToken", func(q *query) error {
		p, _, err = scanPerson(q.row(`SELECT `+personColumns+` FROM people WHERE token_hash = ?`, hash).scan)
		if err == nil && p.Merged != "" {
			p, _, err = scanPerson(q.row(`SELECT `+personColumns+` FROM people WHERE id = ?`, p.Merged).scan)
		}
		return err
	})
	return p, err
}

// People are those of a class in the order they joined, without those that were merged into another.
func (s *Store) People(ctx context.Context, classID string) (all []class.Person, err error) {
	err = s.read(ctx, "People", func(q *query) error {
		all, err = q.people(classID)
		return err
	})
	return all, err
}

func (q *query) people(classID string) (all []class.Person, err error) {
	err = q.each(`SELECT `+personColumns+` FROM people WHERE class = ? AND merged = '' ORDER BY joined, id`, []any{classID}, func(scan func(...any) error) error {
		p, _, err := scanPerson(scan)
		all = append(all, p)
		return err
	})
	return all, err
}

// Merged are those of a class who were merged into another, in the order they joined.
func (s *Store) Merged(ctx context.Context, classID string) (all []class.Person, err error) {
	err = s.read(ctx, "Merged", func(q *query) error {
		all = nil
		return q.each(`SELECT `+personColumns+` FROM people WHERE class = ? AND merged <> '' ORDER BY joined, id`, []any{classID}, func(scan func(...any) error) error {
			p, _, err := scanPerson(scan)
			all = append(all, p)
			return err
		})
	})
	return all, err
}

// UpdatePerson changes somebody by f, which may be called again when the person was changed meanwhile, and whose error ends it.
// Class, Merged and Joined stay. A name that another one has is an ErrConflict.
func (s *Store) UpdatePerson(ctx context.Context, id string, f func(*class.Person) error) error {
	return s.update(ctx, "UpdatePerson", func(ctx context.Context) error {
		var p class.Person
		var revision int64
		err := s.read(ctx, "UpdatePerson", func(q *query) (err error) {
			p, revision, err = scanPerson(q.row(`SELECT `+personColumns+` FROM people WHERE id = ?`, id).scan)
			return err
		})
		if err != nil {
			return err
		}
		was := p
		if err := f(&p); err != nil {
			return err
		}
		// A name that stays may be longer than one that is given: by its suffix.
		if p.Name != was.Name {
			p.Name, err = class.CleanName(p.Name)
		}
		if err == nil && p.Alias != was.Alias && p.Alias != "" {
			p.Alias, err = class.CleanName(p.Alias)
		}
		if err != nil {
			return fmt.Errorf("store: UpdatePerson: %w", err)
		}
		return s.write(ctx, "UpdatePerson", func(q *query) error {
			q.changed = true
			n, err := q.count(`UPDATE people SET name = ?, name_key = ?, alias = ?, seen = ?, hand = ?, place = ?, token_hash = ?, revision = revision + 1
				WHERE id = ? AND revision = ?`,
				p.Name, class.NameKey(p.Name), p.Alias, p.Seen, p.Hand, asJSON{p.Place}, p.TokenHash, id, revision)
			return overtaken(n, err)
		})
	})
}

// Seen notes when somebody was here last. Nobody else is told.
func (s *Store) Seen(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "Seen", func(q *query) error {
		return found(q.count(`UPDATE people SET seen = ?, revision = revision + 1 WHERE id = ?`, at, id))
	})
}

// SetPlaces notes in one transaction where people are, by their IDs; those who are no longer there are left out. It is for
// the miniatures of many learners, which a server writes each second.
func (s *Store) SetPlaces(ctx context.Context, places map[string]class.Place) error {
	if len(places) == 0 {
		return nil
	}
	return s.write(ctx, "SetPlaces", func(q *query) error {
		q.changed = true
		for _, id := range slices.Sorted(maps.Keys(places)) { // in one order on all servers, so that none waits for each other
			if err := q.exec(`UPDATE people SET place = ?, revision = revision + 1 WHERE id = ?`, asJSON{places[id]}, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Merge makes one person of two of a class: into has the results, answers, extensions and sessions of both, and from's
// token from then on. Of two answers to a question the earlier counts, of two extensions the later.
func (s *Store) Merge(ctx context.Context, classID, from, into string) error {
	if from == into {
		return fmt.Errorf("store: Merge: %w: nobody can be merged into themselves", class.ErrInvalid)
	}
	return s.write(ctx, "Merge", func(q *query) error {
		q.changed = true
		// The class is locked first, here and wherever else, so that none waits for each other.
		if err := q.lockClass(classID); err != nil {
			return err
		}
		for _, id := range []string{from, into} {
			var merged string
			err := q.row(`SELECT merged FROM people WHERE id = ? AND class = ?`+q.locked(), id, classID).scan(&merged)
			switch {
			case err != nil:
				return err
			case merged != "":
				return fmt.Errorf("%w: %s was merged into another one before", class.ErrConflict, id)
			}
		}
		return q.all([]statement{
			{`UPDATE results SET person = ? WHERE person = ?`, []any{into, from}},
			{`DELETE FROM answers WHERE person = ? AND EXISTS (SELECT 1 FROM answers b WHERE b.question = answers.question AND b.person = ? AND b.at <= answers.at)`, []any{from, into}},
			{`DELETE FROM answers WHERE person = ? AND EXISTS (SELECT 1 FROM answers b WHERE b.question = answers.question AND b.person = ?)`, []any{into, from}},
			{`UPDATE answers SET person = ? WHERE person = ?`, []any{into, from}},
			{`DELETE FROM extensions WHERE person = ? AND EXISTS (SELECT 1 FROM extensions b WHERE b.class = extensions.class AND b.exercise = extensions.exercise AND b.person = ? AND b.due >= extensions.due)`, []any{from, into}},
			{`DELETE FROM extensions WHERE person = ? AND EXISTS (SELECT 1 FROM extensions b WHERE b.class = extensions.class AND b.exercise = extensions.exercise AND b.person = ?)`, []any{into, from}},
			{`UPDATE extensions SET person = ? WHERE person = ?`, []any{into, from}},
			{`UPDATE sessions SET person = ? WHERE person = ?`, []any{into, from}},
			{`DELETE FROM progress WHERE person = ? AND EXISTS (SELECT 1 FROM progress b WHERE b.person = ?)`, []any{from, into}},
			{`UPDATE progress SET person = ? WHERE person = ?`, []any{into, from}},
			{`UPDATE people SET merged = ?, hand = 0, revision = revision + 1 WHERE id = ? OR merged = ?`, []any{into, from, from}},
			lateAgain(classID, ""),
		})
	})
}

type statement struct {
	text string
	args []any
}

func (q *query) all(list []statement) error {
	for _, s := range list {
		if err := q.exec(s.text, s.args...); err != nil {
			return err
		}
	}
	return nil
}

// current follows a merge to the person that counts, and locks the row.
func (q *query) current(classID, id string) (string, error) {
	var merged string
	err := q.row(`SELECT merged FROM people WHERE id = ? AND class = ?`+q.locked(), id, classID).scan(&merged)
	if err == nil && merged != "" {
		return q.current(classID, merged)
	}
	return id, err
}

// DeletePerson removes somebody with all they have, and those that were merged into them. In the audit log they are no
// longer named.
func (s *Store) DeletePerson(ctx context.Context, id string) error {
	return s.write(ctx, "DeletePerson", func(q *query) error {
		q.changed = true
		var classID string
		err := q.row(`SELECT class FROM people WHERE id = ?`, id).scan(&classID)
		if err == nil {
			err = q.lockClass(classID)
		}
		if err != nil {
			return err
		}
		var forget []statement
		const deleted = `UPDATE audit SET about = REPLACE(about, ?, '(deleted)') WHERE class = ? AND `
		err = q.each(`SELECT id, name FROM people WHERE id = ? OR merged = ?`, []any{id, id}, func(scan func(...any) error) error {
			var id, name string
			err := scan(&id, &name)
			forget = append(forget,
				statement{deleted + `about LIKE '%' || ? || '%'`, []any{id, classID, id}}, // it may stand among other words, and is in no other one
				statement{deleted + `about = ?`, []any{name, classID, name}})
			return err
		})
		if err != nil {
			return err
		}
		return q.all(append(forget, statement{`DELETE FROM people WHERE id = ? OR merged = ?`, []any{id, id}}))
	})
}

// following is the person that counts: the one that somebody was merged into, or themselves.
func (q *query) following(id string) (string, error) {
	err := q.row(`SELECT CASE WHEN merged = '' THEN id ELSE merged END FROM people WHERE id = ?`, id).scan(&id)
	return id, err
}

// Progress is what somebody's pages keep, as SetProgress got it; nil if there is nothing yet. Somebody who was merged has
// the other's.
func (s *Store) Progress(ctx context.Context, person string) (data []byte, err error) {
	err = s.read(ctx, "Progress", func(q *query) error {
		data, err = q.progress(person)
		return err
	})
	return data, err
}

func (q *query) progress(person string) (data []byte, err error) {
	if person, err = q.following(person); err != nil {
		return nil, err
	}
	err = q.row(`SELECT data FROM progress WHERE person = ?`, person).scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, err
}

// SetProgress keeps what somebody's pages want kept, of somebody who was merged as the other's.
func (s *Store) SetProgress(ctx context.Context, person string, data []byte) error {
	return s.write(ctx, "SetProgress", func(q *query) error {
		person, err := q.following(person)
		if err != nil {
			return err
		}
		return q.exec(`INSERT INTO progress (person, data) VALUES (?, ?) ON CONFLICT (person) DO UPDATE SET data = excluded.data`, person, data)
	})
}
