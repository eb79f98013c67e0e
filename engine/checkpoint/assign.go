package checkpoint

import (
	"fmt"
	"slices"

	"weir/engine/keygroup"
)

// Assignment is the state that the subtasks of one vertex start from.
type Assignment struct {
	// MaxParallelism is what the vertex must run with: that of the checkpoint.
	MaxParallelism int
	// Subtasks has one entry a new subtask, never nil.
	Subtasks []*TaskState
	// Finished is set when every subtask of the checkpoint had ended: the vertex has nothing left to do.
	Finished bool

	old []*TaskState // by old subtask; nil for a vertex that the checkpoint does not have
}

// Assign deals the state of a vertex in a checkpoint to the subtasks of its new parallelism, as Flink's
// StateAssignmentOperation: a key group goes to the subtask that owns it now; split state stays where it was while the
// parallelism stays, and else is dealt anew, in equal shares in the old order.
//
// maxParallelism is what the job was told, 0 if nobody said (then it is derived). Keys would land in other groups under
// another max parallelism, so one that was said must be the checkpoint's, and a derived one gives way to it. A vertex that
// the checkpoint does not have starts empty; its MaxParallelism is then the one given, or the derived one.
func Assign(c *Completed, vertex string, parallelism, maxParallelism int) (*Assignment, error) {
	if err := keygroup.CheckParallelism(parallelism); err != nil {
		return nil, fmt.Errorf("vertex %q: %w", vertex, err)
	}
	v, ok := c.Vertex(vertex)
	if !ok {
		if maxParallelism == 0 {
			maxParallelism = keygroup.DefaultMaxParallelism(parallelism)
		}
		a := &Assignment{MaxParallelism: maxParallelism}
		a.fill(parallelism)
		return a, nil
	}
	if err := v.CheckParallelism(fmt.Sprintf("of checkpoint %d", c.ID), parallelism, maxParallelism); err != nil {
		return nil, err
	}
	old := make([]*TaskState, v.Parallelism)
	for i := range old {
		s, err := c.State(vertex, i)
		if err != nil {
			return nil, err
		}
		old[i] = s
	}
	a := &Assignment{MaxParallelism: v.MaxParallelism, old: old, Finished: true}
	for _, s := range v.Subtasks {
		a.Finished = a.Finished && s.Finished
	}
	a.fill(parallelism)
	for _, name := range operatorNames(old) {
		if err := a.operator(name, old); err != nil {
			return nil, fmt.Errorf("checkpoint %d: vertex %q: operator %q: %w", c.ID, vertex, name, err)
		}
	}
	return a, nil
}

// CheckParallelism refuses, without reading any state, to start a vertex with numbers that its state does not allow.
// of says in the error where the state is, such as "of checkpoint 3".
func (v *VertexState) CheckParallelism(of string, parallelism, maxParallelism int) error {
	if parallelism > v.MaxParallelism {
		return fmt.Errorf("vertex %q: parallelism %d is above the max parallelism %d %s: use at most %d",
			v.ID, parallelism, v.MaxParallelism, of, v.MaxParallelism)
	}
	if maxParallelism != 0 && maxParallelism != v.MaxParallelism {
		return fmt.Errorf("vertex %q: max parallelism %d differs from the %d %s, which cannot change: keys would be looked up in the wrong key group",
			v.ID, maxParallelism, v.MaxParallelism, of)
	}
	return nil
}

func (a *Assignment) fill(parallelism int) {
	a.Subtasks = make([]*TaskState, parallelism)
	for i := range a.Subtasks {
		a.Subtasks[i] = &TaskState{Operators: map[string]*OperatorState{}}
	}
}

func (a *Assignment) of(subtask int, operator string) *OperatorState {
	s := a.Subtasks[subtask].Operators[operator]
	if s == nil {
		s = &OperatorState{}
		a.Subtasks[subtask].Operators[operator] = s
	}
	return s
}

// operatorNames lists the operators that have state in any subtask, sorted.
func operatorNames(old []*TaskState) []string {
	var names []string
	for _, s := range old {
		for name := range s.Operators {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// operator deals the state of one operator.
func (a *Assignment) operator(name string, old []*TaskState) error {
	lists := make([][][]byte, len(old))
	named := make([][]NamedState, len(old))
	from := make(map[int]int) // key group -> old subtask
	for i, s := range old {
		op := s.Operators[name]
		if op == nil {
			continue
		}
		lists[i] = op.Splits
		named[i] = op.Named
		for _, g := range op.Keyed {
			if g.KeyGroup < 0 || g.KeyGroup >= a.MaxParallelism {
				return fmt.Errorf("key group %d, expected 0 to %d", g.KeyGroup, a.MaxParallelism-1)
			}
			if first, twice := from[g.KeyGroup]; twice {
				return fmt.Errorf("key group %d is in the state of subtask %d and again of subtask %d", g.KeyGroup, first, i)
			}
			from[g.KeyGroup] = i
			to := a.of(keygroup.OperatorIndex(a.MaxParallelism, len(a.Subtasks), g.KeyGroup), name)
			to.Keyed = append(to.Keyed, g)
		}
	}
	dealt, next := dealSplits(lists, len(a.Subtasks), 0)
	for i, splits := range dealt {
		if len(splits) > 0 {
			a.of(i, name).Splits = splits
		}
	}
	for i, states := range dealNamed(named, len(a.Subtasks), next) {
		if len(states) > 0 {
			a.of(i, name).Named = states
		}
	}
	if err := a.incremental(name, old); err != nil {
		return err
	}
	for _, s := range a.Subtasks {
		if op := s.Operators[name]; op != nil {
			slices.SortFunc(op.Keyed, func(x, y KeyGroupState) int { return x.KeyGroup - y.KeyGroup })
		}
	}
	return nil
}

// dealSplits deals one split state, given as one list an old subtask, to parallelism subtasks, as Flink's
// RoundRobinOperatorStateRepartitioner: with the parallelism unchanged all stays, however uneven; else each gets an equal
// run of the old order, the first ones from start on one more while there is a rest. next is where the next state of the
// same operator starts, so that the rests spread.
func dealSplits[T any](lists [][]T, parallelism, start int) (dealt [][]T, next int) {
	if len(lists) == parallelism {
		return lists, start
	}
	return dealInTurn(lists, parallelism, start)
}

// dealInTurn is dealSplits where the parallelism has changed.
func dealInTurn[T any](lists [][]T, parallelism, start int) (dealt [][]T, next int) {
	var all []T
	for _, l := range lists {
		all = append(all, l...)
	}
	dealt = make([][]T, parallelism)
	share, rest := len(all)/parallelism, len(all)%parallelism
	for i := range parallelism {
		n := share
		if i < rest {
			n++
		}
		dealt[(start+i)%parallelism], all = all[:n:n], all[n:]
	}
	return dealt, (start + rest) % parallelism
}
