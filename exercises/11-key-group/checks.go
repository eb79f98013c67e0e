package keygroup

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"weir/engine/keygroup"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
	"weir/testdata/golden"
)

var checks = []kit.Def{
	{ID: "script", Points: 2, Run: script, Name: labs.Text{En: "Keys of the lesson, step by step", Zh: "课程里的几个键，逐步核对"}},
	{ID: "golden", Points: 3, Run: goldenCases, Name: labs.Text{En: "What real Flink answers: 300 hash codes and 215 keys", Zh: "真实 Flink 的答案：300 个哈希码与 215 个键"}},
	{ID: "random", Points: 2, Seeds: 5, Run: random, Name: labs.Text{En: "Random keys against Weir's own code", Zh: "随机键，与 Weir 自己的实现比较"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: []string{"script"}, Run: edges, Name: labs.Text{En: "The smallest and the largest of everything", Zh: "各种最小与最大的值"}},
	{ID: "job", Needs: []string{"script"}, Points: 3, Run: inJob, Name: labs.Text{En: "A running job counts the keys of each subtask", Zh: "运行中的作业统计每个子任务的键"}},
}

// asked is one question to a learner's core, with the right answer.
type asked struct {
	call string
	want int64
	ask  func(p proxy) int64
	hint *hint
}

// hint is where to look for a method, and what to try.
type hint struct{ where, try labs.Text }

var (
	hintLong = &hint{labs.Text{En: "HashLong; in Flink, java.lang.Long.hashCode", Zh: "HashLong；对应 java.lang.Long.hashCode"},
		labs.Text{En: "Put one value through by hand whose upper 32 bits are not zero. Is your shift one of an unsigned number?", Zh: "手算一个高 32 位不为零的值。你的右移是无符号的吗？"}}
	hintString = &hint{labs.Text{En: "HashString; in Flink, java.lang.String.hashCode", Zh: "HashString；对应 java.lang.String.hashCode"},
		labs.Text{En: "Print what your loop goes over for \"é\" (one unit, 0x00E9) and \"😀\" (two units, 0xD83D and 0xDE00).", Zh: "打印循环经过的单元：\"é\" 是一个（0x00E9），\"😀\" 是两个（0xD83D 和 0xDE00）。"}}
	hintMurmur = &hint{labs.Text{En: "Murmur; in Flink, MathUtils.murmurHash", Zh: "Murmur；对应 Flink 的 MathUtils.murmurHash"},
		labs.Text{En: "Count in uint32 up to the end, compare the value after each step with the list in the task, and negate a negative result; clearing its sign bit is another number.", Zh: "全程用 uint32 计算，逐步与任务里的列表对照；结果为负就取相反数——清掉符号位得到的是另一个数。"}}
	hintGroup = &hint{labs.Text{En: "KeyGroup; in Flink, KeyGroupRangeAssignment.computeKeyGroupForKeyHash", Zh: "KeyGroup；对应 KeyGroupRangeAssignment.computeKeyGroupForKeyHash"},
		labs.Text{En: "Mix the hash code first, then take the remainder. The parallelism has no part in it.", Zh: "先混合哈希码，再取余数；这里没有并行度的事。"}}
	hintSubtask = &hint{labs.Text{En: "Subtask; in Flink, KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup", Zh: "Subtask；对应 KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup"},
		labs.Text{En: "List the owners of all 128 groups for 3 subtasks: each subtask must have one run, [0,43), [43,86), [86,128).", Zh: "列出 128 个键组在 3 个子任务上的归属：每个子任务应是一段：[0,43)、[43,86)、[86,128)。"}}
)

func longHash(v int64) asked {
	return asked{fmt.Sprintf("HashLong(%d)", v), int64(keygroup.HashLong(v)), func(p proxy) int64 { return p.hashLongs([]int64{v})[0] }, hintLong}
}

func stringHash(s string) asked {
	return asked{fmt.Sprintf("HashString(%q)", s), int64(keygroup.HashString(s)), func(p proxy) int64 { return p.hashStrings([]string{s})[0] }, hintString}
}

func mixed(h int32) asked {
	return asked{fmt.Sprintf("Murmur(%d)", h), int64(keygroup.Murmur(h)), func(p proxy) int64 { return p.murmur([]int32{h})[0] }, hintMurmur}
}

func groupOf(h int32, most int) asked {
	return asked{fmt.Sprintf("KeyGroup(%d, %d)", h, most), int64(keygroup.Assign(h, most)), func(p proxy) int64 { return p.keyGroups([]int32{h}, []int{most})[0] }, hintGroup}
}

func ownerOf(group, most, parallelism int) asked {
	return asked{fmt.Sprintf("Subtask(%d, %d, %d)", group, most, parallelism), int64(keygroup.OperatorIndex(most, parallelism, group)),
		func(p proxy) int64 { return p.subtasks([]int{group}, most, parallelism)[0] }, hintSubtask}
}

func judge(w *kit.Work, all []asked) *kit.Finding {
	for _, a := range all {
		if got := a.ask(proxy{w.Core}); got != a.want {
			d := &history.Difference{Call: a.call, Expected: strconv.FormatInt(a.want, 10), Seen: strconv.FormatInt(got, 10)}
			return d.Finding(a.hint.where, a.hint.try)
		}
	}
	return nil
}

// script follows keys of the lesson, one function after the other.
func script(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	return judge(w, []asked{
		longHash(0), longHash(7), longHash(1 << 32), longHash(-1), longHash(1<<40 + 5),
		stringHash(""), stringHash("a"), stringHash("user-42"), stringHash("é"), stringHash("用户"), stringHash("a😀b"),
		mixed(0), mixed(1), mixed(7),
		groupOf(3, 128), groupOf(7, 128), groupOf(keygroup.HashString("user-42"), 128), groupOf(keygroup.HashString("user-42"), 256),
		ownerOf(0, 128, 2), ownerOf(127, 128, 2), ownerOf(64, 128, 2),
	})
}

type goldenCase struct {
	Kind, Type, Value string
	Units             []uint16 `json:"value_utf16"`
	In, Out           int32
	Hash              int32
	KeyGroup          []int
	Operator          [][]*int
}

// goldenCases are what Flink's own classes answered.
func goldenCases(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	data, err := golden.Files.ReadFile("keygroups.json")
	var file struct {
		MaxParallelisms, Parallelisms []int
		Cases                         []goldenCase
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return history.Broken(err)
	}
	p := proxy{w.Core}
	differs := func(h *hint, call string, want, got int64) *kit.Finding {
		d := &history.Difference{Call: call, Expected: strconv.FormatInt(want, 10), Seen: strconv.FormatInt(got, 10)}
		return d.Finding(h.where, h.try)
	}
	for _, c := range file.Cases {
		if c.Kind == "murmur" {
			if got := p.murmur([]int32{c.In})[0]; got != int64(c.Out) {
				return differs(hintMurmur, fmt.Sprintf("Murmur(%d)", c.In), int64(c.Out), got)
			}
			continue
		}
		switch {
		case c.Type == "Long":
			v, err := strconv.ParseInt(c.Value, 10, 64)
			if err != nil {
				return history.Broken(err)
			}
			if got := p.hashLongs([]int64{v})[0]; got != int64(c.Hash) {
				return differs(hintLong, fmt.Sprintf("HashLong(%d)", v), int64(c.Hash), got)
			}
		case c.Type == "String" && c.Units == nil:
			if got := p.hashStrings([]string{c.Value})[0]; got != int64(c.Hash) {
				return differs(hintString, fmt.Sprintf("HashString(%q)", c.Value), int64(c.Hash), got)
			}
		}
		groups := p.keyGroups([]int32{c.Hash}, file.MaxParallelisms)
		for i, most := range file.MaxParallelisms {
			if groups[i] != int64(c.KeyGroup[i]) {
				return differs(hintGroup, fmt.Sprintf("KeyGroup(%d, %d)", c.Hash, most), int64(c.KeyGroup[i]), groups[i])
			}
		}
	}
	return goldenOwners(p, file.Cases, file.MaxParallelisms, file.Parallelisms, differs)
}

// goldenOwners compares the owners of the key groups of all cases.
func goldenOwners(p proxy, cases []goldenCase, maxParallelisms, parallelisms []int, differs func(*hint, string, int64, int64) *kit.Finding) *kit.Finding {
	for i, most := range maxParallelisms {
		for j, parallelism := range parallelisms {
			if parallelism > most {
				continue
			}
			var groups []int
			var want []int
			for _, c := range cases {
				if c.Kind != "murmur" && c.Operator[i] != nil && j < len(c.Operator[i]) && c.Operator[i][j] != nil {
					groups, want = append(groups, c.KeyGroup[i]), append(want, *c.Operator[i][j])
				}
			}
			for k, got := range p.subtasks(groups, most, parallelism) {
				if got != int64(want[k]) {
					return differs(hintSubtask, fmt.Sprintf("Subtask(%d, %d, %d)", groups[k], most, parallelism), int64(want[k]), got)
				}
			}
		}
	}
	return nil
}

// random asks for keys and numbers that nobody chose.
func random(_ context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 11))
	var all []asked
	for range 60 {
		v := int64(rnd.Uint64()) >> rnd.IntN(64)
		h := int32(rnd.Uint32()) >> rnd.IntN(32)
		most := 1 + rnd.IntN(1<<(1+rnd.IntN(15)))
		all = append(all, longHash(v), stringHash(randomText(rnd)), mixed(h), groupOf(h, most), ownerOf(rnd.IntN(most), most, 1+rnd.IntN(most)))
	}
	return judge(w, all)
}

var alphabet = []rune("abcXYZ 019-éß用户键😀𝄞🏼")

func randomText(rnd *rand.Rand) string {
	s := make([]rune, rnd.IntN(12))
	for i := range s {
		s[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return string(s)
}
