package labs

import (
	"weir/engine/metric"
	"weir/engine/task"
)

func backendsEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"backend-size", Text{"The backend decides how much a checkpoint writes: incremental lsm less than half of what hashmap does", "检查点写多少由后端决定：增量的 lsm 不到 hashmap 的一半"}, judgeBackendSize},
		{"storage-place", Text{"The storage decides only where it goes", "存储只决定写到哪里"}, judgeStoragePlace},
		{"in-place-kept", Text{"On hashmap a change in place is seen by the next read", "在 hashmap 上，原地修改能被下一次读取看到"}, judgeInPlaceKept},
		{"in-place-lost", Text{"On lsm it is lost", "在 lsm 上，它会丢失"}, judgeInPlaceLost},
		{"outside-record", Text{"Outside a record keyed state has no key: the access is refused", "在记录之外，键控状态没有当前键：访问被拒绝"}, judgeOutside},
	}
}

// measuredRow is the first row of such settings that has two checkpoints.
func (o *observed) measuredRow(fits func(backend, storage string, incremental bool) bool) *Comparison {
	for i := range o.rows {
		r := &o.rows[i]
		backend, _ := r.Knobs["backend"].(string)
		storage, _ := r.Knobs["checkpointStorage"].(string)
		incremental, _ := r.Knobs["incremental"].(bool)
		if r.Checkpoints >= 2 && fits(backend, storage, incremental) {
			return r
		}
	}
	return nil
}

func judgeBackendSize(o *observed) verdict {
	heap := o.measuredRow(func(b, _ string, _ bool) bool { return b == task.HashMap })
	lsm := o.measuredRow(func(b, _ string, incremental bool) bool { return b == task.LSM && incremental })
	if heap == nil || lsm == nil {
		return verdict{reading: say("evidence.bothBackends")}
	}
	return verdict{true, lsm.CheckpointedBytes < heap.CheckpointedBytes/2, say("evidence.backendSize", int64(heap.CheckpointedBytes), int64(lsm.CheckpointedBytes))}
}

func judgeStoragePlace(o *observed) verdict {
	for _, backend := range []string{task.HashMap, task.LSM} {
		in := func(storage string) *Comparison {
			return o.measuredRow(func(b, s string, incremental bool) bool {
				return b == backend && s == storage && (incremental || b == task.HashMap)
			})
		}
		file, memory := in("file"), in("memory")
		if file != nil && memory != nil {
			a, b := file.StateBytes, memory.StateBytes
			return verdict{true, a < 1.3*b && b < 1.3*a, say("evidence.storagePlace", backend, int64(a), int64(b))}
		}
	}
	return verdict{reading: say("evidence.bothStorages")}
}

func (o *observed) inPlace(backend string) (tried, kept int64, wait Message) {
	switch {
	case !o.v.Bool("inPlaceUpdate"):
		return 0, 0, say("evidence.inPlaceOn")
	case o.v.String("backend") != backend:
		return 0, 0, say("evidence.chooseBackend", backend)
	}
	tried, _ = o.sumState("count", func(s *metric.State) int64 { return inPlaceOf(s).Tried })
	kept, _ = o.sumState("count", func(s *metric.State) int64 { return inPlaceOf(s).Kept })
	if tried == 0 {
		return 0, 0, say("evidence.settling")
	}
	return tried, kept, Message{}
}

func inPlaceOf(s *metric.State) metric.InPlace {
	if s.InPlace == nil {
		return metric.InPlace{}
	}
	return *s.InPlace
}

func judgeInPlaceKept(o *observed) verdict {
	tried, kept, wait := o.inPlace(task.HashMap)
	if !wait.IsZero() {
		return verdict{reading: wait}
	}
	return verdict{true, kept == tried, say("evidence.inPlace", tried, kept)}
}

func judgeInPlaceLost(o *observed) verdict {
	tried, kept, wait := o.inPlace(task.LSM)
	if !wait.IsZero() {
		return verdict{reading: wait}
	}
	return verdict{true, kept == 0, say("evidence.inPlace", tried, kept)}
}

func judgeOutside(o *observed) verdict {
	if o.touched == "" {
		return verdict{reading: say("evidence.touch")}
	}
	return verdict{true, true, say("evidence.touched", o.touched)}
}
