package memory

import (
	"context"
	"fmt"
	"time"
)

// RequestUnpooled takes n segments that belong to no local pool, without waiting. They count as required, so the local
// pools may shrink. It fails with *InsufficientError when more is promised than there is, with ErrTimeout when the
// segments are promised but still out with pools that have to give them back (RequestUnpooledBlocking waits for
// those), with ErrArgument and ErrDestroyed; nothing is held then.
func (g *GlobalPool) RequestUnpooled(n int) ([]*Segment, error) {
	if err := g.promise(n); err != nil {
		return nil, err
	}
	segments := make([]*Segment, 0, n)
	for len(segments) < n {
		s := g.segments.take()
		if s == nil {
			got := len(segments)
			wake(g.segments.put(segments...))
			g.unpromise(n)
			if g.Destroyed() {
				return nil, destroyedError("Network buffer pool")
			}
			return nil, &message{fmt.Sprintf("Only %d of the %d requested buffers are free now; the others are still in use. %s.",
				got, n, configDescription(g.segments.total, g.segments.segmentBytes)), ErrTimeout}
		}
		segments = append(segments, s)
	}
	return g.lendUnpooled(segments), nil
}

// RequestUnpooledBlocking is RequestUnpooled that waits for segments to come back, for at most timeout (0 or less: as
// long as ctx allows). It fails besides with ErrTimeout, or with the cause of ctx; what it had gathered goes back.
func (g *GlobalPool) RequestUnpooledBlocking(ctx context.Context, n int, timeout time.Duration) ([]*Segment, error) {
	if err := g.promise(n); err != nil {
		return nil, err
	}
	segments, err := g.takeBlocking(ctx, n, timeout, nil)
	if err != nil {
		g.unpromise(n)
		return nil, err
	}
	return g.lendUnpooled(segments), nil
}

// RecycleUnpooled takes unpooled segments back, whoever owns them now, and shares the segments anew.
func (g *GlobalPool) RecycleUnpooled(segments []*Segment) {
	if len(segments) == 0 {
		return
	}
	for _, s := range segments {
		s.markReturned()
	}
	wake(g.segments.put(segments...))
	g.unpromise(len(segments))
}

// unpooledOwner gets an unpooled segment back when it is released without having been given another owner.
type unpooledOwner struct{ g *GlobalPool }

func (o unpooledOwner) Recycle(s *Segment) { o.g.RecycleUnpooled([]*Segment{s}) }

func (g *GlobalPool) lendUnpooled(segments []*Segment) []*Segment {
	for _, s := range segments {
		s.lend(unpooledOwner{g}, -1)
	}
	return segments
}

// promise counts n more segments as required.
func (g *GlobalPool) promise(n int) error {
	if n < 0 {
		return argumentError("Number of buffers to request must be non-negative, but is %d.", n)
	}
	g.factory.Lock()
	if g.destroyed.Load() {
		g.factory.Unlock()
		return destroyedError("Network buffer pool")
	}
	if free := g.segments.total - g.required; n > free {
		g.factory.Unlock()
		return g.insufficient(n, free)
	}
	var todo todoList
	if n > 0 {
		g.required += n
		todo = g.redistribute()
	}
	g.factory.Unlock()
	todo.run()
	return nil
}

func (g *GlobalPool) unpromise(n int) {
	if n == 0 {
		return
	}
	g.factory.Lock()
	g.required -= n
	todo := g.redistribute()
	g.factory.Unlock()
	todo.run()
}

// takeBlocking gathers n segments one by one; gone ends the wait as a destroyed local pool does.
func (g *GlobalPool) takeBlocking(ctx context.Context, n int, timeout time.Duration, gone <-chan struct{}) ([]*Segment, error) {
	segments := make([]*Segment, 0, n)
	fail := func(err error) ([]*Segment, error) {
		wake(g.segments.put(segments...))
		return nil, err
	}
	var expired <-chan time.Time
	for len(segments) < n {
		s, ready, destroyed := g.segments.takeOrReady()
		if destroyed {
			return fail(destroyedError("Network buffer pool"))
		}
		if s != nil {
			segments = append(segments, s)
			continue
		}
		if expired == nil && timeout > 0 {
			timer := time.NewTimer(timeout)
			defer timer.Stop()
			expired = timer.C
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return fail(fmt.Errorf("a request for %d buffers was interrupted: %w", n, context.Cause(ctx)))
		case <-gone:
			return fail(destroyedError("Buffer pool"))
		case <-expired:
			return fail(timeoutError(n, len(segments), g.segments.total, g.segments.segmentBytes, timeout))
		}
	}
	return segments, nil
}
