package task

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func newDebloater(t *testing.T, c DebloatConfig) *Debloater {
	t.Helper()
	d, err := NewDebloater(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// BDB-01 to BDB-09: one sample, so that the average is the last value alone. BDB-02 is 249.94: older Flinks divided
// whole numbers and had 249, 2.3 rounds to 250, as all cases of the golden file need.
func TestDebloaterSizes(t *testing.T) {
	for _, c := range []struct {
		id                          string
		targetMs, start, minS, maxS int
		inUse                       int
		throughput                  int64
		want                        int // 0: nothing is announced
	}{
		{"BDB-01", 1000, 2400, 50, 2400, 0, 1200, 1200},
		{"BDB-02", 1200, 1100, 50, 1100, 16, 3333, 250},
		{"BDB-03", 1200, 1100, 250, 1100, 16, 3333, 250},
		{"BDB-04", 1200, 1100, 50, 1100, 16, 0, 50},
		{"BDB-05", 7, 1100, 50, 1100, 16, 3333, 50},
		{"BDB-06", 1200, 248, 50, 248, 16, 3333, 0},
		{"BDB-07", 1200, 250, 50, 250, 16, 3320, 0},
		{"BDB-08", 1000, 1000, 50, 1100, 1, 2000, 1100},
		{"BDB-09", 1000, 60, 50, 1100, 1, 40, 50},
		{"more than 64 bits hold", 1000, 1000, 50, 1100, 1, math.MaxInt64 / 4, 1100},
	} {
		d := newDebloater(t, DebloatConfig{
			Target: time.Duration(c.targetMs) * time.Millisecond, Start: c.start, Min: c.minS, Max: c.maxS,
			ThresholdPercent: 25, Samples: 1,
		})
		size, announced := d.Recalculate(c.throughput, c.inUse)
		if announced != (c.want > 0) || announced && size != c.want {
			t.Errorf("%s: announced %v %d, want %d", c.id, announced, size, c.want)
		}
		if size, announced = d.Recalculate(c.throughput, c.inUse); announced {
			t.Errorf("%s: announced again: %d", c.id, size)
		}
	}
}

// BDB-10: the threshold is 30 % of the last announced size, rounded down; limits always pass.
func TestDebloaterThreshold(t *testing.T) {
	c := DefaultDebloatConfig()
	c.Start, c.ThresholdPercent = 16384, 30
	d := newDebloater(t, c)
	for _, s := range []struct {
		size int
		skip bool
	}{
		{16384, true}, {16384 - 4914, true}, {16384 + 4914, true}, {16384 - 4915, false}, {16384 + 4915, false},
		{256, false}, {1, false}, {32768, false}, {40000, false}, {0, false},
	} {
		if d.skip(s.size) != s.skip {
			t.Errorf("size %d: skip is %v", s.size, !s.skip)
		}
	}
	c.Start, c.Max, c.Min = 1000, 1010, 990
	d = newDebloater(t, c)
	for size, skip := range map[int]bool{1009: true, 991: true, 1010: false, 990: false} {
		if d.skip(size) != skip {
			t.Errorf("near the limits, size %d: skip is %v", size, !skip)
		}
	}
}

type announcement struct{ step, size int }

// announcements feeds a debloater and answers what it announced at which step, counted from 1.
func announcements(d *Debloater, steps int, feed func(step int) (int64, int)) []announcement {
	var list []announcement
	for i := 1; i <= steps; i++ {
		if size, ok := d.Recalculate(feed(i)); ok {
			list = append(list, announcement{i, size})
		}
	}
	return list
}

func TestDebloaterTraces(t *testing.T) {
	steady := func(throughput int64, inUse int) func(int) (int64, int) {
		return func(int) (int64, int) { return throughput, inUse }
	}
	inTurn := []int{4, 8, 25}
	var growth []announcement // BDB-12: one every third step
	for i, size := range []int{1345, 1767, 2322, 3051, 4008, 5266, 6918, 9089, 11941, 15688, 20610, 27077, 32768} {
		growth = append(growth, announcement{3 * (i + 1), size})
	}
	for _, c := range []struct {
		name  string
		start int
		steps int
		feed  func(int) (int64, int)
		want  []announcement
	}{
		{"BDB-11 and field report 11: idle channels do not count", 32768, 60, steady(100000, 10),
			[]announcement{{5, 23804}, {11, 17572}, {20, 13076}}},
		{"BDB-12", 1024, 60, steady(10_000_000, 10), growth},
		{"field report 9: buffers in use jump", 32768, 200,
			func(i int) (int64, int) { return 30000, inTurn[(i-1)%3] },
			[]announcement{{4, 23597}, {8, 17174}, {12, 12615}, {18, 8699}, {26, 6366}, {36, 4726}}},
		{"field report 10: the floor", 1024, 200, steady(4096, 2000),
			[]announcement{{3, 759}, {6, 563}, {9, 417}, {12, 310}, {14, 256}}},
	} {
		config := DefaultDebloatConfig()
		config.Start = c.start
		if got := announcements(newDebloater(t, config), c.steps, c.feed); !slices.Equal(got, c.want) {
			t.Errorf("%s: announced %v, want %v", c.name, got, c.want)
		}
	}
}

// Field report 10: at the floor with 125 s to consume, which is not converged.
func TestDebloaterTellsThatTheFloorIsReached(t *testing.T) {
	d := newDebloater(t, DefaultDebloatConfig())
	for range 13 {
		d.Recalculate(4096, 2000)
	}
	if d.FloorReached() {
		t.Errorf("reached at %d", d.LastBufferSize())
	}
	for range 20 {
		d.Recalculate(4096, 2000)
	}
	if !d.FloorReached() || d.EstimatedTimeToConsumeMs() != 125000 {
		t.Errorf("floor %v at %d, estimate %d", d.FloorReached(), d.LastBufferSize(), d.EstimatedTimeToConsumeMs())
	}
}

func TestDebloaterReconfiguredKeepsItsAverage(t *testing.T) {
	config := DefaultDebloatConfig()
	config.Start = config.Max
	d, same := newDebloater(t, config), newDebloater(t, config)
	for range 7 {
		d.Recalculate(100000, 10)
		same.Recalculate(100000, 10)
	}
	if err := d.Reconfigure(config); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		a, okA := d.Recalculate(100000, 10)
		b, okB := same.Recalculate(100000, 10)
		if a != b || okA != okB {
			t.Fatalf("step %d after an equal configuration: %d %v, without %d %v", i, a, okA, b, okB)
		}
	}
	if d.LastBufferSize() != 13076 {
		t.Fatalf("settled at %d", d.LastBufferSize())
	}

	config.Target /= 2 // from about 10000 towards 5000, not from the start size again
	if err := d.Reconfigure(config); err != nil {
		t.Fatal(err)
	}
	if size, _ := d.Recalculate(100000, 10); size > 13076 {
		t.Errorf("the average was lost: %d", size)
	}
	for range 60 {
		d.Recalculate(100000, 10)
	}
	if got := d.EstimatedTimeToConsumeMs(); got < 490 || got > 510 {
		t.Errorf("estimate with half the target: %d", got)
	}

	config.Max, config.Start = 2048, 1024 // a lower limit is announced at once
	if err := d.Reconfigure(config); err != nil {
		t.Fatal(err)
	}
	if size, ok := d.Recalculate(100000, 10); !ok || size != 2048 {
		t.Errorf("after a lower maximum: %d %v", size, ok)
	}
	config.Max = 32768
	config.ThresholdPercent = 1
	if err := d.Reconfigure(config); err != nil {
		t.Fatal(err)
	}
	if size, ok := d.Recalculate(100000, 10); !ok || size != 2243 { // 2048 + 2/21 (min(5000, 4096) - 2048)
		t.Errorf("after a higher maximum and 1 %%: %d %v", size, ok)
	}
	config.Samples = 1 // the last value alone
	if err := d.Reconfigure(config); err != nil {
		t.Fatal(err)
	}
	if size, ok := d.Recalculate(30000, 10); !ok || size != 1500 {
		t.Errorf("after one sample: %d %v", size, ok)
	}
}

func TestDebloaterStartSizeCountsBeforeTheFirstStep(t *testing.T) {
	config := DefaultDebloatConfig()
	d := newDebloater(t, config)
	config.Start = 8192
	if err := d.Reconfigure(config); err != nil || d.LastBufferSize() != 8192 {
		t.Errorf("before: %d %v", d.LastBufferSize(), err)
	}
	d.Recalculate(81920, 10)
	config.Start = 512
	if err := d.Reconfigure(config); err != nil || d.LastBufferSize() != 8192 {
		t.Errorf("after: %d %v", d.LastBufferSize(), err)
	}
}

func TestDebloaterRefusesBadValues(t *testing.T) {
	bad := DefaultDebloatConfig()
	bad.Min = 65536
	if _, err := NewDebloater(bad); err == nil || !strings.Contains(err.Error(), "65536") || !strings.Contains(err.Error(), "32768") {
		t.Errorf("error %v", err)
	}
	d := newDebloater(t, DefaultDebloatConfig())
	if err := d.Reconfigure(bad); err == nil || d.Config() != DefaultDebloatConfig() {
		t.Errorf("error %v, configuration %+v", err, d.Config())
	}
	for _, option := range [][2]string{
		{"taskmanager.memory.segment-size", "12 parsecs"}, {"taskmanager.memory.segment-size", "9999999mb"},
		{"taskmanager.memory.segment-size", "128b"}, {"no.such.option", "1"},
		{"taskmanager.network.memory.buffer-debloat.enabled", "perhaps"},
	} {
		if _, err := DefaultDebloatConfig().With(option[0], option[1]); err == nil || !strings.Contains(err.Error(), option[0]) {
			t.Errorf("%v: %v", option, err)
		}
	}
	// What cannot be is bent, not a panic.
	d.Recalculate(-5, -3)
	d.Recalculate(1<<62, 1<<30)
	if d.LastBufferSize() < 1 {
		t.Errorf("size %d", d.LastBufferSize())
	}
}

func TestDebloatConfigOfSettings(t *testing.T) {
	s := Defaults()
	if got := DebloatConfigOf(&s); got != DefaultDebloatConfig() {
		t.Errorf("defaults give %+v", got)
	}
	s.SegmentBytes, s.Debloat, s.DebloatTargetMs = 200, true, 50
	got := DebloatConfigOf(&s)
	if got.Validate() != nil || got.Max != 200 || got.Min != 200 || got.Start != 200 || !got.Enabled || got.Target != 50*time.Millisecond {
		t.Errorf("small segments give %+v", got)
	}
}
