package labs

import "weir/engine/task"

// stateKnobs are those of keyed state and of how it gets into checkpoints.
func stateKnobs() []Knob {
	return []Knob{
		enumKnob(Knob{
			Name: "backend", Group: "state", Values: []string{task.HashMap, task.LSM}, TakesEffect: Restart, FlinkOption: "state.backend.type",
			Label: Text{"State backend", "状态后端"},
			Help: Text{"hashmap keeps live values in memory. lsm keeps serialized ones in a log-structured merge tree on the local disk, as RocksDB does for Flink.",
				"hashmap 把活的对象放在内存里。lsm 把序列化后的值放在本地磁盘的 LSM 树里，相当于 Flink 的 RocksDB。"},
		}, func(s *task.Settings) *string { return &s.Backend }),
		intKnob(Knob{
			Name: "stateBytesPerKey", Group: "state", Min: 0, Max: 1 << 20, Unit: "bytes", Scale: "log", TakesEffect: Restart,
			Label: Text{"State per key", "每个键的状态"},
			Help: Text{"Characters that are kept beside the count of each new key.",
				"每个新键在计数之外还要保存的字符数。"},
		}, func(s *task.Settings) *int { return &s.StateBytesPerKey }),
		longKnob(Knob{
			Name: "memoryBudgetBytes", Group: "state", Min: 1 << 20, Max: 64 << 30, Unit: "bytes", Scale: "log", TakesEffect: Restart, FlinkOption: "taskmanager.memory.managed.size",
			Label: Text{"State memory", "状态内存"},
			Help: Text{"What the lsm state of one task manager may use for its block cache and memtables together.",
				"一个 TaskManager 上的 lsm 状态合计可用于块缓存和 memtable 的内存。"},
		}, func(s *task.Settings) *int64 { return &s.MemoryBudgetBytes }),
		boolKnob(Knob{
			Name: "incremental", Group: "state", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.incremental",
			Label: Text{"Incremental", "增量检查点"},
			Help: Text{"lsm uploads only files that no completed checkpoint has. Off, it writes everything each time; hashmap always does.",
				"lsm 只上传已完成检查点里没有的文件。关闭后每次都写全部；hashmap 总是写全部。"},
		}, func(s *task.Settings) *bool { return &s.Incremental }),
		longKnob(Knob{
			Name: "inlineThresholdBytes", Group: "checkpoints", Min: 0, Max: 1 << 20, Unit: "bytes", Scale: "log", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.data-inline-threshold",
			Label: Text{"Inline threshold", "内联阈值"},
			Help: Text{"Files shorter than this lie in the checkpoint itself and are written each time.",
				"比这更短的文件直接放进检查点，每次都要写。"},
		}, func(s *task.Settings) *int64 { return &s.InlineThresholdBytes }),
		intKnob(Knob{
			Name: "failUploadEvery", Group: "checkpoints", Min: 0, Max: 1_000_000, Scale: "log", TakesEffect: NextCheckpoint,
			Label: Text{"Fail every n-th upload", "每第 n 次上传失败"},
			Help: Text{"Of the uploads of keyed state every n-th fails, and its checkpoint with it. 0 fails none.",
				"键控状态的上传每第 n 次失败一次，所属的检查点随之失败。0 表示都不失败。"},
		}, func(s *task.Settings) *int { return &s.FailUploadEvery }),
		enumKnob(Knob{
			Name: "claimMode", Group: "checkpoints", Values: []string{task.NoClaim, task.Claim}, TakesEffect: Now, FlinkOption: "execution.state-recovery.claim-mode",
			Label: Text{"Claim mode", "认领方式"},
			Help: Text{"Of the checkpoint that a restart, a rescale or a start begins from. no_claim: it stays its owner's, so the first checkpoint behind it uploads everything. claim: it becomes the job's, whose checkpoints go on using its files and delete it once it is subsumed.",
				"针对重启、扩缩容或启动时所恢复的检查点。no_claim：它仍归原主人，之后的第一个检查点要上传全部内容。claim：它归作业所有，后续检查点继续使用它的文件，被更新的检查点取代后就删除它。"},
		}, func(s *task.Settings) *string { return &s.ClaimMode }),
		boolKnob(Knob{
			Name: "loseNotifications", Group: "checkpoints", TakesEffect: NextCheckpoint,
			Label: Text{"Lose notifications", "丢失通知"},
			Help: Text{"No task hears that a checkpoint is complete, so none may reuse its files.",
				"任务听不到检查点完成的消息，因此不能复用它的文件。"},
		}, func(s *task.Settings) *bool { return &s.LoseNotifications }),
	}
}
