// refused by: sender

// Package core keeps the numbers of credit-based flow control.
package core

import "weir/exercises/07-credit/api"

// New makes what the checker calls.
func New() api.Ends { return ends{} }

type ends struct{}

// NewSender begins with the credit that came with the request.
func (ends) NewSender(credit int) api.Sender { return &sender{credit: credit} }

// NewReceiver begins with its exclusive buffers, all free and all known to the sender.
func (ends) NewReceiver(exclusive int) api.Receiver {
	return &receiver{initial: exclusive, exclusive: exclusive}
}

// sender has the credit that it may still use.
type sender struct{ credit int }

// AddCredit adds what the receiver announced.
func (s *sender) AddCredit(n int) {
	s.credit += n
}

// MaySend asks for credit, whatever it is.
func (s *sender) MaySend(event bool) bool {
	return s.credit > 0
}

// Sent takes a credit for a data buffer; an event has none to take.
func (s *sender) Sent(event bool) {
	if !event {
		s.credit--
	}
}

// receiver has its free buffers.
type receiver struct {
	initial             int // exclusive buffers, free or not
	exclusive, floating int // free ones
	required            int
	credit              int // that the sender is not told of
}

// Backlog sets what the channel requires.
func (r *receiver) Backlog(n int) {
	r.required = n + r.initial
}

// WantsFloating is true as long as less is free than required.
func (r *receiver) WantsFloating() bool {
	return r.exclusive+r.floating < r.required
}

// GotFloating counts one more free buffer, of which the sender does not know.
func (r *receiver) GotFloating() {
	r.floating++
	r.credit++
}

// Arrived takes a floating buffer first: it goes back to all when it was read.
func (r *receiver) Arrived() api.Place {
	r.required--
	switch {
	case r.floating > 0:
		r.floating--
		return api.Floating
	case r.exclusive > 0:
		r.exclusive--
		return api.Exclusive
	}
	return api.None
}

// Recycled has a free buffer more. When that is more than required a floating one goes back for it, and no credit comes up:
// the sender knew of the one that went.
func (r *receiver) Recycled() (giveBack bool) {
	r.exclusive++
	if r.floating > 0 && r.exclusive+r.floating > r.required {
		r.floating--
		return true
	}
	r.credit++
	return false
}

// Credit hands out what came up.
func (r *receiver) Credit() int {
	n := r.credit
	r.credit = 0
	return n
}
