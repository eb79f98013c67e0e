package copyonwrite

import (
	"sync"

	"weir/exercises/17-copy-on-write/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// proxy is a learner's map for a running job: the task and the writer of its snapshot use it at the same time.
type proxy struct {
	mu   sync.Mutex
	core kit.Core
}

func (p *proxy) do(args ...int64) *wire.Reader {
	var w wire.Writer
	for _, a := range args {
		w.Int(a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &wire.Reader{B: p.core.Call(api.Do, w.B)}
}

func (p *proxy) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.core.Call(api.Begin, nil)
}

// err is what went wrong inside the core.
func (p *proxy) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.core.Err()
}

// put adds to p's map, as a restore does.
func (p *proxy) put(key, n int64) { p.do(api.Put, key, n) }

// add counts a record: it gets the value and adds one in place.
func (p *proxy) add(key int64) { p.do(api.Add, key) }

// get is what is under a key, 0 if nothing.
func (p *proxy) get(key int64) int64 {
	r := p.do(api.Get, key)
	if !r.Bool() {
		return 0
	}
	return r.Int()
}

func (p *proxy) take(name int64)       { p.do(api.Take, name) }
func (p *proxy) release(name int64)    { p.do(api.Release, name) }
func (p *proxy) size(name int64) int64 { return p.do(api.Size, name).Int() }

// at is an entry of a snapshot.
func (p *proxy) at(name, i int64) (key, n int64, ok bool) {
	r := p.do(api.At, name, i)
	key, ok = r.Int(), r.Bool()
	return key, r.Int(), ok
}
