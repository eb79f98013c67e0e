package labs

func unalignedEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"aligned-waits", Text{"Aligned, a checkpoint waits longer than a second and stores no data in flight", "对齐时，检查点要等一秒以上，但不保存在途数据"}, judgeAlignedWaits},
		{"unaligned-quick", Text{"Unaligned, it takes less than 150 ms under the same pressure", "非对齐时，同样的压力下不到 150 毫秒"}, judgeUnalignedQuick},
		{"overtakes", Text{"Its barriers overtake buffers", "它的 barrier 会越过 buffer"}, judgeOvertakes},
		{"persists", Text{"What was overtaken is part of the checkpoint, more than 100 KB of it", "被越过的数据成了检查点的一部分，超过 100 KB"}, judgePersists},
		{"debloat-halves", Text{"Debloating makes that part less than half as large", "消胀让这部分缩小到一半以下"}, judgeDebloatHalves},
		{"timeout-between", Text{"With an aligned timeout the checkpoint ends soon after the timeout", "设了对齐超时，检查点在超时之后很快结束"}, judgeTimeoutBetween},
	}
}

// cell finds a measured row of the matrix: mode aligned, unaligned, or timeout, which is unaligned with an aligned timeout.
func (o *observed) cell(mode string, debloat bool) *Comparison {
	for i := range o.rows {
		r := &o.rows[i]
		if r.Checkpoints > 0 && r.Knobs["debloat"] == debloat && modeOf(r.Knobs) == mode {
			return r
		}
	}
	return nil
}

// modeOf names the row of the matrix.
func modeOf(knobs map[string]any) string {
	if knobs["checkpointMode"] != "unaligned" {
		return "aligned"
	}
	if ms, _ := knobs["alignedTimeoutMs"].(int64); ms > 0 {
		return "timeout"
	}
	return "unaligned"
}

func judgeAlignedWaits(o *observed) verdict {
	r := o.cell("aligned", false)
	if r == nil {
		return verdict{reading: say("evidence.needsCell", "aligned")}
	}
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	return verdict{true, r.CheckpointMs > 1000 && r.PersistedBytes == 0, say("evidence.cell", round(r.CheckpointMs), round(r.PersistedBytes))}
}

func judgeUnalignedQuick(o *observed) verdict {
	r := o.cell("unaligned", false)
	if r == nil {
		return verdict{reading: say("evidence.needsCell", "unaligned")}
	}
	return verdict{true, r.CheckpointMs < 150, say("evidence.cell", round(r.CheckpointMs), round(r.PersistedBytes))}
}

func judgeOvertakes(o *observed) verdict {
	var most int64
	for i := range o.rows {
		if modeOf(o.rows[i].Knobs) != "aligned" {
			most = max(most, o.rows[i].Overtaken)
		}
	}
	if most == 0 {
		return verdict{reading: say("evidence.needsCell", "unaligned")}
	}
	return verdict{true, true, say("evidence.overtaken", most)}
}

func judgePersists(o *observed) verdict {
	r := o.cell("unaligned", false)
	if r == nil {
		return verdict{reading: say("evidence.needsCell", "unaligned")}
	}
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	return verdict{true, r.PersistedBytes > 100_000, say("evidence.persisted", round(r.PersistedBytes/1000))}
}

func judgeDebloatHalves(o *observed) verdict {
	a, b := o.cell("unaligned", false), o.cell("unaligned", true)
	if a == nil || b == nil {
		return verdict{reading: say("evidence.bothCells")}
	}
	// The size needs a while to settle.
	return verdict{b.Checkpoints >= 2, b.PersistedBytes < a.PersistedBytes/2, say("evidence.persistedBoth", round(a.PersistedBytes/1000), round(b.PersistedBytes/1000))}
}

func judgeTimeoutBetween(o *observed) verdict {
	for i := range o.rows {
		r := &o.rows[i]
		if ms, _ := r.Knobs["alignedTimeoutMs"].(int64); r.Checkpoints > 0 && modeOf(r.Knobs) == "timeout" && ms < 1500 && r.Knobs["debloat"] == false {
			holds := r.CheckpointMs >= float64(ms) && r.CheckpointMs <= float64(ms)+300
			return verdict{true, holds, say("evidence.timeoutCell", ms, round(r.CheckpointMs), round(r.PersistedBytes/1000))}
		}
	}
	return verdict{reading: say("evidence.needsTimeout")}
}
