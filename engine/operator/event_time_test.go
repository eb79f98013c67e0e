package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/task"
)

func eventSettings() *task.Settings {
	s := task.Defaults()
	s.Rate, s.Keys, s.RecordBytes = 100, 10, 0
	s.WindowMs = 1000
	return &s
}

// times reads records until the source waits for longer than a second.
func times(t *testing.T, e *EventSource, n int) (ms []int64) {
	t.Helper()
	var r serde.Record
	for len(ms) < n {
		switch status, wait := e.Next(&r); status {
		case task.Ready:
			if !r.HasTimestamp {
				t.Fatal("a record without an event time")
			}
			ms = append(ms, r.Timestamp)
		case task.Wait:
			time.Sleep(wait)
		case task.End:
			return ms
		}
	}
	return ms
}

// Event time goes on with the clock; a record comes with the same time again after a failure; the watermark stays behind
// the newest by the bound.
func TestEventSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := eventSettings()
		s.DisorderMs, s.OutOfOrdernessMs = 300, 300
		e := NewEventSource("source", 2, 0)
		if err := e.Open(contextOf(t, s, 1, 0)); err != nil {
			t.Fatal(err)
		}
		if ms, status := e.Watermark(time.Now(), false); ms != task.NoWatermark || status != serde.Active {
			t.Errorf("before the first record: %d %v", ms, status)
		}
		began := time.Now()
		times(t, e, 101)
		if d := time.Since(began); d < 1980*time.Millisecond || d > 2020*time.Millisecond {
			t.Errorf("100 intervals of half the rate took %v, want 2 s", d)
		}
		snap := e.Snapshot()
		ahead := times(t, e, 200)
		for i, ms := range ahead {
			if newest := int64(2000 + 20*(i+1)); ms > newest || ms < newest-320 {
				t.Fatalf("record %d has the time %d, the newest may be %d", i, ms, newest)
			}
		}
		if slices.IsSorted(ahead) {
			t.Error("there is no disorder")
		}
		if ms, _ := e.Watermark(time.Now(), false); ms != slices.Max(ahead)-301 {
			t.Errorf("watermark %d, newest %d", ms, slices.Max(ahead))
		}
		again := NewEventSource("source", 2, 0)
		if err := again.Restore(snap); err != nil {
			t.Fatal(err)
		}
		if err := again.Open(contextOf(t, s, 1, 0)); err != nil {
			t.Fatal(err)
		}
		if got := times(t, again, 200); !slices.Equal(got, ahead) {
			t.Error("other times after the restore")
		}
	})
}

// A silent source is idle after the timeout, not before, and not while it is back-pressured. When it sends again its event
// time is that of the clock.
func TestEventSourceIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := eventSettings()
		s.IdleTimeoutMs = 1000
		ctx := contextOf(t, s, 1, 0)
		e := NewEventSource("source-2", 2, 0)
		if err := e.Open(ctx); err != nil {
			t.Fatal(err)
		}
		last := times(t, e, 10)[9]
		status := func(pressed bool) serde.WatermarkStatus {
			_, st := e.Watermark(time.Now(), pressed)
			return st
		}
		if status(false) != serde.Active {
			t.Error("idle behind a record")
		}
		quiet := *s
		quiet.IdleInput = "source-2"
		ctx.Settings = &quiet
		e.SettingsChanged()
		var r serde.Record
		if got, wait := e.Next(&r); got != task.Wait || wait < time.Minute {
			t.Errorf("it goes on: %v %v", got, wait)
		}
		time.Sleep(900 * time.Millisecond)
		if status(false) != serde.Active {
			t.Error("idle too early")
		}
		time.Sleep(200 * time.Millisecond)
		if status(false) != serde.Idle {
			t.Error("not idle after the timeout")
		}
		if status(true) != serde.Active {
			t.Error("idle for want of buffers")
		}
		time.Sleep(5900 * time.Millisecond)
		ctx.Settings = s
		e.SettingsChanged()
		ms := times(t, e, 3)
		if ms[0] < last+6990 || ms[0] > last+7050 || ms[1]-ms[0] != 20 || ms[2]-ms[1] != 20 {
			t.Errorf("after 7 s of silence behind %d: %v", last, ms)
		}
		if status(false) != serde.Active {
			t.Error("idle though it sends")
		}
	})
}

// A subtask that was dealt no split is idle, and one with two goes by the slower.
func TestEventSourceSplits(t *testing.T) {
	s := eventSettings()
	none := NewEventSource("source", 1, 0)
	if err := none.Restore(&checkpoint.OperatorState{}); err != nil {
		t.Fatal(err)
	}
	if err := none.Open(contextOf(t, s, 3, 2)); err != nil {
		t.Fatal(err)
	}
	if ms, status := none.Watermark(time.Now(), false); ms != task.NoWatermark || status != serde.Idle {
		t.Errorf("without splits: %d %v", ms, status)
	}
	two := NewEventSource("source", 1, 0)
	a, b := newEventSplit(splitNumbers(100, 2, 0), 5e9), newEventSplit(splitNumbers(100, 2, 1), 3e9)
	if err := two.Restore(&checkpoint.OperatorState{Splits: [][]byte{a.append(nil), b.append(nil)}}); err != nil {
		t.Fatal(err)
	}
	s.Rate = 0
	if err := two.Open(contextOf(t, s, 1, 0)); err != nil {
		t.Fatal(err)
	}
	var r serde.Record
	for range 20 {
		two.Next(&r)
	}
	if ms, _ := two.Watermark(time.Now(), false); ms != 3009-1 {
		t.Errorf("watermark %d, the slower split is at 3009", ms)
	}
	if err := two.Restore(&checkpoint.OperatorState{Splits: [][]byte{{1, 2}}}); err == nil || !strings.Contains(err.Error(), "2 bytes, expected 33") {
		t.Errorf("a short split: %v", err)
	}
}

// emitted keeps the results of windows.
type emitted map[string]string

func (e emitted) Collect(r *serde.Record) error {
	e[fmt.Sprint(r.Key.Num, " at ", r.Timestamp)] = strings.Clone(r.Payload)
	return nil
}

func at(key, ms int64) *serde.Record {
	return &serde.Record{Key: serde.Key{Num: key}, Timestamp: ms, HasTimestamp: true}
}

// A window fires when the watermark reaches its last ms, not before; what comes behind is dropped and counted; state and
// timers are gone.
func TestWindowCount(t *testing.T) {
	s := eventSettings()
	ctx := contextOf(t, s, 1, 0)
	w, out := NewWindowCount(serde.Long), emitted{}
	if err := w.Open(ctx, out); err != nil {
		t.Fatal(err)
	}
	process := func(key int64, ms ...int64) {
		t.Helper()
		for _, ms := range ms {
			if err := w.Process(at(key, ms)); err != nil {
				t.Fatal(err)
			}
		}
	}
	advance := func(ms int64) {
		t.Helper()
		if err := w.AdvanceWatermark(ms); err != nil {
			t.Fatal(err)
		}
	}
	process(1, 0, 999, 1000, -1)
	process(2, 500)
	want := []metric.OpenWindow{{Start: -1000, End: 0, Keys: 1, Records: 1}, {Start: 0, End: 1000, Keys: 2, Records: 3}, {Start: 1000, End: 2000, Keys: 1, Records: 1}}
	if m := w.Windows(); !slices.Equal(m.Open, want) || m.Timers != 4 || m.Watermark != nil {
		t.Errorf("open %+v, %d timers", m.Open, m.Timers)
	}
	for _, x := range w.Windows().Next {
		if x.Time != -1 && x.Time != 999 && x.Time != 1999 {
			t.Errorf("timer %+v", x)
		}
	}
	advance(998)
	if !maps.Equal(out, emitted{"1 at -1": "-1000,0,1"}) {
		t.Errorf("at 998 there are %v", out)
	}
	process(2, 600)
	advance(999)
	if !maps.Equal(out, emitted{"1 at -1": "-1000,0,1", "1 at 999": "0,1000,2", "2 at 999": "0,1000,2"}) {
		t.Errorf("at 999 there are %v", out)
	}
	process(3, 999, 1000)
	m := w.Windows()
	if m.Late != 1 || m.NumLateRecordsDropped != 1 || m.Fired != 5 || m.Held != 2 || m.Records != 8 || m.OpenWindows != 1 || m.Timers != 2 || m.Results != 3 || *m.Watermark != 999 {
		t.Errorf("%+v", m)
	}
	if got := w.Counts(); !maps.Equal(got, map[string]int64{"1": 4, "2": 2, "3": 2}) {
		t.Errorf("counts %v", got)
	}
	// Longer windows from now on; the one that is open keeps its length.
	longer := *s
	longer.WindowMs = 5000
	ctx.Settings = &longer
	w.SettingsChanged()
	process(1, 1500, 2500)
	if m := w.Windows(); m.OpenWindows != 2 || m.Open[0].End != 5000 || m.Open[1].End != 2000 {
		t.Errorf("open %+v", m.Open)
	}
	// All of it comes back in another subtask, but for the watermark.
	state := w.Snapshot()
	again := NewWindowCount(serde.Long)
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	if err := again.Open(ctx, out); err != nil {
		t.Fatal(err)
	}
	a, b := w.Windows(), again.Windows()
	if !slices.Equal(a.Open, b.Open) || a.Timers != b.Timers || a.Fired != b.Fired || a.Late != b.Late || a.Records != b.Records || b.Watermark != nil {
		t.Errorf("before %+v, after %+v", a, b)
	}
	w = again
	advance(task.MaxWatermark)
	if m := w.Windows(); m.OpenWindows != 0 || m.Timers != 0 || m.Held != 0 || m.Fired+m.Late != m.Records || out["1 at 4999"] != "0,5000,2" {
		t.Errorf("at the end %+v, %v", m, out)
	}
	if err := w.Process(&serde.Record{}); err == nil || !strings.Contains(err.Error(), "no event time") {
		t.Errorf("a record without a time: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
