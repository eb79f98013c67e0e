// refused by: first

// Package core decides when new credit is announced.
package core

import "weir/exercises/06-announce/api"

// New makes the announcer of one channel.
func New() api.Announcer { return &announcer{} }

// announcer has the credit that the sender does not know of.
type announcer struct{ unannounced int }

// Freed saves messages: it waits until two buffers are free. The last one of a channel may never have a second.
func (a *announcer) Freed(n int) (announce bool) {
	before := a.unannounced
	a.unannounced += n
	return before < 2 && a.unannounced >= 2
}

// Take is all that has come up until the message is written.
func (a *announcer) Take() (credit int) {
	credit, a.unannounced = a.unannounced, 0
	return credit
}
