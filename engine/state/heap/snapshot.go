package heap

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"weir/engine/state"
)

// Snapshot is a backend as it was: for each map its slots, for timers their queues, for states that nobody has made yet
// their bytes.
type Snapshot struct {
	b       *Backend // of which only what never changes is read, and its atomic fields
	id      int64
	tables  []anySnapshot
	timers  *state.TimerSnapshot
	pending []pendingState

	released atomic.Bool // by the caller
	done     atomic.Bool // and nobody writes it any more
	mu       sync.Mutex
	writing  int
}

// Snapshot implements state.Backend: it copies slots and pointers, and nothing that they lead to.
func (b *Backend) Snapshot(id int64) (state.Snapshot, error) {
	if b.closed.Load() {
		return nil, state.ErrClosed
	}
	b.collect()
	s := &Snapshot{b: b, id: id, timers: b.timers.Snapshot()}
	for _, t := range b.tables {
		s.tables = append(s.tables, t.snapshot())
	}
	for _, p := range b.pending {
		s.pending = append(s.pending, *p)
	}
	b.snapshots = append(b.snapshots, s)
	return s, nil
}

// ID implements state.Snapshot.
func (s *Snapshot) ID() int64 { return s.id }

// Write implements state.Snapshot.
func (s *Snapshot) Write(ctx context.Context, w io.Writer) ([]state.GroupOffset, error) {
	s.mu.Lock()
	s.writing++
	s.mu.Unlock()
	defer s.end()
	groups := s.b.ctx.Groups()
	out := state.NewCanonicalWriter(ctx, &closing{w, s.b}, s.b.ctx.KeyType())
	for g := groups.First; g <= groups.Last; g++ {
		if s.b.closed.Load() {
			return nil, state.ErrClosed
		}
		if s.released.Load() {
			return nil, state.ErrReleased
		}
		if !s.has(g) {
			continue
		}
		out.Group(g)
		if err := s.writeGroup(out, g); err != nil {
			return nil, err
		}
	}
	offsets, err := out.Finish()
	if err != nil {
		return nil, err
	}
	return offsets, nil
}

func (s *Snapshot) has(group int) bool {
	for _, t := range s.tables {
		if t.size(group) > 0 {
			return true
		}
	}
	for i := range s.pending {
		if len(s.pending[i].groups[group]) > 0 {
			return true
		}
	}
	return s.timers.Has(group)
}

func (s *Snapshot) writeGroup(out *state.CanonicalWriter, group int) error {
	for _, t := range s.tables {
		if t.size(group) > 0 {
			if err := t.writeGroup(out, group); err != nil {
				return err
			}
		}
	}
	for i := range s.pending {
		for _, blocks := range s.pending[i].groups[group] {
			if err := out.Raw(s.pending[i].meta, blocks); err != nil {
				return err
			}
		}
	}
	return s.timers.WriteGroup(out, group)
}

// closing ends a write when the backend is closed, also one that was blocked then.
type closing struct {
	w io.Writer
	b *Backend
}

func (c *closing) Write(p []byte) (int, error) {
	if c.b.closed.Load() {
		return 0, state.ErrClosed
	}
	n, err := c.w.Write(p)
	if c.b.closed.Load() {
		return n, state.ErrClosed
	}
	return n, err
}

// Release implements state.Snapshot. A Write that runs ends with ErrReleased. The task frees what was held when it comes
// by: at the next access that would copy, snapshot or reading.
func (s *Snapshot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released.Store(true)
	s.freeIfDone()
}

func (s *Snapshot) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing--
	s.freeIfDone()
}

func (s *Snapshot) freeIfDone() {
	if s.released.Load() && s.writing == 0 && s.done.CompareAndSwap(false, true) {
		s.b.released.Add(1)
	}
}

// collect frees what released snapshots held.
func (b *Backend) collect() {
	if b.released.Load() == 0 {
		return
	}
	b.snapshots = slices.DeleteFunc(b.snapshots, func(s *Snapshot) bool {
		if !s.done.Load() {
			return false
		}
		b.released.Add(-1)
		for _, t := range s.tables {
			t.release()
		}
		s.tables = nil
		return true
	})
}

// SnapshotsOpen is how many snapshots are not released.
func (b *Backend) SnapshotsOpen() int {
	b.collect()
	return len(b.snapshots)
}
