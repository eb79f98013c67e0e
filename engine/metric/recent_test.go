package metric

import (
	"math"
	"sync"
	"testing"
	"time"
)

const second = int64(time.Second)

func TestMeterStartsFullOfZeros(t *testing.T) {
	m := NewMeter(60)
	var count int64
	for i := 1; i <= 14; i++ {
		count += 5 * 1000 // 1000 a second
		m.Update(count)
		want := min(1000, 1000*float64(i)/12)
		if math.Abs(m.Rate()-want) > 1e-9 {
			t.Errorf("after update %d: %v, want %v", i, m.Rate(), want)
		}
	}
	for range 12 {
		m.Update(count)
	}
	if m.Rate() != 0 {
		t.Errorf("after 60 s of silence: %v", m.Rate())
	}
}

func TestMeterRoundsTheSpan(t *testing.T) {
	for span, want := range map[int]float64{1: 10, 5: 10, 7: 10, 12: 5} {
		m := NewMeter(span)
		m.Update(50)
		if m.Rate() != want {
			t.Errorf("span %d: %v, want %v", span, m.Rate(), want)
		}
	}
}

func TestRecentRateFollowsWithinASecond(t *testing.T) {
	for _, step := range []int64{second / 30, second / 10, second / 3, second} {
		var r RecentRate
		var now, count int64 = 77 * second, 5
		if got := r.Observe(now, count); got != 0 {
			t.Errorf("first: %v", got)
		}
		run := func(span, perSecond int64) float64 {
			var got float64
			for end := now + span; now < end; {
				now += step
				count += perSecond * step / second
				got = r.Observe(now, count)
			}
			return got
		}
		near := func(got, want float64) bool { return math.Abs(got-want) <= want/50+1 }
		if got := run(step, 30000); !near(got, 30000) {
			t.Errorf("step %v, second reading: %v", time.Duration(step), got)
		}
		if got := run(10*second, 30000); !near(got, 30000) {
			t.Errorf("step %v, steady: %v", time.Duration(step), got)
		}
		if got := run(second+second/10, 3000); !near(got, 3000) {
			t.Errorf("step %v, one second after a change: %v", time.Duration(step), got)
		}
		if got := run(3*second, 0); got != 0 {
			t.Errorf("step %v, silence: %v", time.Duration(step), got)
		}
	}
}

// Several readers at different hertz and with clocks read out of order do not disturb each other.
func TestRecentRateManyReaders(t *testing.T) {
	var r RecentRate
	var now, count int64 = second, 0
	for range 5000 {
		now += second / 1000
		count += 20
		r.Observe(now, count)
		if got := r.Observe(now-second/500, count-40); now > 3*second && math.Abs(got-20000) > 400 {
			t.Fatalf("at %v: %v", time.Duration(now), got)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range int64(100) {
				r.Observe(now+i*second/100, count+i*200)
			}
		})
	}
	wg.Wait()
	if r.Rate() < 0 {
		t.Errorf("rate %v", r.Rate())
	}
}

func TestRecentMax(t *testing.T) {
	var m RecentMax
	now := 100 * second
	m.Observe(now, 0.9)
	if got := m.Observe(now+4*second, 0.1); got != 0.9 {
		t.Errorf("4 s later: %v", got)
	}
	if got := m.Observe(now+6*second, 0.1); got != 0.1 {
		t.Errorf("6 s later: %v", got)
	}
}

func TestHistogramQuantiles(t *testing.T) {
	var h Histogram
	now := 50 * second
	if h.Summary(now) != nil {
		t.Error("an empty histogram has a summary")
	}
	for i := range int64(1000) {
		h.Record(now, (i+1)*100*int64(time.Microsecond), 1) // 0.1 ms to 100 ms, evenly
	}
	check := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want*0.0625 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	s := h.Summary(now)
	check("p50", s.P50, 50)
	check("p95", s.P95, 95)
	check("p99", s.P99, 99)
	if s.Max != 100 || s.Count != 1000 {
		t.Errorf("max %v count %d", s.Max, s.Count)
	}
	var sum int64
	last := -1.0
	for _, b := range h.Buckets(now) {
		if b.UpToMs <= last {
			t.Errorf("bucket %v does not rise", b)
		}
		last = b.UpToMs
		sum += b.Count
	}
	if sum != 1000 {
		t.Errorf("buckets hold %d", sum)
	}
	h.Record(now+4*second, 7*int64(time.Millisecond), 1)
	if s := h.Summary(now + 5*second); s == nil || s.Max != 7 || s.Count != 1001 {
		t.Errorf("after the window: %+v", s)
	}
	if s := h.Summary(now + 60*second); s != nil {
		t.Errorf("long after: %+v", s)
	}
	h.Record(now+60*second, -5, 1)
	h.Record(now+60*second, math.MaxInt64, 2)
	if s := h.Summary(now + 60*second); s.Count != 1004 || s.P50 <= 0 {
		t.Errorf("extremes: %+v", s)
	}
}

func TestHistogramBuckets(t *testing.T) {
	for us := int64(0); us < 1<<20; us = us + us/100 + 1 {
		low, high := bucketBounds(bucketOf(us))
		if us < low || us >= high {
			t.Fatalf("%d µs is in the bucket [%d, %d)", us, low, high)
		}
	}
}

func BenchmarkHistogramRecord(b *testing.B) {
	var h Histogram
	for b.Loop() {
		h.Record(second, 123456, 1)
	}
}

func BenchmarkTimerGaugeMark(b *testing.B) {
	g := NewTimerGauge(60)
	now := second
	for b.Loop() {
		g.MarkStart(now)
		now++
		g.MarkEnd(now)
	}
}
