package labs

import (
	"weir/engine/metric"
	"weir/engine/task"
)

func ttlEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"never-returned", Text{"No value is given that had expired", "过期的值从不返回"}, judgeNeverReturned},
		{"still-stored", Text{"A value that has expired is hidden, and still stored", "过期的值被藏起来，但仍然存着"}, judgeStillStored},
		{"dropped-read", Text{"A read that comes upon it drops it", "碰到它的读取会把它删掉"}, judgeDroppedAtRead},
		{"dropped-behind", Text{"Where nobody reads, cleanup or compaction drops it, and the bytes fall", "没人读的，由清理或合并删掉，字节随之下降"}, judgeDroppedBehind},
		{"write-renews", Text{"Renewed by writes only, a value that is only read expires", "只由写入续期时，只被读取的值会过期"}, judgeWriteRenews},
		{"read-renews", Text{"Renewed by reads too, it outlives its time", "读取也续期时，它会活过自己的期限"}, judgeReadRenews},
	}
}

func ttlOf(s *metric.State) metric.TTL {
	if s.TTL == nil {
		return metric.TTL{}
	}
	return *s.TTL
}

func (o *observed) ttl(read func(metric.TTL) int64) int64 {
	n, _ := o.sumState("count", func(s *metric.State) int64 { return read(ttlOf(s)) })
	return n
}

func (o *observed) droppedByReads() int64 {
	n, _ := o.sumState("count", func(s *metric.State) int64 { return s.DroppedExpired - s.DroppedInBackground })
	return n
}

func (o *observed) droppedBehind() int64 {
	n, _ := o.sumState("count", func(s *metric.State) int64 { return s.DroppedInBackground })
	return n
}

func judgeNeverReturned(o *observed) verdict {
	dropped := o.droppedByReads()
	if dropped == 0 {
		return verdict{reading: say("evidence.noneExpired")}
	}
	tooOld := o.ttl(func(t metric.TTL) int64 { return t.TooOld })
	return verdict{true, tooOld == 0, say("evidence.neverReturned", dropped, tooOld)}
}

func judgeStillStored(o *observed) verdict {
	expired := o.ttl(func(t metric.TTL) int64 { return max(t.Expired, 0) })
	if expired == 0 {
		return verdict{reading: say("evidence.noneExpired")}
	}
	bytes, _ := o.sumState("count", func(s *metric.State) int64 { return s.Bytes })
	return verdict{true, true, say("evidence.stillStored", expired, o.ttl(func(t metric.TTL) int64 { return max(t.Live, 0) }), bytes)}
}

func judgeDroppedAtRead(o *observed) verdict {
	dropped := o.droppedByReads()
	if dropped == 0 {
		return verdict{reading: say("evidence.noneExpired")}
	}
	return verdict{true, true, say("evidence.droppedAtRead", dropped, o.ttl(func(t metric.TTL) int64 { return t.Begun }))}
}

func judgeDroppedBehind(o *observed) verdict {
	dropped := o.droppedBehind()
	if dropped == 0 {
		return verdict{reading: say("evidence.cleanUp")}
	}
	bytes, _ := o.sumState("count", func(s *metric.State) int64 { return s.Bytes })
	return verdict{true, true, say("evidence.droppedBehind", dropped, bytes)}
}

// oldestReadOverMs is at most how long ago the reads were of which OldestReadMs is the oldest value, and somewhat more.
const oldestReadOverMs = 7000

// readsOnly tells whether there are keys that are only read, and that they were so for longer than they live.
func (o *observed) readsOnly(update string) (ttlMs int64, wait Message) {
	ttlMs = int64(o.v.Int("ttlMs"))
	switch {
	case o.v.String("ttlUpdate") != update:
		return ttlMs, say("evidence.ttlUpdate", update)
	case o.v.Float("readOnlyShare") == 0:
		return ttlMs, say("evidence.readOnlyShare")
	case o.settledMs+settleMs < ttlMs+oldestReadOverMs:
		return ttlMs, say("evidence.settling")
	}
	return ttlMs, Message{}
}

func (o *observed) oldestRead() int64 {
	return int64(greatest(o.subtasksOf("count"), func(t *metric.Subtask) float64 {
		if t.State == nil {
			return 0
		}
		return float64(ttlOf(t.State).OldestReadMs)
	}))
}

func judgeWriteRenews(o *observed) verdict {
	ttl, wait := o.readsOnly(task.TTLOnWrite)
	if !wait.IsZero() {
		return verdict{reading: wait}
	}
	if o.droppedByReads()+o.droppedBehind() == 0 {
		return verdict{reading: say("evidence.noneExpired")}
	}
	return verdict{true, o.oldestRead() <= ttl+1, say("evidence.oldestRead", o.oldestRead(), ttl)}
}

func judgeReadRenews(o *observed) verdict {
	ttl, wait := o.readsOnly(task.TTLOnRead)
	if !wait.IsZero() {
		return verdict{reading: wait}
	}
	return verdict{true, o.oldestRead() > ttl, say("evidence.oldestRead", o.oldestRead(), ttl)}
}
