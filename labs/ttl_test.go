package labs

import (
	"errors"
	"testing"
	"time"

	"weir/engine/metric"
)

// TestTTLLab leaves nine hundred keys alone: they are hidden, stay, and go by cleanup on hashmap and by compaction on lsm.
func TestTTLLab(t *testing.T) {
	for _, backend := range []string{"hashmap", "lsm"} {
		t.Run(backend, func(t *testing.T) {
			play(t, "ttl", map[string]any{"backend": backend}, func(p *played) {
				time.Sleep(14 * time.Second)
				p.set("keys", 100)
				time.Sleep(8 * time.Second)
				sum := func(read func(*metric.State) int64) int64 { return stateSum(t, p.Snapshot(), read) }
				bytes := func(s *metric.State) int64 { return s.Bytes }
				expired := sum(func(s *metric.State) int64 { return s.TTL.Expired })
				before := sum(bytes)
				if expired < 900 || before < 1_000_000 {
					t.Errorf("%d expired and %d bytes, want all that were left alone", expired, before)
				}
				if backend == "hashmap" {
					if _, err := p.Action("compact", nil); err == nil || !errors.As(err, new(*ActionError)) {
						t.Errorf("compacting the heap: %v", err)
					}
					p.set("ttlCleanupEntries", 5)
					time.Sleep(3 * time.Second)
				} else {
					got, err := p.Action("compact", nil)
					if err != nil {
						t.Fatal(err)
					}
					if n := got.(map[string]any)["dropped"].(int64); n < 1800 { // a count and a payload each
						t.Errorf("%d values dropped by the compaction", n)
					}
					time.Sleep(4 * time.Second) // the readings are a second old, the claims are judged each second
				}
				if left, n := sum(func(s *metric.State) int64 { return s.TTL.Expired }), sum(bytes); left > 100 || n > before/4 {
					t.Errorf("%d expired and %d of %d bytes are left", left, n, before)
				}
				p.set("ttlUpdate", "read")
				time.Sleep(15 * time.Second)
				p.expectShown("never-returned", "still-stored", "dropped-read", "dropped-behind", "write-renews", "read-renews")
				if n := sum(func(s *metric.State) int64 { return s.TTL.TooOld }); n != 0 {
					t.Errorf("%d expired values were given", n)
				}
			})
		})
	}
}
