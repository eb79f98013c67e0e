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

// AddCredit is an AddCredit message.
func (s *sender) AddCredit(n int) {
	// your code
}

// MaySend says whether what is next may leave.
func (s *sender) MaySend(event bool) bool {
	return false // your code: what needs credit, what does not?
}

// Sent tells that it left.
func (s *sender) Sent(event bool) {
	// your code
}

// receiver has its free buffers.
type receiver struct {
	initial             int // exclusive buffers, free or not
	exclusive, floating int // free ones
	required            int
	credit              int // that the sender is not told of
}

// Backlog tells how many data buffers wait at the sender.
func (r *receiver) Backlog(n int) {
	// your code: how many free buffers does the channel require now?
}

// WantsFloating says whether the channel should have one more floating buffer.
func (r *receiver) WantsFloating() bool {
	return false // your code
}

// GotFloating has one more free buffer.
func (r *receiver) GotFloating() {
	// your code
}

// Arrived takes a free buffer for a data buffer that has come.
func (r *receiver) Arrived() api.Place {
	return api.None // your code: floating or exclusive first?
}

// Recycled has an exclusive buffer back.
func (r *receiver) Recycled() (giveBack bool) {
	return false // your code: when is it one too many, and what becomes of the credit then?
}

// Credit is what came up since it was last asked for.
func (r *receiver) Credit() int {
	return 0 // your code
}
