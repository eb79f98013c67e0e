package store

import (
	"context"

	"weir/class"
)

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
