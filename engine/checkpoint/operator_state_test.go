package checkpoint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/engine/keygroup"
)

func named(name string, mode Mode, entries ...string) NamedState {
	return NamedState{Name: name, Mode: mode, Entries: splits(entries...)}
}

func withNamed(states ...NamedState) *TaskState {
	return &TaskState{Operators: map[string]*OperatorState{"op": {Named: states}}}
}

func dealt(t *testing.T, c *Completed, p int) []string {
	t.Helper()
	a, err := Assign(c, "count", p, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range p {
		var line []string
		for _, s := range a.of(i, "op").Named {
			line = append(line, fmt.Sprintf("%s=%s", s.Name, bytes.Join(s.Entries, []byte(","))))
		}
		out = append(out, strings.Join(line, " "))
	}
	return out
}

// SAO-01: every entry of a split state once, in turn, none lost or doubled. SAO-07: the same parallelism is 1:1.
func TestAssignSAO01Split(t *testing.T) {
	c := stored(t, 128, withNamed(named("s", SplitDistribute, "a", "b")), withNamed(named("s", SplitDistribute, "c", "d")))
	for p, want := range map[int][]string{3: {"s=a,b", "s=c", "s=d"}, 1: {"s=a,b,c,d"}, 2: {"s=a,b", "s=c,d"}} {
		if got := dealt(t, c, p); !slices.Equal(got, want) {
			t.Errorf("2 to %d: %q, expected %q", p, got, want)
		}
	}
}

// SAO-02: union state goes whole to everybody.
func TestAssignSAO02Union(t *testing.T) {
	c := stored(t, 128, withNamed(named("u", Union, "a", "b", "c")), withNamed(named("u", Union, "d")))
	for _, p := range []int{1, 2, 3} {
		for i, got := range dealt(t, c, p) {
			if got != "u=a,b,c,d" {
				t.Errorf("2 to %d: subtask %d has %q", p, i, got)
			}
		}
	}
}

// SAO-03: broadcast state in both, in one, or one subtask without anything: every new subtask has one full copy.
func TestAssignSAO03Broadcast(t *testing.T) {
	b := withNamed(named("b", Broadcast, "x", "y"))
	for name, c := range map[string]*Completed{"both": stored(t, 128, b, b), "one": stored(t, 128, b, &TaskState{Operators: map[string]*OperatorState{"op": {}}}), "empty": stored(t, 128, nil, b)} {
		for _, p := range []int{1, 2, 3} {
			for i, got := range dealt(t, c, p) {
				if got != "b=x,y" {
					t.Errorf("%s, 2 to %d: subtask %d has %q", name, p, i, got)
				}
			}
		}
	}
}

// SAO-04: a state is partly reported when some of the old subtasks had it.
func TestAssignSAO04PartlyReported(t *testing.T) {
	k := stateKey{"b", Broadcast}
	has := []NamedState{named("b", Broadcast, "x")}
	for n, want := range map[int]bool{0: false, 3: true, 5: false} {
		old := make([][]NamedState, 5)
		for i := range n {
			old[i] = has
		}
		if got := newDealer(old, 5).partlyReported(k, 5); got != want {
			t.Errorf("%d of 5: %v", n, got)
		}
	}
}

// SAO-10: a vertex whose subtasks had all ended is marked.
func TestAssignSAO10Finished(t *testing.T) {
	c := stored(t, 128, nil, nil)
	for _, want := range []bool{false, true} {
		a, err := Assign(c, "count", 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		if a.Finished != want || a.Subtasks[0].Bytes() != 0 {
			t.Errorf("finished %v, %d bytes, expected %v", a.Finished, a.Subtasks[0].Bytes(), want)
		}
		for i := range c.Vertices[0].Subtasks {
			c.Vertices[0].Subtasks[i].Finished = true
		}
	}
}

// SAO-13: state goes to the operator that it was stored for, by the name that the user gave; an operator without any is
// passed over.
func TestAssignSAO13OperatorNames(t *testing.T) {
	c := stored(t, 128, &TaskState{Operators: map[string]*OperatorState{
		"mine":  {Named: []NamedState{named("s", SplitDistribute, "a")}},
		"yours": {Named: []NamedState{named("s", Union, "b")}},
		"none":  nil,
	}})
	a, err := Assign(c, "count", 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	have := fmt.Sprint(a.of(0, "mine").Named, a.of(1, "mine").Named, a.of(0, "yours").Named, a.of(1, "yours").Named, a.of(0, "none").Named)
	if have != "[{s split [[97]]}] [] [{s union [[98]]}] [{s union [[98]]}] []" {
		t.Error(have)
	}
}

// Field report 19: with the parallelism unchanged only union state is rebuilt.
func TestFieldReport19(t *testing.T) {
	c := stored(t, 128, withNamed(named("s", SplitDistribute), named("u", Union, "x")), withNamed(named("s", SplitDistribute, "1", "2", "3"), named("u", Union, "y")))
	if got := dealt(t, c, 2); !slices.Equal(got, []string{"s= u=x,y", "s=1,2,3 u=x,y"}) {
		t.Errorf("%q", got)
	}
}

func incrementalOf(first, last int, files ...StateFile) IncrementalState {
	return IncrementalState{Backend: "lsm", BackendID: "b1", MaxParallelism: 128, KeyGroups: keygroup.Range{First: first, Last: last}, Meta: []byte("m"), Files: files}
}

// Files go whole to every subtask whose key groups they meet.
func TestAssignIncremental(t *testing.T) {
	st := func(first, last int) *TaskState {
		return &TaskState{Operators: map[string]*OperatorState{"op": {Incremental: []IncrementalState{incrementalOf(first, last)}}}}
	}
	for p, want := range map[int]string{1: "[0-63 64-127]", 2: "[0-63] [64-127]", 3: "[0-63] [0-63 64-127] [64-127]"} {
		a, err := Assign(stored(t, 128, st(0, 63), st(64, 127)), "count", p, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range p {
			var ranges []string
			for _, s := range a.of(i, "op").Incremental {
				ranges = append(ranges, fmt.Sprintf("%d-%d", s.KeyGroups.First, s.KeyGroups.Last))
			}
			got = append(got, fmt.Sprint(ranges))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("parallelism %d: %s, expected %s", p, s, want)
		}
	}
	if _, err := Assign(stored(t, 128, st(0, 63), st(63, 127)), "count", 2, 0); err == nil || !strings.Contains(err.Error(), "key group 63 is in the state of subtask 0 and again of subtask 1") {
		t.Error(err)
	}
	if _, err := Assign(stored(t, 64, st(0, 63)), "count", 2, 0); err == nil || !strings.Contains(err.Error(), "max parallelism 128, expected 64") {
		t.Error(err)
	}
}

// richState has one of everything.
func richState() *TaskState {
	return &TaskState{Operators: map[string]*OperatorState{"op": {
		Splits: splits("a"),
		Named:  []NamedState{named("s", SplitDistribute, "b", ""), named("s", Union), named("c", Broadcast, "d")},
		Keyed:  []KeyGroupState{{KeyGroup: 3, Data: []byte("k")}},
		Incremental: []IncrementalState{incrementalOf(0, 63,
			StateFile{Name: "000005.sst", Origin: "b0", Shared: true, First: 7, SharedHandle: SharedHandle{File: "f00d", Bytes: 1 << 40, Checksum: 0xfffffffe}},
			StateFile{Name: "external/x.sst", Origin: "b1", Shared: true, First: 8, SharedHandle: Inlined([]byte("inl"))},
			StateFile{Name: "MANIFEST-000001", Origin: "b1", First: 8, SharedHandle: SharedHandle{Inline: []byte{}}})},
	}}, Inputs: []ChannelState{{Channel: 1, Buffers: [][]byte{[]byte("x")}}}}
}

func TestStateFileHasEverything(t *testing.T) {
	s := richState()
	var b bytes.Buffer
	if _, _, err := writeState(&b, s); err != nil {
		t.Fatal(err)
	}
	got, err := parseState(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if h, w := fmt.Sprintf("%+v", *got.Operators["op"]), fmt.Sprintf("%+v", *s.Operators["op"]); h != w {
		t.Errorf("%s\nexpected\n%s", h, w)
	}
	if n := s.Bytes(); n != 1+2+1+1+1<<40+3+1 || got.Bytes() != n {
		t.Errorf("%d and %d bytes, expected %d", n, got.Bytes(), 1+2+1+1+1<<40+3+1)
	}
	if inc := &s.Operators["op"].Incremental[0]; inc.BytesSince(8) != 4 || inc.BytesSince(7) != 4+1<<40 || len(s.SharedFiles()) != 1 {
		t.Errorf("%d %d %v", inc.BytesSince(8), inc.BytesSince(7), s.SharedFiles())
	}
	for _, c := range []struct {
		change func(*OperatorState)
		want   string
	}{
		{func(o *OperatorState) { o.Incremental[0].Files[0].Name = "../x" }, `file "../x", expected a name that stays inside its folder`},
		{func(o *OperatorState) { o.Incremental[0].Files[0].File = "a/b" }, `shared file "a/b", expected a name without a folder`},
		{func(o *OperatorState) { o.Incremental[0].Files[1].Bytes = 4 }, "4 bytes, 3 of them inlined"},
		{func(o *OperatorState) { o.Incremental[0].Files[1].Name = "000005.sst" }, `file "000005.sst" is there twice`},
		{func(o *OperatorState) { o.Incremental[0].KeyGroups.Last = 128 }, "key groups 0 to 128 of 128, expected a range"},
		{func(o *OperatorState) { o.Named[1].Mode = SplitDistribute }, `operator state "s" is there twice`},
		{func(o *OperatorState) { o.Named[1].Mode = 9 }, "mode 9, expected 0 to 2"},
	} {
		s := richState()
		c.change(s.Operators["op"])
		b.Reset()
		if _, _, err := writeState(&b, s); err != nil {
			t.Fatal(err)
		}
		if _, err := parseState(b.Bytes()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %s", err, c.want)
		}
	}
}
