package announce

import (
	"sync/atomic"

	"weir/exercises/06-announce/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// numbers are those of all announcers that were ever made, so that none is taken for another.
var numbers atomic.Int64

// proxy is one announcer of a learner; it implements network.Announcer.
type proxy struct {
	core   kit.Core
	number int64
}

// begin makes an announcer.
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

// Freed implements network.Announcer.
func (p *proxy) Freed(n int) bool { return p.call(api.Freed, n).Bool() }

// Take implements network.Announcer.
func (p *proxy) Take() int { return int(p.call(api.Take).Int()) }
