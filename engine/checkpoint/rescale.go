package checkpoint

import (
	"fmt"
	"slices"

	"weir/engine/keygroup"
)

// Mapping says which old subtasks a new one takes its data in flight from (Flink's SubtaskStateMapper).
type Mapping uint8

// The mappings.
const (
	// ByRange: those whose key groups meet its own. More than one may take from the same: each leaves out the records of
	// key groups that are not its own.
	ByRange Mapping = iota
	// InTurn: old subtask i goes to new subtask i modulo their number.
	InTurn
)

// oldSubtasks are the old subtasks of a new one. groups is the max parallelism; InTurn does not ask for it.
func (m Mapping) oldSubtasks(subtask, old, parallelism, groups int) []int {
	var from []int
	if m == InTurn {
		for i := subtask; i < old; i += parallelism {
			from = append(from, i)
		}
		return from
	}
	r, err := keygroup.RangeFor(groups, parallelism, subtask)
	if err != nil || r.Size() == 0 {
		return nil
	}
	for i := keygroup.OperatorIndex(groups, old, r.First); i <= keygroup.OperatorIndex(groups, old, r.Last); i++ {
		from = append(from, i)
	}
	return from
}

// RecoveredOutput is data in flight that a producing subtask has to send again before anything else.
type RecoveredOutput struct {
	Subpartition int // that it goes to now
	ChannelState     // where it was
}

// Recovery is how the data in flight of one exchange is restored.
type Recovery struct {
	// Rescaled: the subtasks of one end or the other are not those of the checkpoint. Then each piece goes through the
	// deserializer of its old channel, and (ByRange) records that belong to another subtask are left out.
	Rescaled bool
	Filter   bool
	// Inputs is by new subtask of the consuming vertex: what it reads before anything from its gate.
	Inputs [][]ChannelState
	// Outputs is by new subtask of the producing vertex.
	Outputs [][]RecoveredOutput
}

// AssignInFlight deals the data in flight of an exchange between two vertices, as Flink's StateAssignmentOperation. What
// stood in a consumer goes to the consumers that the mapping says; what stood in a producer's queue goes to producers in
// turn, and from there to the same consumers. It answers nil if there is no such data.
func AssignInFlight(from, to *Assignment, m Mapping) (*Recovery, error) {
	producers, consumers := len(from.Subtasks), len(to.Subtasks)
	oldProducers, oldConsumers := len(from.old), len(to.old)
	if !from.outputInFlight() && !to.inputInFlight() {
		return nil, nil
	}
	// A vertex that the checkpoint does not have was not there; the other end tells how many subtasks it had.
	if oldProducers == 0 {
		oldProducers = producers
	}
	if oldConsumers == 0 {
		oldConsumers = consumers
	}
	r := &Recovery{Rescaled: oldProducers != producers || oldConsumers != consumers, Inputs: make([][]ChannelState, consumers), Outputs: make([][]RecoveredOutput, producers)}
	r.Filter = r.Rescaled && m == ByRange
	readers := make([][]int, oldConsumers) // the new consumers of each old one
	for i := range consumers {
		for _, old := range m.oldSubtasks(i, oldConsumers, consumers, to.MaxParallelism) {
			readers[old] = append(readers[old], i)
			if old >= len(to.old) {
				continue
			}
			for _, c := range to.old[old].Inputs {
				if c.Channel >= oldProducers {
					return nil, fmt.Errorf("data in flight of input channel %d of subtask %d, expected channels 0 to %d", c.Channel, old, oldProducers-1)
				}
				c.Subtask = old
				r.Inputs[i] = append(r.Inputs[i], c)
			}
		}
	}
	for i := range producers {
		for _, old := range InTurn.oldSubtasks(i, len(from.old), producers, 0) {
			for _, c := range from.old[old].Outputs {
				c.Subtask = old
				if c.Channel >= oldConsumers {
					return nil, fmt.Errorf("data in flight of output subpartition %d of subtask %d, expected subpartitions 0 to %d", c.Channel, old, oldConsumers-1)
				}
				for _, reader := range readers[c.Channel] {
					r.Outputs[i] = append(r.Outputs[i], RecoveredOutput{reader, c})
				}
			}
		}
		slices.SortStableFunc(r.Outputs[i], func(a, b RecoveredOutput) int { return a.Subpartition - b.Subpartition })
	}
	return r, nil
}

// HasInFlight tells whether a vertex has data in flight, in its input channels or in its output queues.
func (a *Assignment) HasInFlight() (in, out bool) { return a.inputInFlight(), a.outputInFlight() }

func (a *Assignment) inputInFlight() bool {
	return slices.ContainsFunc(a.old, func(s *TaskState) bool { return len(s.Inputs) > 0 })
}

func (a *Assignment) outputInFlight() bool {
	return slices.ContainsFunc(a.old, func(s *TaskState) bool { return len(s.Outputs) > 0 })
}
