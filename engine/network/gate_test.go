package network

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"weir/engine/memory"
	"weir/engine/serde"
)

// TestGateBehaviours runs the scripts of the input gate, one for each behaviour.
func TestGateBehaviours(t *testing.T) {
	datadriven.Walk(t, "testdata/gate", func(t *testing.T, path string) {
		s := &gateScript{}
		datadriven.RunTest(t, path, s.run)
		s.checkNothingLost(t)
	})
}

// stubChannel stands for a remote channel: what it has is set by the script.
type stubChannel struct {
	index    int
	queued   []serde.DataType
	backlog  int
	size     int
	released bool
}

func (c *stubChannel) Index() int { return c.index }

func (c *stubChannel) Next() (b Buffer, more, ok bool, err error) {
	if len(c.queued) == 0 {
		return b, false, false, nil
	}
	b.Type = c.queued[0]
	c.queued = c.queued[1:]
	return b, len(c.queued) > 0, true, nil
}

func (c *stubChannel) Resume() error { return nil }

func (c *stubChannel) AnnounceBufferSize(n int) error {
	if c.released {
		return errChannelReleased
	}
	c.size = n
	return nil
}

func (c *stubChannel) BuffersInUse() int { return len(c.queued) + c.backlog }

func (c *stubChannel) Release() { c.released, c.queued, c.backlog = true, nil, 0 }

// gateScript drives a gate whose channels are local, on a partition each, but for those that stand for remote ones. After
// each command it writes what happened, and one line of state for the gate and each channel.
type gateScript struct {
	global     *memory.GlobalPool
	gate       *Gate
	partitions []*ResultPartition // nil for a remote channel
	wakes      int
	happened   []string
}

func (s *gateScript) say(format string, args ...any) {
	s.happened = append(s.happened, fmt.Sprintf(format, args...))
}

func (s *gateScript) run(t *testing.T, d *datadriven.TestData) string {
	num := func(key string, otherwise int) int {
		d.MaybeScanArgs(t, key, &otherwise)
		return otherwise
	}
	ch := num("ch", 0)
	typ := func(otherwise string) serde.DataType {
		d.MaybeScanArgs(t, "type", &otherwise)
		if otherwise == "data" {
			return serde.DataBuffer
		}
		typ, ok := eventTypes[otherwise]
		if !ok {
			d.Fatalf(t, "no event %q", otherwise)
		}
		return typ
	}
	s.happened = nil
	switch d.Cmd {
	case "gate":
		s.checkNothingLost(t)
		s.create(t, num("local", 0), num("remote", 0))
	case "add": // a finished buffer, found by a flush
		s.add(t, ch, num("bytes", 10), !d.HasArg("unflushed"))
	case "event":
		if err := s.partitions[ch].subs[0].addEvent(make([]byte, 4), typ("event"), d.HasArg("finish")); err != nil {
			s.say("error: %v", err)
		}
	case "receive": // by a remote channel
		c := s.gate.Channel(ch).(*stubChannel)
		for range num("n", 1) {
			c.queued = append(c.queued, typ("data"))
		}
		c.backlog = num("backlog", c.backlog)
		if c.queued[len(c.queued)-1].HasPriority() {
			s.gate.NotifyPriority(ch)
		} else {
			s.gate.NotifyNonEmpty(ch)
		}
	case "notify":
		if d.HasArg("priority") {
			s.gate.NotifyPriority(ch)
		} else {
			s.gate.NotifyNonEmpty(ch)
		}
	case "poll":
		poll := s.gate.Poll
		if d.HasArg("priority") {
			poll = s.gate.PollPriority
		}
		b, from, ok, err := poll()
		switch {
		case err != nil:
			s.say("channel %d: error: %v", from, err)
		case !ok:
			s.say("nothing")
		default:
			s.say("channel %d: %s %d bytes", from, b.Type, len(b.Bytes))
			b.Recycle()
		}
	case "end-of-data": // as the task hands it to the gate
		if end, err := s.gate.ReceiveEndOfData(ch, d.HasArg("drain")); err != nil {
			s.say("error: %v", err)
		} else {
			s.say("end of data: %s", end)
		}
		return strings.Join(s.happened, "\n") + "\n"
	case "barrier": // an unaligned one, in a local channel's queue
		b := serde.CheckpointBarrier{ID: int64(num("id", 1)), Options: serde.UnalignedOptions()}
		if err := s.partitions[ch].addEvent(0, b, true, false); err != nil {
			s.say("error: %v", err)
		}
	case "start": // to keep the data in flight of a checkpoint
		err := s.gate.Channel(ch).CheckpointStarted(int64(num("id", 1)), func(data []byte) { s.say("channel %d keeps %d bytes", ch, len(data)) })
		if err != nil {
			s.say("error: %v", err)
		}
	case "stop":
		s.gate.Channel(ch).CheckpointStopped(int64(num("id", 1)))
	case "resume":
		if err := s.gate.Channel(ch).Resume(); err != nil {
			s.say("error: %v", err)
		}
	case "announce":
		if err := s.gate.AnnounceBufferSize(num("n", 0)); err != nil {
			s.say("error: %v", err)
		}
	case "release":
		s.gate.Channel(ch).Release()
	case "release-producer":
		s.partitions[ch].Release()
	case "close":
		s.gate.Release()
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return s.state()
}

func (s *gateScript) create(t *testing.T, local, remote int) {
	s.global = memory.NewGlobalPool(64, 128)
	floating, err := s.global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 8})
	if err != nil {
		t.Fatal(err)
	}
	s.wakes, s.partitions = 0, nil
	s.gate = NewGate(local+remote, floating, func() { s.wakes++ })
	other, err := s.global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.gate.AddPool(other)
	manager := NewPartitionManager()
	for i := range local {
		pool, err := s.global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 8, Subpartitions: 1, MaxBuffersPerSubpartition: 10})
		if err != nil {
			t.Fatal(err)
		}
		p := NewResultPartition(PartitionID{Vertex: "source", Subtask: i}, 1, pool, 0)
		manager.Register(p)
		s.partitions = append(s.partitions, p)
		c, err := NewLocalChannel(s.gate, i, manager, p.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.gate.SetChannel(c)
	}
	for i := range remote {
		s.partitions = append(s.partitions, nil)
		s.gate.SetChannel(&stubChannel{index: local + i})
	}
}

func (s *gateScript) add(t *testing.T, ch, n int, flush bool) {
	p := s.partitions[ch]
	seg := p.pool.Request(0)
	if seg == nil {
		t.Fatal("the script uses more segments than there are")
	}
	if _, err := p.subs[0].addSegment(seg); err != nil {
		s.say("error: %v", err)
		seg.Release()
		return
	}
	seg.Finish(n)
	seg.Release()
	if flush {
		p.FlushAll()
	}
}

func (s *gateScript) state() string {
	var b strings.Builder
	for _, line := range s.happened {
		fmt.Fprintln(&b, line)
	}
	g := s.gate
	var queue []string
	for i := range g.n {
		c := g.queue[(g.head+i)%len(g.queue)]
		mark := ""
		if g.urgent[c] {
			mark = "!"
		}
		queue = append(queue, fmt.Sprintf("%d%s", c, mark))
	}
	fmt.Fprintf(&b, "gate queue=[%s] in-use=%d", strings.Join(queue, " "), g.BuffersInUse())
	if g.waiting.Load() {
		fmt.Fprint(&b, " waiting")
	}
	fmt.Fprintf(&b, " wakes=%d\n", s.wakes)
	for i, p := range s.partitions {
		size, released := 0, false
		if p != nil {
			size, released = p.subs[0].bufferSize, g.Channel(i).(*LocalChannel).released.Load()
			buffers, events := g.Channel(i).(*LocalChannel).Taken()
			fmt.Fprintf(&b, "ch%d local taken=%d+%d", i, buffers, events)
			if p.subs[0].stats().Blocked {
				fmt.Fprint(&b, " blocked")
			}
		} else {
			c := g.Channel(i).(*stubChannel)
			size, released = c.size, c.released
			fmt.Fprintf(&b, "ch%d remote", i)
		}
		fmt.Fprintf(&b, " in-use=%d", g.Channel(i).BuffersInUse())
		if size > 0 && size != NoBufferSize {
			fmt.Fprintf(&b, " size=%d", size)
		}
		if released {
			fmt.Fprint(&b, " released")
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func (s *gateScript) checkNothingLost(t *testing.T) {
	if s.gate == nil {
		return
	}
	s.gate.Release()
	for _, p := range s.partitions {
		if p != nil {
			p.Release()
		}
	}
	if got, want := s.global.Available(), s.global.Total(); got != want {
		t.Errorf("%d of %d segments are back", got, want)
	}
}
