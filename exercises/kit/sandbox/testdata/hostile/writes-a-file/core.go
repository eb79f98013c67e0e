package core

import (
	"exercise/api"
	"os"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	if os.WriteFile("/tmp/weir-was-here", []byte("x"), 0o600) == nil {
		return -1
	}
	return n + 1
}
