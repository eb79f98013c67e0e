package store

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// notifyChannel is where servers on one PostgreSQL tell each other that something has changed.
const notifyChannel = "weir_class"

const (
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 2 * time.Second
	listenAlive    = 20 * time.Second // between two looks whether the connection that listens still is one
)

// changes hands signals on to all who wait for them.
type changes struct {
	mu        sync.Mutex
	waiting   map[chan struct{}]context.CancelFunc
	listening context.CancelFunc // nil while nobody listens to PostgreSQL
	listeners sync.WaitGroup     // more than one only while the one before ends
	closed    bool
}

func newChanges() *changes { return &changes{waiting: map[chan struct{}]context.CancelFunc{}} }

// Changes signals after something in the database may have changed, by this server or, on PostgreSQL, by another one. Signals
// that nobody waited for are one. The channel is closed when ctx ends or the store is closed.
func (s *Store) Changes(ctx context.Context) <-chan struct{} {
	c := s.changes
	to := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		cancel()
		close(to)
		return to
	}
	c.waiting[to] = cancel
	if s.postgres != nil && c.listening == nil {
		listen, stop := context.WithCancel(context.Background())
		c.listening = stop
		c.listeners.Go(func() { s.listen(listen) })
	}
	context.AfterFunc(ctx, func() { c.leave(to) })
	return to
}

// leave ends one channel, and the listening with the last one.
func (c *changes) leave(to chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel, ok := c.waiting[to]
	if !ok {
		return
	}
	cancel()
	delete(c.waiting, to)
	close(to)
	if len(c.waiting) == 0 && c.listening != nil {
		c.listening()
		c.listening = nil
	}
}

// signal wakes all who wait.
func (c *changes) signal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for to := range c.waiting {
		select {
		case to <- struct{}{}:
		default:
		}
	}
}

// close ends all channels and waits for the one who listens.
func (c *changes) close() {
	c.mu.Lock()
	c.closed = true
	var all []chan struct{}
	for to := range c.waiting {
		all = append(all, to)
	}
	c.mu.Unlock()
	for _, to := range all {
		c.leave(to)
	}
	c.listeners.Wait()
}

// listen hands on what PostgreSQL notifies, and connects again when the connection is lost.
func (s *Store) listen(ctx context.Context) {
	wait := reconnectFirst
	for ctx.Err() == nil {
		if s.listenOnce(ctx) {
			wait = reconnectFirst
		}
		t := time.NewTimer(wait + rand.N(wait))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
		wait = min(2*wait, reconnectMost)
	}
}

// listenOnce listens until the connection is lost, and says whether there was one.
func (s *Store) listenOnce(ctx context.Context) bool {
	conn, err := pgx.ConnectConfig(ctx, s.postgres.Copy())
	if err != nil {
		return false
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(end) // it is of no more use, whatever it says
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+notifyChannel); err != nil {
		return false
	}
	s.changes.signal() // for what was missed until now
	for {
		alive, cancel := context.WithTimeout(ctx, listenAlive)
		_, err := conn.WaitForNotification(alive)
		quiet := alive.Err() != nil
		cancel()
		switch {
		case err == nil:
			s.changes.signal()
		case ctx.Err() != nil || !quiet:
			return true
		default:
			look, cancel := context.WithTimeout(ctx, connectTime)
			err := conn.Ping(look)
			cancel()
			if err != nil {
				return true
			}
		}
	}
}
