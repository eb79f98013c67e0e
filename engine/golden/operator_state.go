package golden

import (
	"fmt"
	"reflect"
	"slices"

	"weir/engine/checkpoint"
)

type operatorStateCase struct {
	OldParallelism int                   `json:"oldParallelism"`
	NewParallelism int                   `json:"newParallelism"`
	States         []operatorStateOne    `json:"states"`
	SplitOrder     []string              `json:"splitOrder"`
	Result         []map[string][][2]int `json:"result"`
}

type operatorStateOne struct {
	Name  string `json:"name"`
	Mode  string `json:"mode"`
	Sizes []int  `json:"sizes"` // by old subtask; -1: it has none of the state
}

// OperatorState replays operator_state_repartition.json: which entries of split, union and broadcast state each subtask
// gets when a job is restored.
func OperatorState(data []byte) (Report, error) {
	return replay(data, nil, (*operatorStateCase).check)
}

// The vertex and the operator of a restored checkpoint.
const (
	restoredVertex   = "vertex"
	restoredOperator = "operator"
)

func (c *operatorStateCase) check() error {
	old, err := c.old()
	if err != nil {
		return err
	}
	s := checkpoint.NewMemoryStorage()
	done, err := store(s, 1, 128, old)
	if err != nil {
		return err
	}
	a, err := checkpoint.Assign(done, restoredVertex, c.NewParallelism, 0)
	if err != nil {
		return err
	}
	if len(c.Result) != len(a.Subtasks) {
		return differs("the number of subtasks", len(a.Subtasks), len(c.Result))
	}
	for i, subtask := range a.Subtasks {
		have := map[string][]string{}
		if o := subtask.Operators[restoredOperator]; o != nil {
			for _, s := range o.Named {
				have[s.Name] = []string{}
				for _, e := range s.Entries {
					have[s.Name] = append(have[s.Name], string(e))
				}
			}
		}
		want := map[string][]string{}
		for name, entries := range c.Result[i] {
			want[name] = []string{}
			for _, e := range entries {
				want[name] = append(want[name], entryOf(e[0], e[1]))
			}
		}
		if !reflect.DeepEqual(have, want) {
			return differs(fmt.Sprintf("what new subtask %d gets", i), have, want)
		}
	}
	return nil
}

func entryOf(subtask, index int) string { return fmt.Sprintf("%d,%d", subtask, index) }

// old is the state of the old subtasks. The order in which split states are dealt is an input: it is that in which they
// first appear. When all is dealt anew a first subtask that has none of one is given an empty one, which has no say in
// what goes where.
func (c *operatorStateCase) old() ([]*checkpoint.TaskState, error) {
	if c.OldParallelism < 1 || c.OldParallelism > 128 {
		return nil, fmt.Errorf("old parallelism %d, expected 1 to 128", c.OldParallelism)
	}
	modes := map[string]checkpoint.Mode{"SPLIT_DISTRIBUTE": checkpoint.SplitDistribute, "UNION": checkpoint.Union, "BROADCAST": checkpoint.Broadcast}
	named := make([][]checkpoint.NamedState, c.OldParallelism)
	states := slices.Clone(c.States)
	slices.SortStableFunc(states, func(x, y operatorStateOne) int {
		return slices.Index(c.SplitOrder, x.Name) - slices.Index(c.SplitOrder, y.Name)
	})
	for _, s := range states {
		mode, ok := modes[s.Mode]
		if !ok {
			return nil, fmt.Errorf("state %q has mode %q", s.Name, s.Mode)
		}
		if len(s.Sizes) != c.OldParallelism {
			return nil, differs(fmt.Sprintf("the number of subtasks of state %q", s.Name), len(s.Sizes), c.OldParallelism)
		}
		for sub, n := range s.Sizes {
			if n < 0 && sub == 0 && mode == checkpoint.SplitDistribute && c.OldParallelism != c.NewParallelism {
				n = 0
			}
			if n < 0 {
				continue
			}
			st := checkpoint.NamedState{Name: s.Name, Mode: mode}
			for e := range n {
				st.Entries = append(st.Entries, []byte(entryOf(sub, e)))
			}
			named[sub] = append(named[sub], st)
		}
	}
	old := make([]*checkpoint.TaskState, len(named))
	for i, states := range named {
		old[i] = &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{}}
		if len(states) > 0 {
			old[i].Operators[restoredOperator] = &checkpoint.OperatorState{Named: states}
		}
	}
	return old, nil
}

// store makes a completed checkpoint of the states of one vertex's subtasks.
func store(s checkpoint.Storage, id int64, maxParallelism int, subtasks []*checkpoint.TaskState) (*checkpoint.Completed, error) {
	if err := s.Begin(id); err != nil {
		return nil, err
	}
	v := checkpoint.VertexState{ID: restoredVertex, Parallelism: len(subtasks), MaxParallelism: maxParallelism}
	for i, t := range subtasks {
		h, err := s.WriteState(id, checkpoint.TaskID{Vertex: restoredVertex, Subtask: i}, t)
		if err != nil {
			return nil, err
		}
		v.Subtasks = append(v.Subtasks, checkpoint.SubtaskState{Handle: h})
	}
	c := &checkpoint.Completed{ID: id, Type: checkpoint.TypeCheckpoint, Vertices: []checkpoint.VertexState{v}}
	return c, s.Complete(c)
}
