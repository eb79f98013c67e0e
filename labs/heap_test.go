package labs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"weir/engine/metric"
	"weir/engine/task"
	"weir/engine/trace"
)

// TestHeapLab looks into the maps while a snapshot is written: each state shows its own kind of copy, and afterwards nothing
// is held.
func TestHeapLab(t *testing.T) {
	play(t, "heap", nil, func(p *played) {
		time.Sleep(6 * time.Second) // a checkpoint began a second ago and takes about two: half of the keys have come since
		look := func(state string) *task.HeapView {
			v, err := p.ViewHeap(1, task.HeapQuestion{State: state, KeyGroup: 113})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		count, last, payload := look("count"), look("last"), look("payload")
		if len(count.Open) != 1 || count.Version != count.Open[0] || count.Required != count.Version || !count.CopiesOnRead {
			t.Fatalf("no snapshot is open: %+v", count)
		}
		if len(count.Live) != count.Entries || count.Entries < 4 {
			t.Errorf("%d of %d entries seen", len(count.Live), count.Entries)
		}
		copied := 0
		for _, old := range count.Old {
			for _, e := range count.Live {
				if e.Key == old.Key {
					copied++
					if e.EntryVersion != count.Version || e.ValueVersion != count.Version || old.EntryVersion >= count.Version || len(old.In) != 1 || len(e.In) != 0 {
						t.Errorf("key %s: old %+v, now %+v", e.Key, old, e)
					}
				}
			}
		}
		if copied == 0 || copied != count.Retired {
			t.Errorf("%d copies of %d old entries in count", copied, count.Retired)
		}
		// A record may have come between two looks.
		if last.Retired < copied || last.Retired > copied+1 || last.ValueCopies != 0 || last.CopiesOnRead {
			t.Errorf("last: %d old entries, %d values copied; want %d, 0", last.Retired, last.ValueCopies, copied)
		}
		if shared := count.Entries - copied; shared == 0 {
			t.Error("no entry is shared any more")
		}
		if payload.Retired != 0 || payload.EntryCopies != 0 || len(payload.Live[0].In) != 1 {
			t.Errorf("payload was copied: %+v", payload.MapReadings)
		}
		time.Sleep(3 * time.Second)
		if v := look("count"); v.Retired != 0 || len(v.Open) != 0 || v.ValueCopies == 0 {
			t.Errorf("behind the checkpoint: %+v", v.MapReadings)
		}
		if v, err := p.ViewHeap(0, task.HeapQuestion{KeyGroup: -1}); err != nil || v.State != "count" || len(v.Live) == 0 || v.KeyGroups != [2]int{0, 63} {
			t.Errorf("the first map of subtask 0: %+v %v", v, err)
		}
		if _, err := p.ViewHeap(0, task.HeapQuestion{KeyGroup: 113}); err == nil {
			t.Error("subtask 0 showed a map of subtask 1")
		}
		time.Sleep(12 * time.Second)
		// Real Flink wrote 1,058,746 bytes.
		near(t, "bytes of a full checkpoint", float64(newestCompleted(p.Snapshot()).StateBytes), 1_058_746, 0.1)
		p.expectShown("sync-short", "write-copies", "read-copies", "given-back", "full-size")
		p.set("readOnlyShare", 1.0)
		reads := func() int64 {
			var n int64
			for _, x := range vertexOf(t, p.Snapshot(), "count").Subtasks {
				n += x.State.Heap.CopiedByReads
			}
			return n
		}
		time.Sleep(time.Second)
		before := reads()
		time.Sleep(11 * time.Second)
		if after := reads(); after < before+1000 {
			t.Errorf("keys that are only read: %d copies by reads, then %d", before, after)
		}
	})
}

// TestSnapshotCompression restores what was written compressed, on either backend.
func TestSnapshotCompression(t *testing.T) {
	play(t, "heap", map[string]any{"rate": 2000, "snapshotCompression": true, "snapshotBytesPerSecond": 0}, func(p *played) {
		time.Sleep(7 * time.Second)
		// Each payload is a thousand times the same letter.
		if c := newestCompleted(p.Snapshot()); c.StateBytes > 200_000 || c.StateBytes < 10_000 {
			t.Errorf("compressed: %d bytes", c.StateBytes)
		}
		p.set("snapshotCompression", false)
		if _, err := p.Action("restart", nil); err != nil { // stops with a checkpoint that is not compressed
			t.Fatal(err)
		}
		p.set("snapshotCompression", true)
		if _, err := p.Action("restart", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		var keys, restored int64
		s := p.Snapshot()
		for _, x := range vertexOf(t, s, "count").Subtasks {
			keys += x.State.Keys
			restored += x.State.RestoredKeys
		}
		if keys != 1000 || restored != 1000 {
			t.Errorf("%d keys, %d restored", keys, restored)
		}
		var counted int64
		for _, n := range s.Totals.CountsByKey {
			counted += n
		}
		if counted < s.Totals.RecordsEmitted-500 || counted > s.Totals.RecordsEmitted+s.Totals.RecordsEmitted*3 {
			t.Errorf("%d counted", counted)
		}
	})
}

func stateSum(t *testing.T, s *metric.Snapshot, read func(*metric.State) int64) (n int64) {
	t.Helper()
	for _, x := range vertexOf(t, s, "count").Subtasks {
		n += read(x.State)
	}
	return n
}

// TestHeapTracepoints has each point of keyed state hit by name, and stops a task in the middle of a copy: its map is seen
// as it stands there.
func TestHeapTracepoints(t *testing.T) {
	play(t, "heap", map[string]any{"keys": 100}, func(p *played) {
		v := p.Tracer().Attach()
		defer v.Close()
		v.Watch(trace.BackendLoaded, trace.StateCreated, trace.KeyGroupComputed)
		if _, err := p.Action("restart", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		seen := map[string]trace.Event{}
		for _, e := range v.Events(0, 10_000) {
			name := e.Point.String()
			if f, ok := e.Field("state"); ok {
				name += " " + f.Text
			}
			if f, ok := e.Field("key"); ok {
				name += " " + f.Text
			}
			seen[name] = e
		}
		for name, want := range map[string]string{
			"backendLoaded":       `{"backend":"hashmap","operator":"count","keyGroups":"[`,
			"stateCreated count":  `{"state":"count","kind":"value","codec":"list\u003clong\u003e","backend":"hashmap","ttlMs":0}`,
			"keyGroupComputed 3":  `{"key":"3","hash":3,"group":113,"maxParallelism":128}`,
			"keyGroupComputed 13": `{"key":"13","hash":13,"group":1,"maxParallelism":128}`,
		} {
			e, ok := seen[name]
			b, err := json.Marshal(e)
			if !ok || err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s: %s, want %s", name, b, want)
			}
		}
		v.Watch()
		key3, err := trace.ParseCondition("key == 3")
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Arm(trace.EntryCopied, key3); err != nil {
			t.Fatal(err)
		}
		if _, err := p.ViewHeap(1, task.HeapQuestion{State: "count", KeyGroup: 113}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Action("checkpoint", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		stops := p.Tracer().Stopped()
		if len(stops) != 1 || stops[0].Event.Thread != "count 1" {
			t.Fatalf("stopped: %+v", stops)
		}
		by, _ := stops[0].Event.Field("by")
		at, _ := stops[0].Event.Field("mapVersion")
		view, err := p.ViewHeap(1, task.HeapQuestion{State: "count", KeyGroup: 113})
		if err != nil || !view.Stopped || len(view.Open) != 1 || int64(view.Version) != at.Num {
			t.Errorf("stopped by a %s at version %d, seen %+v, %v", by.Text, at.Num, view, err)
		}
		v.Disarm(trace.EntryCopied)
		v.ResumeAll()
		time.Sleep(2 * time.Second)
		if view, err := p.ViewHeap(1, task.HeapQuestion{State: "count", KeyGroup: 113}); err != nil || view.Stopped {
			t.Errorf("resumed: %+v %v", view, err)
		}
	})
}
