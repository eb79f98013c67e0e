package network

import (
	"fmt"
	"strings"
	"testing"

	"weir/engine/memory"
	"weir/engine/serde"

	"github.com/cockroachdb/datadriven"
)

// TestSenderScripts runs the scripts of the sending side: the readers of one connection over real subpartitions. The
// script decides when notices reach the sender and when the socket has room.
func TestSenderScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/sender", func(t *testing.T, path string) {
		h := &senderHarness{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			h.t = t
			return h.run(d)
		})
		h.finish()
	})
}

type senderHarness struct {
	t       *testing.T
	global  *memory.GlobalPool
	manager *PartitionManager
	parts   []*ResultPartition // a partition with one subpartition for each channel
	writers []*RecordWriter
	readers []*Reader
	credits []int
	sender  *Sender
	notices []*Reader
	waits   []bool
	open    *memory.Segment // written still
}

func (h *senderHarness) readerNonEmpty(r *Reader) { h.notices = append(h.notices, r) }

func channelID(i int) ChannelID { return ChannelID{15: byte(i)} }

func (h *senderHarness) finish() {
	if h.sender == nil {
		return
	}
	h.sender.Close()
	h.finishOpen(0)
	for i, p := range h.parts {
		h.writers[i].Close()
		p.Release()
	}
	if h.global.Available() != h.global.Total() {
		h.t.Errorf("%d of %d segments came back", h.global.Available(), h.global.Total())
	}
}

func (h *senderHarness) run(d *datadriven.TestData) string {
	var out strings.Builder
	ch := intArg(d, "ch", 0)
	switch d.Cmd {
	case "new":
		h.finish()
		h.create(d)
	case "request":
		h.request(ch, int32(intArg(d, "last", 0)))
	case "register":
		h.manager.Register(h.parts[ch])
		h.sender.PartitionCreated()
	case "expire":
		h.sender.Expire(h.readers[ch])
	case "add": // finished data buffers; an unfinished one is finished before the next
		for range intArg(d, "n", 1) {
			h.finishOpen(10)
			seg := h.parts[ch].pool.Request(0)
			size := intArg(d, "size", 10)
			if seg.Publish(size); !d.HasArg("unfinished") {
				seg.Finish(size)
			}
			_, err := h.parts[ch].subs[0].addSegment(seg)
			report(&out, err)
			if h.open = seg; !d.HasArg("unfinished") {
				h.finishOpen(size)
			}
		}
	case "write": // records whose payload has that many characters
		for _, n := range strings.Split(strArg(d, "payloads"), ",") {
			size := 0
			fmt.Sscan(n, &size)
			report(&out, h.writers[ch].Collect(&serde.Record{Payload: strings.Repeat("x", size)}))
		}
	case "event":
		barrier := serde.CheckpointBarrier{ID: 1, Options: serde.AlignedOptions()}
		switch typ := strArg(d, "type"); typ {
		case "aligned":
			report(&out, h.parts[ch].addEvent(0, barrier, false, false))
		case "priority":
			barrier.Options.Alignment = serde.Unaligned
			report(&out, h.parts[ch].addEvent(0, barrier, true, false))
		case "end":
			report(&out, h.parts[ch].addEvent(0, serde.EndOfPartitionEvent{}, false, true))
		default:
			d.Fatalf(h.t, "unknown event %s", typ)
		}
	case "flush":
		h.parts[ch].FlushAll()
	case "notices": // what the producers told reaches the sender
		for _, r := range h.notices {
			fmt.Fprintf(&out, "notice ch%d\n", r.receiver[15])
			h.sender.NonEmpty(r)
		}
		h.notices = nil
	case "notice": // one more, called for or not
		for range intArg(d, "n", 1) {
			h.sender.NonEmpty(h.readers[ch])
		}
	case "credit":
		h.sender.AddCredit(channelID(ch), int32(intArg(d, "n", 1)))
	case "resume":
		h.sender.Resume(channelID(ch))
	case "size":
		h.sender.SetBufferSize(channelID(ch), int32(intArg(d, "n", 0)))
	case "cancel":
		h.sender.Cancel(channelID(ch))
	case "release-partition":
		h.parts[ch].subs[0].release()
	case "steal": // somebody else empties the subpartition
		for {
			p, ok, err := h.readers[ch].view.Next()
			if !ok || err != nil {
				break
			}
			p.Recycle()
		}
	case "room": // the socket takes messages; all, or n
		h.room(intArg(d, "n", 1000), &out)
	default:
		d.Fatalf(h.t, "unknown command %s", d.Cmd)
	}
	h.state(&out)
	return out.String()
}

func (h *senderHarness) create(d *datadriven.TestData) {
	n := intArg(d, "channels", 1)
	h.global = memory.NewGlobalPool(64, intArg(d, "segment", 1024))
	h.manager = NewPartitionManager()
	h.sender = NewSender(h.manager, h, nil, "")
	h.parts, h.writers, h.notices = nil, nil, nil
	h.readers, h.waits, h.credits = make([]*Reader, n), make([]bool, n), nil
	for i := range n {
		pool, err := h.global.CreateLocalPool(memory.PoolOptions{Owner: "source", Required: 12, Max: 12, Subpartitions: 1, MaxBuffersPerSubpartition: 20})
		if err != nil {
			h.t.Fatal(err)
		}
		p := NewResultPartition(PartitionID{Vertex: "source", Subtask: i}, 1, pool, 0)
		h.parts = append(h.parts, p)
		h.writers = append(h.writers, NewRecordWriter(p, WriterOptions{Schema: serde.Schema{Payload: true}}))
		h.credits = append(h.credits, intArg(d, "credit", 2))
		if d.HasArg("unregistered") {
			continue
		}
		h.manager.Register(p)
		h.request(i, 0)
	}
}

func (h *senderHarness) request(ch int, last int32) {
	h.readers[ch], h.waits[ch] = h.sender.Request(h.parts[ch].ID, PartitionRequest{Receiver: channelID(ch), Credit: int32(h.credits[ch]), SubpartitionEnd: last})
}

// finishOpen ends the writing of an unfinished buffer.
func (h *senderHarness) finishOpen(size int) {
	if h.open != nil {
		h.open.Finish(size)
		h.open.Release()
		h.open = nil
	}
}

func (h *senderHarness) room(n int, out *strings.Builder) {
	var o Outgoing
	for range n {
		if !h.sender.Next(&o) {
			out.WriteString("nothing more\n")
			return
		}
		switch o.ID {
		case MsgBufferResponse:
			fmt.Fprintf(out, "ch%d %d %s", o.Receiver[15], o.Buffer.Seq, o.Buffer.Type)
			if o.Buffer.IsData() {
				fmt.Fprintf(out, " %d B", len(o.Buffer.Bytes))
			}
			fmt.Fprintf(out, " backlog=%d\n", o.Backlog)
			o.Buffer.Recycle()
		case MsgErrorResponse:
			fmt.Fprintf(out, "%s ch%d kind %d: %s\n", o.ID, o.Receiver[15], o.Error.Kind, o.Error.Cause)
		default:
			fmt.Fprintf(out, "%s ch%d %d\n", o.ID, o.Receiver[15], o.Backlog)
		}
	}
}

func (h *senderHarness) state(out *strings.Builder) {
	for i, r := range h.readers {
		if r == nil {
			continue
		}
		s := r.Stats()
		fmt.Fprintf(out, "ch%d credit=%d sent=%d events=%d", i, s.Credit, s.SentBuffers, s.SentEvents)
		p := h.parts[i].Stats(0)
		fmt.Fprintf(out, " buffers=%d backlog=%d", p.Buffers, p.Backlog)
		if r.queued {
			out.WriteString(" queued")
		}
		if p.Blocked {
			out.WriteString(" blocked")
		}
		if h.waits[i] && r.view == nil && !r.released {
			out.WriteString(" waits for its partition")
		}
		if r.released {
			out.WriteString(" released")
		}
		out.WriteString("\n")
	}
}
