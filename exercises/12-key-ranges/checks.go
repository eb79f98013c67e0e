package keyranges

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"weir/engine/keygroup"
	"weir/exercises/12-key-ranges/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
	"weir/testdata/golden"
)

var checks = []kit.Def{
	{ID: "script", Points: 2, Run: script, Name: labs.Text{En: "128 key groups on 2 and 3 subtasks, and what moves", Zh: "128 个键组在 2 个与 3 个子任务上，以及移动的部分"}},
	{ID: "golden", Points: 3, Run: goldenCases, Name: labs.Text{En: "What real Flink answers: ranges and owners", Zh: "真实 Flink 的答案：区间与归属"}},
	{ID: "random", Points: 2, Seeds: 5, Run: random, Name: labs.Text{En: "Random sizes against Weir's own code", Zh: "随机规模，与 Weir 自己的实现比较"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: []string{"script"}, Run: edges, Name: labs.Text{En: "One group, one subtask, a group for each subtask", Zh: "一个键组、一个子任务、每个子任务一个键组"}},
	{ID: "job", Needs: []string{"script"}, Points: 3, Run: inJob, Name: labs.Text{En: "A job that runs on your ranges, rescaled 2 → 3 → 5 → 2", Zh: "用你的区间运行的作业，扩缩容 2 → 3 → 5 → 2"}},
}

var (
	whereRange = labs.Text{En: "Range; in Flink, KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex", Zh: "Range；对应 KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex"}
	tryRange   = labs.Text{En: "Write the ranges of 128 groups on 5 subtasks side by side: each must begin where the one before ends, and the last must end at 128. Which way do you round?", Zh: "把 128 个组在 5 个子任务上的区间并排写出：每段都应从上一段的终点开始，最后一段终于 128。你朝哪边取整？"}
	whereOwner = labs.Text{En: "Owner; in Flink, KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup", Zh: "Owner；对应 KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup"}
	tryOwner   = labs.Text{En: "For each subtask, ask Owner for the first and the last group of its own Range.", Zh: "对每个子任务，用它自己 Range 的第一个和最后一个组去问 Owner。"}
	whereMoves = labs.Text{En: "Moves; the lab rescale draws the same list", Zh: "Moves；rescale 实验画的就是这份列表"}
	tryMoves   = labs.Text{En: "For each group compare its owner before and after. A run ends as soon as either changes.", Zh: "对每个组比较前后的归属；任一方变化，这一段就结束。"}
)

func half(first, end int) string { return fmt.Sprintf("[%d,%d)", first, end) }

func movesText(moves []api.Move) string {
	if len(moves) == 0 {
		return "none"
	}
	var parts []string
	for i, m := range moves {
		if i == 12 {
			parts = append(parts, fmt.Sprintf("… (%d)", len(moves)))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d→%d", half(m.First, m.End), m.From, m.To))
	}
	return strings.Join(parts, " ")
}

// model are the moves by Weir's own ranges.
func model(maxParallelism, before, after int) []api.Move {
	var moves []api.Move
	for from := range before {
		a, _ := keygroup.RangeFor(maxParallelism, before, from)
		for to := range after {
			b, _ := keygroup.RangeFor(maxParallelism, after, to)
			if c := a.Intersect(b); c.Size() > 0 && from != to {
				moves = append(moves, api.Move{First: c.First, End: c.Last + 1, From: from, To: to})
			}
		}
	}
	return moves
}

func judgeRanges(p proxy, maxParallelism, parallelism int, want [][2]int) *kit.Finding {
	for i, got := range p.all(maxParallelism, parallelism) {
		if got != want[i] {
			d := history.Difference{Call: fmt.Sprintf("Range(%d, %d, %d)", maxParallelism, parallelism, i), Expected: half(want[i][0], want[i][1]), Seen: half(got[0], got[1])}
			return d.Finding(whereRange, tryRange)
		}
	}
	return nil
}

func judgeOwners(p proxy, groups []int, maxParallelism, parallelism int, want []int) *kit.Finding {
	for i, got := range p.owners(groups, maxParallelism, parallelism) {
		if got != want[i] {
			d := history.Difference{Call: fmt.Sprintf("Owner(%d, %d, %d)", groups[i], maxParallelism, parallelism), Expected: fmt.Sprint(want[i]), Seen: fmt.Sprint(got)}
			return d.Finding(whereOwner, tryOwner)
		}
	}
	return nil
}

func judgeMoves(p proxy, maxParallelism, before, after int) *kit.Finding {
	want, got := movesText(model(maxParallelism, before, after)), movesText(p.Moves(maxParallelism, before, after))
	if want == got {
		return nil
	}
	d := history.Difference{Call: fmt.Sprintf("Moves(%d, %d, %d)", maxParallelism, before, after), Expected: want, Seen: got}
	return d.Finding(whereMoves, tryMoves)
}

// script is the rescale of the lesson.
func script(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	p := proxy{w.Core}
	for _, c := range []struct {
		parallelism int
		want        [][2]int
	}{{1, [][2]int{{0, 128}}}, {2, [][2]int{{0, 64}, {64, 128}}}, {3, [][2]int{{0, 43}, {43, 86}, {86, 128}}}} {
		if f := judgeRanges(p, 128, c.parallelism, c.want); f != nil {
			return f
		}
	}
	if f := judgeOwners(p, []int{0, 42, 43, 85, 86, 127}, 128, 3, []int{0, 0, 1, 1, 2, 2}); f != nil {
		return f
	}
	for _, c := range [][2]int{{2, 2}, {2, 3}, {1, 2}} {
		if f := judgeMoves(p, 128, c[0], c[1]); f != nil {
			return f
		}
	}
	return nil
}

// goldenCases are what KeyGroupRangeAssignment answered.
func goldenCases(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	data, err := golden.Files.ReadFile("keygroup_ranges.json")
	var file struct {
		Cases []struct {
			Kind                        string
			MaxParallelism, Parallelism int
			Ranges, Operators           [][2]int
		}
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return history.Broken(err)
	}
	for _, c := range file.Cases {
		var f *kit.Finding
		switch c.Kind {
		case "ranges":
			want := make([][2]int, len(c.Ranges))
			for i, r := range c.Ranges {
				want[i] = [2]int{r[0], r[1] + 1} // both ends inclusive there
			}
			f = judgeRanges(proxy{w.Core}, c.MaxParallelism, c.Parallelism, want)
		case "operators":
			var groups, want []int
			for _, o := range c.Operators {
				groups, want = append(groups, o[0]), append(want, o[1])
			}
			f = judgeOwners(proxy{w.Core}, groups, c.MaxParallelism, c.Parallelism, want)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// random takes sizes that nobody chose.
func random(_ context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 12))
	p := proxy{w.Core}
	for range 25 {
		most := 1 + rnd.IntN(1<<(1+rnd.IntN(9)))
		if f := judgeAll(p, most, 1+rnd.IntN(most), 1+rnd.IntN(most)); f != nil {
			return f
		}
	}
	return nil
}

// edges are the sizes at which something is as small or as large as it can be.
func edges(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	for _, c := range [][3]int{{1, 1, 1}, {2, 2, 1}, {128, 128, 1}, {128, 1, 128}, {128, 127, 128}, {127, 126, 2}, {1000, 999, 7}} {
		if f := judgeAll(proxy{w.Core}, c[0], c[1], c[2]); f != nil {
			return f
		}
	}
	return nil
}

// judgeAll compares the ranges and owners of one parallelism, and what moves to another, with Weir's own.
func judgeAll(p proxy, most, before, after int) *kit.Finding {
	all, err := keygroup.Ranges(most, before)
	if err != nil {
		return history.Broken(err)
	}
	var want [][2]int
	groups, owners := make([]int, most), make([]int, most)
	for sub, r := range all {
		want = append(want, [2]int{r.First, r.Last + 1})
		for g := range r.All() {
			groups[g], owners[g] = g, sub
		}
	}
	if f := judgeRanges(p, most, before, want); f != nil {
		return f
	}
	if f := judgeOwners(p, groups, most, before, owners); f != nil {
		return f
	}
	return judgeMoves(p, most, before, after)
}
