package labs

import "weir/engine/task"

func checkpointKnobs() []Knob {
	return []Knob{
		intKnob(Knob{
			Name: "checkpointIntervalMs", Group: "checkpoints", Min: 0, Max: 3_600_000, Unit: "ms", Scale: "log", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.interval",
			Label: Text{"Checkpoint interval", "检查点间隔"},
			Help: Text{"Time from one checkpoint's start to the next one's. 0 switches periodic checkpoints off.",
				"从一次检查点开始到下一次开始的时间。0 表示关闭周期性检查点。"},
		}, func(s *task.Settings) *int { return &s.CheckpointIntervalMs }),
		intKnob(Knob{
			Name: "checkpointTimeoutMs", Group: "checkpoints", Min: 10, Max: 86_400_000, Unit: "ms", Scale: "log", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.timeout",
			Label: Text{"Checkpoint timeout", "检查点超时"},
			Help: Text{"A checkpoint that takes longer is given up.",
				"超过这个时间的检查点会被放弃。"},
		}, func(s *task.Settings) *int { return &s.CheckpointTimeoutMs }),
		intKnob(Knob{
			Name: "minPauseMs", Group: "checkpoints", Min: 0, Max: 3_600_000, Unit: "ms", Scale: "log", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.min-pause",
			Label: Text{"Minimum pause", "最小间歇"},
			Help: Text{"Time that must pass between the end of one checkpoint and the start of the next.",
				"一次检查点结束到下一次开始之间至少要隔的时间。"},
		}, func(s *task.Settings) *int { return &s.MinPauseMs }),
		intKnob(Knob{
			Name: "toleratedFailures", Group: "checkpoints", Min: 0, Max: 1_000_000, Unit: "checkpoints", Scale: "log", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.tolerable-failed-checkpoints",
			Label: Text{"Tolerated failures", "容忍的失败次数"},
			Help: Text{"Checkpoints in a row that may fail before the job itself fails.",
				"连续失败多少次检查点之后作业才会失败。"},
		}, func(s *task.Settings) *int { return &s.ToleratedFailures }),
		intKnob(Knob{
			Name: "retainedCheckpoints", Group: "checkpoints", Min: 1, Max: 100, Unit: "checkpoints", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.num-retained",
			Label: Text{"Retained checkpoints", "保留的检查点数"},
			Help: Text{"How many completed checkpoints are kept; older ones are deleted.",
				"保留多少个已完成的检查点，更早的会被删除。"},
		}, func(s *task.Settings) *int { return &s.RetainedCheckpoints }),
		enumKnob(Knob{
			Name: "checkpointMode", Group: "checkpoints", Values: []string{"aligned", "unaligned"}, TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.unaligned.enabled",
			Label: Text{"Checkpoint mode", "检查点方式"},
			Help: Text{"aligned: barriers wait behind the data. unaligned: they overtake it, and what they pass is stored with the checkpoint.",
				"aligned：barrier 排在数据后面等。unaligned：barrier 越过数据，被越过的数据存进检查点。"},
		}, func(s *task.Settings) *string { return &s.CheckpointMode }),
		intKnob(Knob{
			Name: "alignedTimeoutMs", Group: "checkpoints", Min: 0, Max: 600_000, Unit: "ms", Scale: "log", TakesEffect: NextCheckpoint, FlinkOption: "execution.checkpointing.aligned-checkpoint-timeout",
			Label: Text{"Aligned timeout", "对齐超时"},
			Help: Text{"In unaligned mode, how long after its trigger a checkpoint stays aligned. 0 makes it unaligned at once.",
				"在非对齐方式下，检查点触发后先保持对齐多久。0 表示立刻采用非对齐。"},
		}, func(s *task.Settings) *int { return &s.AlignedTimeoutMs }),
		enumKnob(Knob{
			Name: "checkpointStorage", Group: "checkpoints", Values: []string{"file", "memory"}, TakesEffect: Restart, FlinkOption: "execution.checkpointing.storage",
			Label: Text{"Checkpoint storage", "检查点存储"},
			Help: Text{"Where checkpoints go: files, or the memory of this process.",
				"检查点写到哪里：文件，或本进程的内存。"},
		}, func(s *task.Settings) *string { return &s.CheckpointStorage }),
	}
}
