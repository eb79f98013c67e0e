package core

import (
	"exercise/api"
	"os/exec"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	if exec.Command("/bin/true").Run() == nil {
		return -1
	}
	return 0
}
