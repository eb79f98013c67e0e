package network

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"weir/engine/memory"
	"weir/engine/serde"
)

// TestSubpartitionBehaviours runs the scripts of PipelinedSubpartition, one for each behaviour.
func TestSubpartitionBehaviours(t *testing.T) {
	datadriven.Walk(t, "testdata/subpartition", func(t *testing.T, path string) {
		s := &subpartitionScript{}
		datadriven.RunTest(t, path, s.run)
		s.checkNothingLost(t)
	})
}

// countingListener counts notices.
type countingListener struct{ data, priority int }

func (l *countingListener) DataAvailable()          { l.data++ }
func (l *countingListener) PriorityAvailable(int32) { l.priority++ }

// eventTypes are the events of scripts by name.
var eventTypes = map[string]serde.DataType{
	"event":   serde.EventBuffer,
	"barrier": serde.AlignedCheckpointBarrier,
	"urgent":  serde.PrioritizedEventBuffer,
	"end":     serde.EndOfPartition,
}

// subpartitionScript drives one subpartition. After each command it writes what happened, and one line of state for the
// subpartition and its notices.
type subpartitionScript struct {
	global   *memory.GlobalPool
	pool     *memory.LocalPool
	sub      *Subpartition
	view     *View
	notices  countingListener
	open     []*memory.Segment // written still; the last is the newest
	happened []string
}

func (s *subpartitionScript) say(format string, args ...any) {
	s.happened = append(s.happened, fmt.Sprintf(format, args...))
}

func (s *subpartitionScript) run(t *testing.T, d *datadriven.TestData) string {
	num := func(key string, otherwise int) int {
		d.MaybeScanArgs(t, key, &otherwise)
		return otherwise
	}
	name := func() string {
		if len(d.CmdArgs) == 0 {
			d.Fatalf(t, "%s needs a name", d.Cmd)
		}
		return d.CmdArgs[0].Key
	}
	s.happened = nil
	switch d.Cmd {
	case "new":
		s.create(t, num("start", 0))
		if !d.HasArg("unread") {
			s.createView()
		}
	case "view":
		s.createView()
	case "add":
		s.add(t, num("bytes", 0), d.HasArg("finished"))
	case "write":
		seg := s.open[len(s.open)-1]
		n, _ := seg.Written()
		seg.Publish(n + num("bytes", 0))
	case "finish-buffer":
		s.finishOpen()
	case "event":
		typ, ok := eventTypes[name()]
		if !ok {
			d.Fatalf(t, "no event %q", name())
		}
		if err := s.sub.addEvent(make([]byte, num("bytes", 4)), typ, typ == serde.EndOfPartition); err != nil {
			s.say("error: %v", err)
		}
	case "flush":
		s.sub.flush()
	case "poll":
		s.poll()
	case "drain":
		s.drain()
	case "availability":
		for _, credit := range []bool{true, false} {
			ready, backlog := s.view.Availability(credit)
			s.say("with credit %v: available=%v backlog=%d", credit, ready, backlog)
		}
	case "resume":
		s.view.Resume()
	case "size":
		s.view.SetBufferSize(num("n", 0))
	case "return-empty":
		s.view.ReturnEmpty()
	case "release":
		s.sub.release()
	case "sent":
		buffers, bytes := (&ResultPartition{subs: []*Subpartition{s.sub}}).Sent()
		s.say("%d data buffers, %d bytes", buffers, bytes)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return s.state()
}

func (s *subpartitionScript) create(t *testing.T, start int) {
	s.checkNothingLost(t)
	s.notices = countingListener{}
	const segments = 16
	s.global = memory.NewGlobalPool(segments, 2048)
	var err error
	s.pool, err = s.global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: segments, Subpartitions: 1, MaxBuffersPerSubpartition: segments})
	if err != nil {
		t.Fatal(err)
	}
	s.sub = newSubpartition(0, start)
}

func (s *subpartitionScript) createView() {
	v, err := s.sub.createView(&s.notices)
	if err != nil {
		s.say("error: %v", err)
		return
	}
	s.view = v
}

// add queues a segment as the writer does: first it is there, then it is written, then it may be finished. Neither of
// the last two tells the subpartition.
func (s *subpartitionScript) add(t *testing.T, n int, finished bool) {
	seg := s.pool.Request(0)
	if seg == nil {
		t.Fatal("the script uses more segments than there are")
	}
	size, err := s.sub.addSegment(seg)
	if err != nil {
		s.say("error: %v", err)
		seg.Release()
		return
	}
	if size == NoBufferSize {
		s.say("cut at any size")
	} else {
		s.say("cut at %d", size)
	}
	seg.Publish(n)
	s.open = append(s.open, seg)
	if finished {
		s.finishOpen()
	}
}

func (s *subpartitionScript) finishOpen() {
	last := len(s.open) - 1
	seg := s.open[last]
	s.open = s.open[:last]
	n, _ := seg.Written()
	seg.Finish(n)
	seg.Release()
}

func (s *subpartitionScript) poll() (polled bool) {
	p, ok, err := s.view.Next()
	switch {
	case err != nil:
		s.say("error: %v", err)
	case !ok:
		s.say("nothing")
	default:
		next := p.Next.String()
		line := fmt.Sprintf("%s %d bytes seq=%d backlog=%d next=%s", p.Type, len(p.Bytes), p.Seq, p.Backlog, next)
		seg := p.Seg
		if b, ok := barrierIn(&p.Buffer); ok && b.Options.IsUnaligned() {
			line += ", an unaligned barrier"
		}
		p.Recycle()
		if seg != nil && seg.Refs() > 0 {
			line += ", the writer holds it still"
		}
		s.say("%s", line)
	}
	return ok
}

// drain polls for as long as there is something available.
func (s *subpartitionScript) drain() {
	_, backlog := s.view.Availability(true)
	data := 0
	for {
		if ready, _ := s.view.Availability(true); !ready {
			break
		}
		p, ok, err := s.view.Next()
		if err != nil || !ok {
			s.say("available, but nothing to read: %v", err)
			break
		}
		if p.IsData() {
			data++
		}
		p.Recycle()
	}
	s.say("backlog said %d, read %d data buffers", backlog, data)
}

func (s *subpartitionScript) state() string {
	var b strings.Builder
	for _, line := range s.happened {
		fmt.Fprintln(&b, line)
	}
	st := s.sub.stats()
	flags := ""
	for _, f := range []struct {
		name string
		on   bool
	}{{"flushed", s.sub.flushRequested.Load()}, {"blocked", st.Blocked}, {"finished", s.sub.finished}, {"released", s.sub.released}} {
		if f.on {
			flags += " " + f.name
		}
	}
	fmt.Fprintf(&b, "sub queue=%v backlog=%d%s\n", st.Fill, st.Backlog, flags)
	fmt.Fprintf(&b, "totals buffers=%d events=%d bytes=%d\n", st.TotalBuffers, st.TotalEvents, st.TotalBytes)
	fmt.Fprintf(&b, "notices data=%d priority=%d\n", s.notices.data, s.notices.priority)
	return b.String()
}

// checkNothingLost releases all there is and counts the segments.
func (s *subpartitionScript) checkNothingLost(t *testing.T) {
	if s.sub == nil {
		return
	}
	for len(s.open) > 0 {
		s.finishOpen()
	}
	s.sub.release()
	s.pool.Destroy()
	if got, want := s.global.Available(), s.global.Total(); got != want {
		t.Errorf("%d of %d segments are back", got, want)
	}
}

// PSV-18: a producer and a consumer, either of them slow or not, move 128 buffers of 32 KiB; every value comes in order.
// Who is slow gives the processor away after each buffer.
func TestPSV18EveryValueInOrder(t *testing.T) {
	const buffers, segmentBytes = 128, 32 << 10
	for _, slow := range []struct{ producer, consumer bool }{{}, {producer: true}, {consumer: true}, {true, true}} {
		t.Run(fmt.Sprintf("slow producer %v, slow consumer %v", slow.producer, slow.consumer), func(t *testing.T) {
			global := memory.NewGlobalPool(8, segmentBytes)
			pool, err := global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 8, Subpartitions: 1, MaxBuffersPerSubpartition: 10})
			if err != nil {
				t.Fatal(err)
			}
			sub := newSubpartition(0, 0)
			wake := make(wakeUp, 1)
			view, err := sub.createView(wake)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { produceInts(t, sub, pool, buffers, slow.producer) })
			consumeInts(t, view, wake, buffers*segmentBytes/4, slow.consumer)
			wg.Wait()
			pool.Destroy()
			if global.Available() != 8 {
				t.Errorf("%d of 8 segments are back", global.Available())
			}
		})
	}
}

// wakeUp is a listener that wakes a goroutine.
type wakeUp chan struct{}

func (w wakeUp) wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

func (w wakeUp) DataAvailable()          { w.wake() }
func (w wakeUp) PriorityAvailable(int32) { w.wake() }

func produceInts(t *testing.T, sub *Subpartition, pool *memory.LocalPool, buffers int, slow bool) {
	value := uint32(0)
	for range buffers {
		seg, err := pool.RequestBlocking(0, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := sub.addSegment(seg); err != nil {
			t.Error(err)
		}
		b := seg.Bytes()
		for i := 0; i < len(b); i += 4 {
			binary.BigEndian.PutUint32(b[i:], value)
			value++
			seg.Publish(i + 4)
		}
		seg.Finish(len(b))
		seg.Release()
		sub.flush()
		if slow {
			runtime.Gosched()
		}
	}
}

func consumeInts(t *testing.T, view *View, wake wakeUp, values int, slow bool) {
	expected := uint32(0)
	for expected < uint32(values) {
		p, ok, err := view.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			<-wake
			continue
		}
		for b := p.Bytes; len(b) > 0; b = b[4:] {
			if got := binary.BigEndian.Uint32(b); got != expected {
				t.Fatalf("value %d, expected %d", got, expected)
			}
			expected++
		}
		p.Recycle()
		if slow {
			runtime.Gosched()
		}
	}
}
