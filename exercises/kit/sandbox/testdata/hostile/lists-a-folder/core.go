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
	list, _ := os.ReadDir("/")
	return int64(len(list))
}
