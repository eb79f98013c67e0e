package labs

import "weir/engine/metric"

func incrementalEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"uploads-a-part", Text{"After the first, a checkpoint uploads a part of what it refers to", "第一次之后，检查点只上传它所引用内容的一部分"}, judgeUploadsPart},
		{"inlined", Text{"Small files lie in the checkpoint itself", "小文件直接放在检查点里"}, judgeInlined},
		{"last-reference", Text{"A file goes with the last kept checkpoint that refers to it, not before", "文件随最后一个引用它的保留检查点一起删除，绝不提前"}, judgeLastReference},
		{"reuse-known", Text{"Only files of a checkpoint that is known to be complete are reused", "只复用已知完成的检查点的文件"}, judgeReuseKnown},
		{"failed-deleted", Text{"The files of a failed checkpoint are deleted", "失败检查点的文件会被删除"}, judgeFailedDeleted},
	}
}

// isPeriodic tells of a checkpoint that is complete and no savepoint.
func isPeriodic(c *metric.Checkpoint) bool { return c.Status == "COMPLETED" && c.Type == "CHECKPOINT" }

func judgeUploadsPart(o *observed) verdict {
	if o.v.String("backend") != "lsm" {
		return verdict{reading: say("evidence.needsLSM")}
	}
	var uploaded, full int64
	n := 0
	for i := range o.s.Checkpoints {
		c := &o.s.Checkpoints[i]
		reuses := false
		for j := range c.SharedFiles {
			reuses = reuses || c.SharedFiles[j].State == "reused"
		}
		if isPeriodic(c) && reuses {
			uploaded, full, n = uploaded+c.CheckpointedBytes, full+c.StateBytes, n+1
		}
	}
	if n < 2 {
		return verdict{reading: say("evidence.noReuse")}
	}
	return verdict{true, uploaded*10 <= full*9, say("evidence.uploadedPart", n, (uploaded/int64(n)+512)/1024, (full/int64(n)+512)/1024)}
}

func judgeInlined(o *observed) verdict {
	limit := o.v.Settings().InlineThresholdBytes
	for i := range o.s.Checkpoints {
		c := &o.s.Checkpoints[i]
		if !isPeriodic(c) || len(c.SharedFiles) == 0 || o.settledMs < 0 {
			continue
		}
		n, largest, wrong := 0, int64(0), false
		for j := range c.SharedFiles {
			f := &c.SharedFiles[j]
			if f.State == "inlined" {
				n, largest = n+1, max(largest, f.Bytes)
			}
			wrong = wrong || f.State == "uploaded" && f.Bytes < limit || f.State == "inlined" && f.Bytes >= limit
		}
		if n == 0 {
			return verdict{reading: say("evidence.noneInlined", limit)}
		}
		return verdict{true, !wrong, say("evidence.inlined", c.ID, n, largest, limit)}
	}
	return verdict{reading: say("evidence.noCheckpoint")}
}

// gone are the files that were deleted.
func (o *observed) gone() map[string]*metric.DeletedFile {
	files := map[string]*metric.DeletedFile{}
	for i := range o.s.DeletedFiles {
		files[o.s.DeletedFiles[i].File] = &o.s.DeletedFiles[i]
	}
	return files
}

func judgeLastReference(o *observed) verdict {
	gone := o.gone()
	var last *metric.DeletedFile
	for i := range o.s.DeletedFiles {
		if d := &o.s.DeletedFiles[i]; d.Because == "subsumed" {
			last = d
			break
		}
	}
	if last == nil {
		return verdict{reading: say("evidence.noneDeleted")}
	}
	kept := 0
	for i := range o.s.Checkpoints {
		c := &o.s.Checkpoints[i]
		if !isPeriodic(c) || c.Path == "" {
			continue
		}
		for j := range c.SharedFiles {
			if f := &c.SharedFiles[j]; f.File != "" {
				kept++
				if gone[f.File] != nil {
					return verdict{true, false, say("evidence.goneTooSoon", c.ID, f.Name)}
				}
			}
		}
	}
	return verdict{true, true, say("evidence.lastReference", last.Checkpoint, kept)}
}

// judgeReuseKnown looks at the checkpoints behind one that failed, or of whose completion no task heard.
func judgeReuseKnown(o *observed) verdict {
	unknown := map[int64]bool{}
	var oldest int64
	for i := range o.s.Checkpoints {
		if c := &o.s.Checkpoints[i]; (c.Status == "FAILED" || c.NotificationLost) && c.ID > o.s.RestoredCheckpointID {
			unknown[c.ID] = true
			oldest = c.ID // they come newest first
		}
	}
	if oldest == 0 {
		return verdict{reading: say("evidence.noFault")}
	}
	reused, behind := 0, false
	for i := range o.s.Checkpoints {
		c := &o.s.Checkpoints[i]
		if !isPeriodic(c) || c.ID <= o.s.RestoredCheckpointID {
			continue
		}
		for j := range c.SharedFiles {
			f := &c.SharedFiles[j]
			if f.State != "reused" {
				continue
			}
			if unknown[f.FirstCheckpoint] {
				return verdict{true, false, say("evidence.reusedUnknown", c.ID, f.Name, f.FirstCheckpoint)}
			}
			reused++
		}
		behind = behind || c.ID > oldest
	}
	if !behind {
		return verdict{reading: say("evidence.noneBehind", oldest)}
	}
	return verdict{true, true, say("evidence.reuseKnown", reused, len(unknown))}
}

func judgeFailedDeleted(o *observed) verdict {
	failed := map[int64]bool{}
	kept := map[string]int64{}
	for i := range o.s.Checkpoints {
		c := &o.s.Checkpoints[i]
		failed[c.ID] = c.Status == "FAILED"
		if isPeriodic(c) && c.Path != "" {
			for j := range c.SharedFiles {
				kept[c.SharedFiles[j].File] = c.ID
			}
		}
	}
	n, bytes, id := 0, int64(0), int64(0)
	for i := range o.s.DeletedFiles {
		d := &o.s.DeletedFiles[i]
		if d.Because == "subsumed" || !failed[d.Checkpoint] {
			continue
		}
		if c := kept[d.File]; c != 0 {
			return verdict{true, false, say("evidence.goneTooSoon", c, d.Name)}
		}
		if id == 0 {
			id = d.Checkpoint
		}
		if d.Checkpoint == id {
			n, bytes = n+1, bytes+d.Bytes
		}
	}
	if n == 0 {
		return verdict{reading: say("evidence.noneFailed")}
	}
	return verdict{true, true, say("evidence.failedDeleted", id, n, (bytes+512)/1024)}
}
