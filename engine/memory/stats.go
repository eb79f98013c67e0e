package memory

// PoolStats is a reading of a local pool; all counts are segments.
type PoolStats struct {
	Size         int // what it may hold without overdraft
	Required     int
	Max          int // Unbounded without one
	Requested    int // taken from the global pool: Ready and Used
	Ready        int
	Used         int
	Overdraft    int // requested beyond the size
	MaxOverdraft int
	AtLimit      int // subpartitions that hold their maximum or more
	Listeners    int
	Available    bool
	Destroyed    bool
}

// Stats reads the pool.
func (p *LocalPool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PoolStats{
		Size: p.size, Required: p.required, Max: p.max,
		Requested: p.requested, Ready: len(p.ready), Used: p.requested - len(p.ready),
		Overdraft: max(0, p.requested-p.size), MaxOverdraft: p.maxOverdraft,
		AtLimit: p.atLimit, Listeners: len(p.listeners),
		Available: p.available.Load(), Destroyed: p.destroyed,
	}
}

// AppendSubpartitions appends the number of segments out for each subpartition.
func (p *LocalPool) AppendSubpartitions(dst []int) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(dst, p.subpartitions...)
}
