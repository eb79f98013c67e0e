package web

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"weir/web/delta"
)

// pipes is a network of this process alone, which fake time can see through.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8090} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

// inFakeTime serves fake runs over pipes in a bubble of fake time.
func inFakeTime(t *testing.T, test func(t *testing.T, f *fakeServer, open func(path string) *websocket.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFakeServer(t)
		f.ctx = ctx
		p := newPipes()
		h := &http.Server{Handler: f.Server, ReadHeaderTimeout: time.Minute}
		go func() { _ = h.Serve(p) }()
		client := &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}}
		var conns []*websocket.Conn
		defer func() { // also after a test that gave up
			for _, c := range conns {
				_ = c.CloseNow()
			}
			cancel()
			_ = h.Close()
			synctest.Wait()
		}()
		test(t, f, func(path string) *websocket.Conn {
			c, _, err := websocket.Dial(ctx, "ws://127.0.0.1:8090"+path, &websocket.DialOptions{HTTPClient: client})
			if err != nil {
				t.Fatal(err)
			}
			c.SetReadLimit(1 << 20)
			conns = append(conns, c)
			return c
		})
	})
}

func read(t *testing.T, c *websocket.Conn) map[string]any {
	t.Helper()
	kind, b, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil || kind != websocket.MessageText {
		t.Fatalf("%v in %s", err, b)
	}
	return m
}

func TestStream(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		c := open("/api/v1/sessions/" + sess.id + "/stream?hz=10")
		first := read(t, c)
		for _, field := range []string{"lab", "state", "timeMs", "knobs", "vertices", "channels", "checkpoints", "totals", "session", "evidence", "explain"} {
			if first[field] == nil {
				t.Errorf("the first message lacks %s", field)
			}
		}
		start := time.Now()
		var picture any = map[string]any(first)
		for range 20 {
			m := read(t, c)
			if m["vertices"] != nil || m["lab"] != nil {
				t.Errorf("what did not change was sent again: %v", m)
			}
			before := picture.(map[string]any)["timeMs"].(float64)
			picture = delta.Merge(picture, m)
			if after := picture.(map[string]any)["timeMs"].(float64); after <= before {
				t.Errorf("the clock went from %v to %v", before, after)
			}
		}
		if took := time.Since(start); took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("20 pictures at 10 Hz took %v", took)
		}
		if n := sess.viewers.Load(); n != 1 {
			t.Errorf("%d viewers", n)
		}
	})
}

// A reader that stops reads on with the newest picture and is told how many it missed; the job is not looked at meanwhile.
func TestSlowReader(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		c := open("/api/v1/sessions/" + sess.id + "/stream?hz=10")
		var picture any = read(t, c)
		time.Sleep(3 * time.Second)
		looks := f.run().looks.Load()
		if looks > 3 {
			t.Errorf("%d looks at the job while nobody reads", looks)
		}
		var skipped float64
		for range 3 {
			m := read(t, c)
			picture = delta.Merge(picture, m)
			if n, ok := m["skipped"].(float64); ok {
				skipped = n
			}
		}
		if skipped < 25 || skipped > 30 {
			t.Errorf("%v pictures were skipped in 3 s at 10 Hz", skipped)
		}
		if now := picture.(map[string]any)["timeMs"].(float64); now < 100*float64(f.run().looks.Load()-1) {
			t.Errorf("the picture is of %v ms, the job was looked at until %v", now, 100*f.run().looks.Load())
		}
	})
}

func TestReaderThatTakesNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		_ = read(t, open("/api/v1/sessions/"+sess.id+"/stream"))
		time.Sleep(writeDeadline + time.Second)
		synctest.Wait()
		if n := sess.viewers.Load(); n != 0 {
			t.Errorf("%d viewers after the write deadline", n)
		}
		if sess.ended() {
			t.Error("the job ended with its viewer")
		}
	})
}

// A reader of its own making that answers no ping is held back at first and then gets everything.
func TestReaderWithoutPongs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.ctx = ctx
		p := newPipes()
		h := &http.Server{Handler: f.Server, ReadHeaderTimeout: time.Minute}
		go func() { _ = h.Serve(p) }()
		sess := f.start(t)
		conn, err := p.dial(ctx, "", "")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = conn.Write([]byte("GET /api/v1/sessions/" + sess.id + "/stream HTTP/1.1\r\nHost: 127.0.0.1:8090\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"))
		}()
		r := bufio.NewReader(conn)
		if _, err := http.ReadResponse(r, nil); err != nil {
			t.Fatal(err)
		}
		texts := 0
		start := time.Now()
		for texts < 40 {
			var head [2]byte
			if _, err := io.ReadFull(r, head[:]); err != nil {
				t.Fatalf("after %d messages: %v", texts, err)
			}
			n := int64(head[1] & 0x7f)
			var long [8]byte
			switch n {
			case 126:
				_, err = io.ReadFull(r, long[6:])
				n = int64(binary.BigEndian.Uint64(long[:]))
			case 127:
				_, err = io.ReadFull(r, long[:])
				n = int64(binary.BigEndian.Uint64(long[:]))
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, r, n); err != nil {
				t.Fatal(err)
			}
			if head[0]&0x0f == 1 {
				texts++
			}
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("40 messages took %v", took)
		}
		_ = conn.Close()
		cancel()
		_ = h.Close()
		synctest.Wait()
	})
}

func TestStreamEnds(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		c := open("/api/v1/sessions/" + sess.id + "/stream")
		read(t, c)
		if err := f.sessions.end(sess.id); err != nil {
			t.Fatal(err)
		}
		for {
			_, _, err := c.Read(t.Context())
			if err == nil {
				continue
			}
			if got := websocket.CloseStatus(err); got != websocket.StatusNormalClosure {
				t.Errorf("closed with %v: %v", got, err)
			}
			break
		}
	})
}

// Two viewers at once see the same and cost one look a picture.
func TestViewersShare(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		a := open("/api/v1/sessions/" + sess.id + "/stream?hz=10")
		b := open("/api/v1/sessions/" + sess.id + "/stream?hz=10")
		var pa, pb any = read(t, a), read(t, b)
		before := f.run().looks.Load()
		for range 10 {
			pa = delta.Merge(pa, read(t, a))
			pb = delta.Merge(pb, read(t, b))
		}
		if looks := f.run().looks.Load() - before; looks > 11 {
			t.Errorf("10 pictures for two viewers cost %d looks", looks)
		}
		if x, y := pa.(map[string]any)["timeMs"], pb.(map[string]any)["timeMs"]; x != y {
			t.Errorf("one viewer is at %v, the other at %v", x, y)
		}
	})
}
