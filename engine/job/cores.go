package job

import (
	"fmt"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/memory"
	"weir/engine/network"
	"weir/engine/task"
)

// Cores are parts of the engine that a job may have others for, such as a learner's; what is nil is the engine's own. All
// of them are asked when a job starts, with each checkpoint or with a buffer, never with a record.
type Cores struct {
	// Registry knows the shared files; it is called by the coordinator's goroutine.
	Registry SharedRegistry
	// KeyGroups are those of one subtask of a vertex.
	KeyGroups func(maxParallelism, parallelism, subtask int) (keygroup.Range, error)
	// Owner is the subtask that the records of a key group go to.
	Owner func(maxParallelism, parallelism, group int) int
	// Assign deals the state of a vertex in a checkpoint.
	Assign func(c *checkpoint.Completed, vertex string, parallelism, maxParallelism int) (*checkpoint.Assignment, error)
	// Debloater makes that of one gate; it is asked each debloat period.
	Debloater func(task.DebloatConfig) (task.DebloatCore, error)
	// Network are asked with buffers and messages.
	Network network.Cores
	// Pool makes what decides for the pool of one result partition; it is asked with buffers.
	Pool func() memory.PoolCore
}

// SharedRegistry is what a job needs of a checkpoint.SharedRegistry.
type SharedRegistry interface {
	RegisterState(s *checkpoint.TaskState, id int64) error
	Unused(lowest int64) (discard []checkpoint.SharedHandle, inUse []int64)
	Aborted(id int64) (discard []checkpoint.SharedHandle)
}

// withDefaults has the engine's own for what is nil.
func (c Cores) withDefaults() Cores {
	if c.Registry == nil {
		c.Registry = checkpoint.NewSharedRegistry()
	}
	if c.KeyGroups == nil {
		c.KeyGroups = keygroup.RangeFor
	}
	if c.Assign == nil {
		c.Assign = checkpoint.Assign
	}
	return c
}

// route is the table by which records find their subtask; nil leaves it to the engine.
func (c *Cores) route(groups, subpartitions int) ([]uint16, error) {
	if c.Owner == nil {
		return nil, nil
	}
	table := make([]uint16, groups)
	for g := range table {
		sub := c.Owner(groups, subpartitions, g)
		if sub < 0 || sub >= subpartitions {
			return nil, fmt.Errorf("key group %d goes to subtask %d, expected 0 to %d", g, sub, subpartitions-1)
		}
		table[g] = uint16(sub)
	}
	return table, nil
}
