// Package api is what the exercise asks for: when a receiver tells its sender of new credit.
package api

import "weir/exercises/kit/wire"

// Announcer counts the credit of one remote input channel that its sender does not know of yet, and decides when that is
// worth a message (RemoteInputChannel in Flink: unannouncedCredit, notifyBufferAvailable, getAndResetUnannouncedCredit).
// A credit is a free buffer. No call overlaps another.
type Announcer interface {
	// Freed tells that n more buffers are free, n is 0 or more. True puts one AddCredit message for this channel in the
	// line of its connection. It is written later, when the connection gets to it.
	Freed(n int) (announce bool)
	// Take is called when a message of this channel is written: it answers how much credit the message carries. 0 writes
	// none.
	Take() (credit int)
}

// The calls.
const (
	Begin = 1 // number of the announcer
	Freed = 2 // number, n → announce
	Take  = 3 // number → credit
)

// Dispatch answers calls with announcers that it makes, one for each number.
func Dispatch(newAnnouncer func() Announcer) func(method uint32, args []byte) []byte {
	all := map[int64]Announcer{}
	return func(method uint32, args []byte) []byte {
		r := wire.Reader{B: args}
		var w wire.Writer
		number := r.Int()
		switch method {
		case Begin:
			all[number] = newAnnouncer()
		case Freed:
			w.Bool(all[number].Freed(int(r.Int())))
		case Take:
			w.Int(int64(all[number].Take()))
		}
		return w.B
	}
}
