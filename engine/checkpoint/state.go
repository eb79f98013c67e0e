// Package checkpoint has the cores of checkpointing: the barrier handlers at a gate, the coordinator, the storage of
// completed checkpoints, and the assignment of state to new subtasks.
package checkpoint

import "io"

// KeyGroupState is the keyed state of one key group of one operator, serialized.
type KeyGroupState struct {
	KeyGroup int
	Data     []byte
}

// OperatorState is what one operator of one subtask hands to a checkpoint.
type OperatorState struct {
	// Splits is split operator state: one entry per split, dealt anew when the parallelism changes.
	Splits [][]byte
	// Named is operator state with a name and a way to be dealt.
	Named []NamedState
	// Keyed holds keyed state by key group.
	Keyed []KeyGroupState
	// Incremental is keyed state that lies in files; after Assign it may be that of several old subtasks.
	Incremental []IncrementalState
	// Stream, if not nil, writes keyed state while it is stored, so that it need not be in memory as bytes; a restore gives
	// what it wrote as Keyed. It is called once.
	Stream func(w io.Writer) ([]KeyGroupOffset, error)
}

// KeyGroupOffset is where a key group stands in what OperatorState.Stream wrote.
type KeyGroupOffset struct {
	KeyGroup       int
	Offset, Length int64
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
	for _, named := range s.Named {
		for _, e := range named.Entries {
			n += int64(len(e))
		}
	}
	for _, g := range s.Keyed {
		n += int64(len(g.Data))
	}
	for i := range s.Incremental {
		n += s.Incremental[i].Bytes()
	}
	return n
}

// SharedFiles lists the shared files that the state refers to.
func (s *TaskState) SharedFiles() []SharedHandle {
	if s == nil {
		return nil
	}
	var files []SharedHandle
	for _, o := range s.Operators {
		if o == nil {
			continue
		}
		for i := range o.Incremental {
			files = append(files, o.Incremental[i].SharedFiles()...)
		}
	}
	return files
}

// ChannelState is data in flight: the bytes of the buffers that stood in one input channel, or in one output queue, of one
// subtask when an unaligned barrier overtook them.
type ChannelState struct {
	// Subtask is the one that had it. It counts in what Assign gives: there it may be another than the one that gets it.
	Subtask int
	// Channel is the input channel or the subpartition, as that subtask numbered them.
	Channel int
	Buffers [][]byte // in order
}

// TaskState is what one subtask hands to a checkpoint: its operators' states by operator name, and its data in flight.
type TaskState struct {
	Operators map[string]*OperatorState
	Inputs    []ChannelState
	Outputs   []ChannelState
}

// InFlightBytes is the size of the data in flight.
func (s *TaskState) InFlightBytes() int64 {
	if s == nil {
		return 0
	}
	var n int64
	for _, channels := range [][]ChannelState{s.Inputs, s.Outputs} {
		for _, c := range channels {
			for _, b := range c.Buffers {
				n += int64(len(b))
			}
		}
	}
	return n
}

// Bytes is the size of the state, data in flight included.
func (s *TaskState) Bytes() int64 {
	if s == nil {
		return 0
	}
	n := s.InFlightBytes()
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
	if len(s.Inputs)+len(s.Outputs) > 0 {
		return false
	}
	for _, o := range s.Operators {
		if o != nil && (o.Stream != nil || len(o.Splits)+len(o.Named)+len(o.Keyed)+len(o.Incremental) > 0) {
			return false
		}
	}
	return true
}
