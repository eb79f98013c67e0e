package labs

import "weir/engine/metric"

func lsmEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"serializes", Text{"Every access turns values into bytes or back", "每次访问都要把值变成字节，或变回来"}, judgeSerializes},
		{"prefix-once", Text{"What the key gives is built once a record, however many states are asked", "不管访问几个状态，每条记录只拼一次键的部分"}, judgePrefixOnce},
		{"memtable-flushed", Text{"Writes collect in the memtable and leave it as one sorted table", "写入先积在 memtable 里，再作为一个有序的表离开"}, judgeFlushed},
		{"compacted", Text{"Compaction writes no more than it reads: what was overwritten falls away", "合并写出的不比读入的多：被覆盖的内容就此消失"}, judgeCompacted},
		{"few-disk-reads", Text{"Most reads are answered by the memtable and the cache", "多数读取由 memtable 和缓存回答"}, judgeFewDiskReads},
		{"one-budget", Text{"The stores of one task manager share one budget", "同一个 TaskManager 上的存储共用一份预算"}, judgeOneBudget},
	}
}

// lsmSum are the figures of all stores of the counting vertex.
type lsmSum struct {
	stores  int
	records int64
	metric.LSM
}

// lsm sums the stores up; ok is false until each subtask has told of its own.
func (o *observed) lsm() (sum lsmSum, ok bool) {
	subtasks := o.subtasksOf("count")
	for i := range subtasks {
		st := subtasks[i].State
		if st == nil || st.LSM == nil {
			return sum, false
		}
		sum.stores++
		sum.records += subtasks[i].NumRecordsIn
		t := st.LSM
		sum.Gets, sum.Puts, sum.PrefixBuilt = sum.Gets+t.Gets, sum.Puts+t.Puts, sum.PrefixBuilt+t.PrefixBuilt
		sum.KeyBytes, sum.ReadBytes, sum.WriteBytes = sum.KeyBytes+t.KeyBytes, sum.ReadBytes+t.ReadBytes, sum.WriteBytes+t.WriteBytes
		sum.Flushes, sum.FlushedBytes = sum.Flushes+t.Flushes, sum.FlushedBytes+t.FlushedBytes
		sum.Compactions, sum.CompactedInBytes, sum.CompactedOutBytes = sum.Compactions+t.Compactions, sum.CompactedInBytes+t.CompactedInBytes, sum.CompactedOutBytes+t.CompactedOutBytes
		sum.LiveBytes += t.LiveBytes
	}
	return sum, sum.stores > 0
}

// noLSM is what a claim about the store says without one.
func (o *observed) noLSM() verdict {
	if o.v.String("backend") != "lsm" {
		return verdict{reading: say("evidence.needsLSM")}
	}
	return verdict{reading: say("evidence.settling")}
}

// accessesJudged is from how many accesses on claims about them are judged: the figures of a task come a moment later than
// its count of records.
const accessesJudged = 50_000

func judgeSerializes(o *observed) verdict {
	t, ok := o.lsm()
	if !ok || t.Gets+t.Puts < accessesJudged {
		return o.noLSM()
	}
	keys := max(t.PrefixBuilt, 1)
	perRecord := float64(t.KeyBytes+t.ReadBytes+t.WriteBytes) / float64(keys)
	return verdict{true, t.Gets >= t.PrefixBuilt && t.Puts >= t.PrefixBuilt && t.WriteBytes >= 8*t.Puts,
		say("evidence.serialized", float64(t.Gets)/float64(keys), float64(t.Puts)/float64(keys), int64(perRecord+0.5))}
}

func judgePrefixOnce(o *observed) verdict {
	t, ok := o.lsm()
	if !ok || t.Gets+t.Puts < accessesJudged {
		return o.noLSM()
	}
	accesses := t.Gets + t.Puts
	return verdict{true, t.PrefixBuilt <= t.records+t.records/10 && accesses*10 >= t.PrefixBuilt*18, say("evidence.prefixBuilt", t.PrefixBuilt, accesses)}
}

func judgeFlushed(o *observed) verdict {
	t, ok := o.lsm()
	if !ok {
		return o.noLSM()
	}
	if t.Flushes == 0 {
		return verdict{reading: say("evidence.noFlush")}
	}
	return verdict{true, t.FlushedBytes > 0 && t.LiveBytes > 0, say("evidence.flushed", t.Flushes, (t.FlushedBytes+512)/1024)}
}

func judgeCompacted(o *observed) verdict {
	t, ok := o.lsm()
	if !ok {
		return o.noLSM()
	}
	if t.Compactions == 0 {
		return verdict{reading: say("evidence.noCompaction")}
	}
	return verdict{true, t.CompactedOutBytes <= t.CompactedInBytes, say("evidence.compacted", t.Compactions, (t.CompactedInBytes+512)/1024, (t.CompactedOutBytes+512)/1024)}
}

func judgeFewDiskReads(o *observed) verdict {
	t, ok := o.lsm()
	if !ok || t.Gets < accessesJudged/2 || t.Flushes == 0 {
		return o.noLSM()
	}
	// The cache is that of the task manager: its figures stand at each of its stores.
	_, _, misses := o.caches()
	return verdict{true, misses*10 <= t.Gets, say("evidence.diskReads", misses, t.Gets)}
}

// caches sums the caches of the task managers up.
func (o *observed) caches() (bytes, hits, misses int64) {
	seen := map[int]bool{}
	subtasks := o.subtasksOf("count")
	for i := range subtasks {
		tm := subtasks[i].TaskManager
		if st := subtasks[i].State; st != nil && st.LSM != nil && !seen[tm] {
			seen[tm] = true
			bytes, hits, misses = bytes+st.LSM.CacheBytes, hits+st.LSM.CacheHits, misses+st.LSM.CacheMisses
		}
	}
	return bytes, hits, misses
}

func judgeOneBudget(o *observed) verdict {
	if _, ok := o.lsm(); !ok {
		return o.noLSM()
	}
	type use struct {
		stores                   int
		memtables, cache, budget int64
	}
	uses := map[int]*use{}
	subtasks := o.subtasksOf("count")
	for i := range subtasks {
		u := uses[subtasks[i].TaskManager]
		if u == nil {
			u = &use{}
			uses[subtasks[i].TaskManager] = u
		}
		t := subtasks[i].State.LSM
		u.stores++
		u.memtables += t.MemtableBytes
		u.cache, u.budget = max(u.cache, t.CacheBytes), t.BudgetBytes
	}
	for tm, u := range uses {
		if u.stores > 1 {
			return verdict{true, u.memtables+u.cache <= u.budget, say("evidence.budget", tm, u.stores, u.memtables/1024, u.cache/1024, u.budget/1024)}
		}
	}
	return verdict{reading: say("evidence.oneStore")}
}
