package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"weir/engine/memory"
)

// client is the consumer's end of a connection: a reader that takes each frame straight into the buffer that will be
// consumed, and a writer for what the channels want to say (Flink's NettyPartitionRequestClient).
type client struct {
	*clientCore
	manager *ConnectionManager
	entry   *clientEntry
	conn    net.Conn
	addr    string
	parker  *parker
	closing atomic.Bool // by this side; what the socket says afterwards is no failure
	over    sync.Once
	gone    chan struct{} // closed when the connection has ended
	thread  string        // of the reader, in the trace

	head    [BufferHeaderLength]byte // the start of the next frame, n bytes of it
	n       int
	scratch []byte
}

func newClient(m *ConnectionManager, e *clientEntry, conn net.Conn, addr string) *client {
	c := &client{manager: m, entry: e, conn: conn, addr: addr, parker: newParker(), gone: make(chan struct{}), thread: m.o.Name + " reads from " + addr}
	c.clientCore = newClientCore(c.parker.wake)
	c.frames = m.o.Frames
	return c
}

// close lets go of a channel: the producer's side is told, or, with the last one, the connection is closed.
func (c *client) close(ch *RemoteChannel) {
	c.remove(ch)
	if c.manager.release(c) {
		c.closeRequest()
	} else {
		c.cancel(ch.id)
	}
}

// fail ends the connection; every channel of it fails.
func (c *client) fail(err error) {
	if !c.closing.Swap(true) {
		c.manager.forget(c)
		c.failAll(c.wrap(breakLink(c.conn, err)))
	}
	c.shut()
	c.parker.wake()
}

// shut closes the connection, and lets a reader go that waits for a buffer.
func (c *client) shut() {
	c.over.Do(func() { close(c.gone) })
	c.conn.Close()
}

// wrap says on which side the failure arose: what the peer did to the connection is remote, all else is local.
func (c *client) wrap(err error) error {
	var t *TransportError
	if errors.As(err, &t) {
		return err
	}
	return &TransportError{Remote: isRemote(err), Addr: peerName(c.conn, c.addr), Err: err}
}

func isRemote(err error) bool {
	var l *LinkError
	if errors.As(err, &l) {
		return true
	}
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (c *client) writeLoop() {
	var b []byte
	for {
		var last bool
		b, last = c.appendFrames(b[:0])
		if len(b) > 0 {
			if _, err := c.conn.Write(b); err != nil {
				c.fail(err)
				return
			}
		}
		if last {
			c.closing.Store(true)
			c.shut()
			return
		}
		if c.closing.Load() {
			return
		}
		if len(b) == 0 {
			c.parker.park()
		}
	}
}

func (c *client) readLoop() {
	for {
		if err := c.readFrame(); err != nil {
			c.fail(err)
			return
		}
	}
}

// fill reads until head has at least the first want bytes of a frame, but nothing beyond one buffer header.
func (c *client) fill(want int) error {
	for c.n < want {
		m, err := c.conn.Read(c.head[c.n:])
		c.n += m
		if err != nil && c.n < want {
			if err == io.EOF && c.n > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

func (c *client) readFrame() error {
	if err := c.fill(FrameHeaderLength); err != nil {
		return err
	}
	h, err := ParseFrameHeader(c.head[:])
	if err != nil {
		return err
	}
	if h.ID == MsgBufferResponse {
		if err := c.fill(BufferHeaderLength); err != nil {
			return err
		}
		r, err := ParseBufferResponse(h, c.head[:])
		if err != nil {
			return err
		}
		c.n = 0
		return c.readBuffer(r)
	}
	frame := c.head[:min(h.Length, len(c.head))]
	if h.Length > len(c.head) {
		frame = make([]byte, h.Length)
		n := copy(frame, c.head[:c.n])
		c.n = 0
		if _, err := io.ReadFull(c.conn, frame[n:]); err != nil {
			return unexpected(err)
		}
	} else if err := c.fill(h.Length); err != nil {
		return err
	}
	if h.ID == MsgErrorResponse {
		e, err := ParseErrorResponse(frame)
		if err == nil {
			err = c.onError(e, c.addr)
		}
		if err != nil {
			return err
		}
	} else {
		m, err := ParseControl(h, frame)
		if err == nil {
			err = c.onControl(m, c.thread)
		}
		if err != nil {
			return err
		}
	}
	if h.Length <= len(c.head) {
		c.n = copy(c.head[:], c.head[h.Length:c.n])
	}
	return nil
}

// readBuffer takes the payload behind a header. An error it returns fails the connection; what concerns only the
// channel fails the channel, and its payload is passed over.
func (c *client) readBuffer(r BufferResponse) error {
	ch := c.find(r.Receiver)
	if ch == nil {
		c.cancel(r.Receiver)
		return c.discard(4*int(r.Partial) + int(r.Size))
	}
	if c.frames.On() {
		before := ch.ledger()
		defer c.tapTook(ch, MsgBufferResponse, before)
	}
	if r.Compressed {
		ch.fail(fmt.Errorf("network: buffer %d of channel %d is compressed, expected a plain one", r.Seq, ch.o.Index))
		return c.discard(4*int(r.Partial) + int(r.Size))
	}
	size := int(r.Size)
	if !r.Type.IsBuffer() {
		if r.Partial != 0 || size > maxEventBytes {
			return &FrameError{"size of event " + r.Type.String(), int64(size), fmt.Sprintf("at most %d, in one part", maxEventBytes)}
		}
		room := make([]byte, size+BufferHeaderLength)
		if err := c.body(room, size); err != nil {
			return err
		}
		if err := ch.onBuffer(Buffer{Bytes: room[:size:size], Type: r.Type, Seq: r.Seq}, r.Backlog, c.thread); err != nil {
			ch.fail(err)
		}
		return nil
	}
	if size == 0 {
		if err := ch.onEmptyBuffer(r.Seq, r.Backlog, c.thread); err != nil {
			ch.fail(err)
		}
		return c.discard(4 * int(r.Partial))
	}
	seg := (*memory.Segment)(nil)
	if ch.o.NoCredit {
		seg = ch.buffers.await(c.gone)
	} else {
		seg = ch.buffers.take()
	}
	if seg == nil && ch.o.NoCredit {
		return c.discard(4*int(r.Partial) + size) // the gate or the connection is closing
	}
	if seg == nil {
		if !ch.released.Load() {
			ch.fail(fmt.Errorf("network: buffer %d came for channel %d, which has no free buffer: more was sent than credit was given", r.Seq, ch.o.Index))
		}
		return c.discard(4*int(r.Partial) + size)
	}
	if size > seg.Size() {
		seg.Release()
		return &FrameError{"payload size", int64(size), fmt.Sprintf("at most the %d of a segment", seg.Size())}
	}
	b := Buffer{Bytes: seg.Bytes()[:size:size], Type: r.Type, Seq: r.Seq, Seg: seg}
	if r.Partial > 0 {
		return c.partial(ch, r, b)
	}
	if err := c.body(seg.Room(), size); err != nil {
		seg.Release()
		return err
	}
	if err := ch.onBuffer(b, r.Backlog, c.thread); err != nil {
		ch.fail(err)
	}
	return nil
}

// partial takes a message that has several buffers in one payload: their sizes stand before it.
func (c *client) partial(ch *RemoteChannel, r BufferResponse, b Buffer) error {
	sizes := c.scratchOf(4 * int(r.Partial))
	_, err := io.ReadFull(c.conn, sizes)
	if err == nil {
		err = c.body(b.Seg.Room(), len(b.Bytes))
	}
	sum := 0
	for i := 0; i < len(sizes); i += 4 {
		sum += int(binary.BigEndian.Uint32(sizes[i:]))
	}
	if err == nil && sum != len(b.Bytes) {
		err = &FrameError{"sum of the partial buffers' sizes", int64(sum), fmt.Sprint(len(b.Bytes))}
	}
	if err != nil {
		b.Seg.Release()
		return unexpected(err)
	}
	from, last := 0, len(sizes)-4
	for i := 0; i < len(sizes); i += 4 {
		to := from + int(binary.BigEndian.Uint32(sizes[i:]))
		part := b
		part.Bytes, part.Seq = b.Bytes[from:to:to], b.Seq+int32(i/4)
		backlog := int32(-1)
		if i == last {
			backlog = r.Backlog
		} else {
			b.Seg.Retain() // each part holds one reference; the last takes the buffer's own
		}
		if err := ch.onBuffer(part, backlog, c.thread); err != nil {
			ch.fail(err)
			if i < last {
				b.Seg.Release()
			}
			return nil
		}
		from = to
	}
	return nil
}

// body reads a payload of size bytes into room, which has a buffer header's length to spare: what comes of the next
// frame in the same read lands there and moves to head.
func (c *client) body(room []byte, size int) error {
	room = room[:size+BufferHeaderLength]
	got := 0
	for got < size {
		m, err := c.conn.Read(room[got:])
		got += m
		if err != nil && got < size {
			return unexpected(err)
		}
	}
	c.n = copy(c.head[:], room[size:got])
	return nil
}

func (c *client) scratchOf(n int) []byte {
	if cap(c.scratch) < n {
		c.scratch = make([]byte, n)
	}
	return c.scratch[:n]
}

func (c *client) discard(n int) error {
	for n > 0 {
		b := c.scratchOf(min(n, 32<<10))
		m, err := c.conn.Read(b)
		n -= m
		if err != nil && n > 0 {
			return unexpected(err)
		}
	}
	return nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
