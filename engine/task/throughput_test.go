package task

import (
	"testing"
	"time"
)

// A task that has input for less than a millisecond of a period still has the throughput of that time.
func TestThroughputOfShortBursts(t *testing.T) {
	c := NewThroughputCalculator()
	now := int64(time.Second)
	for range 20 {
		c.IncomingData(now, 40)
		now += int64(40 * time.Microsecond)
		c.Pause(now)
		now += int64(9960 * time.Microsecond)
	}
	if got := c.Calculate(now); got != 1_000_000 {
		t.Errorf("got %d", got)
	}
}

// Field report 12: 1 MB/s for 5 s, silence for 30 s, again 1 MB/s. The silence does not move the size.
func TestSilenceDoesNotCountAsThroughput(t *testing.T) {
	c := NewThroughputCalculator()
	config := DefaultDebloatConfig()
	config.Start = config.Max
	d, err := NewDebloater(config)
	if err != nil {
		t.Fatal(err)
	}
	now := int64(time.Hour)
	run := func(span time.Duration, bytesPerMs int64, inUse int) {
		for end := now + int64(span); now < end; {
			for range 200 {
				if bytesPerMs > 0 {
					c.IncomingData(now, bytesPerMs)
				}
				now += int64(time.Millisecond)
			}
			if bytesPerMs == 0 {
				c.Pause(now)
			}
			d.Recalculate(c.Calculate(now), inUse)
		}
	}
	run(5*time.Second, 1000, 10)
	before := d.LastBufferSize()
	c.Pause(now)
	run(30*time.Second, 0, 10)
	if d.LastBufferSize() != before || before != config.Max {
		t.Errorf("size %d before, %d after the silence", before, d.LastBufferSize())
	}
	if got := c.Calculate(now); got != 1_000_000 {
		t.Errorf("throughput after the silence: %d", got)
	}
	run(5*time.Second, 1000, 10)
	if d.LastBufferSize() != before {
		t.Errorf("size %d before, %d at last", before, d.LastBufferSize())
	}
	// Measured as zero, the same silence takes the size to the floor, slowly: what must not happen.
	wrong, err := NewDebloater(config)
	if err != nil {
		t.Fatal(err)
	}
	var announced []int
	for range 49 {
		if size, ok := wrong.Recalculate(0, 10); ok {
			announced = append(announced, size)
		}
	}
	if len(announced) < 4 || announced[0] != 24269 || announced[1] != 17974 || announced[len(announced)-2] != 269 || announced[len(announced)-1] != 256 {
		t.Errorf("announced %v", announced)
	}
}

// A buffer comes at the end of a period and is worked on at the start of the next one, which then is silent: the throughput
// stands. A task that works for a whole period on what came before it has none.
func TestWorkOnThePeriodBeforeIsNoThroughputOfZero(t *testing.T) {
	d := &debloatShell{throughput: NewThroughputCalculator()}
	now := nowNs()
	d.throughput.IncomingData(now-int64(100*time.Millisecond), 100_000)
	if got := d.throughput.Calculate(now); got != 1_000_000 {
		t.Fatalf("%d B/s", got)
	}
	d.throughput.Pause(now + int64(10*time.Millisecond))
	for range 3 {
		if got := d.measure(); got != 1_000_000 {
			t.Errorf("%d B/s in the silence", got)
		}
	}
	d.throughput.Resume(nowNs() - int64(time.Second))
	if got := d.measure(); got != 0 {
		t.Errorf("%d B/s while it works without new input", got)
	}

	// What a period that is passed over had measured does not count in the next one.
	const ms = int64(time.Millisecond)
	c := NewThroughputCalculator()
	c.IncomingData(0, 1000)
	c.Calculate(1 * ms)
	c.Pause(2 * ms)
	c.Skip()
	c.IncomingData(10*ms, 5000)
	if got := c.Calculate(15 * ms); got != 1_000_000 {
		t.Errorf("%d B/s in the period after one that was passed over", got)
	}
}
