package store

import (
	"context"
	"time"

	"weir/class"
)

// Audit notes what an instructor did; a zero At is now.
func (s *Store) Audit(ctx context.Context, a class.Audited) error {
	if a.At.IsZero() {
		a.At = time.Now()
	}
	return s.write(ctx, "Audit", func(q *query) error {
		return q.exec(`INSERT INTO audit (id, class, at, who, what, about) VALUES (?, ?, ?, ?, ?, ?)`, class.NewID(), a.Class, a.At, a.Who, a.What, a.About)
	})
}

// AuditLog is what was noted of a class, the oldest first.
func (s *Store) AuditLog(ctx context.Context, classID string) (all []class.Audited, err error) {
	err = s.read(ctx, "AuditLog", func(q *query) error {
		all, err = q.auditLog(classID)
		return err
	})
	return all, err
}

func (q *query) auditLog(classID string) (all []class.Audited, err error) {
	err = q.each(`SELECT class, at, who, what, about FROM audit WHERE class = ? ORDER BY at, id`, []any{classID}, func(scan func(...any) error) error {
		var a class.Audited
		err := scan(&a.Class, &a.At, &a.Who, &a.What, &a.About)
		all = append(all, a)
		return err
	})
	return all, err
}
