package labs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestKeyGroupsRescaledWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Start(StartOptions{Lab: "key-groups", Knobs: map[string]any{"transport": "memory", "checkpointStorage": "memory"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.Sleep(10 * time.Second)
		for _, p := range []int64{3, 1, 2} {
			if _, err := r.Action("rescale", map[string]any{"parallelism": float64(p)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			v := vertexOf(t, r.Snapshot(), "count")
			var restored, outside int64
			for _, x := range v.Subtasks {
				restored += x.State.RestoredKeys
				outside += x.State.KeysOutOfRange
			}
			if int64(len(v.Subtasks)) != p || restored != 16 || outside != 0 {
				t.Errorf("%d subtasks, %d keys restored, %d outside; want %d, 16, 0", len(v.Subtasks), restored, outside, p)
			}
		}
		s := r.Snapshot()
		if n := s.Totals.CountsByKey["0"]; len(s.Totals.CountsByKey) != 16 || n < 1400 || s.TimeMs < 25_000 {
			t.Errorf("%d keys, key 0 counted %d times after %d ms", len(s.Totals.CountsByKey), n, s.TimeMs)
		}
		for _, e := range r.Evidence() {
			want := Shown
			if e.ID == "counts-add-up" {
				want = Waiting // the generator does not end
			}
			if e.State != want {
				t.Errorf("%s is %s: %s", e.ID, e.State, e.Reading.En)
			}
		}
		if got := len(r.Events()); got != 3 {
			t.Errorf("%d changes", got)
		}
	})
}

func TestKeyGroupsWithAnotherMaxParallelismCountsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Start(StartOptions{Lab: "key-groups", Knobs: map[string]any{"transport": "memory", "checkpointStorage": "memory"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.Sleep(10 * time.Second)
		if _, err := r.Set(map[string]any{"maxParallelism": 256}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		s := r.Snapshot()
		if n := s.Totals.CountsByKey["0"]; n < 100 || n > 250 || vertexOf(t, s, "count").MaxParallelism != 256 || s.TimeMs != 13_000 {
			t.Errorf("key 0 counted %d times, max parallelism %d, at %d ms", n, vertexOf(t, s, "count").MaxParallelism, s.TimeMs)
		}
		if r := r.Evidence()[1].Reading.En; !strings.Contains(r, "128") && !strings.Contains(r, "256") {
			t.Errorf("shared groups: %s", r)
		}
	})
}
