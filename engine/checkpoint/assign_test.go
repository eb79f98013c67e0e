package checkpoint

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"weir/engine/keygroup"
)

// stored puts states into a checkpoint in memory, as subtasks of vertex "count".
func stored(t *testing.T, maxParallelism int, states ...*TaskState) *Completed {
	t.Helper()
	s := NewMemoryStorage()
	if err := s.Begin(1); err != nil {
		t.Fatal(err)
	}
	v := VertexState{ID: "count", Parallelism: len(states), MaxParallelism: maxParallelism}
	for i, st := range states {
		h, err := s.WriteState(1, TaskID{"count", i}, st)
		if err != nil {
			t.Fatal(err)
		}
		v.Subtasks = append(v.Subtasks, SubtaskState{Handle: h})
	}
	c := &Completed{ID: 1, Type: TypeCheckpoint, Vertices: []VertexState{v}}
	if err := s.Complete(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAssignSplitsStay: with the parallelism unchanged split state stays where it was, however uneven.
func TestAssignSplitsStay(t *testing.T) {
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprint("shard-", i))
	}
	c := stored(t, 128,
		&TaskState{Operators: map[string]*OperatorState{"reader": {}}},
		&TaskState{Operators: map[string]*OperatorState{"reader": {Splits: splits(ten...)}}})
	a, err := Assign(c, "count", 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.of(0, "reader").Splits); n != 0 {
		t.Errorf("subtask 0 has %d splits, expected 0", n)
	}
	if got := a.of(1, "reader").Splits; !reflect.DeepEqual(got, splits(ten...)) {
		t.Errorf("subtask 1 has %q", got)
	}
	// With another parallelism every split is dealt once, in its order.
	for _, p := range []int{1, 3, 4, 11} {
		a, err := Assign(c, "count", p, 0)
		if err != nil {
			t.Fatal(err)
		}
		var all [][]byte
		for i := range p {
			n := len(a.of(i, "reader").Splits)
			if n != 10/p && n != 10/p+1 {
				t.Errorf("parallelism %d: subtask %d has %d of 10 splits", p, i, n)
			}
			all = append(all, a.of(i, "reader").Splits...)
		}
		if !reflect.DeepEqual(all, splits(ten...)) {
			t.Errorf("parallelism %d: %q", p, all)
		}
	}
}

// keyedStates makes the states of a vertex in which each key group holds its own number.
func keyedStates(t *testing.T, maxParallelism, parallelism int) []*TaskState {
	t.Helper()
	ranges, err := keygroup.Ranges(maxParallelism, parallelism)
	if err != nil {
		t.Fatal(err)
	}
	var states []*TaskState
	for _, r := range ranges {
		op := &OperatorState{}
		for g := range r.All() {
			op.Keyed = append(op.Keyed, KeyGroupState{g, []byte(fmt.Sprint("group ", g))})
		}
		states = append(states, &TaskState{Operators: map[string]*OperatorState{"count": op}})
	}
	return states
}

// TestAssignKeyed: each key group comes to the subtask that owns it, once, with its content.
func TestAssignKeyed(t *testing.T) {
	for _, c := range []struct{ max, from, to int }{{128, 2, 3}, {128, 3, 2}, {128, 2, 1}, {128, 2, 2}, {128, 4, 7}, {128, 1, 128}, {150, 15, 77}, {150, 77, 15}} {
		cp := stored(t, c.max, keyedStates(t, c.max, c.from)...)
		a, err := Assign(cp, "count", c.to, 0)
		if err != nil {
			t.Fatal(err)
		}
		if a.MaxParallelism != c.max {
			t.Errorf("max parallelism %d, expected %d", a.MaxParallelism, c.max)
		}
		for i, want := range keyedStates(t, c.max, c.to) {
			if got := a.Subtasks[i].Operators["count"]; !reflect.DeepEqual(got, want.Operators["count"]) {
				t.Errorf("%d to %d at %d: subtask %d has %v", c.from, c.to, c.max, i, got)
			}
		}
	}
}

// TestAssignMaxParallelism: keys must not be looked up in other groups than they were put in.
func TestAssignMaxParallelism(t *testing.T) {
	c := stored(t, 128, keyedStates(t, 128, 2)...)
	for _, tc := range []struct {
		vertex           string
		parallelism, max int
		wantMax          int
		err              string
	}{
		{"count", 2, 128, 128, ""},
		{"count", 2, 0, 128, ""},
		// 100 alone would derive 256.
		{"count", 100, 0, 128, ""},
		{"count", 2, 256, 0, `vertex "count": max parallelism 256 differs from the 128 of checkpoint 1`},
		{"count", 2, 64, 0, `vertex "count": max parallelism 64 differs from the 128 of checkpoint 1`},
		{"count", 200, 0, 0, `vertex "count": parallelism 200 is above the max parallelism 128 of checkpoint 1`},
		{"count", 200, 256, 0, `vertex "count": parallelism 200 is above the max parallelism 128 of checkpoint 1`},
		{"count", 0, 0, 0, `vertex "count": Operator parallelism not within bounds: 0`},
		// A vertex that the checkpoint does not know starts empty.
		{"new", 100, 0, 256, ""},
		{"new", 2, 64, 64, ""},
	} {
		a, err := Assign(c, tc.vertex, tc.parallelism, tc.max)
		switch {
		case tc.err == "" && err != nil:
			t.Errorf("%+v: %v", tc, err)
		case tc.err == "":
			if a.MaxParallelism != tc.wantMax || len(a.Subtasks) != tc.parallelism {
				t.Errorf("%+v: max parallelism %d, %d subtasks", tc, a.MaxParallelism, len(a.Subtasks))
			}
		case err == nil || !strings.HasPrefix(err.Error(), tc.err):
			t.Errorf("%+v: error %v", tc, err)
		}
		if v, ok := c.Vertex(tc.vertex); ok && tc.parallelism > 0 {
			if early := v.CheckParallelism("of checkpoint 1", tc.parallelism, tc.max); fmt.Sprint(early) != fmt.Sprint(err) {
				t.Errorf("%+v: checked early %v, later %v", tc, early, err)
			}
		}
	}
}

// TestAssignRefuses: state that contradicts itself is refused with the name of what is wrong.
func TestAssignRefuses(t *testing.T) {
	op := func(groups ...int) *TaskState {
		o := &OperatorState{}
		for _, g := range groups {
			o.Keyed = append(o.Keyed, KeyGroupState{g, nil})
		}
		return &TaskState{Operators: map[string]*OperatorState{"count": o}}
	}
	for want, states := range map[string][]*TaskState{
		`checkpoint 1: vertex "count": operator "count": key group 3 is in the state of subtask 0 and again of subtask 1`: {op(3), op(3)},
		`checkpoint 1: vertex "count": operator "count": key group 128, expected 0 to 127`:                                {op(128), op()},
	} {
		if _, err := Assign(stored(t, 128, states...), "count", 2, 0); err == nil || err.Error() != want {
			t.Errorf("error %v\nexpected %s", err, want)
		}
	}
}

// TestCheckVertices: a job that has no place for some state is refused, one that has new vertices is not.
func TestCheckVertices(t *testing.T) {
	c := stored(t, 128, keyedStates(t, 128, 2)...)
	c.Vertices = append(c.Vertices, VertexState{ID: "sink", Parallelism: 1, MaxParallelism: 128, Subtasks: make([]SubtaskState, 1)})
	if err := c.CheckVertices([]string{"source", "count"}); err != nil {
		t.Error(err)
	}
	if err := c.CheckVertices([]string{"source"}); err == nil || !strings.Contains(err.Error(), `state of vertex "count"`) {
		t.Errorf("error %v", err)
	}
}
