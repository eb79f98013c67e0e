package assignment

import (
	"context"

	"weir/exercises/19-assignment/api"
	"weir/exercises/kit"
)

// edges are checkpoints with holes: subtasks without state, states that some did not report, and fewer entries than subtasks
// to deal them to.
func edges(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	p := proxy{w.Core}
	for _, c := range []struct {
		most, parallelism int
		handles           []api.Handle
	}{
		{128, 3, nil},
		{10, 10, []api.Handle{{First: 0, End: 2}, {First: 7, End: 10}}},
		{10, 1, []api.Handle{{First: 3, End: 4}, {First: 9, End: 10}}},
		{5, 2, []api.Handle{{First: 0, End: 5}}},
	} {
		if f := judgeKeyed(p, c.most, c.parallelism, c.handles); f != nil {
			return f
		}
	}
	for _, c := range []struct {
		parallelism int
		states      []dealt
	}{
		// The rest of the second state begins where that of the first ended, and comes round.
		{5, []dealt{
			{mode: api.Split, old: [][]string{{"a"}, {}, {"b"}}, want: [][]string{{"a"}, {"b"}, {}, {}, {}}},
			{mode: api.Split, old: [][]string{{"c", "d"}, nil, {"e", "f"}}, want: [][]string{{"f"}, {}, {"c"}, {"d"}, {"e"}}},
		}},
		{4, []dealt{{mode: api.Split, old: [][]string{nil, {}}, want: [][]string{{}, {}, {}, {}}}}},
		// Subtask 1 did not report, which is not the same as reporting nothing.
		{3, []dealt{{mode: api.Broadcast, old: [][]string{{"x"}, nil, {"x"}, {"x"}}, want: [][]string{{"x"}, {"x"}, {"x"}}}}},
		{1, []dealt{{mode: api.Union, old: [][]string{nil, {"u"}, {}}, want: [][]string{{"u"}}}}},
	} {
		if f := judgeOperator(p, c.parallelism, c.states); f != nil {
			return f
		}
	}
	return nil
}
