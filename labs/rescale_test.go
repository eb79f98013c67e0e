package labs

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/metric"
)

// TestRescaleLab takes the lab's job from 2 subtasks to 3, to 1, to 5 and back, on each backend, and then asks for what is
// refused. The keys of each subtask are those of real Flink.
func TestRescaleLab(t *testing.T) {
	want := map[int64][]int64{2: {510, 490}, 3: {359, 311, 330}, 1: {1000}}
	for _, backend := range []string{"hashmap", "lsm"} {
		t.Run(backend, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Start(StartOptions{Lab: "rescale", Knobs: map[string]any{"transport": "memory", "checkpointStorage": "memory", "backend": backend}})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				time.Sleep(7 * time.Second)
				var last int64
				for _, p := range []int64{2, 3, 1, 5, 2} {
					if p != 2 || last > 0 {
						if _, err := r.Action("rescale", map[string]any{"parallelism": float64(p)}); err != nil {
							t.Fatal(err)
						}
						time.Sleep(12 * time.Second)
					}
					s := r.Snapshot()
					v := vertexOf(t, s, "count")
					var keys []int64
					var restored, outside int64
					for _, x := range v.Subtasks {
						keys = append(keys, x.State.Keys)
						restored += x.State.RestoredKeys
						outside += x.State.KeysOutOfRange
					}
					if w := want[p]; len(keys) != int(p) || w != nil && !slices.Equal(keys, w) || outside != 0 || last > 0 && restored != 1000 {
						t.Errorf("%d subtasks: keys %v, want %v; %d restored, %d outside", p, keys, w, restored, outside)
					}
					newest := s.Checkpoints[0]
					if newest.ID <= last || newest.StateBytes < 50_000 {
						t.Errorf("%d subtasks: checkpoint %d of %d bytes after %d", p, newest.ID, newest.StateBytes, last)
					}
					last = newest.ID
				}
				for _, e := range r.Evidence() {
					wanted := Shown
					if e.ID == "by-files" && backend != "lsm" {
						wanted = Waiting
					}
					if e.State != wanted {
						t.Errorf("%s is %s: %s", e.ID, e.State, e.Reading.En)
					}
				}
				if _, err := r.Set(map[string]any{"maxParallelism": 256}); err == nil || !strings.Contains(err.Error(), "128") || !strings.Contains(err.Error(), "256") {
					t.Errorf("max parallelism 256: %v", err)
				}
				if s := r.Snapshot(); s.State != "RUNNING" {
					t.Errorf("the refusal left the job %s", s.State)
				}
				if _, err := r.Action("savepoint", nil); err != nil {
					t.Errorf("savepoint: %v", err)
				}
				if _, err := r.Action("failNextCheckpoint", nil); err != nil {
					t.Error(err)
				}
				if _, err := r.Action("checkpoint", nil); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
				if c := r.Snapshot().Checkpoints[0]; c.Status != "FAILED" {
					t.Errorf("checkpoint %d is %s, it was to fail", c.ID, c.Status)
				}
				other := map[string]string{"hashmap": "lsm", "lsm": "hashmap"}[backend]
				if _, err := r.Set(map[string]any{"backend": other}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(6 * time.Second)
				v := vertexOf(t, r.Snapshot(), "count")
				if a, b := v.Subtasks[0].State, v.Subtasks[1].State; a.RestoredKeys != 510 || b.RestoredKeys != 490 || a.Backend != other {
					t.Errorf("on %s: %+v %+v", other, a, b)
				}
			})
		})
	}
}

// TestRestorePaths holds the way each subtask is restored from 2 to 3 to the lesson's bounds, then from another backend, then
// to 1.
func TestRestorePaths(t *testing.T) {
	play(t, "rescale", map[string]any{"backend": "lsm"}, func(p *played) {
		time.Sleep(7 * time.Second)
		restored := func() (all []metric.Restored) {
			t.Helper()
			time.Sleep(2 * time.Second)
			v := vertexOf(t, p.Snapshot(), "count")
			for _, x := range v.Subtasks {
				if x.State == nil || x.State.Restored == nil {
					t.Fatalf("subtask %d tells nothing of its restore", x.Index)
				}
				r := *x.State.Restored
				r.Handles = slices.Clone(r.Handles)
				for i := range r.Handles {
					if h := &r.Handles[i]; h.Bytes <= 0 || h.How == "ingested" && h.Tables < 1 {
						t.Errorf("subtask %d: %+v", x.Index, h)
					}
					r.Handles[i].Bytes, r.Handles[i].Tables = 0, 0
				}
				all = append(all, r)
			}
			return all
		}
		p.set("parallelism", 3)
		first, second := [2]int{0, 64}, [2]int{64, 128}
		want := []metric.Restored{
			{Path: "clipped", Clips: [][2]int{{43, 64}}, Handles: []metric.RestoredHandle{{Subtask: 0, KeyGroups: first, Taken: [2]int{0, 43}, How: "base"}}},
			{Path: "merged", Clips: [][2]int{{86, 128}}, Handles: []metric.RestoredHandle{
				{Subtask: 0, KeyGroups: first, Taken: [2]int{43, 64}, How: "ingested"}, {Subtask: 1, KeyGroups: second, Taken: [2]int{64, 86}, How: "base"}}},
			{Path: "clipped", Clips: [][2]int{{64, 86}}, Handles: []metric.RestoredHandle{{Subtask: 1, KeyGroups: second, Taken: [2]int{86, 128}, How: "base"}}},
		}
		if got := restored(); !reflect.DeepEqual(got, want) {
			t.Errorf("2 to 3: %+v\nwant %+v", got, want)
		}
		p.set("backend", "hashmap")
		for i, r := range restored() {
			if r.Path != "read" || len(r.Handles) != 1 || r.Handles[0].Subtask != i || r.Handles[0].How != "read" {
				t.Errorf("to the other backend: subtask %d: %+v", i, r)
			}
		}
		p.set("parallelism", 1)
		if got := restored(); len(got) != 1 || len(got[0].Handles) != 3 || got[0].Handles[2].Taken != [2]int{86, 128} {
			t.Errorf("3 to 1: %+v", got)
		}
	})
}
