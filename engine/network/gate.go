package network

import (
	"errors"
	"sync"
	"sync/atomic"

	"weir/engine/memory"
)

// Gate is what a task reads its input from: a queue of the channels that have data, those with a priority event first
// (Flink's SingleInputGate). A task with several inputs has one Gate too, with the channels of all of them behind one
// another and a pool for each input (Flink's UnionInputGate). Producers and the connection's reader enqueue; only the
// consuming task polls.
type Gate struct {
	pool     *memory.LocalPool   // floating buffers of the remote channels of the first input
	others   []*memory.LocalPool // of the other inputs
	wake     func()
	urge     func() // a priority event came
	channels []InputChannel
	ends     endOfData

	mu       sync.Mutex
	queue    []int32 // ring of channel indexes
	head, n  int
	priority int // of the first n
	enqueued []bool
	urgent   []bool // enqueued for a priority event

	_       [128]byte
	waiting atomic.Bool // the task found the queue empty
	_       [128]byte
}

// NewGate makes a gate for n channels. wake is called, with no lock held, when the empty queue gets its first channel
// after Poll found none.
func NewGate(n int, pool *memory.LocalPool, wake func()) *Gate {
	return &Gate{pool: pool, wake: wake, channels: make([]InputChannel, n), queue: make([]int32, n), enqueued: make([]bool, n), urgent: make([]bool, n)}
}

// SetOnPriority says who is called, with no lock held, when a priority event has come: the task takes it by PollPriority
// between two records. It is set before the channels.
func (g *Gate) SetOnPriority(hook func()) { g.urge = hook }

// SetChannel puts a channel in its place. All are set before the first Poll.
func (g *Gate) SetChannel(c InputChannel) {
	g.mu.Lock()
	g.channels[c.Index()] = c
	g.mu.Unlock()
}

// Channel is channel i.
func (g *Gate) Channel(i int) InputChannel {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.channels[i]
}

// Channels is their number.
func (g *Gate) Channels() int { return len(g.channels) }

// Pool is the pool of the gate's floating buffers, of its first input if it has several.
func (g *Gate) Pool() *memory.LocalPool { return g.pool }

// AddPool gives the gate the pool of a further input, to be destroyed with it.
func (g *Gate) AddPool(p *memory.LocalPool) { g.others = append(g.others, p) }

// NotifyNonEmpty queues a channel that has data, once.
func (g *Gate) NotifyNonEmpty(channel int) {
	g.mu.Lock()
	if g.enqueued[channel] {
		g.mu.Unlock()
		return
	}
	g.enqueued[channel] = true
	g.queue[(g.head+g.n)%len(g.queue)] = int32(channel)
	g.n++
	g.mu.Unlock()
	g.wakeTask()
}

// NotifyPriority moves a channel that has a priority event before those that have none.
func (g *Gate) NotifyPriority(channel int) {
	g.mu.Lock()
	if g.urgent[channel] {
		g.mu.Unlock()
		return
	}
	size := len(g.queue)
	from := g.n // where the channel is now; the end if it is not queued
	if g.enqueued[channel] {
		for i := range g.n {
			if g.queue[(g.head+i)%size] == int32(channel) {
				from = i
				break
			}
		}
	} else {
		g.n++
	}
	for i := from; i > g.priority; i-- {
		g.queue[(g.head+i)%size] = g.queue[(g.head+i-1)%size]
	}
	g.queue[(g.head+g.priority)%size] = int32(channel)
	g.enqueued[channel], g.urgent[channel] = true, true
	g.priority++
	g.mu.Unlock()
	if g.urge != nil {
		g.urge()
	}
	g.wakeTask()
}

// PollPriority takes the next priority event, and leaves all data where it is. ok is false when there is none.
func (g *Gate) PollPriority() (b Buffer, channel int, ok bool, err error) {
	for {
		g.mu.Lock()
		if g.priority == 0 {
			g.mu.Unlock()
			return b, 0, false, nil
		}
		channel = g.pop()
		c := g.channels[channel]
		g.mu.Unlock()
		if !c.HasPriority() { // Poll took it before its notice was looked at
			g.NotifyNonEmpty(channel)
			continue
		}
		b, more, ok, err := c.Next()
		if more {
			g.NotifyNonEmpty(channel)
		}
		if ok || err != nil {
			return b, channel, ok, err
		}
	}
}

// pop takes the first channel out of the queue. It is called with the lock held.
func (g *Gate) pop() int {
	channel := int(g.queue[g.head])
	g.head++
	if g.head == len(g.queue) {
		g.head = 0
	}
	g.n--
	g.enqueued[channel] = false
	if g.urgent[channel] {
		g.urgent[channel] = false
		g.priority--
	}
	return channel
}

func (g *Gate) wakeTask() {
	if g.waiting.Load() && g.waiting.CompareAndSwap(true, false) {
		g.wake()
	}
}

// Poll takes a buffer from the first channel in the queue. ok is false when no channel has data; the task is then woken
// when one has.
func (g *Gate) Poll() (b Buffer, channel int, ok bool, err error) {
	for {
		g.mu.Lock()
		if g.n == 0 {
			g.waiting.Store(true)
			g.mu.Unlock()
			return b, 0, false, nil
		}
		channel = g.pop()
		c := g.channels[channel]
		g.mu.Unlock()

		b, more, ok, err := c.Next()
		if err != nil {
			return b, channel, false, err
		}
		if more {
			g.NotifyNonEmpty(channel)
		}
		if ok {
			return b, channel, true, nil
		}
	}
}

// Queued is the number of channels that have data.
func (g *Gate) Queued() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

// BuffersInUse is the sum over the channels, what the debloater divides by.
func (g *Gate) BuffersInUse() int {
	n := 0
	for _, c := range g.channels {
		if c != nil {
			n += c.BuffersInUse()
		}
	}
	return n
}

// AnnounceBufferSize tells every producer the size of its next buffers. Channels that are released are passed over.
func (g *Gate) AnnounceBufferSize(n int) error {
	for _, c := range g.channels {
		if c == nil {
			continue
		}
		if err := c.AnnounceBufferSize(n); err != nil && !errors.Is(err, errChannelReleased) {
			return err
		}
	}
	return nil
}

// Release lets go of all channels and destroys the pools.
func (g *Gate) Release() {
	for _, c := range g.channels {
		if c != nil {
			c.Release()
		}
	}
	if g.pool != nil {
		g.pool.Destroy()
	}
	for _, p := range g.others {
		p.Destroy()
	}
}
