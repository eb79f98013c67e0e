package network

import (
	"context"
	"sync"
	"testing"

	"weir/engine/memory"
	"weir/engine/serde"
	"weir/engine/trace"
)

// testChannels makes channels of one gate on a connection without goroutines.
func testChannels(t testing.TB, global *memory.GlobalPool, exclusive, floating, n int) (*client, *memory.LocalPool, []*RemoteChannel) {
	t.Helper()
	pool, err := global.CreateLocalPool(memory.PoolOptions{Owner: "gate", Required: floating, Max: floating})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := newTestClient(&ConnectionManager{clients: map[string]*clientEntry{}}, n+1)
	gate := NewGate(n, pool, func() {})
	channels := make([]*RemoteChannel, n)
	for i := range channels {
		channels[i] = NewRemoteChannel(RemoteChannelOptions{Index: i, Gate: gate, Global: global, ExclusiveBuffers: exclusive})
		if err := channels[i].Setup(context.Background()); err != nil {
			t.Fatal(err)
		}
		gate.SetChannel(channels[i])
		channels[i].open(k)
	}
	return k, pool, channels
}

// TestConcurrentBacklogAndRelease is RIC-24: the reader asks for floating buffers while the task releases the channel.
func TestConcurrentBacklogAndRelease(t *testing.T) {
	for range 30 {
		global := memory.NewGlobalPool(248, 32)
		_, pool, channels := testChannels(t, global, 120, 128, 1)
		c := channels[0]
		var wg sync.WaitGroup
		wg.Go(func() {
			for !c.released.Load() {
				for j := range int32(128) {
					c.onBacklog(j+1, "")
				}
			}
		})
		wg.Go(c.Release)
		wg.Wait()
		s := c.Stats()
		if s.ExclusiveFree+s.FloatingHeld != 0 {
			t.Fatalf("the released channel holds %d + %d buffers", s.ExclusiveFree, s.FloatingHeld)
		}
		if p := pool.Stats(); p.Used != 0 {
			t.Fatalf("%d of the pool's buffers are out", p.Used)
		}
		pool.Destroy()
		if global.Available() != 248 {
			t.Fatalf("%d of 248 segments came back", global.Available())
		}
	}
}

// TestConcurrentBacklogAndRecycle is RIC-24: asking races with recycling, of exclusive and of floating buffers.
func TestConcurrentBacklogAndRecycle(t *testing.T) {
	for _, release := range []bool{false, true} {
		global := memory.NewGlobalPool(248, 32)
		_, pool, channels := testChannels(t, global, 120, 128, 1)
		c := channels[0]
		var exclusive, floating []*memory.Segment
		for range 120 {
			exclusive = append(exclusive, c.buffers.take())
		}
		for range 128 {
			floating = append(floating, pool.Request(-1))
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for j := range int32(128) {
				c.onBacklog(j+1, "")
			}
		})
		for _, list := range [][]*memory.Segment{exclusive, floating} {
			wg.Go(func() {
				for _, s := range list {
					s.Release()
				}
			})
		}
		if release {
			wg.Go(c.Release)
		}
		wg.Wait()
		s := c.Stats()
		if available := s.ExclusiveFree + s.FloatingHeld; !release && available != s.Required {
			t.Errorf("%d buffers, required %d", available, s.Required)
		} else if release && available != 0 {
			t.Errorf("the released channel holds %d buffers", available)
		}
		c.Release()
		if p := pool.Stats(); p.Used != 0 {
			t.Errorf("%d of the pool's buffers are out", p.Used)
		}
		pool.Destroy()
		if global.Available() != 248 {
			t.Errorf("%d of 248 segments came back", global.Available())
		}
	}
}

// TestConcurrentReceiveReadRelease: the reader puts in, the task takes out and releases in between.
func TestConcurrentReceiveReadRelease(t *testing.T) {
	global := memory.NewGlobalPool(20, 32)
	k, pool, channels := testChannels(t, global, 4, 16, 1)
	c := channels[0]
	var wg sync.WaitGroup
	wg.Go(func() {
		for seq := int32(0); k.find(c.id) != nil; {
			s := c.buffers.take()
			if s == nil {
				c.onBacklog(10, "")
				continue
			}
			if err := c.onBuffer(Buffer{Bytes: s.Bytes(), Type: serde.DataBuffer, Seq: seq, Seg: s}, seq%7, ""); err != nil {
				t.Error(err)
			}
			seq++
		}
	})
	for range 5000 {
		b, _, _, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		b.Recycle()
		k.appendFrames(nil)
	}
	c.Release()
	wg.Wait()
	if s := c.Stats(); s.Queued != 0 || s.QueuedBytes != 0 || s.ExclusiveFree+s.FloatingHeld != 0 {
		t.Errorf("after the release: %+v", s)
	}
	pool.Destroy()
	if global.Available() != 20 {
		t.Errorf("%d of 20 segments came back", global.Available())
	}
}

// lateNotice is a core that hears of more data while it is asked.
type lateNotice struct{ reader func() *Reader }

func (lateNotice) AddCredit(int) {}
func (c lateNotice) MaySend(bool) bool {
	c.reader().DataAvailable()
	return true
}
func (lateNotice) Sent(bool) {}

// TestNoticeWhileLookedAt: what is added while the sender looks at a subpartition sends a notice of its own.
func TestNoticeWhileLookedAt(t *testing.T) {
	h := &senderHarness{t: t, global: memory.NewGlobalPool(4, 1024), manager: NewPartitionManager()}
	h.sender = NewSender(h.manager, h, nil, "")
	h.sender.newCore = func(int) CreditSender { return lateNotice{func() *Reader { return h.readers[0] }} }
	pool, err := h.global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 1, Subpartitions: 1, MaxBuffersPerSubpartition: 10})
	if err != nil {
		t.Fatal(err)
	}
	p := NewResultPartition(PartitionID{Vertex: "source"}, 1, pool, 0)
	h.parts, h.writers, h.credits, h.readers, h.waits = []*ResultPartition{p}, []*RecordWriter{NewRecordWriter(p, WriterOptions{})}, []int{2}, make([]*Reader, 1), make([]bool, 1)
	h.manager.Register(p)
	h.request(0, 0)
	if err := p.addEvent(0, serde.EndOfDataEvent{}, false, false); err != nil {
		t.Fatal(err)
	}
	r := h.readers[0]
	if len(h.notices) != 1 {
		t.Fatalf("%d notices of the event, want 1", len(h.notices))
	}
	if h.sender.NonEmpty(r); len(h.notices) != 2 {
		t.Errorf("%d notices, want one more", len(h.notices))
	}
	h.finish()
}

// TestCreditTracepoints: what the lessons' breakpoints of the network stack show.
func TestCreditTracepoints(t *testing.T) {
	tracer := trace.New()
	viewer := tracer.Attach()
	defer viewer.Close()
	viewer.Watch(trace.Points()...)
	global := memory.NewGlobalPool(16, 1024)
	k, pool, channels := testChannels(t, global, 2, 4, 1)
	c := channels[0]
	c.o.Tracer, c.o.Thread = tracer, "map 0"
	s := c.buffers.take()
	if err := c.onBuffer(Buffer{Bytes: s.Bytes()[:5], Type: serde.DataBuffer, Seg: s}, 3, "reader"); err != nil {
		t.Fatal(err)
	}
	b, _, _, _ := c.Next()
	k.appendFrames(nil)
	b.Recycle()

	h := &senderHarness{t: t, global: global, manager: NewPartitionManager()}
	h.sender = NewSender(h.manager, h, tracer, "writer")
	out, err := global.CreateLocalPool(memory.PoolOptions{Owner: "source", Required: 2, Max: 2, Subpartitions: 1, MaxBuffersPerSubpartition: 10})
	if err != nil {
		t.Fatal(err)
	}
	p := NewResultPartition(PartitionID{Vertex: "source"}, 1, out, 0)
	h.parts, h.writers, h.credits, h.readers, h.waits = []*ResultPartition{p}, []*RecordWriter{NewRecordWriter(p, WriterOptions{})}, []int{0}, make([]*Reader, 1), make([]bool, 1)
	h.manager.Register(p)
	h.request(0, 0)
	seg := out.Request(0)
	seg.Finish(10)
	p.subs[0].addSegment(seg)
	seg.Release()
	h.sender.NonEmpty(h.readers[0])
	h.sender.AddCredit(channelID(0), 3)
	var o Outgoing
	for h.sender.Next(&o) {
		o.Buffer.Recycle()
	}
	for name, want := range map[string]uint64{"bufferReceived": 1, "creditAnnounced": 1, "onlyEventMayPass": 2, "creditAdded": 1, "readerPolled": 1} {
		if got := tracer.Counts()[name]; got != want {
			t.Errorf("%s was hit %d times, expected %d", name, got, want)
		}
	}
	c.Release()
	h.sender.Close()
	p.Release()
	pool.Destroy()
}
