// Package api is what the exercise asks for: the local pool of a result partition, with overdraft.
package api

import "weir/exercises/kit/wire"

// Options are what a pool is made with; the numbers are segments.
type Options struct {
	Size               int // how many it may take from the global pool without overdraft; changes later
	Max                int // Size never gets above it
	Subpartitions      int // they count from 0
	MaxPerSubpartition int // a subpartition that holds as many makes the pool unavailable
	MaxOverdraft       int // how many beyond Size it may take when a record needs more
}

// State is what the pool says of itself.
type State struct {
	Available bool // a segment is ready, and no subpartition holds its maximum
	Requested int  // segments taken from the global pool: those that are ready, and those that are out
	Ready     int
	AtLimit   int // subpartitions that hold MaxPerSubpartition or more
}

// Pool counts the segments of one result partition (LocalBufferPool in Flink). It moves none: from the numbers of State the
// checker sees what the pool took from the global pool, or gave back. free is always the number of segments that are free in
// the global pool. No call overlaps another.
type Pool interface {
	// Start is the first call: the pool has nothing, and fetches one segment ahead if there is one.
	Start(o Options, free int)
	// Request asks for a segment for a subpartition; -1 counts for none. A subpartition at its maximum is served too.
	Request(subpartition, free int) (granted bool)
	// Recycle takes back a segment that Request granted for that subpartition.
	Recycle(subpartition int)
	// SetSize changes the size while segments are out. Ready ones beyond the new size go back to the global pool at once.
	SetSize(size, free int)
	// SetMaxOverdraft changes the limit. What is out stays out.
	SetMaxOverdraft(n int)
	// GlobalAvailable tells that the global pool, which had nothing, has free segments again.
	GlobalAvailable(free int)
	// State is asked for after each other call, and changes nothing.
	State() State
}

// The calls. Each answers the state behind its own result.
const (
	Start           = 1 // number of the pool, size, max, subpartitions, maximum of each, overdraft, free
	Request         = 2 // number, subpartition, free → granted
	Recycle         = 3 // number, subpartition
	SetSize         = 4 // number, size, free
	SetMaxOverdraft = 5 // number, n
	GlobalAvailable = 6 // number, free
)

// Dispatch answers calls with pools that it makes, one for each number.
func Dispatch(newPool func() Pool) func(method uint32, args []byte) []byte {
	all := map[int64]Pool{}
	return func(method uint32, args []byte) []byte {
		r := wire.Reader{B: args}
		var w wire.Writer
		next := func() int { return int(r.Int()) }
		number := r.Int()
		if method == Start {
			all[number] = newPool()
		}
		p := all[number]
		switch method {
		case Start:
			o := Options{Size: next(), Max: next(), Subpartitions: next(), MaxPerSubpartition: next(), MaxOverdraft: next()}
			p.Start(o, next())
		case Request:
			sub, free := next(), next()
			w.Bool(p.Request(sub, free))
		case Recycle:
			p.Recycle(next())
		case SetSize:
			size, free := next(), next()
			p.SetSize(size, free)
		case SetMaxOverdraft:
			p.SetMaxOverdraft(next())
		case GlobalAvailable:
			p.GlobalAvailable(next())
		}
		s := p.State()
		w.Bool(s.Available)
		w.Int(int64(s.Requested))
		w.Int(int64(s.Ready))
		w.Int(int64(s.AtLimit))
		return w.B
	}
}
