package network

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestTransportNames(t *testing.T) {
	for name, want := range map[string]string{"tcp": "tcp", "": "tcp", "memory": "memory", "Memory": "memory"} {
		tr, err := NewTransport(name)
		if err != nil || tr.Name() != want {
			t.Errorf("transport %q: %v, %v", name, tr, err)
		}
	}
	if _, err := NewTransport("pigeon"); err == nil {
		t.Error("no error for an unknown transport")
	}
}

// TestPipeBytes sends random pieces through a connection, more than it holds, in both directions.
func TestPipeBytes(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		l, err := transport.Listen()
		if err != nil {
			t.Fatal(err)
		}
		echoed := make(chan error, 1)
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, err = io.Copy(c, c)
				c.Close()
			}
			echoed <- err
		}()
		c, err := transport.Dial(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		sent := make([]byte, 3*memoryPipeBytes+123)
		for i := range sent {
			sent[i] = byte(rnd.Uint32())
		}
		got := make([]byte, len(sent))
		read := make(chan error, 1)
		go func() {
			_, err := io.ReadFull(c, got)
			read <- err
		}()
		for rest := sent; len(rest) > 0; {
			var bufs net.Buffers
			for range 5 {
				n := min(len(rest), int(rnd.Uint32N(40000)))
				bufs, rest = append(bufs, rest[:n]), rest[n:]
			}
			if m, ok := c.(*memoryConn); ok {
				_, err = m.writeAll(bufs)
			} else {
				_, err = bufs.WriteTo(c)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := <-read; err != nil || !bytes.Equal(got, sent) {
			t.Errorf("what came back differs, %v", err)
		}
		c.Close()
		if err := <-echoed; err != nil {
			t.Error(err)
		}
		if _, err := c.Write([]byte{1}); err == nil {
			t.Error("a closed connection took a byte")
		}
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept on a closed listener: %v", err)
		}
		if _, err := transport.Dial(l.Addr().String()); err == nil {
			t.Error("dialed a closed listener")
		}
	})
}

// TestPipeClose: what was written before the close can be read; then comes the end. The other direction is broken.
func TestPipeClose(t *testing.T) {
	a, b := memoryPipe(memoryAddr("memory:1"))
	a.Write([]byte("last words"))
	a.Close()
	got, err := io.ReadAll(b)
	if err != nil || string(got) != "last words" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := b.Write([]byte("hello?")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write to a closed peer: %v", err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("read after close: %v", err)
	}
	b.Close()
}

// TestPipeDeadlines, in fake time.
func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memoryPipe(memoryAddr("memory:1"))
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Second))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
		a.SetDeadline(time.Now().Add(time.Second))
		a.SetReadDeadline(time.Time{})
		if n, err := a.Write(make([]byte, 2*memoryPipeBytes)); n != memoryPipeBytes || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %d, %v", n, err)
		}
		a.SetWriteDeadline(start)
		if _, err := a.Write([]byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write past the deadline: %v", err)
		}
		b.Write([]byte{7})
		if n, err := a.Read(make([]byte, 8)); n != 1 || err != nil {
			t.Errorf("read: %d, %v", n, err)
		}
		b.SetDeadline(time.Now().Add(time.Hour))
		a.Close()
		b.Close()
	})
}

func TestParker(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := newParker()
	const n = 20000
	work := make(chan int, n)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seen := 0; seen < n; {
			select {
			case <-work:
				seen++
			default:
				p.park()
			}
		}
	}()
	for i := range n {
		work <- i
		p.wake()
	}
	<-done
}
