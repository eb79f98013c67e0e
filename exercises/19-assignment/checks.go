package assignment

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/exercises/19-assignment/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
	"weir/testdata/golden"
)

var checks = []kit.Def{
	{ID: "script", Points: 2, Run: script, Name: labs.Text{En: "2 → 3, 3 → 2 and 2 → 2, state by state", Zh: "2 → 3、3 → 2、2 → 2，逐种状态核对"}},
	{ID: "golden", Points: 3, Run: goldenCases, Name: labs.Text{En: "What real Flink deals: 87 repartitions of operator state", Zh: "真实 Flink 的分配：87 次算子状态重分配"}},
	{ID: "random", Points: 2, Seeds: 5, Run: random, Name: labs.Text{En: "Random checkpoints against Weir's own assignment", Zh: "随机检查点，与 Weir 自己的分配比较"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: []string{"script"}, Run: edges, Name: labs.Text{En: "Fewer entries than subtasks, missing reports, handles with gaps", Zh: "条目比子任务少、有人没有上报、handle 之间有空缺"}},
	{ID: "job", Needs: []string{"script"}, Points: 3, Run: inJob, Name: labs.Text{En: "A running job, rescaled by your assignment on both backends", Zh: "运行中的作业，在两种后端上按你的分配扩缩容"}},
}

var (
	whereKeyed    = labs.Text{En: "Keyed; in Flink, StateAssignmentOperation.extractIntersectingState and KeyGroupsStateHandle.getIntersection", Zh: "Keyed；对应 StateAssignmentOperation.extractIntersectingState 与 KeyGroupsStateHandle.getIntersection"}
	tryKeyed      = labs.Text{En: "For each new subtask, intersect its range with every handle: the later of the two beginnings, the earlier of the two ends. One handle may have several heirs.", Zh: "对每个新子任务，用它的区间与每个 handle 求交：两个起点取后者，两个终点取前者。一个 handle 可以有多个继承者。"}
	whereOperator = labs.Text{En: "Operator; in Flink, RoundRobinOperatorStateRepartitioner.repartitionState", Zh: "Operator；对应 RoundRobinOperatorStateRepartitioner.repartitionState"}
	tryOperator   = labs.Text{En: "Is the parallelism the same? Then only union state, and broadcast state that somebody lacks, is dealt. Else split state goes in runs of the old order, the rest from start on.", Zh: "并行度没变吗？那么只有 union 状态、以及有人缺失的 broadcast 状态才需要分配。变了的话，split 状态按旧顺序成段分，余数从 start 开始。"}
)

func half(first, end int) string { return fmt.Sprintf("[%d,%d)", first, end) }

func orNothing(parts []string) string {
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " ")
}

// text lists what each subtask gets, of many only some.
func text(subs []string) string {
	const most = 8
	if len(subs) > most {
		subs = append(slices.Clone(subs[:most]), fmt.Sprintf("… (%d subtasks)", len(subs)))
	}
	if len(subs) == 0 {
		return "no subtasks"
	}
	return strings.Join(subs, "; ")
}

func listsText(lists [][]string) string {
	var subs []string
	for i, l := range lists {
		if l == nil {
			subs = append(subs, fmt.Sprintf("%d: nil", i))
			continue
		}
		subs = append(subs, fmt.Sprintf("%d: %v", i, l))
	}
	return text(subs)
}

// firstApart shows the first subtask in which two deals differ.
func firstApart(want, got []string) (string, string) {
	for i := range max(len(want), len(got)) {
		a, b := "no such subtask", "no such subtask"
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			return fmt.Sprintf("subtask %d: %s", i, a), fmt.Sprintf("subtask %d: %s", i, b)
		}
	}
	return "", ""
}

func judgeKeyed(p proxy, most, parallelism int, handles []api.Handle) *kit.Finding {
	var want, got []string
	for sub := range parallelism {
		r, err := keygroup.RangeFor(most, parallelism, sub)
		if err != nil {
			return history.Broken(err)
		}
		var pieces []string
		for i, h := range handles {
			if c := r.Intersect(keygroup.Range{First: h.First, Last: h.End - 1}); c.Size() > 0 {
				pieces = append(pieces, fmt.Sprintf("%s of handle %d", half(c.First, c.Last+1), i))
			}
		}
		want = append(want, orNothing(pieces))
	}
	for _, pieces := range p.Keyed(most, parallelism, handles) {
		var parts []string
		for _, c := range pieces {
			parts = append(parts, fmt.Sprintf("%s of handle %d", half(c.First, c.End), c.Handle))
		}
		got = append(got, orNothing(parts))
	}
	a, b := firstApart(want, got)
	if a == b {
		return nil
	}
	var hs []string
	for _, h := range handles {
		hs = append(hs, half(h.First, h.End))
	}
	if len(hs) > 8 {
		hs = append(hs[:8], "…")
	}
	d := history.Difference{Call: fmt.Sprintf("Keyed(%d, %d, handles %s)", most, parallelism, strings.Join(hs, " ")), Expected: a, Seen: b}
	return d.Finding(whereKeyed, tryKeyed)
}

// dealt is one operator state with what the new subtasks must get of it.
type dealt struct {
	name string
	mode api.Mode
	old  [][]string
	want [][]string
}

var modeNames = [...]string{"Split", "Union", "Broadcast"}

// judgeOperator deals states one after the other, each from where the last one ended.
func judgeOperator(p proxy, parallelism int, states []dealt) *kit.Finding {
	start := 0
	for _, s := range states {
		got, next := p.Operator(s.mode, s.old, parallelism, start)
		var a, b []string
		for _, l := range s.want {
			a = append(a, orNothing(l))
		}
		for _, l := range got {
			b = append(b, orNothing(l))
		}
		call := fmt.Sprintf("Operator(%s, old %s, parallelism %d, start %d)", modeNames[s.mode], listsText(s.old), parallelism, start)
		if want, seen := firstApart(a, b); want != seen {
			d := history.Difference{Call: call, Expected: want, Seen: seen}
			return d.Finding(whereOperator, tryOperator)
		}
		if want := nextOf(&s, parallelism, start); next != want {
			d := history.Difference{Call: call, Expected: fmt.Sprintf("next %d", want), Seen: fmt.Sprintf("next %d", next)}
			return d.Finding(whereOperator, tryOperator)
		}
		start = next
	}
	return nil
}

// nextOf is where the rest of a state ended.
func nextOf(s *dealt, parallelism, start int) int {
	if s.mode != api.Split || len(s.old) == parallelism {
		return start
	}
	n := 0
	for _, l := range s.old {
		n += len(l)
	}
	return (start + n%parallelism) % parallelism
}

// script is the rescale of the lesson, and each sort of operator state.
func script(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	p := proxy{w.Core}
	two := []api.Handle{{First: 0, End: 64}, {First: 64, End: 128}}
	for _, c := range []struct {
		parallelism int
		handles     []api.Handle
	}{{2, two}, {3, two}, {1, two}, {2, []api.Handle{{First: 0, End: 43}, {First: 43, End: 86}, {First: 86, End: 128}}}} {
		if f := judgeKeyed(p, 128, c.parallelism, c.handles); f != nil {
			return f
		}
	}
	ab, cd := []string{"a", "b"}, []string{"c", "d"}
	for _, c := range []struct {
		parallelism int
		s           dealt
	}{
		{2, dealt{mode: api.Split, old: [][]string{{"a", "b", "c"}, {}}, want: [][]string{{"a", "b", "c"}, {}}}},
		{3, dealt{mode: api.Split, old: [][]string{ab, cd}, want: [][]string{{"a", "b"}, {"c"}, {"d"}}}},
		{1, dealt{mode: api.Split, old: [][]string{ab, cd}, want: [][]string{{"a", "b", "c", "d"}}}},
		{2, dealt{mode: api.Union, old: [][]string{ab, cd}, want: [][]string{{"a", "b", "c", "d"}, {"a", "b", "c", "d"}}}},
		{3, dealt{mode: api.Union, old: [][]string{ab, {}}, want: [][]string{ab, ab, ab}}},
		{2, dealt{mode: api.Broadcast, old: [][]string{ab, ab}, want: [][]string{ab, ab}}},
		{3, dealt{mode: api.Broadcast, old: [][]string{ab, ab}, want: [][]string{ab, ab, ab}}},
	} {
		if f := judgeOperator(p, c.parallelism, []dealt{c.s}); f != nil {
			return f
		}
	}
	return nil
}

var goldenModes = map[string]api.Mode{"SPLIT_DISTRIBUTE": api.Split, "UNION": api.Union, "BROADCAST": api.Broadcast}

// goldenCases are what Flink's repartitioner gave.
func goldenCases(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	data, err := golden.Files.ReadFile("operator_state_repartition.json")
	var file struct {
		Cases []struct {
			OldParallelism, NewParallelism int
			States                         []struct {
				Name, Mode string
				Sizes      []int
			}
			SplitOrder []string
			Result     []map[string][][2]int
		}
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return history.Broken(err)
	}
	for _, c := range file.Cases {
		var states []dealt
		for _, s := range c.States {
			d := dealt{name: s.Name, mode: goldenModes[s.Mode], old: make([][]string, c.OldParallelism), want: make([][]string, c.NewParallelism)}
			for sub, n := range s.Sizes {
				if n >= 0 {
					d.old[sub] = []string{}
				}
				for e := range n {
					d.old[sub] = append(d.old[sub], fmt.Sprint(sub, ",", e))
				}
			}
			for sub, r := range c.Result {
				for _, e := range r[s.Name] {
					d.want[sub] = append(d.want[sub], fmt.Sprint(e[0], ",", e[1]))
				}
			}
			states = append(states, d)
		}
		// The order of the split states is an input.
		slices.SortStableFunc(states, func(a, b dealt) int { return slices.Index(c.SplitOrder, a.name) - slices.Index(c.SplitOrder, b.name) })
		if f := judgeOperator(proxy{w.Core}, c.NewParallelism, states); f != nil {
			return f
		}
	}
	return nil
}

// random makes checkpoints of several states, some of which only some subtasks reported.
func random(_ context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 19))
	p := proxy{w.Core}
	for range 25 {
		most := 1 + rnd.IntN(200)
		before, after := 1+rnd.IntN(min(most, 12)), 1+rnd.IntN(min(most, 12))
		var handles []api.Handle
		for sub := range before {
			first, end := api.Range(most, before, sub)
			if rnd.IntN(8) > 0 { // else the subtask had no state
				handles = append(handles, api.Handle{First: first, End: end})
			}
		}
		if f := judgeKeyed(p, most, after, handles); f != nil {
			return f
		}
		if rnd.IntN(4) == 0 {
			after = before
		}
		states, err := randomStates(rnd, before, after)
		if err != nil {
			return history.Broken(err)
		}
		if f := judgeOperator(p, after, states); f != nil {
			return f
		}
	}
	return nil
}

// randomStates are states as Weir's own assignment deals them.
func randomStates(rnd *rand.Rand, before, after int) ([]dealt, error) {
	var states []dealt
	old := make([]*checkpoint.OperatorState, before)
	for i := range old {
		old[i] = &checkpoint.OperatorState{}
	}
	for n := range 1 + rnd.IntN(4) {
		s := dealt{name: fmt.Sprintf("s%d", n), mode: api.Mode(rnd.IntN(3)), old: make([][]string, before), want: make([][]string, after)}
		missing := rnd.IntN(3) == 0
		for sub := range before {
			if sub > 0 && missing && rnd.IntN(2) == 0 {
				continue
			}
			named := checkpoint.NamedState{Name: s.name, Mode: checkpoint.Mode(s.mode)}
			s.old[sub] = []string{}
			for e := range rnd.IntN(5) {
				entry := fmt.Sprintf("%d.%d", sub, e)
				if s.mode == api.Broadcast && !missing {
					entry = fmt.Sprint("b", e)
				}
				s.old[sub] = append(s.old[sub], entry)
				named.Entries = append(named.Entries, []byte(entry))
			}
			old[sub].Named = append(old[sub].Named, named)
		}
		states = append(states, s)
	}
	a, err := assigned(old, after)
	if err != nil {
		return nil, err
	}
	for sub, t := range a.Subtasks {
		op := t.Operators["op"]
		if op == nil {
			continue
		}
		for _, named := range op.Named {
			i := slices.IndexFunc(states, func(s dealt) bool { return s.name == named.Name })
			for _, e := range named.Entries {
				states[i].want[sub] = append(states[i].want[sub], string(e))
			}
		}
	}
	return states, nil
}

// assigned stores a checkpoint in memory and has Weir deal it.
func assigned(old []*checkpoint.OperatorState, parallelism int) (*checkpoint.Assignment, error) {
	s := checkpoint.NewMemoryStorage()
	if err := s.Begin(1); err != nil {
		return nil, err
	}
	v := checkpoint.VertexState{ID: "v", Parallelism: len(old), MaxParallelism: 128}
	for i, o := range old {
		h, err := s.WriteState(1, checkpoint.TaskID{Vertex: "v", Subtask: i}, &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{"op": o}})
		if err != nil {
			return nil, err
		}
		v.Subtasks = append(v.Subtasks, checkpoint.SubtaskState{Handle: h})
	}
	c := &checkpoint.Completed{ID: 1, Type: checkpoint.TypeCheckpoint, Vertices: []checkpoint.VertexState{v}}
	if err := s.Complete(c); err != nil {
		return nil, err
	}
	return checkpoint.Assign(c, "v", parallelism, 0)
}
