package network

import "net"

// plainSocketBytes is what either end of a connection without credit may hold in its socket. Left to itself the kernel
// takes several megabytes, and it would be long before a slow channel shows.
const plainSocketBytes = 128 << 10

// boundSocket bounds what a connection holds between its ends. A transport without sockets has bounds of its own, and a
// socket that refuses is closed already or holds more than it need.
func boundSocket(c net.Conn) {
	if w, ok := c.(*wireConn); ok {
		c = w.Conn
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetReadBuffer(plainSocketBytes)
		_ = t.SetWriteBuffer(plainSocketBytes)
	}
}
