package labs

import (
	"strings"
	"testing"
	"time"

	"weir/engine/metric"
	"weir/engine/state"
)

// TestBackendsLab fills the rows of the table, makes the two mistakes, and sees what becomes of them.
func TestBackendsLab(t *testing.T) {
	play(t, "backends", map[string]any{"checkpointStorage": "memory"}, func(p *played) {
		time.Sleep(11 * time.Second)
		p.set("backend", "lsm")
		time.Sleep(11 * time.Second)
		p.set("checkpointStorage", "file")
		time.Sleep(11 * time.Second)
		p.expectShown("backend-size", "storage-place")
		heap, lsm := p.row("backend", "hashmap"), p.row("backend", "lsm")
		if heap.Checkpoints < 2 || lsm.Checkpoints < 2 || heap.CheckpointedBytes < 1_000_000 || lsm.CheckpointedBytes > 400_000 || lsm.StateBytes < lsm.CheckpointedBytes {
			t.Errorf("hashmap %+v, lsm %+v", heap, lsm)
		}
		near(t, "keyed bytes", float64(heap.KeyedBytes), float64(lsm.KeyedBytes), 0.01)

		counted := func() (n int64) {
			for _, c := range p.Snapshot().Totals.CountsByKey {
				n += c
			}
			return n
		}
		p.set("inPlaceUpdate", true)
		time.Sleep(2 * time.Second)
		before := counted()
		time.Sleep(5 * time.Second)
		if after := counted(); after != before {
			t.Errorf("lsm counted in place, from %d to %d", before, after)
		}
		p.expectShown("in-place-lost")
		p.set("backend", "hashmap")
		time.Sleep(2 * time.Second)
		before = counted()
		time.Sleep(5 * time.Second)
		if after := counted(); after < before+35_000 {
			t.Errorf("hashmap counted in place from %d to %d", before, after)
		}
		if n := stateSum(t, p.Snapshot(), func(s *metric.State) int64 { return s.InPlace.Tried }); n == 0 {
			t.Error("no change in place was looked at")
		}
		p.expectShown("in-place-kept")

		restarts := p.Snapshot().Restarts
		got, err := p.Action("touchOutsideRecord", nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.(map[string]any)["error"].(string); !strings.Contains(text, state.ErrNoCurrentKey.Error()) || !strings.HasPrefix(text, `count 0: state "count"`) {
			t.Errorf("outside a record: %q", text)
		}
		time.Sleep(2 * time.Second)
		if s := p.Snapshot(); s.State != "RUNNING" || s.Restarts != restarts {
			t.Errorf("the job is %s after %d restarts", s.State, s.Restarts)
		}
		p.expectShown("outside-record")
		l := p.Lab()
		if y := l.FlinkYAML(p.Values()); !strings.Contains(y, "state.backend.type: hashmap\n") {
			t.Errorf("configuration:\n%s", y)
		}
	})
}
