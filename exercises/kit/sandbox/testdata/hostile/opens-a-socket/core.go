package core

import (
	"exercise/api"
	"net"
	"strconv"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.FormatInt(n, 10))
	if err != nil {
		return 0
	}
	_, _ = conn.Write([]byte("hello"))
	return 1
}
