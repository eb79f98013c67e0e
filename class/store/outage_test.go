package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"weir/class"
	"weir/class/store/pgtest"
)

// TestPostgresStopped has PostgreSQL go and come back: calls meanwhile say that it is the store, what was acknowledged is
// kept, and calls and signals work again by themselves.
func TestPostgresStopped(t *testing.T) {
	pg, err := pgtest.New()
	ok(t, err)
	t.Cleanup(func() { ok(t, pg.Close()) })
	url := got(pg.Database(ctx))(t)
	s, second := opened(t, url), opened(t, url)
	c := aClass(t, s)
	p := aPerson(t, s, c.ID, "Ana")
	live, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := s.Changes(live)
	receive(t, signals) // it listens
	r := aResult(p, "e", noon)
	_, _, err = s.AddResult(ctx, r)
	ok(t, err)

	ok(t, pg.Stop())
	refused(t, s.Ping(ctx), class.ErrUnavailable)
	_, err = s.ClassByID(ctx, c.ID)
	refused(t, err, class.ErrUnavailable)
	_, _, err = s.AddResult(ctx, r)
	refused(t, err, class.ErrUnavailable)
	if errors.Is(err, class.ErrNotFound) || errors.Is(err, class.ErrConflict) {
		t.Errorf("%v is also taken for a wrong request", err)
	}
	_, err = Open(ctx, url)
	refused(t, err, class.ErrUnavailable)
	for len(signals) > 0 {
		<-signals
	}

	ok(t, pg.Start())
	until(t, func() bool { return s.Ping(ctx) == nil && second.Ping(ctx) == nil })
	if all := got(s.Results(ctx, c.ID, ""))(t); len(all) != 1 || all[0].ID != r.ID {
		t.Errorf("after the stop: %+v", all)
	}
	if kept, _, err := second.AddResult(ctx, r); kept || err != nil {
		t.Errorf("sent again: %v, %v", kept, err)
	}
	receive(t, signals) // it listens again
	ok(t, second.SetDeadline(ctx, class.Deadline{Class: c.ID, Exercise: "e", Due: noon}))
	receive(t, signals)
}

// until waits for a condition that the tests of an outage cannot be told of.
func until(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 30 s")
		}
	}
}

func receive(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-c:
		if !open {
			t.Fatal("the channel is closed")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no signal within 30 s")
	}
}

func TestChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		c := aClass(t, s)
		other := s
		if s.postgres != nil {
			other = opened(t, url)
		}
		live, cancel := context.WithCancel(ctx)
		defer cancel()
		first, second := s.Changes(live), s.Changes(ctx)
		if s.postgres != nil {
			receive(t, first) // it listens
			receive(t, second)
		}
		change := func() {
			t.Helper()
			ok(t, other.UpdateClass(ctx, c.ID, func(c *class.Class) error { c.Steering.Frozen = !c.Steering.Frozen; return nil }))
		}
		change()
		receive(t, first)
		receive(t, second)
		cancel()
		for range first { // closed
		}
		change()
		receive(t, second)
		// Reading is no change.
		if _, err := other.Classes(ctx); err != nil || len(second) != 0 {
			t.Errorf("%v, %d signals", err, len(second))
		}
		third := s.Changes(ctx)
		ok(t, s.Close())
		for range second {
		}
		for range third {
		}
		if _, open := <-s.Changes(ctx); open {
			t.Error("a signal of a store that is closed")
		}
		_, err := s.Classes(ctx)
		refused(t, err, class.ErrUnavailable)
	})
}

// TestContexts has a caller leave while its call waits for another transaction.
func TestContexts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		c := aClass(t, s)
		p := aPerson(t, s, c.ID, "Ana")
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.Seen(gone, p.ID, noon); !errors.Is(err, context.Canceled) || errors.Is(err, class.ErrUnavailable) {
			t.Errorf("a call of somebody who has left: %v", err)
		}
		second := opened(t, url)
		ok(t, s.write(ctx, "test", func(q *query) error {
			if err := q.exec(`UPDATE people SET hand = 5 WHERE id = ?`, p.ID); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if err := second.Seen(short, p.ID, noon); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, class.ErrUnavailable) {
				t.Errorf("a call that waits too long for its caller: %v", err)
			}
			// Who only reads does not wait.
			_, err := second.PersonByID(ctx, p.ID)
			return err
		}))
		ok(t, second.Seen(ctx, p.ID, noon))
	})
}

// TestManyServersStart has several servers find an empty database at once.
func TestManyServersStart(t *testing.T) {
	for _, name := range sorted(databases) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databases[name](t)
			errs := make(chan error)
			for range 4 {
				go func() {
					s, err := Open(ctx, url)
					if err == nil {
						err = errors.Join(s.Ping(ctx), s.Close())
					}
					errs <- err
				}()
			}
			for range 4 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
