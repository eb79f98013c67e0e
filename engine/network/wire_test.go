package network

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWireFaults puts each fault on a connection that carries data: both ends end with an error that says which connection
// it was and what happened, and nothing is left behind.
func TestWireFaults(t *testing.T) {
	for fault, says := range map[Fault]string{
		CutConnection: "the connection from tm 0 to tm 1 was cut",
		DamageFrame:   "the connection from tm 0 to tm 1 broke: broken frame: magic is 3151761406, expected 3134984190 (0xBADC0FFE)",
		StopReading:   "the connection from tm 0 to tm 1 is stuck: tm 1 does not read what tm 0 sends,",
	} {
		t.Run(fault.String(), func(t *testing.T) {
			overTransports(t, func(t *testing.T, transport Transport) {
				w := NewWire(transport)
				if transport.Name() == "tcp" {
					w.timeout = 500 * time.Millisecond
				}
				from, to := newTestTM(t, "tm 0", w.Port(0)), newTestTM(t, "tm 1", w.Port(1))
				p := from.partition(0, 1)
				from.register(p)
				g := to.gate(from.connections.Addr(), 1, 0, 2, 8)
				g.request(t)
				var produced error
				from.producers.Go(func() { produced = produceUntilRefused(p) })
				b, _, err := g.next()
				if err != nil {
					t.Fatal(err)
				}
				b.Recycle()
				if err := w.Inject(fault, 1, 0); err == nil || err.Error() != "no connection leads from task manager 1 to 0: there are 0 to 1" {
					t.Errorf("a fault against the way of the data: %v", err)
				}
				if err := w.Inject(fault, 0, 1); err != nil {
					t.Fatal(err)
				}
				err = drain(g)
				from.producers.Wait()
				for end, err := range map[string]error{"consumer": err, "producer": produced} {
					var te *TransportError
					if !errors.As(err, &te) || !strings.Contains(err.Error(), says) || strings.Count(err.Error(), "the connection") != 1 {
						t.Errorf("%s: %v, expected one that says once %q", end, err, says)
					}
				}
				to.close()
				from.close()
				if n := len(w.links); n > 0 {
					t.Errorf("%d links are left", n)
				}
			})
		})
	}
}

// produceUntilRefused writes buffers until the partition takes no more.
func produceUntilRefused(p *ResultPartition) error {
	for {
		seg, err := p.pool.RequestBlocking(0, nil)
		if err != nil {
			return err
		}
		seg.Finish(100)
		_, err = p.subs[0].addSegment(seg)
		seg.Release()
		if err != nil {
			return err
		}
		p.FlushAll()
	}
}

// TestIdlePeerIsNoFault: a connection on which nothing is sent, and a reader that is busy with what it got, last for ever.
func TestIdlePeerIsNoFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWire(NewMemory())
		l, err := w.Port(0).Listen()
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan net.Conn)
		go func() {
			c, _ := l.Accept()
			accepted <- c
		}()
		here, err := w.Port(1).Dial(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		there := <-accepted
		if a, b := peerName(here, "?"), peerName(there, "?"); a != "tm 0" || b != "tm 1" {
			t.Errorf("peers %s and %s", a, b)
		}
		got := make(chan error)
		go func() {
			var b [10]byte
			_, err := io.ReadFull(here, b[:])
			got <- err
		}()
		time.Sleep(time.Hour)
		if _, err := there.Write(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		if _, err := there.Write(make([]byte, 10)); err != nil { // nobody calls Read now
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := there.Write(make([]byte, 10)); err != nil {
			t.Errorf("a reader that is busy: %v", err)
		}
		here.Close()
		there.Close()
		l.Close()
	})
}

// TestSlowWire: bytes pass at the rate that is set, each way by itself, and a new rate holds for what is on its way.
func TestSlowWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWire(NewMemory())
		w.SetRate(100_000)
		l, _ := w.Port(0).Listen()
		accepted := make(chan net.Conn)
		go func() {
			c, _ := l.Accept()
			accepted <- c
		}()
		here, err := w.Port(1).Dial(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		there := <-accepted
		timed := func(n int, meanwhile func()) time.Duration {
			begin := time.Now()
			read := make(chan error)
			go func() {
				_, err := io.CopyN(io.Discard, here, int64(n))
				read <- err
			}()
			if meanwhile != nil {
				go meanwhile()
			}
			if _, err := there.Write(make([]byte, n)); err != nil {
				t.Error(err)
			}
			if err := <-read; err != nil {
				t.Error(err)
			}
			return time.Since(begin)
		}
		near := func(what string, got, want time.Duration) {
			if got < want-30*time.Millisecond || got > want+30*time.Millisecond {
				t.Errorf("%s: %v, expected %v", what, got, want)
			}
		}
		near("300,000 bytes at 100,000/s", timed(300_000, nil), 3*time.Second)
		time.Sleep(10 * time.Second)
		near("nothing is saved up", timed(100_000, nil), time.Second)
		near("raised after a second", timed(1_100_000, func() {
			time.Sleep(time.Second)
			w.SetRate(500_000)
		}), 3*time.Second)
		w.SetRate(1) // a byte a second, until the limit is taken away
		near("unlimited after a second", timed(1_000_000, func() {
			time.Sleep(time.Second)
			w.SetRate(0)
		}), time.Second)
		w.SetRate(10)
		write := make(chan error)
		go func() {
			_, err := there.Write(make([]byte, 1000))
			write <- err
		}()
		time.Sleep(time.Second)
		there.Close()
		if err := <-write; err == nil {
			t.Error("a write went on after its connection was closed")
		}
		here.Close()
		l.Close()
	})
}

// TestNeighbourWithoutCredit shares a connection between a slow and a fast channel. With credit the fast one does not
// notice the other; without, both are as slow: the connection's reader waits for a buffer of the slow one, and what is
// behind it in the socket waits too.
func TestNeighbourWithoutCredit(t *testing.T) {
	rate := func(noCredit bool) (fast, slow float64) {
		synctest.Test(t, func(t *testing.T) {
			w := NewWire(NewMemory())
			w.SetRate(100 << 20) // in fake time nothing may be endlessly fast
			from, to := newTestTM(t, "tm 0", w.Port(0)), newTestTM(t, "tm 1", w.Port(1))
			from.connections.o.NoCredit, to.connections.o.NoCredit = noCredit, noCredit
			var counts [2]int
			stop := make(chan struct{})
			for i, work := range []time.Duration{time.Millisecond, 100 * time.Millisecond} {
				p := from.partition(i, 1)
				from.register(p)
				from.producers.Go(func() { _ = produceUntilRefused(p) })
				g := to.channel(from.connections.Addr(), i, noCredit)
				g.request(t)
				to.producers.Go(func() {
					for {
						b, _, ok, err := g.Poll()
						if err != nil {
							return
						}
						if !ok {
							select {
							case <-g.woken:
								continue
							case <-stop:
								return
							}
						}
						time.Sleep(work)
						b.Recycle()
						counts[i]++
						select {
						case <-stop:
							return
						default:
						}
					}
				})
			}
			time.Sleep(30 * time.Second)
			close(stop)
			to.producers.Wait()
			fast, slow = float64(counts[0])/30, float64(counts[1])/30
			if _, dialed := to.connections.Connections(); dialed != 1 {
				t.Errorf("%d connections, expected one that both share", dialed)
			}
			to.close()
			from.close()
		})
		return fast, slow
	}
	fast, slow := rate(false)
	fastTCP, slowTCP := rate(true)
	t.Logf("with credit %.1f and %.1f buffers/s, without %.1f and %.1f", fast, slow, fastTCP, slowTCP)
	if fast < 900 || slow < 9.5 || slowTCP < 9.5 {
		t.Errorf("with credit %.1f and %.1f buffers/s, expected about 1000 and 10; without %.1f of the slow one, expected 10", fast, slow, slowTCP)
	}
	if fastTCP >= 0.2*fast {
		t.Errorf("the neighbour takes %.1f buffers/s without credit, expected less than a fifth of the %.1f with it", fastTCP, fast)
	}
}

// channel is a gate of one channel, that reads the only subpartition of a producing subtask.
func (tm *testTM) channel(addr string, subtask int, noCredit bool) *testGate {
	g := tm.gate(addr, 1, 0, 0, 8)
	o := g.channels[0].o
	o.Partition.Subtask, o.NoCredit = subtask, noCredit
	if !noCredit {
		o.ExclusiveBuffers = 2
	}
	c := NewRemoteChannel(o)
	if err := c.Setup(tm.t.Context()); err != nil {
		tm.t.Fatal(err)
	}
	g.SetChannel(c)
	g.channels[0] = c
	return g
}

// TestConnectionForEachExchange: without credit each producing vertex has a connection of its own, or what waits for a buffer
// of one exchange would keep the data of the next behind it. With credit all share one.
func TestConnectionForEachExchange(t *testing.T) {
	for noCredit, want := range map[bool]int{false: 1, true: 2} {
		synctest.Test(t, func(t *testing.T) {
			transport := NewMemory()
			from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
			from.connections.o.NoCredit, to.connections.o.NoCredit = noCredit, noCredit
			for _, vertex := range []string{"source", "middle", "source"} {
				if _, err := to.connections.client(from.connections.Addr(), vertex); err != nil {
					t.Fatal(err)
				}
			}
			if _, dialed := to.connections.Connections(); dialed != want {
				t.Errorf("without credit %v: %d connections, want %d", noCredit, dialed, want)
			}
			to.close()
			from.close()
		})
	}
}

// TestNoCreditTransfers moves every buffer in order, barriers included, and closes cleanly.
func TestNoCreditTransfers(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		from.connections.o.NoCredit, to.connections.o.NoCredit = true, true
		const count = 5000
		var gates []*testGate
		for i := range 3 {
			p := from.partition(i, 1)
			from.register(p)
			from.producers.Go(func() { produce(p, 0, count) })
			g := to.channel(from.connections.Addr(), i, true)
			g.request(t)
			gates = append(gates, g)
		}
		results := make(chan error)
		for _, g := range gates {
			go func() { results <- consume(g, count) }()
		}
		for range gates {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		for _, g := range gates {
			if st := g.channels[0].Stats(); st.SentAddCredit != 0 || st.ExclusiveFree != 0 {
				t.Errorf("%+v: expected neither credit nor buffers of its own", st)
			}
		}
		to.close()
		from.close()
	})
}

func TestFaultNames(t *testing.T) {
	for f := range faultNames {
		if got, err := ParseFault(Fault(f).String()); err != nil || got != Fault(f) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if _, err := ParseFault("flood"); err == nil || !strings.Contains(err.Error(), "cutConnection") {
		t.Errorf("%v, expected the names there are", err)
	}
	if s := fmt.Sprint(Fault(9)); s != "Fault(9)" {
		t.Error(s)
	}
}
