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
	_, user := os.LookupEnv("HOME")
	if user || len(os.Environ()) > 0 {
		return -1
	}
	return int64(len(os.Args))
}
