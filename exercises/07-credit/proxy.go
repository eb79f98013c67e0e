package credit

import (
	"sync/atomic"

	"weir/engine/network"
	"weir/exercises/07-credit/api"
	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

// numbers are those of all ends that were ever made, so that none is taken for another.
var numbers atomic.Int64

// end is one end of a learner's.
type end struct {
	core   kit.Core
	number int64
}

func begin(c kit.Core, method uint32, n int) end {
	e := end{core: c, number: numbers.Add(1)}
	e.call(method, n)
	return e
}

func (e end) call(method uint32, args ...int) *wire.Reader {
	var w wire.Writer
	w.Int(e.number)
	for _, a := range args {
		w.Int(int64(a))
	}
	return &wire.Reader{B: e.core.Call(method, w.B)}
}

func (e end) tell(method uint32, b bool) *wire.Reader {
	var w wire.Writer
	w.Int(e.number)
	w.Bool(b)
	return &wire.Reader{B: e.core.Call(method, w.B)}
}

// sender implements network.CreditSender.
type sender struct{ end }

func newSender(c kit.Core, credit int) sender { return sender{begin(c, api.BeginSender, credit)} }

// AddCredit implements network.CreditSender.
func (s sender) AddCredit(n int) { s.call(api.AddCredit, n) }

// MaySend implements network.CreditSender.
func (s sender) MaySend(event bool) bool { return s.tell(api.MaySend, event).Bool() }

// Sent implements network.CreditSender.
func (s sender) Sent(event bool) { s.tell(api.Sent, event) }

// receiver implements network.CreditReceiver.
type receiver struct{ end }

func newReceiver(c kit.Core, exclusive int) receiver {
	return receiver{begin(c, api.BeginReceiver, exclusive)}
}

// Backlog implements network.CreditReceiver.
func (r receiver) Backlog(n int) { r.call(api.Backlog, n) }

// WantsFloating implements network.CreditReceiver.
func (r receiver) WantsFloating() bool { return r.call(api.WantsFloating).Bool() }

// GotFloating implements network.CreditReceiver.
func (r receiver) GotFloating() { r.call(api.GotFloating) }

// Arrived implements network.CreditReceiver.
func (r receiver) Arrived() network.Place {
	switch api.Place(r.call(api.Arrived).Int()) {
	case api.Exclusive:
		return network.ExclusivePlace
	case api.Floating:
		return network.FloatingPlace
	}
	return network.NoPlace
}

// Recycled implements network.CreditReceiver.
func (r receiver) Recycled() bool { return r.call(api.Recycled).Bool() }

// Credit implements network.CreditReceiver.
func (r receiver) Credit() int { return int(r.call(api.Credit).Int()) }
