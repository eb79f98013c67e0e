package network

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/memory"
	"weir/engine/serde"
)

// Ten records of 100 bytes a second: the buffer timeout decides how late they are.
func TestBufferTimeoutDecidesDelay(t *testing.T) {
	for _, c := range []struct {
		timeout  time.Duration
		min, max time.Duration // of the longest delay
	}{
		{100 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond},
		{time.Millisecond, 0, time.Millisecond},
		{0, 0, 0},
		{-1, time.Hour, time.Hour}, // a buffer that never fills
	} {
		t.Run(fmt.Sprint(c.timeout), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if longest := longestDelay(t, c.timeout); longest < c.min || longest > c.max {
					t.Errorf("the longest delay is %v, expected %v to %v", longest, c.min, c.max)
				}
			})
		})
	}
}

// longestDelay writes 50 records at 10 a second and gives the longest time from writing to reading; an hour if nothing
// comes.
func longestDelay(t *testing.T, timeout time.Duration) time.Duration {
	global := memory.NewGlobalPool(8, 32<<10)
	pool, err := global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 8, Subpartitions: 1, MaxBuffersPerSubpartition: 10})
	if err != nil {
		t.Fatal(err)
	}
	part := NewResultPartition(PartitionID{}, 1, pool, 0)
	writer := NewRecordWriter(part, WriterOptions{Schema: textSchema})
	writer.SetFlushAlways(timeout == 0)
	wake := make(wakeUp, 1)
	view, err := part.subs[0].createView(wake)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	if timeout > 0 {
		go func() {
			tick := time.NewTicker(timeout)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					part.FlushAll()
				case <-stop:
					return
				}
			}
		}()
	}
	const records = 50
	written := make(chan time.Time, records)
	go func() {
		r := textRecord(t, 100, nil, 0)
		tick := time.NewTicker(99 * time.Millisecond) // not in step with the flushes
		defer tick.Stop()
		for range records {
			<-tick.C
			written <- time.Now()
			if err := writer.Collect(r); err != nil {
				t.Error(err)
			}
		}
	}()
	decoder := serde.NewDeserializer(textSchema)
	var longest time.Duration
	for read := 0; read < records; {
		select {
		case <-wake:
		case <-time.After(time.Hour):
			return time.Hour
		}
		for {
			p, ok, err := view.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			decoder.SetBuffer(p.Bytes)
			for r := (serde.Record{}); ; read++ {
				_, ok, err := decoder.Next(&r)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				longest = max(longest, time.Since(<-written))
			}
			p.Recycle()
		}
	}
	return longest
}
