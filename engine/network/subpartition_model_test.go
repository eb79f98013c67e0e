package network

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/engine/memory"
	"weir/engine/serde"
)

// modelEntry is a queued buffer or event with its own copy of the bytes that nobody has read.
type modelEntry struct {
	unread []byte
	open   bool
	typ    serde.DataType
}

// queueModel is a subpartition as plain as it can be: it walks the whole queue for each question.
type queueModel struct {
	queue             []*modelEntry
	flushed           bool
	blocked, finished bool
	seq               int32
	size              int
}

// readable is how many entries from the head may be read now without asking anew.
func (m *queueModel) readable() int {
	n := 0
	for i, e := range m.queue {
		if m.blocked && !e.typ.HasPriority() {
			break
		}
		if e.open && i == len(m.queue)-1 && !m.flushed {
			break
		}
		n++
	}
	return n
}

func (m *queueModel) backlog() (n int) {
	if m.blocked {
		return 0
	}
	for i, e := range m.queue {
		// A data buffer at the very end is not counted: the writer may go on writing it.
		if e.typ == serde.DataBuffer && (i < len(m.queue)-1 || m.flushed || m.finished) {
			n++
		}
	}
	return n
}

// announced tells if the reader has to have been told: of all that is readable but a last data buffer that nobody
// flushed, which may wait for the next buffer or flush although its writer is done with it.
func (m *queueModel) announced() bool {
	n := m.readable()
	return n > 1 || (n == 1 && (len(m.queue) > 1 || m.flushed || m.queue[0].typ != serde.DataBuffer))
}

func (m *queueModel) flush() {
	if len(m.queue) > 1 || (len(m.queue) == 1 && len(m.queue[0].unread) > 0) {
		m.flushed = true
	}
}

func (m *queueModel) add(e *modelEntry) {
	at := len(m.queue)
	if e.typ.HasPriority() {
		for at = 0; at < len(m.queue) && m.queue[at].typ.HasPriority(); at++ {
		}
	}
	m.queue = slices.Insert(m.queue, at, e)
}

func (m *queueModel) poll() (p Polled, ok bool) {
	for {
		if len(m.queue) == 0 {
			m.flushed = false
			return p, false
		}
		head := m.queue[0]
		if m.blocked && !head.typ.HasPriority() {
			return p, false
		}
		if len(m.queue) == 1 {
			m.flushed = false
		}
		p.Bytes, p.Type = head.unread, head.typ
		head.unread = nil
		if !head.open {
			m.queue = m.queue[1:]
		}
		if len(p.Bytes) > 0 || p.Type != serde.DataBuffer {
			break
		}
		if head.open {
			return p, false
		}
	}
	m.blocked = m.blocked || p.Type.BlocksUpstream()
	p.Seq = m.seq
	m.seq++
	p.Backlog = m.backlog()
	if m.readable() > 0 {
		p.Next = m.queue[0].typ
	}
	return p, true
}

// modelRun drives a subpartition and its model together.
type modelRun struct {
	t        *testing.T
	rnd      *rand.Rand
	pool     *memory.LocalPool
	sub      *Subpartition
	view     *View
	notices  countingListener
	model    queueModel
	open     *memory.Segment // the writer's
	pos      int
	writing  *modelEntry
	held     []Buffer
	contents [][]byte // what held has to have still
	told     bool     // the reader knows that there is something to read
	next     byte
	history  []string
}

// TestSubpartitionAgainstModel compares random histories with a plain queue: each answer, and that the reader was told
// of whatever it can read.
func TestSubpartitionAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range 300 {
		modelHistory(t, seed+uint64(round), 400)
		if t.Failed() {
			t.Fatalf("to run it again: modelHistory(t, %d, 400)", seed+uint64(round))
		}
	}
}

func modelHistory(t *testing.T, seed uint64, steps int) {
	const segments, segmentBytes = 24, 64
	global := memory.NewGlobalPool(segments, segmentBytes)
	pool, err := global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: segments, Subpartitions: 1, MaxBuffersPerSubpartition: 10})
	if err != nil {
		t.Fatal(err)
	}
	m := &modelRun{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), pool: pool, sub: newSubpartition(0, 0), model: queueModel{size: NoBufferSize}}
	if m.view, err = m.sub.createView(&m.notices); err != nil {
		t.Fatal(err)
	}
	for range steps {
		m.step()
		if m.check(); t.Failed() {
			t.Fatal(strings.Join(m.history, "\n"))
		}
	}
	m.finishOpen()
	for len(m.held) > 0 {
		m.recycle()
	}
	m.sub.release()
	pool.Destroy()
	if global.Available() != segments {
		t.Errorf("%d of %d segments are back", global.Available(), segments)
	}
}

func (m *modelRun) did(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
}

func (m *modelRun) step() {
	switch n := m.rnd.IntN(100); {
	case n < 15:
		m.addSegment()
	case n < 40:
		m.write()
	case n < 45:
		m.finishOpen()
	case n < 60:
		m.did("flush")
		m.sub.flush()
		m.model.flush()
	case n < 64:
		m.addEvent(serde.EventBuffer)
	case n < 66:
		m.addEvent(serde.AlignedCheckpointBarrier)
	case n < 69:
		m.addEvent(serde.PrioritizedEventBuffer)
	case n < 90:
		m.poll()
	case n < 94:
		m.resume()
	case n < 95:
		m.model.size = 1 + m.rnd.IntN(100)
		m.view.SetBufferSize(m.model.size)
	case n < 96 && m.rnd.IntN(4) == 0:
		m.addEvent(serde.EndOfPartition)
	default:
		m.recycle()
	}
}

func (m *modelRun) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = m.next
		m.next++
	}
	return b
}

func (m *modelRun) addSegment() {
	seg := m.pool.Request(0)
	if seg == nil {
		return
	}
	m.finishOpen()
	m.did("add a segment")
	size, err := m.sub.addSegment(seg)
	if (err != nil) != m.model.finished {
		m.t.Errorf("error %v, finished %v", err, m.model.finished)
	}
	if err != nil {
		seg.Release()
		return
	}
	if size != m.model.size {
		m.t.Errorf("cut at %d, expected %d", size, m.model.size)
	}
	m.open, m.pos, m.writing = seg, 0, &modelEntry{open: true, typ: serde.DataBuffer}
	m.model.add(m.writing)
}

func (m *modelRun) write() {
	if m.open == nil {
		return
	}
	b := m.bytes(m.rnd.IntN(min(20, m.open.Size()-m.pos) + 1))
	m.did("write %d", len(b))
	m.pos += copy(m.open.Bytes()[m.pos:], b)
	m.open.Publish(m.pos)
	m.writing.unread = append(m.writing.unread, b...)
}

func (m *modelRun) finishOpen() {
	if m.open == nil {
		return
	}
	m.did("finish the buffer")
	m.open.Finish(m.pos)
	m.open.Release()
	m.writing.open = false
	m.open, m.writing = nil, nil
}

func (m *modelRun) addEvent(typ serde.DataType) {
	if !typ.HasPriority() {
		m.finishOpen()
	}
	m.did("add %s", typ)
	b := m.bytes(4)
	if err := m.sub.addEvent(b, typ, typ == serde.EndOfPartition); (err != nil) != m.model.finished {
		m.t.Errorf("error %v, finished %v", err, m.model.finished)
	}
	if !m.model.finished {
		m.model.add(&modelEntry{unread: b, typ: typ})
		m.model.finished = typ == serde.EndOfPartition
	}
}

func (m *modelRun) poll() {
	got, ok, err := m.view.Next()
	want, wantOK := m.model.poll()
	m.did("poll: %v %s %d bytes", ok, got.Type, len(got.Bytes))
	switch {
	case err != nil:
		m.t.Error(err)
	case ok != wantOK:
		m.t.Errorf("polled %v, expected %v", ok, wantOK)
	case ok:
		if got.Type != want.Type || got.Seq != want.Seq || got.Backlog != want.Backlog || got.Next != want.Next || !bytes.Equal(got.Bytes, want.Bytes) {
			m.t.Errorf("polled %+v\nexpected %+v", got, want)
		}
		m.held, m.contents = append(m.held, got.Buffer), append(m.contents, want.Bytes)
	}
	m.told = ok && got.Next != serde.None
}

func (m *modelRun) resume() {
	m.did("resume")
	m.view.Resume()
	m.model.blocked = false
	if ready, _ := m.view.Availability(true); ready {
		m.told = true
	}
}

// recycle gives back any of the held buffers: nobody may have written to it.
func (m *modelRun) recycle() {
	if len(m.held) == 0 {
		return
	}
	i := m.rnd.IntN(len(m.held))
	if !bytes.Equal(m.held[i].Bytes, m.contents[i]) {
		m.t.Errorf("a buffer that is held still changed: %v, expected %v", m.held[i].Bytes, m.contents[i])
	}
	m.held[i].Recycle()
	m.held, m.contents = slices.Delete(m.held, i, i+1), slices.Delete(m.contents, i, i+1)
}

func (m *modelRun) check() {
	if m.notices.data > 0 || m.notices.priority > 0 {
		m.told, m.notices = true, countingListener{}
	}
	if m.model.announced() && !m.told {
		m.t.Error("there is something to read, and the reader was not told")
	}
	readable := m.model.readable() > 0
	ready, backlog := m.view.Availability(true)
	if ready != readable || backlog != m.model.backlog() {
		m.t.Errorf("available %v backlog %d, expected %v %d", ready, backlog, readable, m.model.backlog())
	}
	event := readable && m.model.queue[0].typ != serde.DataBuffer
	if ready, _ := m.view.Availability(false); ready != event {
		m.t.Errorf("available without credit %v, expected %v", ready, event)
	}
	if m.view.Queued() != len(m.model.queue) {
		m.t.Errorf("%d queued, expected %d", m.view.Queued(), len(m.model.queue))
	}
	st := m.sub.stats()
	for i, e := range m.model.queue {
		want := len(e.unread)
		if e.typ != serde.DataBuffer {
			want = -1
		}
		if st.Fill[i] != want {
			m.t.Errorf("entry %d has %d bytes, expected %d", i, st.Fill[i], want)
		}
	}
}
