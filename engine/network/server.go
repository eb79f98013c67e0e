package network

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// maxFrames is how many frames go in one writev.
const maxFrames = 16

type serverOpKind uint8

const (
	opControl serverOpKind = iota
	opRequest
	opNonEmpty
	opPartitionCreated
	opExpire
	opFatal // bytes that are no frame: the consumer is told, then the connection is closed
	opEnd   // the consumer closed, or the connection broke
)

// serverOp is one thing for the goroutine that owns the sender.
type serverOp struct {
	kind    serverOpKind
	reader  *Reader
	control Control
	request *PartitionRequest
	err     error
}

// serverConn is the producer's end of a connection: a writer goroutine that owns the sender, and a reader goroutine for
// what the consumer says. Credits, notices and all else reach the writer through an inbox that it swaps whole.
type serverConn struct {
	manager *ConnectionManager
	conn    net.Conn
	sender  *Sender
	parker  *parker

	mu    sync.Mutex
	ops   []serverOp
	spare []serverOp

	timers map[*Reader]*time.Timer // of requests that wait for their partition; the writer's own

	// What one writev takes; reused.
	out     [maxFrames]Outgoing
	headers [maxFrames][BufferHeaderLength]byte
	slices  [2 * maxFrames][]byte
	buffers net.Buffers
}

func newServerConn(m *ConnectionManager, conn net.Conn, number int) *serverConn {
	s := &serverConn{manager: m, conn: conn, parker: newParker(), timers: map[*Reader]*time.Timer{}}
	s.sender = NewSender(m.o.Provider, s, m.o.Tracer, fmt.Sprintf("%s writes to consumer %d", m.o.Name, number))
	s.sender.frames, s.sender.noCredit, s.sender.newCore = m.o.Frames, m.o.NoCredit, m.o.SenderCore
	return s
}

func (s *serverConn) post(op serverOp) {
	s.mu.Lock()
	s.ops = append(s.ops, op)
	s.mu.Unlock()
	s.parker.wake()
}

func (s *serverConn) readerNonEmpty(r *Reader) { s.post(serverOp{kind: opNonEmpty, reader: r}) }

func (s *serverConn) readLoop() {
	err := s.readFrames()
	var bad *FrameError
	var broken *LinkError // by what the other end found
	if errors.As(err, &bad) && !errors.As(err, &broken) {
		s.post(serverOp{kind: opFatal, err: err})
		return
	}
	s.post(serverOp{kind: opEnd, err: err})
}

// readFrames reads what the consumer sends; all of it is short, so many frames come in one read.
func (s *serverConn) readFrames() error {
	var buf [4096]byte
	n := 0
	for {
		m, err := s.conn.Read(buf[n:])
		n += m
		from := 0
		for n-from >= FrameHeaderLength {
			h, err := ParseFrameHeader(buf[from:n])
			if err != nil {
				return err
			}
			if h.Length > partitionRequestLength {
				return &FrameError{"length of " + h.ID.String(), int64(h.Length), "a message that a consumer sends"}
			}
			if n-from < h.Length {
				break
			}
			if err := s.frame(h, buf[from:from+h.Length]); err != nil {
				return err
			}
			from += h.Length
		}
		n = copy(buf[:], buf[from:n])
		if err != nil {
			if err == io.EOF && n > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
}

func (s *serverConn) frame(h FrameHeader, b []byte) error {
	switch h.ID {
	case MsgPartitionRequest:
		r, err := ParsePartitionRequest(b)
		if err != nil {
			return err
		}
		s.post(serverOp{kind: opRequest, request: &r})
		return nil
	case MsgBufferResponse, MsgErrorResponse, MsgBacklogAnnounce:
		return &FrameError{"message id", int64(h.ID), "one that a consumer sends"}
	}
	c, err := ParseControl(h, b)
	if err != nil {
		return err
	}
	if c.ID == MsgCloseRequest {
		s.post(serverOp{kind: opEnd})
		return nil
	}
	s.post(serverOp{kind: opControl, control: c})
	return nil
}

func (s *serverConn) writeLoop() {
	defer s.end()
	for {
		if !s.apply() {
			return
		}
		n := 0
		for n < maxFrames && s.sender.Next(&s.out[n]) {
			n++
		}
		if n == 0 {
			s.parker.park()
			continue
		}
		if err := s.write(s.out[:n]); err != nil {
			s.lose(err)
			return
		}
	}
}

// apply empties the inbox into the sender; false ends the connection.
func (s *serverConn) apply() bool {
	s.mu.Lock()
	ops := s.ops
	s.ops = s.spare[:0]
	s.mu.Unlock()
	goOn := true
	for i := range ops {
		op := &ops[i]
		switch op.kind {
		case opNonEmpty:
			s.sender.NonEmpty(op.reader)
		case opControl:
			s.control(op.control)
		case opRequest:
			s.request(op.request)
		case opPartitionCreated:
			s.sender.PartitionCreated()
		case opExpire:
			delete(s.timers, op.reader)
			s.sender.PartitionCreated() // a last look
			s.sender.Expire(op.reader)
		case opFatal:
			s.lose(op.err)
			s.sender.FailAll(op.err)
			var o Outgoing
			for s.sender.Next(&o) {
				if s.write([]Outgoing{o}) != nil {
					break
				}
			}
			goOn = false
		case opEnd:
			if op.err != nil && goOn {
				s.lose(op.err)
			}
			goOn = false
		}
	}
	clear(ops)
	s.spare = ops
	return goOn
}

func (s *serverConn) control(c Control) {
	switch c.ID {
	case MsgAddCredit:
		s.sender.AddCredit(c.Receiver, c.Value)
	case MsgResumeConsumption:
		s.sender.Resume(c.Receiver)
	case MsgNewBufferSize:
		s.sender.SetBufferSize(c.Receiver, c.Value)
	case MsgCancelRequest:
		s.sender.Cancel(c.Receiver)
	}
	// AckAllUserRecordsProcessed and SegmentId have no one here who waits for them.
}

func (s *serverConn) request(req *PartitionRequest) {
	partition := PartitionID{Vertex: s.manager.vertices[req.JobVertex], Subtask: int(req.Subtask), Attempt: int(req.Attempt)}
	r, waits := s.sender.Request(partition, *req)
	if waits {
		s.timers[r] = time.AfterFunc(s.manager.o.RequestTimeout, func() { s.post(serverOp{kind: opExpire, reader: r}) })
	}
}

// write sends up to maxFrames messages with one writev, payloads straight from their segments, and releases them.
func (s *serverConn) write(out []Outgoing) error {
	k := 0
	for i := range out {
		o := &out[i]
		h := s.headers[i][:]
		switch o.ID {
		case MsgBufferResponse:
			b := BufferResponse{Receiver: o.Receiver, Subpartition: o.Sub, Seq: o.Buffer.Seq, Backlog: o.Backlog, Type: o.Buffer.Type, Size: int32(len(o.Buffer.Bytes))}
			b.Put(h)
			s.slices[k] = h
			k++
			if len(o.Buffer.Bytes) > 0 {
				s.slices[k] = o.Buffer.Bytes
				k++
			}
		case MsgErrorResponse:
			s.slices[k] = o.Error.Append(nil)
			k++
		default:
			m := Control{ID: o.ID, Receiver: o.Receiver, Value: o.Backlog}
			s.slices[k] = m.Append(h[:0])
			k++
		}
	}
	s.buffers = s.slices[:k]
	_, err := writeBuffers(s.conn, &s.buffers)
	clear(s.slices[:k])
	for i := range out {
		out[i].Buffer.Recycle()
		out[i].Error.Cause = ""
	}
	return err
}

// lose notes, once, why the connection broke, for the producers that will find nobody reading.
func (s *serverConn) lose(err error) {
	if s.sender.lost != nil {
		return
	}
	var bad *FrameError
	if !errors.As(err, &bad) { // a consumer that sends garbage is answered first
		err = breakLink(s.conn, err)
	}
	s.sender.lost = &TransportError{Remote: isRemote(err), Addr: peerName(s.conn, s.conn.RemoteAddr().String()), Err: err}
}

// end releases the readers and the connection.
func (s *serverConn) end() {
	for _, t := range s.timers {
		t.Stop()
	}
	s.sender.Close()
	s.conn.Close()
	s.manager.serverDone(s)
}

// ReaderStats reads who sends a subpartition to another task manager, or sent it; false if nobody did.
func (p *ResultPartition) ReaderStats(sub int) (ReaderStats, bool) {
	s := p.subs[sub]
	s.mu.Lock()
	r, ok := s.reader.(*Reader)
	s.mu.Unlock()
	if !ok {
		return ReaderStats{}, false
	}
	return r.Stats(), true
}
