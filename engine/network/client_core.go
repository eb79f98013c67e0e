package network

import (
	"errors"
	"fmt"
	"sync"
)

// clientOp is one thing to be told to the producer's side.
type clientOp struct {
	channel  *RemoteChannel // nil for a cancel or close
	id       MessageID
	value    int32
	receiver ChannelID // of a cancel
}

// clientCore is the consumer's end of one connection without its socket: which channels it serves, and the inbox of
// what they want to say (Flink's CreditBasedPartitionRequestClientHandler). An AddCredit's number is taken when the
// message is written, so that all credit that came while the socket was busy goes in one.
type clientCore struct {
	wake   func() // the writer has something to do
	frames *FrameTap

	mu        sync.RWMutex
	channels  map[ChannelID]*RemoteChannel
	cancelled map[ChannelID]bool // told to the producer already
	err       error

	inbox sync.Mutex
	ops   []clientOp
	spare []clientOp
}

func newClientCore(wake func()) *clientCore {
	return &clientCore{wake: wake, channels: map[ChannelID]*RemoteChannel{}, cancelled: map[ChannelID]bool{}}
}

func (k *clientCore) post(op clientOp) {
	k.inbox.Lock()
	k.ops = append(k.ops, op)
	k.inbox.Unlock()
	k.wake()
}

// request serves a channel from now on, and asks for its partition; on a connection that failed the channel fails.
func (k *clientCore) request(c *RemoteChannel) {
	k.mu.Lock()
	err := k.err
	if err == nil {
		k.channels[c.id] = c
		delete(k.cancelled, c.id)
	}
	k.mu.Unlock()
	if err != nil {
		c.fail(err)
		return
	}
	k.post(clientOp{channel: c, id: MsgPartitionRequest})
}

func (k *clientCore) creditAvailable(c *RemoteChannel) {
	k.post(clientOp{channel: c, id: MsgAddCredit})
}

func (k *clientCore) send(c *RemoteChannel, id MessageID, value int32) {
	k.post(clientOp{channel: c, id: id, value: value})
}

// remove forgets a channel.
func (k *clientCore) remove(c *RemoteChannel) {
	k.mu.Lock()
	delete(k.channels, c.id)
	k.mu.Unlock()
}

// cancel tells the producer, once, that nobody reads a channel any more.
func (k *clientCore) cancel(id ChannelID) {
	k.mu.Lock()
	told := k.cancelled[id]
	k.cancelled[id] = true
	k.mu.Unlock()
	if !told {
		k.post(clientOp{id: MsgCancelRequest, receiver: id})
	}
}

func (k *clientCore) closeRequest() { k.post(clientOp{id: MsgCloseRequest}) }

// appendFrames empties the inbox and appends its messages to b; closing is true behind a CloseRequest.
func (k *clientCore) appendFrames(b []byte) (out []byte, closing bool) {
	k.inbox.Lock()
	ops := k.ops
	k.ops = k.spare[:0]
	k.inbox.Unlock()
	for i := range ops {
		op := &ops[i]
		m := Control{ID: op.id, Value: op.value, Receiver: op.receiver}
		if c := op.channel; c != nil {
			m.Receiver = c.id
			if c.released.Load() {
				continue
			}
			switch op.id {
			case MsgPartitionRequest:
				r := partitionRequest(c.o.Partition, c.o.Subpartition, c.id, c.o.ExclusiveBuffers)
				b = r.Append(b)
				if k.frames.On() {
					k.tapSent(c, op.id, r.Credit)
				}
				continue
			case MsgAddCredit:
				if m.Value = c.takeCredit(); m.Value == 0 {
					continue
				}
			}
			if k.frames.On() {
				k.tapSent(c, op.id, m.Value)
			}
		}
		b = m.Append(b)
		if op.id == MsgCloseRequest {
			closing = true
			break
		}
	}
	clear(ops)
	k.spare = ops
	return b, closing
}

// find gives the channel of a message; nil for one that is gone.
func (k *clientCore) find(id ChannelID) *RemoteChannel {
	k.mu.RLock()
	c := k.channels[id]
	k.mu.RUnlock()
	if c != nil && c.released.Load() {
		return nil
	}
	return c
}

// onError deals with an error that the producer's side reports. The result, if any, fails the whole connection.
func (k *clientCore) onError(e ErrorResponse, addr string) error {
	err := &TransportError{Remote: true, Addr: addr, Err: errors.New(e.Cause)}
	if e.Fatal() {
		return err
	}
	c := k.find(e.Receiver)
	switch {
	case c == nil:
	case e.Kind == ErrorPartitionNotFound:
		c.onPartitionNotFound()
	default:
		c.fail(err)
	}
	return nil
}

// onControl deals with any other message that a producer's side may send.
func (k *clientCore) onControl(m Control, thread string) error {
	if m.ID != MsgBacklogAnnounce {
		return &FrameError{"message id", int64(m.ID), "one that a producer sends"}
	}
	if c := k.find(m.Receiver); c != nil {
		if k.frames.On() {
			before := c.ledger()
			defer k.tapTook(c, m.ID, before)
		}
		c.onBacklog(m.Value, thread)
	} else {
		k.cancel(m.Receiver)
	}
	return nil
}

// failAll fails every channel, and each that requests later. Only the first error counts.
func (k *clientCore) failAll(err error) {
	k.mu.Lock()
	if k.err != nil {
		k.mu.Unlock()
		return
	}
	k.err = err
	list := make([]*RemoteChannel, 0, len(k.channels))
	for _, c := range k.channels {
		list = append(list, c)
	}
	clear(k.channels)
	k.mu.Unlock()
	for _, c := range list {
		c.fail(err)
	}
}

// TransportError says on which side of a connection a failure arose (Flink's LocalTransportException and
// RemoteTransportException).
type TransportError struct {
	Remote bool
	Addr   string
	Err    error
}

// Error implements error.
func (e *TransportError) Error() string {
	side := "local"
	if e.Remote {
		side = "remote"
	}
	var l *LinkError
	if errors.As(e.Err, &l) {
		return "network: " + l.Error()
	}
	return fmt.Sprintf("network: %s transport error on the connection to task manager %s: %v", side, e.Addr, e.Err)
}

// Unwrap gives the cause.
func (e *TransportError) Unwrap() error { return e.Err }
