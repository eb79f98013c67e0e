package memory

// RequestPooled takes one segment past the local pools and their shares, or nil when none is free (Flink's
// NetworkBufferPool.requestPooledMemorySegment). Nothing is promised, so no pool changes its size.
func (g *GlobalPool) RequestPooled() *Segment { return g.segments.take() }

// RecyclePooled gives back what RequestPooled took; a local pool that waits for a segment hears of it.
func (g *GlobalPool) RecyclePooled(s *Segment) { wake(g.segments.put(s)) }
