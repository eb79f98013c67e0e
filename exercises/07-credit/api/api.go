// Package api is what the exercise asks for: credit-based flow control, the numbers of both ends of one channel.
package api

import "weir/exercises/kit/wire"

// Ends makes the two ends of a channel, each for itself: they run on different machines and share nothing.
type Ends interface {
	// NewSender begins with the credit that came with the request.
	NewSender(credit int) Sender
	// NewReceiver begins with so many exclusive buffers, 1 or more, all free. The sender knows of them: they are the credit
	// of its request. The channel has no floating ones.
	NewReceiver(exclusive int) Receiver
}

// Sender keeps the credit of one subpartition's reader (CreditBasedSequenceNumberingViewReader in Flink).
type Sender interface {
	// AddCredit is an AddCredit message with n credits.
	AddCredit(n int)
	// MaySend says whether what stands next in the queue may leave now: an event, or a data buffer.
	MaySend(event bool) bool
	// Sent tells that it left.
	Sent(event bool)
}

// Place is where the free buffer comes from that takes an arriving one.
type Place int

// The places.
const (
	None Place = iota // no buffer is free: the sender has sent more than it may
	Exclusive
	Floating
)

// Receiver keeps the numbers of one remote channel's free buffers (BufferManager and RemoteInputChannel in Flink). Its own
// exclusive buffers come back to it; floating ones belong to a pool that the channels of the gate share, and go back there
// when they were read.
type Receiver interface {
	// Backlog tells, with a message of the sender, that n data buffers wait there. So many free buffers and as many again
	// as it has exclusive ones are what the channel requires from then on.
	Backlog(n int)
	// WantsFloating says whether the channel should have one more floating buffer. It is asked after Backlog, after each
	// GotFloating, and when the pool has one again for which the channel waited.
	WantsFloating() bool
	// GotFloating tells that the channel has one more free buffer, a floating one.
	GotFloating()
	// Arrived tells that a data buffer has come, and asks for the free buffer that it goes into. One fewer is required.
	Arrived() Place
	// Recycled tells that an exclusive buffer was read and is free again. True gives a floating one back to the pool in its
	// stead, because the channel has more than it requires.
	Recycled() (giveBack bool)
	// Credit is the credit that came up since it was last asked for: free buffers that the sender is not told of yet. It is
	// asked for after each of the calls above, and told to the sender.
	Credit() int
}

// The calls.
const (
	BeginSender   = 1  // number of the end, credit
	AddCredit     = 2  // number, n
	MaySend       = 3  // number, event → may
	Sent          = 4  // number, event
	BeginReceiver = 5  // number, exclusive
	Backlog       = 6  // number, n
	WantsFloating = 7  // number → wants
	GotFloating   = 8  // number
	Arrived       = 9  // number → place
	Recycled      = 10 // number → give back
	Credit        = 11 // number → credit
)

// Dispatch answers calls with the ends that it makes, one for each number.
func Dispatch(newEnds func() Ends) func(method uint32, args []byte) []byte {
	senders, receivers := map[int64]Sender{}, map[int64]Receiver{}
	return func(method uint32, args []byte) []byte {
		r := wire.Reader{B: args}
		var w wire.Writer
		number := r.Int()
		switch method {
		case BeginSender:
			senders[number] = newEnds().NewSender(int(r.Int()))
		case AddCredit:
			senders[number].AddCredit(int(r.Int()))
		case MaySend:
			w.Bool(senders[number].MaySend(r.Bool()))
		case Sent:
			senders[number].Sent(r.Bool())
		case BeginReceiver:
			receivers[number] = newEnds().NewReceiver(int(r.Int()))
		case Backlog:
			receivers[number].Backlog(int(r.Int()))
		case WantsFloating:
			w.Bool(receivers[number].WantsFloating())
		case GotFloating:
			receivers[number].GotFloating()
		case Arrived:
			w.Int(int64(receivers[number].Arrived()))
		case Recycled:
			w.Bool(receivers[number].Recycled())
		case Credit:
			w.Int(int64(receivers[number].Credit()))
		}
		return w.B
	}
}
