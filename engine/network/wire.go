package network

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Fault is what can be done to a connection between two task managers.
type Fault uint8

// The faults.
const (
	CutConnection Fault = iota // both ends find the connection gone
	DamageFrame                // the next frame of the producer arrives with a wrong magic
	StopReading                // the consumer's task manager reads no more
)

var faultNames = [...]string{CutConnection: "cutConnection", DamageFrame: "damageFrame", StopReading: "stopReading"}

// String is the name of the fault as actions have it.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// ParseFault reads the name of a fault: cutConnection, damageFrame or stopReading.
func ParseFault(s string) (Fault, error) {
	if i := slices.Index(faultNames[:], s); i >= 0 {
		return Fault(i), nil
	}
	return 0, fmt.Errorf("fault %q, must be one of %s", s, strings.Join(faultNames[:], ", "))
}

// readTimeout is how long bytes may lie at a peer that should read them. Flink has no such limit on its connections: a
// peer that hangs shows there only when a checkpoint expires.
const readTimeout = 10 * time.Second

// Wire is what lies between the task managers of a job: it gives each of them a Transport of its own over a common one,
// and can slow, cut and disturb the connections. A connection is named by the way of its data, from the producer's task
// manager to the consumer's, which dialed it. It also watches: a peer that leaves bytes unread is found out.
type Wire struct {
	base    Transport
	timeout time.Duration // for bytes that are not read

	rate atomic.Int64 // bytes/s, 0 without a limit

	mu      sync.Mutex
	changed chan struct{}    // closed when the rate changes
	tms     map[string]int   // by the address that they listen on
	links   map[string]*link // by the dialer's address
}

// NewWire makes a wire over a transport.
func NewWire(base Transport) *Wire {
	return &Wire{base: base, timeout: readTimeout, changed: make(chan struct{}), tms: map[string]int{}, links: map[string]*link{}}
}

// Port is the transport of one task manager.
func (w *Wire) Port(tm int) Transport { return &wirePort{w, tm} }

// SetRate bounds the bytes per second that each end of each connection may send; 0 takes the bound away. It holds at
// once, also for what is being sent.
func (w *Wire) SetRate(bytesPerSecond int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rate.Swap(bytesPerSecond) != bytesPerSecond {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// pace is the rate, and a channel that is closed when it changes.
func (w *Wire) pace() (rate int64, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rate.Load(), w.changed
}

// Inject puts a fault on the connections that carry data from one task manager to another. The error is a
// *NoConnectionError if there is none.
func (w *Wire) Inject(f Fault, from, to int) error {
	if int(f) >= len(faultNames) {
		return fmt.Errorf("network: unknown fault %d", f)
	}
	var hit []*link
	none := &NoConnectionError{From: from, To: to}
	w.mu.Lock()
	for _, l := range w.links {
		switch {
		case l.from == from && l.to == to:
			hit = append(hit, l)
		case l.from >= 0 && l.to >= 0:
			none.Open = append(none.Open, [2]int{l.from, l.to})
		}
	}
	w.mu.Unlock()
	if len(hit) == 0 {
		slices.SortFunc(none.Open, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		none.Open = slices.Compact(none.Open)
		return none
	}
	for _, l := range hit {
		switch f {
		case CutConnection:
			l.fail(errCut)
		case DamageFrame:
			l.forward.damage.Store(true)
		case StopReading:
			l.forward.stopped.Store(true)
		}
	}
	return nil
}

// NoConnectionError says that no data goes from one task manager to another.
type NoConnectionError struct {
	From, To int
	Open     [][2]int // the connections that there are
}

// Error implements error.
func (e *NoConnectionError) Error() string {
	if len(e.Open) == 0 {
		return fmt.Sprintf("no connection leads from task manager %d to %d: there is none at all now", e.From, e.To)
	}
	open := make([]string, len(e.Open))
	for i, p := range e.Open {
		open[i] = fmt.Sprintf("%d to %d", p[0], p[1])
	}
	return fmt.Sprintf("no connection leads from task manager %d to %d: there are %s", e.From, e.To, strings.Join(open, ", "))
}

// LinkError says what happened to a connection between two task managers.
type LinkError struct {
	From, To int
	Err      error
}

// Error implements error.
func (e *LinkError) Error() string {
	var u *unreadError
	switch {
	case errors.Is(e.Err, errCut):
		return fmt.Sprintf("the connection from tm %d to tm %d was cut", e.From, e.To)
	case errors.As(e.Err, &u):
		reader, writer := e.To, e.From
		if u.byProducer {
			reader, writer = writer, reader
		}
		return fmt.Sprintf("the connection from tm %d to tm %d is stuck: tm %d does not read what tm %d sends, %d bytes wait there for %v", e.From, e.To, reader, writer, u.bytes, u.waited)
	}
	return fmt.Sprintf("the connection from tm %d to tm %d broke: %v", e.From, e.To, e.Err)
}

// Unwrap gives the cause.
func (e *LinkError) Unwrap() error { return e.Err }

var errCut = errors.New("cut")

// unreadError is the cause of a connection that was given up because its peer does not read.
type unreadError struct {
	bytes      int64
	waited     time.Duration
	byProducer bool
}

func (e *unreadError) Error() string { return fmt.Sprintf("%d bytes unread for %v", e.bytes, e.waited) }

// link is a connection with both its ends.
type link struct {
	wire *Wire
	key  string

	from, to int         // -1 until that end is here; guarded by the wire's lock, as are the ends
	ends     []*wireConn // that are open
	watch    *time.Timer

	forward, back direction // from the producer, and from the consumer

	mu    sync.Mutex
	cause error
	gone  chan struct{} // closed once there is a cause
}

// direction is what one end sends and the other reads.
type direction struct {
	damage  atomic.Bool // the next frame
	stopped atomic.Bool // nothing more is read

	_       [128]byte
	sent    atomic.Int64
	_       [120]byte
	read    atomic.Int64
	reading atomic.Bool // the reader waits for bytes
	_       [112]byte

	seen  int64     // the watch's: read when it last looked
	since time.Time // and when that began to stand still
}

// end adds an end to the link that it belongs to, which is known by the dialer's address.
func (w *Wire) end(conn net.Conn, dialer string, from, to int) *wireConn {
	w.mu.Lock()
	l := w.links[dialer]
	if l == nil {
		l = &link{wire: w, key: dialer, from: -1, to: -1, gone: make(chan struct{})}
		w.links[dialer] = l
		l.watch = time.AfterFunc(w.timeout/10, l.look)
	}
	c := &wireConn{Conn: conn, link: l, out: &l.forward, in: &l.back, closed: make(chan struct{})}
	if from >= 0 {
		l.from = from
	}
	if to >= 0 { // the consumer's end
		l.to = to
		c.out, c.in = &l.back, &l.forward
	}
	l.ends = append(l.ends, c)
	w.mu.Unlock()
	if l.failure() != nil {
		conn.Close()
	}
	return c
}

// left takes an end out; the last one ends the link.
func (l *link) left(c *wireConn) {
	w := l.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	l.ends = slices.DeleteFunc(l.ends, func(e *wireConn) bool { return e == c })
	if len(l.ends) == 0 && w.links[l.key] == l {
		delete(w.links, l.key)
		l.watch.Stop()
	}
}

func (l *link) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// fail breaks the connection; both ends hear of the first cause.
func (l *link) fail(err error) {
	w := l.wire
	w.mu.Lock()
	ends := slices.Clone(l.ends)
	from, to := l.from, l.to
	w.mu.Unlock()
	l.mu.Lock()
	if l.cause != nil {
		l.mu.Unlock()
		return
	}
	l.cause = &LinkError{From: from, To: to, Err: err}
	close(l.gone)
	l.mu.Unlock()
	for _, c := range ends {
		c.Conn.Close()
	}
}

// look is the watch: it finds a reader that waits for bytes and leaves those that are there. One that is busy with what it
// got, or is held by a breakpoint, or waits for a buffer, is not waiting for bytes.
func (l *link) look() {
	now := time.Now()
	for i, d := range [...]*direction{&l.forward, &l.back} {
		reading, read := d.reading.Load(), d.read.Load()
		unread := d.sent.Load() - read
		if !reading || unread <= 0 || read != d.seen || d.since.IsZero() {
			d.seen, d.since = read, now
			continue
		}
		if waited := now.Sub(d.since); waited >= l.wire.timeout {
			l.fail(&unreadError{bytes: unread, waited: waited, byProducer: i == 1})
			return
		}
	}
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	if l.wire.links[l.key] == l {
		l.watch.Reset(l.wire.timeout / 10)
	}
}

// wirePort is the transport of one task manager.
type wirePort struct {
	wire *Wire
	tm   int
}

// Name implements Transport.
func (p *wirePort) Name() string { return p.wire.base.Name() }

// Listen implements Transport.
func (p *wirePort) Listen() (net.Listener, error) {
	l, err := p.wire.base.Listen()
	if err != nil {
		return nil, err
	}
	p.wire.mu.Lock()
	p.wire.tms[l.Addr().String()] = p.tm
	p.wire.mu.Unlock()
	return &wireListener{l, p}, nil
}

// Dial implements Transport.
func (p *wirePort) Dial(addr string) (net.Conn, error) {
	conn, err := p.wire.base.Dial(addr)
	if err != nil {
		return nil, err
	}
	p.wire.mu.Lock()
	from, known := p.wire.tms[addr]
	p.wire.mu.Unlock()
	if !known {
		from = -1
	}
	return p.wire.end(conn, conn.LocalAddr().String(), from, p.tm), nil
}

type wireListener struct {
	net.Listener
	port *wirePort
}

// Accept implements net.Listener.
func (l *wireListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.port.wire.end(conn, conn.RemoteAddr().String(), l.port.tm, -1), nil
}
