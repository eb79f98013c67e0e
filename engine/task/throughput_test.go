package task

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func replayThroughput(g *debloatGolden) error {
	c := NewThroughputCalculator()
	now := g.ClockStartMs * int64(time.Millisecond)
	for i, raw := range g.Steps {
		var step []any
		if err := json.Unmarshal(raw, &step); err != nil {
			return err
		}
		argument := func() int64 { return int64(step[1].(float64)) }
		switch step[0] {
		case "advance":
			now += argument() * int64(time.Millisecond)
		case "data":
			c.IncomingData(now, argument())
		case "pause":
			c.Pause(now)
		case "resume":
			c.Resume(now)
		case "calculate":
			if got := c.Calculate(now); got != argument() {
				return fmt.Errorf("step %d %s: got %d", i, raw, got)
			}
		default:
			return fmt.Errorf("step %d is unknown: %s", i, raw)
		}
	}
	return nil
}

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
