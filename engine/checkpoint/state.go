// Package checkpoint has the cores of checkpointing: the barrier handlers at a gate, the coordinator, the storage of
// completed checkpoints, and the assignment of state to new subtasks.
package checkpoint

// KeyGroupState is the keyed state of one key group of one operator, serialized.
type KeyGroupState struct {
	KeyGroup int
	Data     []byte
}

// OperatorState is what one operator of one subtask hands to a checkpoint.
type OperatorState struct {
	// Splits is split operator state: one entry per split, dealt anew when the parallelism changes.
	Splits [][]byte
	// Keyed holds keyed state by key group.
	Keyed []KeyGroupState
}

// Bytes is the size of the state.
func (s *OperatorState) Bytes() int64 {
	if s == nil {
		return 0
	}
	var n int64
	for _, e := range s.Splits {
		n += int64(len(e))
	}
	for _, g := range s.Keyed {
		n += int64(len(g.Data))
	}
	return n
}

// TaskState is what one subtask hands to a checkpoint: its operators' states by operator name.
type TaskState struct {
	Operators map[string]*OperatorState
}

// Bytes is the size of the state.
func (s *TaskState) Bytes() int64 {
	if s == nil {
		return 0
	}
	var n int64
	for _, o := range s.Operators {
		n += o.Bytes()
	}
	return n
}

// empty tells that there is nothing to store. A split or a key group without bytes is something.
func (s *TaskState) empty() bool {
	if s == nil {
		return true
	}
	for _, o := range s.Operators {
		if o != nil && len(o.Splits)+len(o.Keyed) > 0 {
			return false
		}
	}
	return true
}
