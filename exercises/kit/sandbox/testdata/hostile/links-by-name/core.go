package core

import (
	"exercise/api"
	_ "unsafe"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	return nanotime()
}
