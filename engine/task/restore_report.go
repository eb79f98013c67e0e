package task

import (
	"slices"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/metric"
	"weir/engine/state/lsm"
)

// restoredFrom tells which old subtasks' state the backend was filled from and how; nil if it began empty. b is the LSM
// backend, if it is that.
func (c *Context) restoredFrom(b *lsm.Backend, files []checkpoint.IncrementalState, groups []checkpoint.KeyGroupState) *metric.Restored {
	if c.State == nil || len(files)+len(groups) == 0 {
		return nil
	}
	if b != nil && len(files) > 0 {
		return c.restoredFiles(b.Path())
	}
	r := &metric.Restored{Path: "read"}
	for i, old := range c.State.Old {
		taken := old.Intersect(c.KeyGroups)
		if taken.Size() == 0 {
			continue
		}
		h := metric.RestoredHandle{Subtask: i, KeyGroups: halfOpen(old), Taken: halfOpen(taken), How: "read"}
		for _, g := range groups {
			if taken.Contains(g.KeyGroup) {
				h.Bytes += int64(len(g.Data))
			}
		}
		r.Handles = append(r.Handles, h)
	}
	return r
}

func (c *Context) restoredFiles(p lsm.RestorePath) *metric.Restored {
	r := &metric.Restored{Path: p.Path, Clips: p.Clips}
	for _, s := range p.Sources {
		r.Handles = append(r.Handles, metric.RestoredHandle{Subtask: slices.Index(c.State.Old, s.KeyGroups), KeyGroups: halfOpen(s.KeyGroups), Taken: halfOpen(s.Taken),
			How: s.How, Tables: s.Tables, Bytes: s.Bytes})
	}
	return r
}

// halfOpen is a range as [from, to).
func halfOpen(r keygroup.Range) [2]int { return [2]int{r.First, r.Last + 1} }

// lsmReport are the figures of the tree for the Snapshot.
func lsmReport(t lsm.Stats) *metric.LSM {
	m := &metric.LSM{
		MemtableBytes: t.MemtableBytes, MemtableWritten: t.MemtableWritten, Flushes: t.Flushes, Compactions: t.Compactions, LiveBytes: t.LiveBytes, CacheBytes: t.CacheBytes,
		BudgetBytes: t.BudgetBytes, MemtableLimitBytes: t.MemtableLimitBytes, CacheHits: t.CacheHits, CacheMisses: t.CacheMisses,
		FlushedBytes: t.FlushedBytes, CompactedInBytes: t.CompactedInBytes, CompactedOutBytes: t.CompactedOutBytes, ReadAmplification: t.ReadAmplification,
		Gets: t.Gets, Puts: t.Puts, KeyBytes: t.KeyBytes, ReadBytes: t.ReadBytes, WriteBytes: t.WriteBytes, PrefixBuilt: t.PrefixBuilt,
	}
	for _, l := range t.Levels {
		m.Levels = append(m.Levels, metric.LSMLevel{Files: l.Files, Bytes: l.Bytes})
	}
	for _, s := range t.States {
		m.States = append(m.States, metric.LSMState{Name: s.Name, ID: int(s.ID), Kind: s.Kind.String(), Entries: s.Entries, Bytes: s.Bytes})
	}
	return m
}
