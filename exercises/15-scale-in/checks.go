package scalein

import (
	"strings"

	"weir/engine/keygroup"
	"weir/engine/metric"
	"weir/engine/state/lsm"
	"weir/exercises/kit"
	"weir/labs"
)

func checks(q *kit.Question) []kit.Def {
	// The checkpoints are taken by hand, so that the one after the rescale comes before the trees compact what they have.
	d := kit.NewDecider(q, labs.Script{Lab: "rescale", ForMs: 7200, Knobs: map[string]any{"backend": "lsm", "checkpointIntervalMs": 0, "claimMode": "no_claim"},
		Steps: []labs.Step{
			{AtMs: 3000, Action: "checkpoint"},
			{AtMs: 4000, Action: "rescale", Args: map[string]any{"parallelism": 1}},
			{AtMs: 4200, Action: "checkpoint"},
		}})
	return []kit.Def{
		d.Choose(kit.Def{ID: "path", Points: 3, Name: labs.Text{En: "The path", Zh: "路径"}}, "path", path,
			labs.Text{En: "The two key ranges do not meet, and the new subtask wants both whole: the tables can stand side by side in one tree. Flink does so with state.backend.rocksdb.use-ingest-db-restore-mode, by clipping and ingesting column families; by default it copies the other half key by key.",
				Zh: "两个键区间不相交，新子任务又都要整份：这些表可以并排放进一棵树。Flink 打开 state.backend.rocksdb.use-ingest-db-restore-mode 时也这样做：裁剪并导入列族；默认则逐键复制另一半。"}),
		d.Choose(kit.Def{ID: "base", Points: 1, Name: labs.Text{En: "The base", Zh: "基础"}}, "base", base,
			labs.Text{En: "Both halves are wanted wholly, 64 groups each: of equals the first.", Zh: "两半都全要，各 64 个键组：一样多取第一份。"}),
		d.Choose(kit.Def{ID: "why", Points: 2, Name: labs.Text{En: "Why that one", Zh: "为什么是它"}}, "why", why,
			labs.Text{En: "Opening a handle costs the least where the least has to be cut off, so groups are counted, not bytes: RocksDBIncrementalCheckpointUtils.", Zh: "要剪掉的越少，打开的代价越小，所以数的是键组而不是字节：见 RocksDBIncrementalCheckpointUtils。"}),
		d.Number(kit.Def{ID: "restored", Points: 1, Name: labs.Text{En: "The keys", Zh: "键数"}}, "restored", "keys", 0.001,
			func(r []*labs.Record) float64 {
				var n int64
				for _, t := range kit.Subtasks(r[0].Last(), "count") {
					if t.State != nil {
						n += t.State.RestoredKeys
					}
				}
				return float64(n)
			},
			labs.Text{En: "Every key of both: no group is without an owner, and none has two.", Zh: "两份里的每个键：没有无主的键组，也没有两个主人的。"}),
		d.Choose(kit.Def{ID: "next", Points: 2, Name: labs.Text{En: "The next checkpoint", Zh: "下一次检查点"}}, "next", next,
			labs.Text{En: "With claim mode NO_CLAIM what was restored stays its owner's, and the job must not depend on its files: the first checkpoint stores everything anew, though not a byte of those tables has changed. Set claimMode to claim and look again.",
				Zh: "认领方式为 NO_CLAIM 时，恢复所用的检查点仍归原主，作业不能依赖它的文件：第一次检查点全部重新保存，尽管那些表一个字节都没变。把 claimMode 设为 claim 再看看。"}),
	}
}

func restore(r *labs.Record) string {
	for _, t := range kit.Subtasks(r.Last(), "count") {
		if t.State != nil {
			return t.State.Restore
		}
	}
	return ""
}

func path(rs []*labs.Record) (string, labs.Text) {
	text := restore(rs[0])
	seen := labs.Text{En: text + ".", Zh: text + "。"}
	switch {
	case strings.Contains(text, "key by key"):
		return "copied", seen
	case strings.Contains(text, "by reference"):
		return "reference", seen
	}
	return "read", seen
}

func base(rs []*labs.Record) (string, labs.Text) {
	text := restore(rs[0])
	for _, half := range []string{"[0,64)", "[64,128)"} {
		if strings.Contains(text, "opened "+half) {
			return half, labs.Text{En: text + ".", Zh: text + "。"}
		}
	}
	return "none", labs.Text{En: text + ".", Zh: text + "。"}
}

// why asks the engine's own rule with the halves in the other order: a rule of bytes or time would pick the same one again.
func why([]*labs.Record) (string, labs.Text) {
	low, high := keygroup.Range{First: 0, Last: 63}, keygroup.Range{First: 64, Last: 127}
	all, small := keygroup.Range{First: 0, Last: 127}, keygroup.Range{First: 64, Last: 95}
	seen := labs.Text{En: "With the halves in the other order, the other one is opened; and a half goes before a quarter.", Zh: "把两半的顺序对调，打开的就是另一半；而一半优先于四分之一。"}
	if lsm.ChooseBase([]keygroup.Range{high, low}, all, 0) == 0 && lsm.ChooseBase([]keygroup.Range{small, low}, all, 0) == 1 {
		return "groups", seen
	}
	return "bytes", seen
}

// next looks at the first checkpoint after the rescale.
func next(rs []*labs.Record) (string, labs.Text) {
	restored := rs[0].Last().RestoredCheckpointID
	for _, c := range rs[0].Checkpoints {
		if restored == 0 || c.ID <= restored || c.Status != "COMPLETED" {
			continue
		}
		own, taken, uploaded := reuse(c.SharedFiles)
		seen := kit.Textf("Checkpoint %d refers to %d stored files of the opened half and %d of the other, and uploads %d.", "检查点 %d 引用了被打开那份的 %d 个文件、另一份的 %d 个，上传 %d 个。", c.ID, own, taken, uploaded)
		switch {
		case own > 0 && taken > 0:
			return "reused", seen
		case own > 0 || taken > 0:
			return "half", seen
		}
		return "anew", seen
	}
	return "anew", labs.Text{En: "No checkpoint completed after it.", Zh: "之后没有完成的检查点。"}
}

// reuse counts the stored files that are referred to: of the base, and of what was taken in, which lies outside its folder.
func reuse(files []metric.SharedFile) (own, taken, uploaded int) {
	for _, f := range files {
		switch {
		case f.State == "uploaded":
			uploaded++
		case f.State == "reused" && strings.Contains(f.Name, "/"):
			taken++
		case f.State == "reused":
			own++
		}
	}
	return own, taken, uploaded
}
