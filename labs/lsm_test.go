package labs

import (
	"strings"
	"testing"
	"time"
)

// TestLSMLab runs the lab on one task manager until all its claims are shown, and looks at two keys.
func TestLSMLab(t *testing.T) {
	play(t, "lsm", nil, func(p *played) {
		time.Sleep(40 * time.Second)
		s := p.Snapshot()
		p.expectShown("serializes", "prefix-once", "memtable-flushed", "compacted", "few-disk-reads", "one-budget")
		v := vertexOf(t, s, "count")
		for _, x := range v.Subtasks {
			l := x.State.LSM
			if l.BudgetBytes != 4<<20 || l.MemtableLimitBytes != 512<<10 || l.Flushes < 4 || l.Compactions == 0 || len(l.Levels) != 7 {
				t.Errorf("subtask %d: %+v", x.Index, l)
			}
			// Of each record the count is read and written, and of each key the payload once.
			if l.Gets < l.PrefixBuilt || l.Puts < l.PrefixBuilt || l.WriteBytes < 8*l.Puts || len(l.States) != 2 || l.States[0].Name != "count" || l.States[0].ID != 0 {
				t.Errorf("subtask %d: accesses %+v", x.Index, l)
			}
		}
		k, err := p.LookAtKey("7", "payload", "")
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, part := range k.Parts {
			all.WriteString(part.Hex + " ")
		}
		if all.String() != "71 0001 0000000000000007 00 " || k.KeyGroup != 113 || k.Subtask != 1 || k.Range != [2]string{"71", "72"} || len(k.Flink) != 3 {
			t.Errorf("key 7: %s %+v", all.String(), k)
		}
		if k, err = p.LookAtKey("7", "", "a"); err != nil || len(k.Parts) != 5 || k.Parts[4].Hex != "0261" || k.State != "count" {
			t.Errorf("with a user key: %+v, %v", k, err)
		}
		for _, bad := range [][2]string{{"seven", ""}, {"7", "no-state"}} {
			if _, err := p.LookAtKey(bad[0], bad[1], ""); err == nil {
				t.Errorf("%v was taken", bad)
			}
		}
	})
}
