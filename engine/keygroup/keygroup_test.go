package keygroup

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

func mustRange(t *testing.T, first, last int) Range {
	t.Helper()
	r, err := RangeOf(first, last)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func groups(keys []string, maxParallelism int) []int {
	var gs []int
	for _, k := range keys {
		gs = append(gs, Assign(HashString(k), maxParallelism))
	}
	return gs
}

func integerGroups(n, maxParallelism int) []int {
	gs := make([]int, n)
	for i := range gs {
		gs[i] = Assign(HashInt(int32(i)), maxParallelism)
	}
	return gs
}

// KGA-01, KGA-02, KGA-03.
func TestKeyGroupsOfKeys(t *testing.T) {
	digits := strings.Split("01234567", "")
	names := []string{"alice", "bob", "carol", "dave", "user-1", "user-2"}
	for _, c := range []struct {
		what      string
		got, want []int
	}{
		{"strings 0 to 7", groups(digits, 128), []int{86, 54, 27, 33, 4, 79, 19, 115}},
		{"integers 0 to 7", integerGroups(8, 128), []int{94, 86, 127, 113, 7, 126, 18, 113}},
		{"names at 128", groups(names, 128), []int{116, 87, 15, 121, 121, 22}},
		{"names at 256", groups(names, 256), []int{244, 87, 15, 121, 121, 22}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: key groups %v, expected %v", c.what, c.got, c.want)
		}
	}
}

// KGA-04.
func TestRanges(t *testing.T) {
	for _, c := range []struct {
		parallelism int
		want        []Range
	}{
		{2, []Range{{0, 63}, {64, 127}}},
		{3, []Range{{0, 42}, {43, 85}, {86, 127}}},
		{5, []Range{{0, 25}, {26, 51}, {52, 76}, {77, 102}, {103, 127}}},
		{8, []Range{{0, 15}, {16, 31}, {32, 47}, {48, 63}, {64, 79}, {80, 95}, {96, 111}, {112, 127}}},
	} {
		got, err := Ranges(128, c.parallelism)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("parallelism %d: %v, %v, expected %v", c.parallelism, got, err, c.want)
		}
	}
}

// KGA-05.
func TestDefaultMaxParallelism(t *testing.T) {
	for p, want := range map[int]int{1: 128, 85: 128, 86: 256, 128: 256, 170: 256, 171: 256, 172: 512, 342: 1024, 21845: 32768,
		32768: 32768, 0: 128, -1: 128, 1 << 40: 32768} {
		if got := DefaultMaxParallelism(p); got != want {
			t.Errorf("parallelism %d: %d, expected %d", p, got, want)
		}
	}
}

// KGA-06, and the load that follows from it with uniform integer keys.
func TestDerivedMaxParallelismMakesTwoSizesOfSubtask(t *testing.T) {
	const parallelism = 171
	maxParallelism := DefaultMaxParallelism(parallelism)
	rs, err := Ranges(maxParallelism, parallelism)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[int]int{}
	for _, r := range rs {
		sizes[r.Size()]++
	}
	if maxParallelism != 256 || sizes[1] != 86 || sizes[2] != 85 || len(sizes) != 2 {
		t.Errorf("max parallelism %d, subtasks by number of key groups %v, expected 256 and 86 with 1, 85 with 2", maxParallelism, sizes)
	}
	load := make([]int, parallelism)
	owner := Table(maxParallelism, parallelism)
	for _, g := range integerGroups(1_710_000, maxParallelism) {
		load[owner[g]]++
	}
	sort.Ints(load)
	if least, median, most := load[0], load[parallelism/2], load[parallelism-1]; least != 6436 || median != 6817 || most != 13650 {
		t.Errorf("keys per subtask: least %d, median %d, most %d, expected 6436, 6817, 13650", least, median, most)
	}
}

// KGA-07.
func TestGroupsThatMoveOnRescaling(t *testing.T) {
	before, after := Table(128, 2), Table(128, 3)
	moved := 0
	for g := range before {
		if before[g] != after[g] {
			moved++
		}
	}
	keys := 0
	for _, g := range integerGroups(10_000, 128) {
		if before[g] != after[g] {
			keys++
		}
	}
	if moved != 63 || keys != 4925 {
		t.Errorf("%d key groups and %d keys change owner, expected 63 and 4925", moved, keys)
	}
}

// KGA-08, which is why a changed maximum parallelism must be refused on restore.
func TestKeysThatChangeGroupWithTheMaximum(t *testing.T) {
	a, b := integerGroups(10_000, 128), integerGroups(10_000, 256)
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	if n != 5020 {
		t.Errorf("%d keys change their key group, expected 5020", n)
	}
}

// Eight keys on eight subtasks do not give one key each.
func TestEightKeysOnEightSubtasks(t *testing.T) {
	load := func(gs []int) []int {
		n := make([]int, 8)
		for _, g := range gs {
			n[OperatorIndex(128, 8, g)]++
		}
		return n
	}
	if got := load(groups(strings.Split("01234567", ""), 128)); !slices.Equal(got, []int{1, 2, 1, 1, 1, 1, 0, 1}) {
		t.Errorf("strings: %v", got)
	}
	if got := load(integerGroups(8, 128)); !slices.Equal(got, []int{1, 1, 0, 0, 0, 2, 0, 4}) {
		t.Errorf("integers: %v", got)
	}
}

// KGA-09.
func TestIntersect(t *testing.T) {
	for _, c := range []struct{ a, b, want Range }{
		{Range{0, 10}, Range{5, 20}, Range{5, 10}},
		{Range{3, 12}, Range{0, 10}, Range{3, 10}},
		{Range{0, 5}, Range{6, 10}, Empty},
		{Range{0, 5}, Empty, Empty},
	} {
		if got := c.a.Intersect(c.b); got != c.want {
			t.Errorf("%v and %v: %v, expected %v", c.a, c.b, got, c.want)
		}
		if got := c.b.Intersect(c.a); got != c.want {
			t.Errorf("%v and %v: %v, expected %v", c.b, c.a, got, c.want)
		}
	}
}

// KGA-10.
func TestRange(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {0, 127}, {3, 7}, {32766, 32767}} {
		r := mustRange(t, c[0], c[1])
		if r.Size() != c[1]-c[0]+1 || r.Contains(c[0]-1) || r.Contains(c[1]+1) {
			t.Errorf("%v: size %d, contains its outside %v %v", r, r.Size(), r.Contains(c[0]-1), r.Contains(c[1]+1))
		}
		want := c[0]
		for g := range r.All() {
			if g != want || !r.Contains(g) {
				t.Fatalf("%v: %d, expected %d", r, g, want)
			}
			want++
		}
		if want != c[1]+1 {
			t.Errorf("%v: ends before %d", r, want)
		}
		for range r.All() {
			break
		}
	}
	if Empty.Size() != 0 || len(slices.Collect(Empty.All())) != 0 {
		t.Errorf("%v has key groups", Empty)
	}
	var bounds *BoundsError
	if _, err := RangeOf(-3, 2); !errors.As(err, &bounds) || !strings.Contains(err.Error(), "-3") {
		t.Errorf("from -3: %v", err)
	}
}

func TestOutOfBounds(t *testing.T) {
	for _, c := range []struct{ maxParallelism, parallelism int }{{2, 3}, {0, 1}, {1, 0}, {32769, 1}, {-1, -1}} {
		if Table(c.maxParallelism, c.parallelism) != nil {
			t.Errorf("%+v: there is a table", c)
		}
		rs, err := Ranges(c.maxParallelism, c.parallelism)
		if rs != nil || err == nil {
			t.Errorf("%+v: %v, %v", c, rs, err)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{CheckParallelism(0), "Operator parallelism not within bounds: 0 (must be 1 to 32768)"},
		{CheckOperatorMaxParallelism(-1), "The maximum parallelism must be greater than 0. (found -1)"},
		{CheckMaxParallelism(32769), "maxParallelism is out of bounds 0 < maxParallelism <= 32768. Found: 32769"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%v, expected %q", c.err, c.want)
		}
	}
}

// The hash of a string against the plain definition over UTF-16, for random strings of every mixture.
func TestHashString(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("abcXYZ 019~\u0000\u007f\u0080éß\u07ff\u0800用户\uffff\ufffd😀𝄞")
	for range 20_000 {
		rs := make([]rune, rnd.IntN(40))
		ascii := rnd.IntN(2) == 0
		for i := range rs {
			rs[i] = alphabet[rnd.IntN(len(alphabet))]
			if ascii {
				rs[i] &= 0x7f
			}
		}
		var want int32
		for _, u := range utf16.Encode(rs) {
			want = 31*want + int32(u)
		}
		if got := HashString(string(rs)); got != want {
			t.Fatalf("%q: %d, expected %d", string(rs), got, want)
		}
	}
}

func BenchmarkHashAndAssign(b *testing.B) {
	s := strconv.Itoa(1234567) + "-user-name"
	b.Run("long", func(b *testing.B) {
		b.ReportAllocs()
		sum := 0
		for i := range b.N {
			sum += Assign(HashLong(int64(i)), 128)
		}
		sink = sum
	})
	b.Run("string17", func(b *testing.B) {
		b.ReportAllocs()
		sum := 0
		for range b.N {
			sum += Assign(HashString(s), 128)
		}
		sink = sum
	})
}

var sink int
