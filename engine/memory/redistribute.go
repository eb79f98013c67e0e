package memory

import "math"

// Unbounded is the maximum of a pool without one.
const Unbounded = math.MaxInt32

// SetOrder sets how resizable pools are ordered before the segments are shared: reorder rearranges the slice in place.
// The order decides who gets the segment that does not divide evenly; nil means the order of creation. reorder runs
// under the factory lock and may not call the global pool.
func (g *GlobalPool) SetOrder(reorder func(resizable []*LocalPool)) {
	g.factory.Lock()
	defer g.factory.Unlock()
	g.reorder = reorder
}

// redistribute shares the segments nobody requires among the pools that can use more than they require, each in
// proportion to how many more it can use. Runs under the factory lock.
func (g *GlobalPool) redistribute() todoList {
	resizable := make([]*LocalPool, 0, len(g.pools))
	for _, p := range g.pools {
		if p.required < p.max {
			resizable = append(resizable, p)
		}
	}
	if len(resizable) == 0 {
		return nil
	}
	if g.reorder != nil {
		g.reorder(resizable)
	}
	spare := g.segments.total - g.required
	capacity := 0
	for _, p := range resizable {
		capacity += min(spare, p.max-p.required)
	}
	toShare := min(spare, capacity)
	todo := make(todoList, 0, len(resizable))
	parts, shared := 0, 0
	for _, p := range resizable {
		extra := 0
		if capacity > 0 {
			// Each pool gets what the pools up to it should have together, less what those before it got: no
			// segment remains at the end.
			parts += min(spare, p.max-p.required)
			extra = toShare*parts/capacity - shared
			shared += extra
		}
		todo = append(todo, p.resize(p.required+extra))
	}
	return todo
}
