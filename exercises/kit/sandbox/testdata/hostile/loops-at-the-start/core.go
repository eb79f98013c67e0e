package core

import (
	"exercise/api"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

var started = forever()

func forever() int64 {
	n := int64(0)
	for {
		n++
	}
}

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	return n + started
}
