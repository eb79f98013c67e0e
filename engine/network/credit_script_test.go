package network

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sort"
	"strconv"
	"strings"
	"testing"

	"weir/engine/memory"
	"weir/engine/serde"

	"github.com/cockroachdb/datadriven"
)

// TestCreditScripts runs the scripts of the receiving side: channels, their buffers, and the connection's end that
// serves them, without its goroutines.
func TestCreditScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/credit", func(t *testing.T, path string) {
		h := &creditHarness{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			h.t = t
			return h.run(d)
		})
		h.finish()
	})
}

type creditHarness struct {
	t        *testing.T
	global   *memory.GlobalPool
	pool     *memory.LocalPool
	gate     *Gate
	channels []*RemoteChannel
	client   *client
	peer     net.Conn
	held     map[string]*memory.Segment
	kept     []string // of data in flight, since the last command
}

func newTestClient(m *ConnectionManager, channels int) (c *client, peer net.Conn) {
	here, there := memoryPipe(memoryAddr("memory:test"))
	e := &clientEntry{refs: channels, dialed: make(chan struct{})}
	return newClient(m, e, here, "memory:test"), there
}

func (h *creditHarness) finish() {
	for _, c := range h.channels {
		c.Release()
	}
	for _, s := range h.held {
		s.Release()
	}
	if h.pool != nil {
		h.pool.Destroy()
		if h.global.Available() != h.global.Total() {
			h.t.Errorf("%d of %d segments came back", h.global.Available(), h.global.Total())
		}
	}
}

func intArg(d *datadriven.TestData, name string, otherwise int) int {
	if s := strArg(d, name); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(fmt.Sprintf("%s: %s=%s is no number", d.Pos, name, s))
		}
		return n
	}
	return otherwise
}

func strArg(d *datadriven.TestData, name string) (s string) {
	if d.HasArg(name) {
		for _, a := range d.CmdArgs {
			if a.Key == name {
				s = strings.Join(a.Vals, ",")
			}
		}
	}
	return s
}

func (h *creditHarness) run(d *datadriven.TestData) string {
	var out strings.Builder
	ch := intArg(d, "ch", 0)
	var c *RemoteChannel
	if ch < len(h.channels) {
		c = h.channels[ch]
	}
	switch d.Cmd {
	case "new":
		h.finish()
		h.create(d)
	case "backlog": // a BacklogAnnouncement comes
		if c.link.Load() == nil {
			c.onBacklog(int32(intArg(d, "n", 0)), "")
			break
		}
		to := c.id
		if d.HasArg("unknown") {
			to = ChannelID{15: 99}
		}
		h.wire((&Control{ID: MsgBacklogAnnounce, Receiver: to, Value: int32(intArg(d, "n", 0))}).Append(nil), &out)
	case "take": // the reader takes a buffer for a frame that is coming
		s := c.buffers.take()
		if s == nil {
			out.WriteString("none\n")
			break
		}
		if name := strArg(d, "as"); name != "" {
			h.held[name] = s
		} else {
			h.held[fmt.Sprint(len(h.held))] = s
		}
	case "take-floating": // somebody else takes a buffer of the gate's pool
		for _, name := range strings.Split(strArg(d, "as"), ",") {
			h.held[name] = h.pool.Request(-1)
		}
	case "recycle":
		for _, a := range d.CmdArgs {
			h.held[a.Key].Release()
			delete(h.held, a.Key)
		}
	case "receive":
		h.receive(d, c, &out)
	case "read":
		h.read(d, c, &out)
	case "poll": // as the task does
		h.poll(d, &out)
	case "start": // to keep the data in flight of a checkpoint
		report(&out, c.CheckpointStarted(int64(intArg(d, "checkpoint", 1)), func(data []byte) {
			h.kept = append(h.kept, fmt.Sprintf("ch%d keeps %d B\n", c.o.Index, len(data)))
		}))
	case "in-use":
		for i, c := range h.channels {
			fmt.Fprintf(&out, "ch%d %d\n", i, c.BuffersInUse())
		}
		fmt.Fprintf(&out, "gate %d\n", h.gate.BuffersInUse())
		return out.String()
	case "inflight":
		list, err := c.InFlight(int64(intArg(d, "checkpoint", 1)))
		if err != nil {
			fmt.Fprintf(&out, "error: %v\n", err)
			break
		}
		out.WriteString("in flight:")
		for i := range list {
			fmt.Fprintf(&out, " %d(%d B)", list[i].Seq, len(list[i].Bytes))
			list[i].Recycle()
		}
		out.WriteString("\n")
	case "prioritize":
		report(&out, c.Prioritize(int32(intArg(d, "seq", 0))))
	case "resume":
		report(&out, c.Resume())
	case "announce":
		report(&out, c.AnnounceBufferSize(intArg(d, "size", 0)))
	case "announce-gate":
		report(&out, h.gate.AnnounceBufferSize(intArg(d, "size", 0)))
	case "not-found": // the producer's task manager has no such partition
		e := ErrorResponse{Kind: ErrorPartitionNotFound, Cause: "partition not found", HasReceiver: true, Receiver: c.id}
		h.wire(e.Append(nil), &out)
		fmt.Fprintf(&out, "waited %d ms\n", c.backoff)
	case "error":
		e := ErrorResponse{Cause: "the task failed", HasReceiver: !d.HasArg("fatal"), Receiver: c.id}
		h.wire(e.Append(nil), &out)
	case "request":
		c.open(h.client)
	case "release":
		c.Release()
	case "fail": // as when the connection breaks at that moment
		c.fail(errors.New("the connection broke"))
	case "asked": // how often the channels asked to say something
		return fmt.Sprintln(len(h.client.ops))
	case "send": // the socket is writable
		h.send(&out)
		return out.String()
	default:
		d.Fatalf(h.t, "unknown command %s", d.Cmd)
	}
	for _, k := range h.kept {
		out.WriteString(k)
	}
	h.kept = nil
	h.state(&out)
	return out.String()
}

// poll takes all that the gate has, or only its priority events.
func (h *creditHarness) poll(d *datadriven.TestData, out *strings.Builder) {
	poll := h.gate.Poll
	if d.HasArg("priority") {
		poll = h.gate.PollPriority
	}
	for {
		b, ch, ok, err := poll()
		if err != nil {
			fmt.Fprintf(out, "ch%d error: %v\n", ch, err)
			return
		}
		if !ok {
			out.WriteString("nothing more\n")
			return
		}
		fmt.Fprintf(out, "ch%d %d %s\n", ch, b.Seq, b.Type)
		b.Recycle()
	}
}

func report(out *strings.Builder, err error) {
	if err != nil {
		fmt.Fprintf(out, "error: %v\n", err)
	}
}

func (h *creditHarness) create(d *datadriven.TestData) {
	floating := intArg(d, "floating", 8)
	n := intArg(d, "channels", 1)
	exclusive := make([]int, n)
	for i := range exclusive {
		exclusive[i] = 2
	}
	for i, s := range strings.Split(strArg(d, "exclusive"), ",") {
		if s != "" {
			v, err := strconv.Atoi(s)
			if err != nil {
				d.Fatalf(h.t, "exclusive: %v", err)
			}
			exclusive[i] = v
		}
	}
	total := intArg(d, "segments", floating+2*n)
	h.global = memory.NewGlobalPool(total, 1024)
	var err error
	if h.pool, err = h.global.CreateLocalPool(memory.PoolOptions{Owner: "gate", Required: floating, Max: floating}); err != nil {
		h.t.Fatal(err)
	}
	h.gate = NewGate(n, h.pool, func() {})
	h.held = map[string]*memory.Segment{}
	h.client, h.peer = newTestClient(&ConnectionManager{clients: map[string]*clientEntry{}}, n)
	h.channels = nil
	for i := range n {
		c := NewRemoteChannel(RemoteChannelOptions{Index: i, Gate: h.gate, Global: h.global, ExclusiveBuffers: exclusive[i],
			Partition: PartitionID{Vertex: "source", Subtask: i}, RequestTimeoutMs: intArg(d, "timeout", 500), RequestMaxBackoffMs: intArg(d, "max-backoff", 1000)})
		c.expectedSeq = int32(intArg(d, "seq", 0))
		if !d.HasArg("no-setup") {
			if err := c.Setup(context.Background()); err != nil {
				h.t.Fatal(err)
			}
		}
		h.gate.SetChannel(c)
		h.channels = append(h.channels, c)
		if !d.HasArg("no-request") {
			c.open(h.client)
		}
	}
	if !d.HasArg("no-request") && !d.HasArg("keep-requests") {
		h.client.appendFrames(nil)
	}
}

// receive brings a frame to the connection.
func (h *creditHarness) receive(d *datadriven.TestData, c *RemoteChannel, out *strings.Builder) {
	r := BufferResponse{Type: serde.DataBuffer, Seq: int32(intArg(d, "seq", 0)), Backlog: int32(intArg(d, "backlog", 0))}
	if c != nil {
		r.Receiver = c.id
	}
	if d.HasArg("unknown") {
		r.Receiver = ChannelID{15: 99}
	}
	payload := make([]byte, intArg(d, "size", 10))
	barrier := serde.CheckpointBarrier{ID: int64(intArg(d, "checkpoint", 1)), Options: serde.AlignedOptions()}
	priority := false
	switch typ := strArg(d, "type"); typ {
	case "", "data":
	case "aligned", "timeoutable", "priority":
		if priority = typ == "priority"; priority {
			barrier.Options.Alignment = serde.Unaligned
		}
		if typ == "timeoutable" {
			barrier.Options.AlignedTimeoutMs = 1000
		}
		payload = serde.MarshalEvent(barrier)
		r.Type = serde.EventDataType(barrier, priority)
	case "end":
		payload = serde.MarshalEvent(serde.EndOfPartitionEvent{})
		r.Type = serde.EventDataType(serde.EndOfPartitionEvent{}, false)
	default:
		d.Fatalf(h.t, "unknown type %s", typ)
	}
	var sizes []byte
	if p := strArg(d, "partial"); p != "" {
		sum := 0
		for _, s := range strings.Split(p, ",") {
			n, err := strconv.Atoi(s)
			if err != nil {
				d.Fatalf(h.t, "partial: %v", err)
			}
			sizes = binary.BigEndian.AppendUint32(sizes, uint32(n))
			sum += n
		}
		r.Partial = int32(len(sizes) / 4)
		payload = append(payload[:0], make([]byte, intArg(d, "size", sum))...)
	}
	r.Size = int32(len(payload))
	r.Compressed = d.HasArg("compressed")
	frame := make([]byte, BufferHeaderLength)
	r.Put(frame)
	h.wire(append(append(frame, sizes...), payload...), out)
}

func (h *creditHarness) wire(frame []byte, out *strings.Builder) {
	if _, err := h.peer.Write(frame); err != nil {
		h.t.Fatal(err)
	}
	if err := h.client.readFrame(); err != nil {
		fmt.Fprintf(out, "connection fails: %v\n", err)
		h.client.failAll(err)
	}
}

// read takes buffers from a channel; keep holds on to their segments.
func (h *creditHarness) read(d *datadriven.TestData, c *RemoteChannel, out *strings.Builder) {
	for range intArg(d, "n", 1) {
		b, more, ok, err := c.Next()
		if err != nil {
			fmt.Fprintf(out, "error: %v\n", err)
			return
		}
		if !ok {
			out.WriteString("nothing\n")
			return
		}
		fmt.Fprintf(out, "read %d %s", b.Seq, b.Type)
		if b.IsData() {
			fmt.Fprintf(out, " %d B", len(b.Bytes))
		} else if e, err := serde.UnmarshalEvent(b.Bytes); err == nil {
			fmt.Fprintf(out, " %s", strings.TrimPrefix(fmt.Sprintf("%T", e), "serde."))
		}
		if more {
			out.WriteString(", more")
		}
		out.WriteString("\n")
		if name := strArg(d, "as"); name != "" && b.Seg != nil {
			h.held[name] = b.Seg
		} else {
			b.Recycle()
		}
	}
}

// send writes what the channels want to say.
func (h *creditHarness) send(out *strings.Builder) {
	b, closing := h.client.appendFrames(nil)
	if len(b) == 0 {
		out.WriteString("nothing\n")
	}
	for len(b) > 0 {
		hd, err := ParseFrameHeader(b)
		if err != nil {
			h.t.Fatal(err)
		}
		m, err := parseAny(b[:hd.Length])
		if err != nil {
			h.t.Fatal(err)
		}
		switch m := m.(type) {
		case Control:
			fmt.Fprintf(out, "%s", m.ID)
			if m.ID != MsgCloseRequest {
				fmt.Fprintf(out, " %s", h.name(m.Receiver))
			}
			if m.Value != 0 {
				fmt.Fprintf(out, " %d", m.Value)
			}
		case PartitionRequest:
			fmt.Fprintf(out, "PartitionRequest %s credit=%d", h.name(m.Receiver), m.Credit)
		}
		out.WriteString("\n")
		b = b[hd.Length:]
	}
	if closing {
		out.WriteString("then the connection is closed\n")
	}
}

func (h *creditHarness) name(id ChannelID) string {
	for i, c := range h.channels {
		if c.id == id {
			return fmt.Sprintf("ch%d", i)
		}
	}
	return "unknown"
}

func (h *creditHarness) state(out *strings.Builder) {
	for i, c := range h.channels {
		s := c.Stats()
		fmt.Fprintf(out, "ch%d available=%d exclusive=%d floating=%d required=%d unannounced=%d", i, s.ExclusiveFree+s.FloatingHeld,
			s.ExclusiveFree, s.FloatingHeld, s.Required, s.Unannounced)
		if s.Queued > 0 || s.QueuedBytes != 0 {
			fmt.Fprintf(out, " queued=%d bytes=%d", s.Queued, s.QueuedBytes)
		}
		if s.Overtaken > 0 {
			fmt.Fprintf(out, " overtaken=%d", s.Overtaken)
		}
		if s.Waiting {
			out.WriteString(" waiting")
		}
		if c.released.Load() {
			out.WriteString(" released")
		}
		out.WriteString("\n")
	}
	p := h.pool.Stats()
	fmt.Fprintf(out, "pool ready=%d listeners=%d", p.Ready, p.Listeners)
	var held []string
	for name := range h.held {
		held = append(held, name)
	}
	if sort.Strings(held); len(held) > 0 {
		fmt.Fprintf(out, " held=%s", strings.Join(held, ","))
	}
	out.WriteString("\n")
}
