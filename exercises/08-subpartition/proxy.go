package subpartition

import (
	"sync/atomic"

	"weir/engine/network"
	"weir/exercises/08-subpartition/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// numbers are those of all subpartitions that were ever made, so that none is taken for another.
var numbers atomic.Int64

// proxy is one subpartition of a learner's; it implements network.SubpartitionCore.
type proxy struct {
	core   kit.Core
	number int64
}

func begin(c kit.Core) *proxy {
	p := &proxy{core: c, number: numbers.Add(1)}
	p.call(api.Begin)
	return p
}

func (p *proxy) call(method uint32, args ...int) *wire.Reader {
	var w wire.Writer
	w.Int(p.number)
	for _, a := range args {
		w.Int(int64(a))
	}
	return &wire.Reader{B: p.core.Call(method, w.B)}
}

// Add implements network.SubpartitionCore.
func (p *proxy) Add(id int, kind network.QueueKind) bool {
	return p.call(api.Add, id, int(kind)).Bool()
}

// Written implements network.SubpartitionCore.
func (p *proxy) Written(bytes int, finished bool) {
	var w wire.Writer
	w.Int(p.number)
	w.Int(int64(bytes))
	w.Bool(finished)
	p.core.Call(api.Written, w.B)
}

// Flush implements network.SubpartitionCore.
func (p *proxy) Flush() bool { return p.call(api.Flush).Bool() }

// Poll implements network.SubpartitionCore.
func (p *proxy) Poll() (q network.QueuePolled, ok bool) {
	r := p.call(api.Poll)
	if !r.Bool() {
		return q, false
	}
	q.ID, q.Bytes = int(r.Int()), int(r.Int())
	q.Gone = r.Bool()
	q.Backlog, q.Next = int(r.Int()), network.QueueKind(r.Int())
	return q, true
}

// Resume implements network.SubpartitionCore.
func (p *proxy) Resume() { p.call(api.Resume) }

// Available implements network.SubpartitionCore.
func (p *proxy) Available(credit bool) bool {
	var w wire.Writer
	w.Int(p.number)
	w.Bool(credit)
	r := wire.Reader{B: p.core.Call(api.Available, w.B)}
	return r.Bool()
}

// Backlog implements network.SubpartitionCore.
func (p *proxy) Backlog() int { return int(p.call(api.Backlog).Int()) }
