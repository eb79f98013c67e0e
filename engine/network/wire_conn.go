package network

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// wireConn is one end of a connection over a Wire. One goroutine writes it, and one reads it.
type wireConn struct {
	net.Conn
	link    *link
	out, in *direction

	once   sync.Once
	closed chan struct{}

	due     time.Time // when the slow wire takes the next bytes; the writer's own
	one     [1][]byte
	buffers net.Buffers // what is being written, where taking its address allocates nothing
}

// peer names the task manager at the other end, such as "tm 1"; empty if it is not known yet.
func (c *wireConn) peer() string {
	c.link.wire.mu.Lock()
	defer c.link.wire.mu.Unlock()
	tm := c.link.to
	if c.in == &c.link.forward {
		tm = c.link.from
	}
	if tm < 0 {
		return ""
	}
	return fmt.Sprintf("tm %d", tm)
}

// explain replaces what the socket says of a broken connection by what broke it.
func (c *wireConn) explain(err error) error {
	if err != nil {
		if cause := c.link.failure(); cause != nil {
			return cause
		}
	}
	return err
}

// Read implements net.Conn. At an end that was told to read no more it does not return until the connection ends, and what
// came meanwhile is gone, as it would be with the peer that hangs.
func (c *wireConn) Read(b []byte) (int, error) {
	c.in.reading.Store(true)
	n, err := c.Conn.Read(b)
	if c.in.stopped.Load() {
		select {
		case <-c.link.gone:
		case <-c.closed:
		}
		return 0, c.explain(net.ErrClosed)
	}
	c.in.reading.Store(false)
	c.in.read.Add(int64(n))
	return n, c.explain(err)
}

// Write implements net.Conn.
func (c *wireConn) Write(b []byte) (int, error) {
	c.one[0] = b
	n, err := c.writeAll(c.one[:])
	c.one[0] = nil
	return int(n), err
}

// writeAll writes several slices, that begin with a frame, as one.
func (c *wireConn) writeAll(bufs net.Buffers) (int64, error) {
	if c.out.damage.Load() && c.out.damage.Swap(false) {
		bufs[0] = damaged(bufs[0])
	}
	if c.link.wire.rate.Load() > 0 {
		n, err := c.writeSlowly(bufs)
		return n, c.explain(err)
	}
	total := 0
	for _, b := range bufs {
		total += len(b)
	}
	c.out.sent.Add(int64(total)) // before the write, that may block
	c.buffers = bufs
	n, err := writeBuffers(c.Conn, &c.buffers)
	c.buffers = nil
	return n, c.explain(err)
}

// damaged is a copy of the start of a frame with a bit of its magic turned over.
func damaged(frame []byte) []byte {
	b := append([]byte(nil), frame...)
	if len(b) > 4 {
		b[4] ^= 1
	}
	return b
}

// writeSlowly writes a hundredth of a second's bytes at a time.
func (c *wireConn) writeSlowly(bufs net.Buffers) (written int64, err error) {
	for _, b := range bufs {
		for len(b) > 0 {
			k, err := c.allow(len(b))
			if err != nil {
				return written, err
			}
			c.out.sent.Add(int64(k))
			n, err := c.Conn.Write(b[:k])
			written += int64(n)
			if err != nil {
				return written, err
			}
			b = b[k:]
		}
	}
	return written, nil
}

// allow waits until the wire takes bytes, and says how many of those that want to go.
func (c *wireConn) allow(want int) (int, error) {
	for {
		rate, changed := c.link.wire.pace()
		if rate <= 0 {
			return want, nil
		}
		const slice = 10 * time.Millisecond
		now := time.Now()
		if wait := c.due.Sub(now); wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-changed: // what was promised at the old rate is void
				c.due = time.Time{}
			case <-c.link.gone:
				t.Stop()
				return 0, net.ErrClosed
			case <-c.closed:
				t.Stop()
				return 0, net.ErrClosed
			}
			t.Stop()
			continue
		}
		if c.due.Before(now.Add(-slice)) {
			c.due = now // a wire saves nothing up
		}
		k := min(want, max(1, int(rate*int64(slice)/int64(time.Second))))
		c.due = c.due.Add(time.Duration(int64(k) * int64(time.Second) / rate))
		return k, nil
	}
}

// Close implements net.Conn.
func (c *wireConn) Close() error {
	err := error(nil)
	c.once.Do(func() {
		close(c.closed)
		err = c.Conn.Close()
		c.link.left(c)
	})
	return err
}

// vectorWriter is a connection that writes several slices as one by itself.
type vectorWriter interface {
	writeAll(net.Buffers) (int64, error)
}

// writeBuffers writes several slices as one: a writev, where there is one.
func writeBuffers(conn net.Conn, bufs *net.Buffers) (int64, error) {
	if v, ok := conn.(vectorWriter); ok {
		return v.writeAll(*bufs)
	}
	return bufs.WriteTo(conn)
}

// breakLink breaks a connection for a reason that one end found, and tells what broke it; over a Wire the other end hears of
// the same.
func breakLink(conn net.Conn, err error) error {
	c, ok := conn.(*wireConn)
	var t *TransportError
	if !ok || err == errManagerClosed || errors.As(err, &t) {
		return err
	}
	c.link.fail(err)
	return c.link.failure()
}

// peerName names the task manager at the other end of a connection: by its number, if the transport knows it.
func peerName(conn net.Conn, addr string) string {
	if c, ok := conn.(*wireConn); ok {
		if name := c.peer(); name != "" {
			return name
		}
	}
	return addr
}
