package ttl

import (
	"weir/engine/metric"
	"weir/exercises/kit"
	"weir/labs"
)

// The goal.
const (
	manyExpired = 800 // values that nobody reads
	hiddenMs    = 4000
	droppedMs   = 2000
	renewedMs   = 4000
)

func checks() []kit.Def {
	return []kit.Def{
		kit.Fair("ttl", knobs, nil),
		kit.Judge(kit.Def{ID: "read", Points: 1, Name: labs.Text{En: "A read drops what it comes upon", Zh: "读取会删掉它碰到的"}}, judgeRead),
		kit.Judge(kit.Def{ID: "hidden", Points: 3, Name: labs.Text{En: "What nobody reads is hidden, and stays", Zh: "没人读的被藏起来，但还在"}}, judgeHidden),
		kit.Judge(kit.Def{ID: "dropped", Points: 3, Needs: []string{"hidden"}, Name: labs.Text{En: "A compaction drops it", Zh: "合并把它删掉"}}, judgeDropped),
		kit.Judge(kit.Def{ID: "renewed", Points: 2, Name: labs.Text{En: "Reading alone keeps a value alive", Zh: "只靠读取让值活着"}}, judgeRenewed),
	}
}

// sum adds a reading up over the subtasks of count.
func sum(x *metric.Snapshot, read func(*metric.State) int64) int64 {
	var n int64
	for _, t := range kit.Subtasks(x, "count") {
		if t.State != nil {
			n += read(t.State)
		}
	}
	return n
}

func bytes(s *metric.State) int64  { return s.Bytes }
func behind(s *metric.State) int64 { return s.DroppedInBackground }
func byRead(s *metric.State) int64 { return s.DroppedExpired - s.DroppedInBackground }

func expired(s *metric.State) int64 {
	if s.TTL == nil {
		return 0
	}
	return max(s.TTL.Expired, 0)
}

func judgeRead(r *labs.Record) *kit.Finding {
	var most int64
	for _, x := range r.Samples {
		most = max(most, sum(x, byRead))
	}
	if most > 0 {
		return nil
	}
	return &kit.Finding{
		Expected: labs.Text{En: "A value that expired and was dropped by a read of its key.", Zh: "有值过期，并在读它的键时被删掉。"},
		Seen:     labs.Text{En: "No read dropped one.", Zh: "没有读取删掉过。"},
		Where:    labs.Text{En: "The ttl panel: dropped by reads.", Zh: "ttl 面板：由读取删除的。"},
		Try:      labs.Text{En: "Let the job run on for longer than ttlMs: half of the keys are only read.", Zh: "让作业运行超过 ttlMs：有一半的键只被读取。"},
	}
}

// hidden finds the stretches in which many values have expired and their bytes stay, and what those were.
func hidden(r *labs.Record) (list []kit.Stretch, stored []int64, most int64) {
	for _, s := range kit.Stretches(r) {
		peak := int64(0)
		for _, x := range s.Samples {
			peak = max(peak, sum(x, bytes))
			most = max(most, sum(x, expired))
		}
		if s.Hold(0, hiddenMs, func(x *metric.Snapshot) bool {
			return sum(x, expired) >= manyExpired && sum(x, bytes) >= peak*9/10
		}) != nil {
			list, stored = append(list, s), append(stored, peak)
		}
	}
	return list, stored, most
}

func judgeHidden(r *labs.Record) *kit.Finding {
	list, _, most := hidden(r)
	if len(list) > 0 {
		return nil
	}
	return &kit.Finding{
		Expected: kit.Textf("For 4 s in a row %d values that have expired and are still stored, and the bytes of state stand where they were.", "连续 4 秒有 %d 个已过期但仍存着的值，状态的字节数没有下降。", manyExpired),
		Seen:     kit.Textf("At most %d at once, or not for long enough.", "最多同时 %d 个，或者持续时间不够。", most),
		Where:    labs.Text{En: "The ttl panel: live and expired; bytes of state.", Zh: "ttl 面板：存活与过期；状态字节数。"},
		Try:      labs.Text{En: "Leave nine hundred keys alone for longer than they live.", Zh: "让九百个键闲置超过它们的寿命。"},
	}
}

func judgeDropped(r *labs.Record) *kit.Finding {
	list, stored, _ := hidden(r)
	var most int64
	for i, h := range list {
		for _, s := range kit.Stretches(r) {
			if s.FromMs < h.FromMs || s.Values.String("backend") != "lsm" || s.Values.Int("keys") != h.Values.Int("keys") {
				continue
			}
			for _, x := range s.Samples {
				most = max(most, sum(x, behind))
			}
			if s.Hold(0, droppedMs, func(x *metric.Snapshot) bool {
				return sum(x, behind) >= manyExpired && sum(x, bytes) < stored[i]/4
			}) != nil {
				return nil
			}
		}
	}
	return &kit.Finding{
		Expected: kit.Textf("With as few keys in use: on lsm %d values dropped behind the reads' backs, and for 2 s less than a quarter of the bytes.", "同样少的键在用：在 lsm 上有 %d 个值在读取之外被删掉，并且连续 2 秒字节数不到四分之一。", manyExpired),
		Seen:     kit.Textf("%d were dropped so.", "这样删掉了 %d 个。", most),
		Where:    labs.Text{En: "The ttl panel: dropped in the background.", Zh: "ttl 面板：后台删除的。"},
		Try:      labs.Text{En: "Once they have expired, ask for a compaction: nothing else looks at what nobody reads.", Zh: "等它们过期之后执行一次合并：没人读的东西，只有合并会看一眼。"},
	}
}

func judgeRenewed(r *labs.Record) *kit.Finding {
	var oldest float64
	for _, s := range kit.Stretches(r) {
		if s.Values.String("ttlUpdate") != "read" {
			continue
		}
		ttl := float64(s.Values.Int("ttlMs"))
		read := func(x *metric.Snapshot) float64 {
			return kit.Most(x, "count", func(t *metric.Subtask) float64 {
				if t.State == nil || t.State.TTL == nil {
					return 0
				}
				return float64(t.State.TTL.OldestReadMs)
			})
		}
		for _, x := range s.Samples {
			oldest = max(oldest, read(x))
		}
		if s.Hold(0, renewedMs, func(x *metric.Snapshot) bool { return read(x) > 1.5*ttl }) != nil {
			return nil
		}
	}
	return &kit.Finding{
		Expected: labs.Text{En: "With ttlUpdate read, for 4 s in a row, a read of a value that was written more than one and a half times ttlMs ago.", Zh: "ttlUpdate 为 read 时，连续 4 秒能读到写入时间超过 ttlMs 一倍半之前的值。"},
		Seen:     kit.Textf("The oldest value that was read so was %.0f ms old.", "这样读到的最老的值是 %.0f 毫秒前写入的。", oldest),
		Where:    labs.Text{En: "The ttl panel: the oldest value that was read.", Zh: "ttl 面板：读到的最老的值。"},
		Try:      labs.Text{En: "Have reads renew values, and wait for twice their time.", Zh: "让读取也续期，再等两倍的时间。"},
	}
}
