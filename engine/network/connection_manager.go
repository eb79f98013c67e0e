package network

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"weir/engine/trace"
)

// ConnectionOptions sets up the connections of one task manager.
type ConnectionOptions struct {
	// Name of the task manager in the trace's thread names and in errors, such as "tm 0".
	Name      string
	Transport Transport
	// Provider has the partitions produced here.
	Provider PartitionProvider
	// Vertices are the names of the job's vertices; requests carry only ids made from them.
	Vertices []string
	// RequestTimeout is how long a request waits here for its partition; 0 is Flink's 10 s.
	RequestTimeout time.Duration
	Tracer         *trace.Tracer
	// NoCredit sends whatever is available, without credit, on a connection for each pair of vertices.
	NoCredit bool
	// Frames keeps the frames of these connections, if there is one and it is on.
	Frames *FrameTap
	// SenderCore makes what keeps a reader's credit in place of it; nil leaves the readers' own.
	SenderCore func(credit int) CreditSender
}

// defaultRequestTimeout is taskmanager.network.partition-request-timeout.
const defaultRequestTimeout = 10 * time.Second

// ConnectionManager has the connections of one task manager (Flink's NettyConnectionManager): it listens for consumers,
// and opens one connection to each producer's task manager, which all channels share. The last channel closes it.
type ConnectionManager struct {
	o        ConnectionOptions
	vertices map[[16]byte]string
	listener net.Listener

	mu      sync.Mutex
	clients map[string]*clientEntry
	live    map[*client]struct{} // those whose goroutines run, closing ones included
	servers map[*serverConn]struct{}
	number  int // of connections accepted, for thread names
	closed  bool
	wg      sync.WaitGroup
}

// clientEntry is a connection that exists or is being dialed.
type clientEntry struct {
	key    string
	refs   int
	dialed chan struct{} // closed once client or err is set
	client *client
	err    error
}

var errManagerClosed = errors.New("network: the connection manager is closed")

// NewConnectionManager starts listening. Close ends it.
func NewConnectionManager(o ConnectionOptions) (*ConnectionManager, error) {
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = defaultRequestTimeout
	}
	l, err := o.Transport.Listen()
	if err != nil {
		return nil, fmt.Errorf("network: %s cannot listen over %s: %w", o.Name, o.Transport.Name(), err)
	}
	m := &ConnectionManager{o: o, listener: l, vertices: map[[16]byte]string{}, clients: map[string]*clientEntry{}, live: map[*client]struct{}{}, servers: map[*serverConn]struct{}{}}
	for _, v := range o.Vertices {
		m.vertices[VertexID(v)] = v
	}
	m.wg.Go(m.accept)
	return m, nil
}

// Addr is what consumers dial.
func (m *ConnectionManager) Addr() string { return m.listener.Addr().String() }

// PartitionCreated lets the requests look again that wait for a partition. Call it after each registration.
func (m *ConnectionManager) PartitionCreated() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.servers {
		s.post(serverOp{kind: opPartitionCreated})
	}
}

// Connections counts those open now: accepted from consumers, and dialed to producers.
func (m *ConnectionManager) Connections() (accepted, dialed int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.servers), len(m.clients)
}

func (m *ConnectionManager) accept() {
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			return // closed; a listener on the loopback interface has no other way to fail for good
		}
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			conn.Close()
			return
		}
		if m.o.NoCredit {
			boundSocket(conn)
		}
		s := newServerConn(m, conn, m.number)
		m.number++
		m.servers[s] = struct{}{}
		m.wg.Go(s.readLoop)
		m.wg.Go(s.writeLoop)
		m.mu.Unlock()
	}
}

func (m *ConnectionManager) serverDone(s *serverConn) {
	m.mu.Lock()
	delete(m.servers, s)
	m.mu.Unlock()
}

// client gives the connection to a task manager, with one more reference; it dials if there is none. All channels share it.
// Without credit those of one producing vertex do: a reader that waits for a buffer of one exchange must not keep the data
// of the exchange behind it, or both would wait for ever (the connection index of Flink's ConnectionID).
func (m *ConnectionManager) client(addr, vertex string) (*client, error) {
	key := addr
	if m.o.NoCredit {
		key += " " + vertex
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, errManagerClosed
	}
	e := m.clients[key]
	if e != nil {
		e.refs++
		m.mu.Unlock()
		<-e.dialed
		return e.client, e.err
	}
	e = &clientEntry{key: key, refs: 1, dialed: make(chan struct{})}
	m.clients[key] = e
	m.mu.Unlock()

	conn, err := m.o.Transport.Dial(addr)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.closed {
		conn.Close()
		err = errManagerClosed
	}
	if err != nil {
		e.err = err
		delete(m.clients, key)
		close(e.dialed)
		return nil, err
	}
	if m.o.NoCredit {
		boundSocket(conn)
	}
	e.client = newClient(m, e, conn, addr)
	m.live[e.client] = struct{}{}
	m.wg.Go(func() {
		e.client.readLoop()
		m.mu.Lock()
		delete(m.live, e.client)
		m.mu.Unlock()
	})
	m.wg.Go(e.client.writeLoop)
	close(e.dialed)
	return e.client, nil
}

// forget takes a connection that failed or is closing out of the list, so that the next channel dials anew.
func (m *ConnectionManager) forget(c *client) {
	m.mu.Lock()
	m.forgetLocked(c)
	m.mu.Unlock()
}

func (m *ConnectionManager) forgetLocked(c *client) {
	if m.clients[c.entry.key] == c.entry {
		delete(m.clients, c.entry.key)
	}
}

// release gives a reference back; last tells that the connection is to be closed.
func (m *ConnectionManager) release(c *client) (last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.entry.refs--
	if c.entry.refs == 0 {
		m.forgetLocked(c)
	}
	return c.entry.refs == 0
}

// Close ends listening and all connections, and waits until their goroutines are gone. Channels still open fail.
func (m *ConnectionManager) Close() error {
	m.mu.Lock()
	m.closed = true
	clients := make([]*client, 0, len(m.live))
	for c := range m.live {
		clients = append(clients, c)
	}
	for s := range m.servers {
		s.conn.Close()
	}
	m.mu.Unlock()
	err := m.listener.Close()
	for _, c := range clients {
		c.fail(errManagerClosed)
	}
	m.wg.Wait()
	return err
}
