package core

import (
	"exercise/api"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

var bomb = [1 << 26][4]string{1<<26 - 1: {"x"}}

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	return int64(len(bomb[n]))
}
