// Package core decides when new credit is announced.
package core

import "weir/exercises/06-announce/api"

// New makes the announcer of one channel.
func New() api.Announcer { return &announcer{} }

// announcer has the credit that the sender does not know of.
type announcer struct{ unannounced int }

// Freed puts a message in the line only when there was nothing to announce before: else one waits there already, and
// takes this credit along.
func (a *announcer) Freed(n int) (announce bool) {
	first := a.unannounced == 0
	a.unannounced += n
	return first && n > 0
}

// Take is all that has come up until the message is written.
func (a *announcer) Take() (credit int) {
	credit, a.unannounced = a.unannounced, 0
	return credit
}
