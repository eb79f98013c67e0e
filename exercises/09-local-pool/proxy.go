package localpool

import (
	"sync/atomic"

	"weir/engine/memory"
	"weir/exercises/09-local-pool/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// numbers are those of all pools that were ever made, so that none is taken for another.
var numbers atomic.Int64

// proxy is one pool of a learner's; it implements memory.PoolCore. Each answer brings the pool's state along.
type proxy struct {
	core   kit.Core
	number int64
	state  memory.CoreState
}

func begin(c kit.Core) *proxy { return &proxy{core: c, number: numbers.Add(1)} }

func (p *proxy) call(method uint32, args ...int) (granted bool) {
	var w wire.Writer
	w.Int(p.number)
	for _, a := range args {
		w.Int(int64(a))
	}
	r := wire.Reader{B: p.core.Call(method, w.B)}
	if method == api.Request {
		granted = r.Bool()
	}
	p.state.Available = r.Bool()
	p.state.Requested, p.state.Ready, p.state.AtLimit = int(r.Int()), int(r.Int()), int(r.Int())
	return granted
}

// Start implements memory.PoolCore.
func (p *proxy) Start(o memory.CoreOptions, free int) {
	p.call(api.Start, o.Size, o.Max, o.Subpartitions, o.MaxPerSubpartition, o.MaxOverdraft, free)
}

// Request implements memory.PoolCore.
func (p *proxy) Request(subpartition, free int) bool { return p.call(api.Request, subpartition, free) }

// Recycle implements memory.PoolCore.
func (p *proxy) Recycle(subpartition int) { p.call(api.Recycle, subpartition) }

// SetSize implements memory.PoolCore.
func (p *proxy) SetSize(size, free int) { p.call(api.SetSize, size, free) }

// SetMaxOverdraft implements memory.PoolCore.
func (p *proxy) SetMaxOverdraft(n int) { p.call(api.SetMaxOverdraft, n) }

// GlobalAvailable implements memory.PoolCore.
func (p *proxy) GlobalAvailable(free int) { p.call(api.GlobalAvailable, free) }

// State implements memory.PoolCore.
func (p *proxy) State() memory.CoreState { return p.state }
