package core

import (
	"exercise/api"
	"github.com/spf13/cobra"
)

// New makes one.
func New() api.Core { return &core{} }

type core struct{ kept [][]byte }

// Do is called by the test.
func (c *core) Do(n int64) int64 {
	var c cobra.Command
	return int64(len(c.Use))
}
