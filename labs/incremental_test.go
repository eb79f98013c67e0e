package labs

import (
	"testing"
	"time"

	"weir/engine/metric"
)

// newest is the newest completed checkpoint.
func newest(t *testing.T, s *metric.Snapshot) *metric.Checkpoint {
	t.Helper()
	for i := range s.Checkpoints {
		if isPeriodic(&s.Checkpoints[i]) {
			return &s.Checkpoints[i]
		}
	}
	t.Fatal("no checkpoint")
	return nil
}

// byState counts the files of a checkpoint.
func byState(c *metric.Checkpoint) map[string]int {
	n := map[string]int{}
	for _, f := range c.SharedFiles {
		n[f.State]++
	}
	return n
}

// TestIncrementalLab follows files through uploads and reuse, then loses a notification and fails a checkpoint.
func TestIncrementalLab(t *testing.T) {
	play(t, "incremental", nil, func(p *played) {
		time.Sleep(31 * time.Second)
		s := p.Snapshot()
		c := newest(t, s)
		if n := byState(c); n["reused"] == 0 || n["inlined"] == 0 || c.CheckpointedBytes >= c.StateBytes {
			t.Errorf("checkpoint %d: %v, %d of %d bytes", c.ID, n, c.CheckpointedBytes, c.StateBytes)
		}
		kept := 0
		for i := range s.Checkpoints {
			if s.Checkpoints[i].Path != "" {
				kept++
			}
		}
		if kept != 3 {
			t.Errorf("%d checkpoints are kept, want 3", kept)
		}
		// Everything is a file of its own now, so that deletions are seen.
		p.set("inlineThresholdBytes", 0)
		time.Sleep(30 * time.Second)
		p.expectShown("uploads-a-part", "inlined", "last-reference")
		if _, err := p.Action("loseNotification", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		s = p.Snapshot()
		var lost, behind *metric.Checkpoint
		for i := range s.Checkpoints {
			if s.Checkpoints[i].NotificationLost {
				lost, behind = &s.Checkpoints[i], &s.Checkpoints[i-1]
			}
		}
		if lost == nil {
			t.Fatal("no notification was lost")
		}
		for _, f := range behind.SharedFiles {
			if f.State == "reused" && f.FirstCheckpoint == lost.ID {
				t.Errorf("checkpoint %d reuses %s of checkpoint %d, of which nobody heard", behind.ID, f.Name, lost.ID)
			}
		}
		if _, err := p.Action("failNextCheckpoint", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Second)
		p.expectShown("reuse-known", "failed-deleted")
	})
}

// TestClaimMode rescales under both modes: not claimed, the first checkpoint stores everything; claimed, it refers to old files.
func TestClaimMode(t *testing.T) {
	for mode, reuses := range map[string]bool{"no_claim": false, "claim": true} {
		t.Run(mode, func(t *testing.T) {
			play(t, "rescale", map[string]any{"backend": "lsm", "inlineThresholdBytes": 0, "claimMode": mode}, func(p *played) {
				time.Sleep(7 * time.Second) // with three checkpoints so few tables lie over each other that none is compacted away
				p.set("parallelism", 3)
				time.Sleep(6 * time.Second)
				s := p.Snapshot()
				c := newest(t, s)
				if c.ID != s.RestoredCheckpointID+1 {
					t.Fatalf("checkpoint %d behind %d", c.ID, s.RestoredCheckpointID)
				}
				if n := byState(c); n["reused"] > 0 != reuses {
					t.Errorf("checkpoint %d: %v", c.ID, n)
				}
			})
		})
	}
}
