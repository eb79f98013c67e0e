package network

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/memory"
	"weir/engine/serde"

	"go.uber.org/goleak"
)

// overTransports runs a test over TCP, and over the in-memory transport in fake time; no goroutine may be left.
func overTransports(t *testing.T, test func(t *testing.T, transport Transport)) {
	t.Run("tcp", func(t *testing.T) {
		defer goleak.VerifyNone(t)
		test(t, TCP{})
	})
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, NewMemory()) })
	})
}

// testTM is one task manager: memory, partitions, and connections.
type testTM struct {
	t           *testing.T
	name        string
	memory      *memory.GlobalPool
	partitions  *PartitionManager
	connections *ConnectionManager
	made        []*ResultPartition
	gates       []*testGate
	producers   sync.WaitGroup
}

const testSegment = 4096

func newTestTM(t *testing.T, name string, transport Transport) *testTM {
	tm := &testTM{t: t, name: name, memory: memory.NewGlobalPool(128, testSegment), partitions: NewPartitionManager()}
	var err error
	tm.connections, err = NewConnectionManager(ConnectionOptions{Name: name, Transport: transport, Provider: tm.partitions,
		Vertices: []string{"source"}, RequestTimeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

// close releases everything and looks that every segment is back.
func (tm *testTM) close() {
	for _, g := range tm.gates {
		g.Release()
	}
	for _, p := range tm.made {
		p.Release()
	}
	if err := tm.connections.Close(); err != nil {
		tm.t.Errorf("%s: close: %v", tm.name, err)
	}
	tm.producers.Wait() // they find their partitions released
	if a, n := tm.memory.Available(), tm.memory.Total(); a != n {
		tm.t.Errorf("%s: %d of %d segments came back", tm.name, a, n)
	}
}

func (tm *testTM) partition(subtask, subpartitions int) *ResultPartition {
	pool, err := tm.memory.CreateLocalPool(memory.PoolOptions{Owner: fmt.Sprintf("source %d out", subtask), Required: subpartitions + 1,
		Max: 2*subpartitions + 8, Subpartitions: subpartitions, MaxBuffersPerSubpartition: 10, MaxOverdraft: 20})
	if err != nil {
		tm.t.Fatal(err)
	}
	p := NewResultPartition(PartitionID{Vertex: "source", Subtask: subtask}, subpartitions, pool, 0)
	tm.made = append(tm.made, p)
	return p
}

func (tm *testTM) register(p *ResultPartition) {
	tm.partitions.Register(p)
	tm.connections.PartitionCreated()
}

type testGate struct {
	*Gate
	woken    chan struct{}
	channels []*RemoteChannel
}

// gate makes one remote channel for each producing subtask, reading its subpartition sub.
func (tm *testTM) gate(addr string, producers, sub, exclusive, floating int) *testGate {
	pool, err := tm.memory.CreateLocalPool(memory.PoolOptions{Owner: "map in", Required: max(1, floating), Max: max(1, floating)})
	if err != nil {
		tm.t.Fatal(err)
	}
	g := &testGate{woken: make(chan struct{}, 1)}
	g.Gate = NewGate(producers, pool, func() {
		select {
		case g.woken <- struct{}{}:
		default:
		}
	})
	tm.gates = append(tm.gates, g)
	for i := range producers {
		c := NewRemoteChannel(RemoteChannelOptions{Index: i, Gate: g.Gate, Global: tm.memory, ExclusiveBuffers: exclusive,
			Partition: PartitionID{Vertex: "source", Subtask: i}, Subpartition: sub, Addr: addr, Connections: tm.connections,
			RequestTimeoutMs: 500, RequestMaxBackoffMs: 1000, Thread: tm.name})
		if err := c.Setup(context.Background()); err != nil {
			tm.t.Fatal(err)
		}
		g.SetChannel(c)
		g.channels = append(g.channels, c)
	}
	return g
}

func (g *testGate) request(t *testing.T) {
	for _, c := range g.channels {
		if err := c.Request(); err != nil {
			t.Fatal(err)
		}
	}
}

// next waits for the next buffer of any channel.
func (g *testGate) next() (Buffer, int, error) {
	for {
		b, ch, ok, err := g.Poll()
		if ok || err != nil {
			return b, ch, err
		}
		<-g.woken
	}
}

// produce writes count buffers that hold their number, then the end. It stops when the partition is released.
func produce(p *ResultPartition, sub, count int) {
	for i := range count {
		seg, err := p.pool.RequestBlocking(sub, nil)
		if err != nil {
			return
		}
		size := 8 + i%(testSegment-8)
		binary.BigEndian.PutUint64(seg.Bytes(), uint64(i))
		seg.Finish(size)
		_, err = p.subs[sub].addSegment(seg)
		seg.Release()
		if err != nil {
			return
		}
	}
	p.addEvent(sub, serde.EndOfPartitionEvent{}, false, true)
}

// consume reads a gate to its end and looks that every buffer of each channel came once, in order, whole.
func consume(g *testGate, count int) error {
	seen := make([]int, len(g.channels))
	ended := 0
	for ended < len(seen) {
		b, ch, err := g.next()
		if err != nil {
			return err
		}
		if !b.IsData() {
			if b.Type == serde.EndOfPartition {
				ended++
			}
			continue
		}
		if i := int(binary.BigEndian.Uint64(b.Bytes)); i != seen[ch] || len(b.Bytes) != 8+i%(testSegment-8) {
			return fmt.Errorf("channel %d: buffer %d of %d bytes, expected number %d", ch, i, len(b.Bytes), seen[ch])
		}
		seen[ch]++
		b.Recycle()
	}
	for ch, n := range seen {
		if n != count {
			return fmt.Errorf("channel %d: %d buffers, expected %d", ch, n, count)
		}
	}
	return nil
}

// TestTransfer sends from 3 subtasks to 2, over one connection, with exclusive buffers and without.
func TestTransfer(t *testing.T) {
	for _, c := range []struct{ exclusive, floating int }{{2, 8}, {0, 3}, {1, 1}} {
		t.Run(fmt.Sprintf("%d exclusive %d floating", c.exclusive, c.floating), func(t *testing.T) {
			overTransports(t, func(t *testing.T, transport Transport) {
				const producers, consumers, count = 3, 2, 300
				from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
				var wg sync.WaitGroup
				for i := range producers {
					p := from.partition(i, consumers)
					from.register(p)
					for sub := range consumers {
						from.producers.Go(func() { produce(p, sub, count) })
					}
				}
				// A flusher, as channels without exclusive buffers hear of a last lone buffer only by a flush.
				stop := make(chan struct{})
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(time.Millisecond):
							for _, p := range from.made {
								p.FlushAll()
							}
						}
					}
				})
				gates := make([]*testGate, consumers)
				var read sync.WaitGroup
				for sub := range gates {
					gates[sub] = to.gate(from.connections.Addr(), producers, sub, c.exclusive, c.floating)
					gates[sub].request(t)
				}
				for _, g := range gates {
					read.Go(func() {
						if err := consume(g, count); err != nil {
							t.Error(err)
						}
					})
				}
				read.Wait()
				close(stop)
				if accepted, _ := from.connections.Connections(); accepted != 1 {
					t.Errorf("%d connections, expected one for all channels", accepted)
				}
				for i, p := range from.made {
					for sub := range consumers {
						s, ok := p.ReaderStats(sub)
						if !ok || s.SentBuffers != count || s.SentEvents != 1 {
							t.Errorf("partition %d subpartition %d: %+v, %v", i, sub, s, ok)
						}
						r := gates[sub].channels[i].Stats()
						if r.Buffers != count || r.Events != 1 || r.Queued != 0 || r.QueuedBytes != 0 {
							t.Errorf("channel %d of gate %d: %+v", i, sub, r)
						}
						if got := int64(c.exclusive) + r.AnnouncedCredit - s.SentBuffers; got < int64(s.Credit) {
							t.Errorf("the sender holds %d credits, at most %d were given", s.Credit, got)
						}
					}
				}
				to.close()
				wg.Wait()
				for i, p := range from.made { // the last picture of a job still tells what was sent
					for sub := range consumers {
						if s, ok := p.ReaderStats(sub); !ok || s.SentBuffers != count || s.SentEvents != 1 {
							t.Errorf("partition %d subpartition %d, when its reader is gone: %+v, %v", i, sub, s, ok)
						}
					}
				}
				from.close()
			})
		})
	}
}

// TestConservation: at rest, every credit that a sender holds is a free buffer of its channel that was announced.
func TestConservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := NewMemory()
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		p := from.partition(0, 1)
		from.register(p)
		g := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		g.request(t)
		from.producers.Go(func() { produce(p, 0, 200) })
		for range 10 {
			synctest.Wait() // the consumer is slow: everything stands still
			s, _ := p.ReaderStats(0)
			r := g.channels[0].Stats()
			if free := r.ExclusiveFree + r.FloatingHeld; s.Credit != free-r.Unannounced {
				t.Fatalf("the sender holds %d credits; the channel has %d free buffers, %d of them unannounced", s.Credit, free, r.Unannounced)
			}
			for range 7 {
				b, _, err := g.next()
				if err != nil {
					t.Fatal(err)
				}
				b.Recycle()
			}
		}
		to.close()
		from.close()
	})
}

// TestCutConnection: a connection that breaks fails the channels of both ends and leaves nothing behind.
func TestCutConnection(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		p := from.partition(0, 1)
		from.register(p)
		g := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		g.request(t)
		from.producers.Go(func() { produce(p, 0, 100000) })
		b, _, err := g.next()
		if err != nil {
			t.Fatal(err)
		}
		b.Recycle()
		from.connections.mu.Lock()
		for s := range from.connections.servers {
			s.conn.Close()
		}
		from.connections.mu.Unlock()
		err = drain(g)
		var te *TransportError
		if !errors.As(err, &te) || !te.Remote {
			t.Errorf("%v, expected a remote transport error", err)
		}
		// A later channel gets a new connection.
		again := from.partition(1, 1)
		from.register(again)
		late := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		late.channels[0].o.Partition.Subtask = 1
		late.request(t)
		from.producers.Go(func() { produce(again, 0, 10) })
		if err := consume(late, 10); err != nil {
			t.Error(err)
		}
		to.close()
		from.close()
	})
}

// drain reads until an error.
func drain(g *testGate) error {
	for {
		b, _, err := g.next()
		if err != nil {
			return err
		}
		b.Recycle()
	}
}

// TestPeerCloses: the producer's task manager goes down, and so does the consumer's.
func TestPeerCloses(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		p := from.partition(0, 1)
		from.register(p)
		g := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		g.request(t)
		from.producers.Go(func() { produce(p, 0, 100000) })
		b, _, err := g.next()
		if err != nil {
			t.Fatal(err)
		}
		b.Recycle()
		from.close()
		if err := drain(g); err == nil {
			t.Error("no error")
		}
		// A new channel finds nobody to dial, or, if the end has not been noticed yet, fails with the old connection.
		late := to.gate(from.connections.Addr(), 1, 0, 2, 1)
		if err := late.channels[0].Request(); err == nil {
			if err := drain(late); err == nil {
				t.Error("no error")
			}
		} else if !strings.Contains(err.Error(), "source") {
			t.Errorf("%v, expected an error that names the partition", err)
		}
		to.close()
		if err := late.channels[0].Request(); err == nil {
			t.Error("a closed manager opened a connection")
		}
	})
}

// TestConsumerCloses: the consumer's manager closes with channels open; they fail with a local error.
func TestConsumerCloses(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		p := from.partition(0, 1)
		from.register(p)
		g := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		g.request(t)
		from.producers.Go(func() { produce(p, 0, 100000) })
		if err := to.connections.Close(); err != nil {
			t.Fatal(err)
		}
		var te *TransportError
		if err := drain(g); !errors.As(err, &te) || te.Remote || !errors.Is(err, errManagerClosed) {
			t.Errorf("%v, expected a local transport error", err)
		}
		g.Release()
		from.close()
	})
}

// TestGarbageFromProducer: what is no frame fails all channels of the connection, with the reason.
func TestGarbageFromProducer(t *testing.T) {
	for name, garbage := range map[string][]byte{
		"no frame":             []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"a consumer's message": (&Control{ID: MsgAddCredit, Value: 1}).Append(nil),
		"a huge event":         hugeEvent(),
	} {
		t.Run(name, func(t *testing.T) {
			overTransports(t, func(t *testing.T, transport Transport) {
				l, err := transport.Listen()
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					request := make([]byte, partitionRequestLength)
					io.ReadFull(conn, request)
					if len(garbage) > BufferHeaderLength {
						copy(garbage[9:25], request[77:93]) // for that channel
					}
					conn.Write(garbage)
					io.Copy(io.Discard, conn) // until the consumer closes
					conn.Close()
				})
				to := newTestTM(t, "tm 1", transport)
				g := to.gate(l.Addr().String(), 1, 0, 2, 8)
				g.request(t)
				var f *FrameError
				if err := drain(g); !errors.As(err, &f) {
					t.Errorf("%v, expected a frame error", err)
				}
				to.close()
				l.Close()
				wg.Wait()
			})
		})
	}
}

func hugeEvent() []byte {
	b := make([]byte, BufferHeaderLength, BufferHeaderLength+100)
	(&BufferResponse{Type: serde.EventBuffer, Size: maxEventBytes + 1}).Put(b)
	return append(b, make([]byte, 100)...)
}

// TestGarbageFromConsumer: the producer's side says what is wrong, closes, and releases the readers.
func TestGarbageFromConsumer(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		from := newTestTM(t, "tm 0", transport)
		p := from.partition(0, 1)
		from.register(p)
		conn, err := transport.Dial(from.connections.Addr())
		if err != nil {
			t.Fatal(err)
		}
		r := partitionRequest(p.ID, 0, ChannelID{1}, 2)
		conn.Write(r.Append(nil))
		conn.Write([]byte("garbage, no frame"))
		wantAnswer(t, conn, "magic")
		// A frame that is longer than any that a consumer sends is not waited for, and what producers send is refused.
		backlog := Control{ID: MsgBacklogAnnounce, Value: 1}
		for about, garbage := range map[string][]byte{
			"length of ErrorResponse": appendFrameHeader(nil, maxErrorLength, MsgErrorResponse),
			"one that a consumer":     backlog.Append(nil),
		} {
			if conn, err = transport.Dial(from.connections.Addr()); err != nil {
				t.Fatal(err)
			}
			conn.Write(garbage)
			wantAnswer(t, conn, about)
		}
		from.close()
	})
}

// wantAnswer reads a connection to its end: an error about something in what was sent.
func wantAnswer(t *testing.T, conn net.Conn, about string) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ParseErrorResponse(answer)
	if err != nil || !e.Fatal() || !strings.Contains(e.Cause, about) {
		t.Errorf("answer %q: %+v, %v, expected an error about %s", answer, e, err, about)
	}
	conn.Close()
}

// TestCancelOne: one of two channels is released; the other, on the same connection, is read to its end.
func TestCancelOne(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		for i := range 2 {
			p := from.partition(i, 1)
			from.register(p)
			from.producers.Go(func() { produce(p, 0, 200) })
		}
		gone := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		gone.request(t)
		b, _, err := gone.next()
		if err != nil {
			t.Fatal(err)
		}
		b.Recycle()
		stays := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		stays.channels[0].o.Partition.Subtask = 1
		stays.request(t)
		gone.channels[0].Release()
		if err := stays.channels[0].AckAllRecordsProcessed(); err != nil {
			t.Fatal(err)
		}
		if err := consume(stays, 200); err != nil {
			t.Error(err)
		}
		to.close()
		from.close()
	})
}

// TestLastChannelClosesConnection: the next one dials anew.
func TestLastChannelClosesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := NewMemory()
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		for i := range 2 {
			from.register(from.partition(i, 1))
		}
		for i := range 2 {
			g := to.gate(from.connections.Addr(), 1, 0, 2, 2)
			g.channels[0].o.Partition.Subtask = i
			g.request(t)
			synctest.Wait()
			accepted, _ := from.connections.Connections()
			_, dialed := to.connections.Connections()
			if accepted != 1 || dialed != 1 {
				t.Errorf("channel %d: %d accepted, %d dialed", i, accepted, dialed)
			}
			g.Release()
			synctest.Wait()
			accepted, _ = from.connections.Connections()
			_, dialed = to.connections.Connections()
			if accepted != 0 || dialed != 0 {
				t.Errorf("after channel %d: %d accepted, %d dialed", i, accepted, dialed)
			}
		}
		to.close()
		from.close()
	})
}

// TestPartitionNotYetThere: a request waits for its partition; one that never comes fails after the retries.
func TestPartitionNotYetThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := NewMemory()
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		p := from.partition(0, 1)
		g := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		g.request(t)
		time.Sleep(1200 * time.Millisecond) // in fake time: two waits of 500 ms and some
		from.producers.Go(func() {
			from.register(p)
			produce(p, 0, 3)
		})
		if err := consume(g, 3); err != nil {
			t.Error(err)
		}

		never := to.gate(from.connections.Addr(), 1, 0, 2, 8)
		never.channels[0].o.Partition.Subtask = 7
		start := time.Now()
		never.request(t)
		if _, _, err := never.next(); !errors.Is(err, ErrPartitionNotFound) {
			t.Errorf("%v, expected that the partition is not found", err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("failed after %v, expected 2s: four waits of 500ms", d)
		}
		to.close()
		from.close()
	})
}

// TestUnknownSubpartition: what the producer's side cannot give is an error at the consumer.
func TestUnknownSubpartition(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		from.register(from.partition(0, 1))
		g := to.gate(from.connections.Addr(), 1, 5, 2, 8)
		g.request(t)
		if err := drain(g); err == nil || !strings.Contains(err.Error(), "not 5") {
			t.Errorf("%v, expected an error that names the subpartition", err)
		}
		to.close()
		from.close()
	})
}

// TestZeroExclusiveBuffers is field report 5: two producers, one consumer with no exclusive and a single floating
// buffer, a barrier after every few buffers. The only buffer must not stay with the channel that is blocked.
func TestZeroExclusiveBuffers(t *testing.T) {
	overTransports(t, func(t *testing.T, transport Transport) {
		const checkpoints, between = 20, 5
		from, to := newTestTM(t, "tm 0", transport), newTestTM(t, "tm 1", transport)
		for i := range 2 {
			p := from.partition(i, 1)
			from.register(p)
			from.producers.Go(func() {
				for id := range checkpoints {
					for range between {
						seg, err := p.pool.RequestBlocking(0, nil)
						if err != nil {
							return
						}
						seg.Finish(100)
						p.subs[0].addSegment(seg)
						seg.Release()
						p.FlushAll() // buffer timeout 0
					}
					p.addEvent(0, serde.CheckpointBarrier{ID: int64(id), Options: serde.AlignedOptions()}, false, false)
				}
				p.addEvent(0, serde.EndOfPartitionEvent{}, false, true)
			})
		}
		g := to.gate(from.connections.Addr(), 2, 0, 0, 1)
		g.request(t)
		var barriers, buffers [2]int
		for ended := 0; ended < 2; {
			b, ch, err := g.next()
			if err != nil {
				t.Fatal(err)
			}
			switch b.Type {
			case serde.DataBuffer:
				buffers[ch]++
				if barriers[ch] > barriers[1-ch] {
					t.Fatalf("data of channel %d came while it was blocked", ch)
				}
			case serde.AlignedCheckpointBarrier:
				if barriers[ch]++; barriers[0] == barriers[1] {
					if buffers[0] != buffers[1] || buffers[0] != barriers[0]*between {
						t.Fatalf("checkpoint %d after %v buffers", barriers[0], buffers)
					}
					for _, c := range g.channels {
						if err := c.Resume(); err != nil {
							t.Fatal(err)
						}
					}
				}
			case serde.EndOfPartition:
				ended++
			}
			b.Recycle()
		}
		if barriers != [2]int{checkpoints, checkpoints} {
			t.Errorf("%v barriers", barriers)
		}
		to.close()
		from.close()
	})
}

// TestTransportErrors is CBH-10: whose side a failure arose on.
func TestTransportErrors(t *testing.T) {
	c := &client{addr: "there"}
	for _, e := range []struct {
		err    error
		remote bool
	}{{io.EOF, true}, {io.ErrUnexpectedEOF, true}, {&net.OpError{Op: "read", Err: io.ErrClosedPipe}, true}, {net.ErrClosed, false},
		{errors.New("disk on fire"), false}, {&FrameError{"magic", 1, "2"}, false}} {
		var te *TransportError
		if err := c.wrap(e.err); !errors.As(err, &te) || te.Remote != e.remote || !errors.Is(err, e.err) {
			t.Errorf("%v became %v", e.err, err)
		}
	}
}
