package network

import "sync/atomic"

// parker lets one goroutine sleep until another has work for it, and spares the others a send while it is awake: only
// the first wake after it went to sleep touches the channel.
type parker struct {
	_     [128]byte
	state atomic.Int32
	_     [124]byte
	token chan struct{}
}

const (
	parkerAwake    = iota // looking for work
	parkerToken           // work came since it last looked
	parkerSleeping        // waiting on the channel
)

func newParker() *parker { return &parker{token: make(chan struct{}, 1)} }

// wake makes the goroutine look once more. Any goroutine may call it, after it has put the work in place.
func (p *parker) wake() {
	for {
		old := p.state.Load()
		if old == parkerToken {
			return
		}
		if p.state.CompareAndSwap(old, parkerToken) {
			if old == parkerSleeping {
				p.token <- struct{}{}
			}
			return
		}
	}
}

// park sleeps until wake, unless it was called since the last park returned. The caller looks for work afterwards.
func (p *parker) park() {
	if p.state.CompareAndSwap(parkerAwake, parkerSleeping) {
		<-p.token
	}
	p.state.Store(parkerAwake)
}
