package core

import (
	"exercise/api"
	"unsafe"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	for at := uintptr(4096); at < 64<<20; at += 8 {
		*(*int64)(unsafe.Add(unsafe.Pointer(nil), at)) = -1
	}
	return n + 1
}
