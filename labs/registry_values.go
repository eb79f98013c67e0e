package labs

import "weir/engine/task"

// valueKnobs are those of what lies in keyed state: how long it lives, how it is changed, how it is written.
func valueKnobs() []Knob {
	return []Knob{
		intKnob(Knob{
			Name: "ttlMs", Group: "state", Min: 0, Max: 3_600_000, Unit: "ms", Scale: "log", TakesEffect: Restart, FlinkOption: "table.exec.state.ttl",
			Label: Text{"Time to live", "存活时间"},
			Help: Text{"How long a value lives after it was written. 0 is for ever. In the DataStream API this is StateTtlConfig, in SQL an option.",
				"值写入后能活多久，0 表示永远。DataStream API 里用 StateTtlConfig 设置，SQL 里是一个选项。"},
		}, func(s *task.Settings) *int { return &s.TtlMs }),
		enumKnob(Knob{
			Name: "ttlUpdate", Group: "state", Values: []string{task.TTLOnWrite, task.TTLOnRead}, TakesEffect: Restart,
			Label: Text{"Renewed by", "由什么续期"},
			Help: Text{"write: only writing a value begins its time anew. read: reading it does so too. StateTtlConfig calls them OnCreateAndWrite and OnReadAndWrite.",
				"write：只有写入才重新计时。read：读取也会。在 StateTtlConfig 里叫 OnCreateAndWrite 和 OnReadAndWrite。"},
		}, func(s *task.Settings) *string { return &s.TtlUpdate }),
		intKnob(Knob{
			Name: "ttlCleanupEntries", Group: "state", Min: 0, Max: 1000, Unit: "entries", Scale: "log", TakesEffect: Now,
			Label: Text{"Cleanup per access", "每次访问清理"},
			Help: Text{"How many other entries each access looks at, to remove those that have expired. Only hashmap does so; 0 never. Flink: cleanupIncrementally.",
				"每次访问顺带检查多少个别的条目，删掉过期的。只有 hashmap 会这样做，0 表示从不。对应 Flink 的 cleanupIncrementally。"},
		}, func(s *task.Settings) *int { return &s.TtlCleanupEntries }),
		floatKnob(Knob{
			Name: "readOnlyShare", Group: "state", Min: 0, Max: 1, TakesEffect: Now,
			Label: Text{"Keys that are only read", "只读的键"},
			Help: Text{"The share of the keys whose values are written when they begin, and only read by every later record.",
				"这部分键的值只在第一次写入，之后的每条记录都只读不写。"},
		}, func(s *task.Settings) *float64 { return &s.ReadOnlyShare }),
		boolKnob(Knob{
			Name: "inPlaceUpdate", Group: "state", TakesEffect: Now,
			Label: Text{"Change in place", "原地修改"},
			Help: Text{"The count that was read is raised where it is, and never put back. It is a mistake on purpose: whether it works depends on the backend.",
				"把读到的计数原地加一，不再写回。这是故意犯的错：有没有效果取决于后端。"},
		}, func(s *task.Settings) *bool { return &s.InPlaceUpdate }),
		boolKnob(Knob{
			Name: "snapshotCompression", Group: "state", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.snapshot-compression",
			Label: Text{"Compress snapshots", "压缩快照"},
			Help: Text{"Each key group of a full snapshot is compressed by itself. A restore reads either. The files of incremental checkpoints are compressed in any case.",
				"全量快照里的每个键组单独压缩，两种都能恢复。增量检查点的文件本来就是压缩的。"},
		}, func(s *task.Settings) *bool { return &s.SnapshotCompression }),
		longKnob(Knob{
			Name: "snapshotBytesPerSecond", Group: "state", Min: 0, Max: 1 << 30, Unit: "bytes/s", Scale: "log", TakesEffect: NextCheckpoint,
			Label: Text{"Snapshot speed", "快照写出速度"},
			Help: Text{"How fast each subtask's full snapshot is written. 0 is as fast as it goes. Weir's own: a small state then takes as long to write as a large one.",
				"每个子任务写出全量快照的速度，0 表示不限。这是 Weir 自己的旋钮：让小状态写得像大状态一样久。"},
		}, func(s *task.Settings) *int64 { return &s.SnapshotBytesPerSecond }),
	}
}
