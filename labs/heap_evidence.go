package labs

import "weir/engine/metric"

func heapEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"sync-short", Text{"The task stands still only for the sync phase, which notes versions and slots: less than a tenth of the async one", "任务只在同步阶段停下：它只记版本和槽位，不到异步阶段的十分之一"}, judgeSyncShort},
		{"write-copies", Text{"While a snapshot is open, a write copies the old entry first", "快照打开期间，写入会先复制旧条目"}, judgeWriteCopies},
		{"read-copies", Text{"A read copies too, entry and value: what it gives may be changed in place", "读取也会复制，条目和值都复制：读到的对象可能被原地修改"}, judgeReadCopies},
		{"given-back", Text{"When the snapshot is released, the old entries are gone", "快照释放之后，旧条目就没有了"}, judgeGivenBack},
		{"full-size", Text{"Each checkpoint writes all of the state again", "每次检查点都把全部状态重写一遍"}, judgeFullSize},
	}
}

// newestSettled is the newest completed checkpoint that was triggered once the job had settled.
func (o *observed) newestSettled() *metric.Checkpoint {
	for i := range o.s.Checkpoints {
		c := &o.s.Checkpoints[i]
		if c.Status == "COMPLETED" && c.Type == "CHECKPOINT" {
			if o.s.TimeMs-c.TriggerMs <= o.settledMs+settleMs/2 {
				return c
			}
			return nil
		}
	}
	return nil
}

func judgeSyncShort(o *observed) verdict {
	c := o.newestSettled()
	if c == nil {
		return verdict{reading: say("evidence.noCheckpoint")}
	}
	var sync, async float64
	for _, x := range c.Subtasks {
		if x.Vertex == "count" {
			sync, async = max(sync, x.SyncMs), max(async, x.AsyncMs)
		}
	}
	if async < 100 {
		return verdict{reading: say("evidence.writtenTooSoon", async)}
	}
	return verdict{true, sync < async/10, say("evidence.syncAsync", c.ID, sync, async)}
}

func heapOf(s *metric.State) metric.Heap {
	if s.Heap == nil {
		return metric.Heap{}
	}
	return *s.Heap
}

func judgeWriteCopies(o *observed) verdict {
	n, _ := o.sumState("count", func(s *metric.State) int64 { return heapOf(s).CopiedByWrites })
	if n == 0 {
		return verdict{reading: say("evidence.noCopies")}
	}
	return verdict{true, true, say("evidence.copiedByWrites", n)}
}

func judgeReadCopies(o *observed) verdict {
	n, _ := o.sumState("count", func(s *metric.State) int64 { return heapOf(s).CopiedByReads })
	if n == 0 {
		return verdict{reading: say("evidence.noCopies")}
	}
	return verdict{true, true, say("evidence.copiedByReads", n)}
}

func judgeGivenBack(o *observed) verdict {
	peak, _ := o.sumState("count", func(s *metric.State) int64 { return heapOf(s).PeakHeldEntries })
	held, _ := o.sumState("count", func(s *metric.State) int64 { return heapOf(s).HeldEntries })
	open, _ := o.sumState("count", func(s *metric.State) int64 { return int64(heapOf(s).Snapshots) })
	switch {
	case peak == 0:
		return verdict{reading: say("evidence.noCopies")}
	case open > 0:
		return verdict{reading: say("evidence.stillHeld", held)}
	}
	return verdict{true, held == 0, say("evidence.givenBack", peak, held)}
}

func judgeFullSize(o *observed) verdict {
	if o.v.Bool("snapshotCompression") {
		return verdict{reading: say("evidence.compressed")}
	}
	// A state that still grows is larger now than when its checkpoint was taken.
	var two []*metric.Checkpoint
	for i := range o.s.Checkpoints {
		if c := &o.s.Checkpoints[i]; c.Status == "COMPLETED" && c.Type == "CHECKPOINT" && len(two) < 2 {
			two = append(two, c)
		}
	}
	bytes, ok := o.sumState("count", func(s *metric.State) int64 { return s.Bytes })
	if !ok || len(two) < 2 || two[1].StateBytes < bytes*9/10 {
		return verdict{reading: say("evidence.twoCheckpoints")}
	}
	whole := two[0].CheckpointedBytes >= bytes*95/100 && two[1].CheckpointedBytes >= bytes*95/100
	return verdict{true, whole, say("evidence.fullSize", two[1].ID, two[1].CheckpointedBytes, two[0].ID, two[0].CheckpointedBytes, bytes)}
}
