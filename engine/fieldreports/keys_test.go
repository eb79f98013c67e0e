package fieldreports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/task"
)

// groupsOf are the key groups of keys 0 to n-1.
func groupsOf(t *testing.T, key serde.KeyType, n, maxParallelism int) []int {
	t.Helper()
	var groups []int
	for i := range n {
		k, err := serde.ParseKey(key, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, keygroup.Assign(serde.HashKey(key, k), maxParallelism))
	}
	return groups
}

// Report 1: eight keys on eight subtasks do not give one key each. The subtask with two keys has all it can do; with
// whole numbers as keys one has four and takes half of the rate that the sources have.
func TestReport1EightKeysOnEightSubtasks(t *testing.T) {
	for _, c := range []struct {
		key    serde.KeyType
		name   string
		groups []int
		load   []float64
		unit   float64 // records/s of one key
	}{
		{serde.String, "string", []int{86, 54, 27, 33, 4, 79, 19, 115}, []float64{1, 2, 1, 1, 1, 1, 0, 1}, 1000},
		{serde.Int, "int", []int{94, 86, 127, 113, 7, 126, 18, 113}, []float64{1, 1, 0, 0, 0, 2, 0, 4}, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := groupsOf(t, c.key, 8, 128); !slices.Equal(got, c.groups) {
				t.Errorf("groups %v, want %v", got, c.groups)
			}
			synctest.Test(t, func(t *testing.T) {
				s := settings()
				s.Parallelism, s.MaxParallelism, s.Keys, s.KeyType, s.Rate, s.WorkMs = 8, 128, 8, c.name, 8000, 0.5
				j := start(t, graph(c.key, generator(0), working(func() { time.Sleep(500 * time.Microsecond) })), s, job.Options{})
				time.Sleep(10 * time.Second)
				before := j.Snapshot()
				time.Sleep(10 * time.Second)
				after := j.Snapshot()
				j.Close()
				for i, rate := range perSecond(before, after) {
					want := c.load[i] * c.unit
					if rate < 0.97*want || rate > 1.03*want {
						t.Errorf("subtask %d: %.0f records/s, want %.0f", i, rate, want)
					}
					sub := after.Vertices[1].Subtasks[i]
					if busy := want * 0.5; sub.Recent.Busy < busy-50 || sub.Recent.Busy > busy+50 {
						t.Errorf("subtask %d: busy %.0f ms/s, want %.0f", i, sub.Recent.Busy, busy)
					}
				}
				pressed := after.Vertices[0].Subtasks[0].Recent.BackPressured
				if c.name == "int" && pressed < 450 {
					t.Errorf("the source is back-pressured %.0f ms/s", pressed)
				}
			})
		})
	}
}

// Report 2: at a parallelism of 171 the derived max parallelism of 256 gives half of the subtasks two key groups and the
// others one.
func TestReport2DerivedMaxParallelism(t *testing.T) {
	for p, want := range map[int]int{85: 128, 86: 256, 170: 256, 171: 256, 172: 512, 342: 1024} {
		if got := keygroup.DefaultMaxParallelism(p); got != want {
			t.Errorf("parallelism %d: max %d, want %d", p, got, want)
		}
	}
	const parallelism, keys = 171, 1_710_000
	for _, c := range []struct {
		maxParallelism    int
		groups            map[int]int // subtasks by the number of groups they own
		least, mid, most  int         // records of a subtask
		skewAbove, skewTo float64
	}{
		{256, map[int]int{1: 86, 2: 85}, 6436, 6817, 13650, 1.36, 1.37},
		{2048, map[int]int{11: 4, 12: 167}, 0, 0, 0, 1, 1.1},
	} {
		ranges, err := keygroup.Ranges(c.maxParallelism, parallelism)
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[int]int{}
		for _, r := range ranges {
			sizes[r.Size()]++
		}
		if fmt.Sprint(sizes) != fmt.Sprint(c.groups) {
			t.Errorf("max %d: subtasks by groups %v, want %v", c.maxParallelism, sizes, c.groups)
		}
		table := keygroup.Table(c.maxParallelism, parallelism)
		load := make([]int, parallelism)
		for k := range int32(keys) {
			load[table[keygroup.Assign(keygroup.HashInt(k), c.maxParallelism)]]++
		}
		slices.Sort(load)
		got := [3]int{load[0], load[parallelism/2], load[parallelism-1]}
		if c.mid > 0 && got != [3]int{c.least, c.mid, c.most} {
			t.Errorf("max %d: least, median and most %v", c.maxParallelism, got)
		}
		if skew := float64(got[2]) * parallelism / keys; skew < c.skewAbove || skew > c.skewTo {
			t.Errorf("max %d: skew %.3f, %v", c.maxParallelism, skew, got)
		}
	}
}

// Report 3: a checkpoint of max parallelism 128 is not restored under 256, which would look up half of the keys in the
// wrong group. One that was derived gives way to the checkpoint's; a parallelism above it is refused in any case.
func TestReport3AnotherMaxParallelism(t *testing.T) {
	moved := 0
	for k := range int32(10000) {
		if keygroup.Assign(keygroup.HashInt(k), 128) != keygroup.Assign(keygroup.HashInt(k), 256) {
			moved++
		}
	}
	if moved != 5020 {
		t.Errorf("%d keys change their group, want 5020", moved)
	}

	const n, keys = 20000, 1000
	g := graph(serde.Int, generator(n), counting(serde.Int))
	s := settings()
	s.KeyType, s.Keys, s.Rate, s.MaxParallelism = "int", keys, 10000, 128
	dir := t.TempDir()
	var path string
	synctest.Test(t, func(t *testing.T) {
		j := start(t, g, s, job.Options{CheckpointDir: dir})
		time.Sleep(time.Second)
		var err error
		if path, err = j.Stop(); err != nil {
			t.Fatal(err)
		}
		j.Close()
	})

	for _, c := range []struct {
		parallelism, maxParallelism int
		says                        []string
	}{
		{2, 256, []string{"256", "128"}},
		{200, 0, []string{"200", "128"}},
		{200, 256, []string{"200", "128"}},
	} {
		s := s
		s.Parallelism, s.MaxParallelism = c.parallelism, c.maxParallelism
		opened := 0
		watched := graph(serde.Int, func() task.Source { opened++; return generator(n)() }, counting(serde.Int))
		j, err := job.Start(watched, s, job.Options{CheckpointDir: t.TempDir(), RestorePath: path})
		if err == nil {
			j.Close()
			t.Errorf("parallelism %d, max %d: it started", c.parallelism, c.maxParallelism)
			continue
		}
		for _, number := range c.says {
			if !strings.Contains(err.Error(), number) {
				t.Errorf("parallelism %d, max %d: %v", c.parallelism, c.maxParallelism, err)
			}
		}
		if opened != 0 {
			t.Errorf("%d tasks were made before it was refused", opened)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		s := s
		s.MaxParallelism, s.Parallelism = 0, 90 // derived: 256
		s.SegmentBytes = 512                    // there are 8,100 channels
		j := start(t, g, s, job.Options{RestorePath: path})
		<-j.Done()
		if err := j.Err(); err != nil {
			t.Fatal(err)
		}
		snap := j.Snapshot()
		if got := snap.Vertices[1].MaxParallelism; got != 128 {
			t.Errorf("max parallelism %d, want the checkpoint's 128", got)
		}
		counts := snap.Totals.CountsByKey
		for k := range keys {
			if got := counts[fmt.Sprint(k)]; got != n/keys {
				t.Fatalf("key %d counted %d times, want %d", k, got, n/keys)
			}
		}
	})
}
