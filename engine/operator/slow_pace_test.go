package operator

import (
	"testing"
	"testing/synctest"
	"time"
)

// Records after a sleep that took too long make good for it, and a very long one is not followed by a rush.
func TestSlowKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		w.set(1, "sleep")
		took := func(records int) time.Duration {
			start := time.Now()
			for range records {
				w.do()
			}
			return time.Since(start)
		}
		if d := took(10); d != 10*time.Millisecond {
			t.Errorf("10 records took %v", d)
		}
		w.owed = -2500 * time.Microsecond // as after a sleep that was so much too long
		if d := took(10); d != 7500*time.Microsecond {
			t.Errorf("10 records after a sleep of 2.5 ms too much took %v", d)
		}
		if w.owed != 0 {
			t.Errorf("%v are still owed", w.owed)
		}
		w.set(0.25, "sleep")
		if d := took(8); d != 2*time.Millisecond {
			t.Errorf("8 records of a quarter took %v", d)
		}
	})
}
