package labs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/engine/keygroup"
	"weir/engine/metric"
)

func keyGroupsEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"own-groups", Text{"Every subtask holds keys of its own groups only", "每个子任务只保存自己键组里的键"}, judgeInRange},
		{"shared-group", Text{"Different keys can share a group", "不同的键可以落在同一个键组"}, judgeShared},
		{"few-keys-skew", Text{"A few keys load the subtasks unevenly", "键很少时，各子任务的负载并不均匀"}, judgeUneven},
		{"handed-over", Text{"After a change of parallelism each key is found by its new owner", "修改并行度后，每个键都由新的拥有者接手"}, judgeHandedOver},
		{"counts-add-up", Text{"At the end of the input every record has been counted once", "读完输入时，每条记录都恰好计数一次"}, judgeExact},
	}
}

// keyed sums up the keyed state of the counting vertex.
func (o *observed) keyed() (keys, restored, outside int64) {
	for _, t := range o.subtasksOf("count") {
		if t.State != nil {
			keys += t.State.Keys
			restored += t.State.RestoredKeys
			outside += t.State.KeysOutOfRange
		}
	}
	return keys, restored, outside
}

func judgeInRange(o *observed) verdict {
	keys, _, outside := o.keyed()
	if keys == 0 {
		return verdict{reading: say("evidence.notKeyed")}
	}
	return verdict{true, outside == 0, say("evidence.inRange", keys, outside)}
}

func judgeShared(o *observed) verdict {
	counts := o.s.Totals.CountsByKey
	t, err := ParseKeyType(o.v.String("keyType"))
	if err != nil || len(counts) == 0 {
		return verdict{reading: say("evidence.notKeyed")}
	}
	maxParallelism := o.maxParallelism()
	first := map[int]string{}
	for _, key := range slices.SortedFunc(maps.Keys(counts), shorterFirst) {
		p, err := PlaceKey(t, key, maxParallelism, 1)
		if err != nil {
			continue
		}
		if other, taken := first[p.KeyGroup]; taken {
			return verdict{true, true, say("evidence.shared", other, key, p.KeyGroup, maxParallelism)}
		}
		first[p.KeyGroup] = key
	}
	return verdict{reading: say("evidence.noShared", len(counts))}
}

// shorterFirst puts numbers in their own order, not that of their digits.
func shorterFirst(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func (o *observed) maxParallelism() int {
	for i := range o.s.Vertices {
		if o.s.Vertices[i].ID == "count" && o.s.Vertices[i].MaxParallelism > 0 {
			return o.s.Vertices[i].MaxParallelism
		}
	}
	if n := o.v.Int("maxParallelism"); n > 0 {
		return n
	}
	return keygroup.DefaultMaxParallelism(o.v.Int("parallelism"))
}

func judgeUneven(o *observed) verdict {
	subtasks := o.subtasksOf("count")
	keys, _, _ := o.keyed()
	var total, most int64
	var each []string
	for i := range subtasks {
		n := subtasks[i].NumRecordsIn
		total, most = total+n, max(most, n)
		each = append(each, fmt.Sprint(n))
	}
	if keys == 0 || len(subtasks) < 2 || keys > int64(8*len(subtasks)) || total < 1000 {
		return verdict{reading: say("evidence.fewKeys")}
	}
	skew := float64(most) * float64(len(subtasks)) / float64(total)
	return verdict{true, skew >= 1.1, say("evidence.uneven", skew, strings.Join(each, ", "))}
}

func judgeHandedOver(o *observed) verdict {
	if !o.rescaled {
		return verdict{reading: say("evidence.rescale")}
	}
	_, restored, outside := o.keyed()
	if restored == 0 {
		return verdict{reading: say("evidence.settling")}
	}
	return verdict{true, outside == 0, say("evidence.handedOver", restored, outside)}
}

func judgeExact(o *observed) verdict {
	if o.s.State != "FINISHED" {
		return verdict{reading: say("evidence.notEnded")}
	}
	t := o.s.Totals
	return verdict{true, t.RecordsEmitted == t.RecordsProcessed && counted(t) == t.RecordsEmitted, say("evidence.exact", t.RecordsEmitted, t.RecordsProcessed)}
}

// counted sums the counts by key, where the snapshot has them.
func counted(t metric.Totals) int64 {
	if t.CountsByKey == nil {
		return t.RecordsEmitted
	}
	var n int64
	for _, c := range t.CountsByKey {
		n += c
	}
	return n
}
