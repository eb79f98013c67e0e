package network

import (
	"fmt"
	"net"
	"strings"
	"sync"
)

// Transport makes the connections between task managers.
type Transport interface {
	// Name is the knob's value, tcp or memory.
	Name() string
	// Listen opens a listener on an address of its own; its Addr is what a peer dials.
	Listen() (net.Listener, error)
	// Dial opens a connection to a listener's address.
	Dial(addr string) (net.Conn, error)
}

// NewTransport is the transport of a name: tcp, or memory.
func NewTransport(name string) (Transport, error) {
	switch strings.ToLower(name) {
	case "tcp", "":
		return TCP{}, nil
	case "memory":
		return NewMemory(), nil
	}
	return nil, fmt.Errorf("network: transport is %q, expected tcp or memory", name)
}

// TCP connects over the loopback interface.
type TCP struct{}

// Name implements Transport.
func (TCP) Name() string { return "tcp" }

// Listen implements Transport, on a free port of 127.0.0.1.
func (TCP) Listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// Dial implements Transport.
func (TCP) Dial(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }

// Memory connects inside the process, by buffered pipes that block on nothing but condition variables and channels; it
// therefore works in the fake time of testing/synctest. Its listeners are found by those who share the value only.
type Memory struct {
	mu        sync.Mutex
	next      int
	listeners map[string]*memoryListener
}

// NewMemory makes a transport of its own.
func NewMemory() *Memory { return &Memory{listeners: map[string]*memoryListener{}} }

// Name implements Transport.
func (m *Memory) Name() string { return "memory" }

// Listen implements Transport.
func (m *Memory) Listen() (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	l := &memoryListener{m: m, addr: memoryAddr(fmt.Sprintf("memory:%d", m.next)), accept: make(chan net.Conn), closed: make(chan struct{})}
	m.listeners[string(l.addr)] = l
	return l, nil
}

// Dial implements Transport.
func (m *Memory) Dial(addr string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[addr]
	m.next++
	dialer := memoryAddr(fmt.Sprintf("memory:%d", m.next))
	m.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memoryAddr(addr), Err: net.ErrClosed}
	}
	here, there := memoryPipe(l.addr)
	here.local, there.remote = dialer, dialer
	select {
	case l.accept <- there:
		return here, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: l.addr, Err: net.ErrClosed}
	}
}

type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

type memoryListener struct {
	m      *Memory
	addr   memoryAddr
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() {
		l.m.mu.Lock()
		delete(l.m.listeners, string(l.addr))
		l.m.mu.Unlock()
		close(l.closed)
	})
	return nil
}

func (l *memoryListener) Addr() net.Addr { return l.addr }
