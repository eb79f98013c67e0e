package operator

import (
	"testing"
	"testing/synctest"
	"time"
)

// runFor takes permits for d of fake time, as a task would, and returns how many it got.
func runFor(l *limiter, d time.Duration) int {
	n := 0
	for end := time.Now().Add(d); time.Now().Before(end); {
		wait, ok := l.take()
		if ok {
			n++
			continue
		}
		time.Sleep(min(wait, time.Until(end)))
	}
	return n
}

func TestLimiterCounts(t *testing.T) {
	for _, c := range []struct {
		rate float64
		d    time.Duration
		want int
	}{
		{1, 10 * time.Second, 10},
		{3, 10 * time.Second, 30},
		{500, 10 * time.Second, 5000},
		{1000, 10 * time.Second, 10000},
		// The first at once, then 10 each ms, the last just before the end.
		{10000, 10 * time.Second, 1 + 9999*10},
		{1e6, time.Second, 1 + 999*1000},
		{0.1, 25 * time.Second, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l limiter
			l.setRate(c.rate)
			if n := runFor(&l, c.d); n != c.want {
				t.Errorf("%v records/s: %d in %v, want %d", c.rate, n, c.d, c.want)
			}
		})
	}
}

// What was not taken is saved, for one second at most, as behind a source that was back-pressured.
func TestLimiterBurst(t *testing.T) {
	for _, c := range []struct {
		blocked time.Duration
		want    int
	}{
		{200 * time.Millisecond, 200},
		{time.Second, 1000},
		{time.Minute, 1000},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l limiter
			l.setRate(1000)
			runFor(&l, 5*time.Second)
			time.Sleep(c.blocked)
			n := 0
			for {
				if _, ok := l.take(); !ok {
					break
				}
				n++
			}
			// One more falls due at the moment of looking.
			if n != c.want && n != c.want+1 {
				t.Errorf("blocked for %v: burst of %d, want %d", c.blocked, n, c.want)
			}
			if n := runFor(&l, 5*time.Second); n < 4999 || n > 5001 {
				t.Errorf("blocked for %v: then %d in 5 s", c.blocked, n)
			}
		})
	}
}

// The records of a task that is held up inside a batch of permits are not sent twice.
func TestLimiterBlockedInsideABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		l.setRate(10000)
		runFor(&l, time.Second)
		n := 0
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			for {
				if _, ok := l.take(); !ok {
					break
				}
				n++
			}
		}
		if n < 19990 || n > 20010 {
			t.Errorf("%d in 2 s, want 20000", n)
		}
	})
}

func TestLimiterChangesRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		l.setRate(100)
		if n := runFor(&l, 2*time.Second); n != 200 {
			t.Errorf("at 100: %d", n)
		}
		l.setRate(1000)
		if n := runFor(&l, 2*time.Second); n < 1999 || n > 2001 {
			t.Errorf("at 1000: %d", n)
		}
		// The same rate again, as each change of another knob brings it, changes nothing.
		n := 0
		for range 100 {
			n += runFor(&l, 10*time.Millisecond)
			l.setRate(1000)
		}
		if n < 999 || n > 1001 {
			t.Errorf("at 1000 set again and again: %d", n)
		}
		l.setRate(0)
		for range 100000 {
			if _, ok := l.take(); !ok {
				t.Fatal("unlimited: a wait")
			}
		}
		time.Sleep(time.Minute)
		l.setRate(10)
		if n := runFor(&l, 2*time.Second); n != 20 {
			t.Errorf("at 10 after unlimited: %d", n)
		}
		// A wait of 1000 s that the old rate began ends with the new rate.
		l.setRate(0.001)
		runFor(&l, 3*time.Second)
		l.setRate(100)
		if n := runFor(&l, time.Second); n < 99 || n > 101 {
			t.Errorf("at 100 after 0.001: %d", n)
		}
	})
}

// Records that are due at once go one after the other if each is to travel alone, but for those of a source that is late.
func TestLimiterAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter{alone: true}
		l.setRate(10000)
		n, last := 0, time.Now().Add(-time.Hour)
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			wait, ok := l.take()
			if !ok {
				time.Sleep(wait)
				continue
			}
			if n++; time.Since(last) < aMoment {
				t.Fatalf("record %d %v after the one before it", n, time.Since(last))
			}
			last = time.Now()
		}
		if n < 99980 || n > 100020 {
			t.Errorf("%d in 10 s, want 100000", n)
		}
		time.Sleep(200 * time.Millisecond)
		for n = 0; ; n++ {
			if _, ok := l.take(); !ok {
				break
			}
		}
		if n < 1900 || n > 2000 {
			t.Errorf("%d at once after 200 ms, want 1900 at least", n)
		}
	})
}
