package job_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/metric"
)

// trueRates are the rows of real Flink's rates per second, by name of the run.
func trueRates(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/golden/experiments.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TrueRates struct {
			Rows []struct {
				Run       string             `json:"run"`
				PerSecond map[string]float64 `json:"perSecond"`
			} `json:"rows"`
		} `json:"trueRates"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	rows := map[string]map[string]float64{}
	for _, r := range file.TrueRates.Rows {
		rows[r.Run] = r.PerSecond
	}
	return rows
}

// TestBufferTimeouts compares the buffers that came in per second with real Flink's.
// The source of its run f1 reached 13,345 records/s.
func TestBufferTimeouts(t *testing.T) {
	flink := trueRates(t)
	for _, c := range []struct {
		run     string
		rate    float64
		timeout int
		within  float64
	}{
		{"r100", 1000, 100, 0.15}, {"r1", 1000, 1, 0.15}, {"r0", 1000, 0, 0.15}, {"r-1", 1000, -1, 0.15},
		{"f100", 20000, 100, 0.15}, {"f-1", 20000, -1, 0.15},
		// A real flusher that sleeps for 1 ms comes by every 1.1 ms or more; in fake time it comes by 1,000 times a second.
		{"f1", 13345, 1, 0.25},
		// In fake time a consumer takes each record before the next is made; a real one now and then finds two in a buffer.
		{"f0", 20000, 0, 0.22},
	} {
		t.Run(c.run, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := flagshipSettings()
				s.Transport, s.WorkMs, s.Rate, s.BufferTimeoutMs = "memory", 0, c.rate, c.timeout
				j := start(t, flagship(), s, job.Options{})
				time.Sleep(5500 * time.Millisecond)
				before := j.Snapshot()
				time.Sleep(15 * time.Second)
				snap := j.Snapshot()
				local := rate(before, snap, func(x metric.Subtask) int64 { return x.NumBuffersInLocal })
				remote := rate(before, snap, func(x metric.Subtask) int64 { return x.NumBuffersInRemote })
				x := snap.Vertices[0].Subtasks[0]
				t.Logf("%.1f local, %.1f remote buffers/s, mean fill %.4f", local, remote, x.MeanFill)
				for name, got := range map[string]float64{"numBuffersInLocal": local, "numBuffersInRemote": remote} {
					if want := flink[c.run][name]; math.Abs(got-want) > want*c.within {
						t.Errorf("%s %.1f/s, Flink %.1f", name, got, want)
					}
				}
				// What left the queues is what came in.
				if fill := 283.0 * c.rate / (local + remote) / 32768; math.Abs(x.MeanFill-fill) > fill*0.15 {
					t.Errorf("mean fill %.4f, want %.4f", x.MeanFill, fill)
				}
				j.Close()
			})
		})
	}
}

// TestLatency: a record waits for the flusher for half a timeout in the mean, and with a timeout of 0 not at all. Only
// with MeasureLatency does a record carry a stamp.
func TestLatency(t *testing.T) {
	for _, c := range []struct {
		timeout  int
		p50, max [2]float64 // ms
	}{
		{100, [2]float64{40, 60}, [2]float64{95, 105}},
		{1, [2]float64{0, 1}, [2]float64{0, 1.1}},
		{0, [2]float64{0, 0.001}, [2]float64{0, 0.001}},
		{-1, [2]float64{200, 300}, [2]float64{400, 600}},
	} {
		t.Run(fmt.Sprint(c.timeout), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := flagshipSettings()
				s.Transport, s.WorkMs, s.Rate, s.BufferTimeoutMs, s.MeasureLatency = "memory", 0, 1000, c.timeout, true
				j := start(t, flagship(), s, job.Options{})
				time.Sleep(10 * time.Second)
				snap := j.Snapshot()
				for _, x := range snap.Vertices[1].Subtasks {
					if x.LatencyMs == nil || len(x.LatencyBuckets) == 0 {
						t.Fatalf("subtask %d has no latency", x.Index)
					}
					t.Logf("subtask %d: %+v, %d buckets", x.Index, *x.LatencyMs, len(x.LatencyBuckets))
					if l := x.LatencyMs; l.P50 < c.p50[0] || l.P50 > c.p50[1] || l.Max < c.max[0] || l.Max > c.max[1] {
						t.Errorf("subtask %d: latency %+v, want a median of %v and a maximum of %v", x.Index, *l, c.p50, c.max)
					}
				}
				bytes := float64(snap.Vertices[0].Subtasks[0].NumBytesOut) / float64(snap.Vertices[0].Subtasks[0].NumRecordsOut)
				s.MeasureLatency = false
				if err := j.Apply(s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				later := j.Snapshot()
				if l := later.Vertices[1].Subtasks[0].LatencyMs; l != nil {
					t.Errorf("latency %+v is measured on", *l)
				}
				x, y := snap.Vertices[0].Subtasks[0], later.Vertices[0].Subtasks[0]
				if plain := float64(y.NumBytesOut-x.NumBytesOut) / float64(y.NumRecordsOut-x.NumRecordsOut); math.Abs(bytes-plain-8) > 0.01 {
					t.Errorf("a stamped record takes %.2f bytes, a plain one %.2f, want a difference of 8", bytes, plain)
				}
				j.Close()
			})
		})
	}
}
