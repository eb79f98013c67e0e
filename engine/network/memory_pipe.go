package network

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memoryPipeBytes is what one direction of a pipe holds, about what a socket's buffers hold.
const memoryPipeBytes = 256 << 10

// memoryPipe makes both ends of a connection in memory.
func memoryPipe(addr net.Addr) (a, b *memoryConn) {
	there, back := newPipeBuffer(), newPipeBuffer()
	return &memoryConn{in: back, out: there, addr: addr, local: addr, remote: addr}, &memoryConn{in: there, out: back, addr: addr, local: addr, remote: addr}
}

// pipeBuffer is one direction: a ring of bytes.
type pipeBuffer struct {
	mu       sync.Mutex
	readable sync.Cond
	writable sync.Cond
	ring     []byte
	head, n  int
	ended    bool // by the writer: what is held can still be read
	broken   bool // by the reader: writing fails
	read     pipeDeadline
	write    pipeDeadline
}

func newPipeBuffer() *pipeBuffer {
	p := &pipeBuffer{ring: make([]byte, memoryPipeBytes)}
	p.readable.L, p.writable.L = &p.mu, &p.mu
	return p
}

// pipeDeadline is a point in time after which waiting fails.
type pipeDeadline struct {
	timer   *time.Timer
	expired bool
	set     int // which setting the timer belongs to
}

// put sets a deadline; waiters look again when it passes.
func (p *pipeBuffer) put(d *pipeDeadline, t time.Time, cond *sync.Cond) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.set++
	d.expired = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.expired = true
		cond.Broadcast()
		return
	}
	set := d.set
	d.timer = time.AfterFunc(left, func() {
		p.mu.Lock()
		if d.set == set {
			d.expired = true
			cond.Broadcast()
		}
		p.mu.Unlock()
	})
}

func (p *pipeBuffer) readInto(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.broken:
			return 0, io.ErrClosedPipe
		case p.read.expired:
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case p.n > 0:
			n := copy(b, p.ring[p.head:min(p.head+p.n, len(p.ring))])
			if n < len(b) && n < p.n {
				n += copy(b[n:], p.ring[:p.n-n])
			}
			p.head = (p.head + n) % len(p.ring)
			p.n -= n
			p.writable.Signal()
			return n, nil
		case p.ended:
			return 0, io.EOF
		}
		p.readable.Wait()
	}
}

// writeFrom writes all of the slices, waiting for room between them as it must.
func (p *pipeBuffer) writeFrom(bufs [][]byte) (written int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range bufs {
		for len(b) > 0 {
			if p.ended || p.broken {
				return written, io.ErrClosedPipe
			}
			if p.write.expired {
				return written, os.ErrDeadlineExceeded
			}
			if p.n == len(p.ring) {
				p.readable.Signal()
				p.writable.Wait()
				continue
			}
			tail := (p.head + p.n) % len(p.ring)
			end := len(p.ring)
			if tail < p.head {
				end = p.head
			}
			n := copy(p.ring[tail:end], b)
			p.n += n
			written += int64(n)
			b = b[n:]
		}
	}
	p.readable.Signal()
	return written, nil
}

// memoryConn is one end of the pipe; it implements net.Conn.
type memoryConn struct {
	in, out       *pipeBuffer
	addr          net.Addr // the listener's
	local, remote net.Addr
}

func (c *memoryConn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "memory", Addr: c.addr, Err: err}
}

func (c *memoryConn) Read(b []byte) (int, error) {
	n, err := c.in.readInto(b)
	return n, c.opError("read", err)
}

func (c *memoryConn) Write(b []byte) (int, error) {
	n, err := c.out.writeFrom([][]byte{b})
	return int(n), c.opError("write", err)
}

// writeAll writes several slices as one, as writev does on a socket.
func (c *memoryConn) writeAll(bufs net.Buffers) (int64, error) {
	n, err := c.out.writeFrom(bufs)
	return n, c.opError("write", err)
}

// Close ends both directions: the peer reads what is held and then the end of the stream; its writing fails.
func (c *memoryConn) Close() error {
	c.out.mu.Lock()
	c.out.ended = true
	c.out.stopTimers()
	c.out.readable.Broadcast()
	c.out.writable.Broadcast()
	c.out.mu.Unlock()
	c.in.mu.Lock()
	c.in.broken = true
	c.in.stopTimers()
	c.in.readable.Broadcast()
	c.in.writable.Broadcast()
	c.in.mu.Unlock()
	return nil
}

// stopTimers is called with the lock held.
func (p *pipeBuffer) stopTimers() {
	for _, d := range [...]*pipeDeadline{&p.read, &p.write} {
		if d.timer != nil {
			d.timer.Stop()
			d.timer = nil
		}
		d.set++
	}
}

func (c *memoryConn) LocalAddr() net.Addr  { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr { return c.remote }

func (c *memoryConn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.put(&c.in.read, t, &c.in.readable)
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.put(&c.out.write, t, &c.out.writable)
	return nil
}
