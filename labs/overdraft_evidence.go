package labs

import "weir/engine/metric"

func overdraftEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"overdraft-used", Text{"The output pool lends more buffers than it has", "输出池借出的 buffer 比它自己拥有的还多"}, judgeOverdraftUsed},
		{"no-hard", Text{"With 20 overdraft buffers a fan-out of 1000 never blocks inside a record", "有 20 个透支 buffer 时，扇出 1000 不会卡在记录中间"}, judgeNoHard},
		{"hard-without", Text{"Without overdraft the same fan-out does block", "没有透支时，同样的扇出就会卡住"}, judgeHardWithout},
		{"hard-large", Text{"A fan-out of 5000 is more than the overdraft covers", "扇出 5000 超出了透支所能承担的量"}, judgeHardLarge},
		{"mail-waits", Text{"While the task is blocked inside a record, its mail waits", "任务卡在记录中间时，邮件只能等着"}, judgeMailWaits},
		{"price", Text{"A larger overdraft removes the blocking and makes checkpoints longer", "透支更多就不再卡住，但检查点会更久"}, judgeOverdraftPrice},
	}
}

// overdraftRow finds a row by what it must fulfil, measured for at least ten seconds.
func (o *observed) overdraftRow(fits func(fanOut, overdraft int64) bool) *Comparison {
	for i := range o.rows {
		r := &o.rows[i]
		fan, _ := r.Knobs["fanOut"].(int64)
		over, _ := r.Knobs["overdraftBuffers"].(int64)
		if r.Seconds >= 10 && fits(fan, over) {
			return r
		}
	}
	return nil
}

func judgeOverdraftUsed(o *observed) verdict {
	if ok, why := o.pressing(); !ok {
		return verdict{reading: why}
	}
	if o.v.Int("overdraftBuffers") == 0 || o.v.Int("fanOut") < 500 {
		return verdict{reading: say("evidence.needsOverdraft")}
	}
	usage := greatest(o.subtasksOf("source"), func(t *metric.Subtask) float64 { return t.OutPoolUsageMax })
	used := 0
	if o.row != nil {
		used, usage = o.row.OverdraftMax, max(usage, o.row.OutPoolUsageMax)
	}
	return verdict{true, usage > 1, say("evidence.overdraft", round(100*usage), used, o.v.Int("overdraftBuffers"))}
}

func judgeNoHard(o *observed) verdict {
	r := o.overdraftRow(func(fan, over int64) bool { return fan >= 500 && fan <= 1500 && over >= 20 })
	if r == nil {
		return verdict{reading: say("evidence.setFanOut", 1000, 20)}
	}
	return verdict{true, r.HardPressed < 1, say("evidence.softHard", round(r.SoftPressed), round(r.HardPressed))}
}

func judgeHardWithout(o *observed) verdict {
	r := o.overdraftRow(func(fan, over int64) bool { return fan >= 1000 && over == 0 })
	if r == nil {
		return verdict{reading: say("evidence.setFanOut", 1000, 0)}
	}
	return verdict{true, r.HardPressed >= 1, say("evidence.softHard", round(r.SoftPressed), round(r.HardPressed))}
}

func judgeHardLarge(o *observed) verdict {
	r := o.overdraftRow(func(fan, over int64) bool { return fan >= 5000 && over == 20 })
	if r == nil {
		return verdict{reading: say("evidence.setFanOut", 5000, 20)}
	}
	return verdict{true, r.HardPressed >= 100, say("evidence.softHard", round(r.SoftPressed), round(r.HardPressed))}
}

func judgeMailWaits(o *observed) verdict {
	if o.row == nil || o.row.HardPressed < 100 || o.row.Seconds < 15 {
		return verdict{reading: say("evidence.needsHard")}
	}
	return verdict{true, o.row.MailboxLatencyMs >= 500, say("evidence.mail", round(o.row.MailboxLatencyMs))}
}

func judgeOverdraftPrice(o *observed) verdict {
	few := o.overdraftRow(func(fan, over int64) bool { return fan >= 5000 && over <= 20 })
	many := o.overdraftRow(func(fan, over int64) bool { return fan >= 5000 && over >= 100 })
	if few == nil || many == nil || few.Checkpoints == 0 || many.Checkpoints == 0 {
		return verdict{reading: say("evidence.setFanOut", 5000, 200)}
	}
	holds := many.HardPressed < few.HardPressed/2 && many.CheckpointMs > few.CheckpointMs
	return verdict{true, holds, say("evidence.price", round(few.HardPressed), round(few.CheckpointMs), round(many.HardPressed), round(many.CheckpointMs))}
}
