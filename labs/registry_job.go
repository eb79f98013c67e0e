package labs

import "weir/engine/task"

// Limits of the job knobs: Flink's upper bound of the max parallelism, and what one machine shows well.
const (
	maxParallelismBound = 1 << 15
	parallelismBound    = 64
	taskManagersBound   = 16
)

func jobKnobs() []Knob {
	return []Knob{
		intKnob(Knob{
			Name: "parallelism", Group: "job", Min: 1, Max: parallelismBound, TakesEffect: Restart, FlinkOption: "parallelism.default",
			Label: Text{"Parallelism", "并行度"},
			Help: Text{"Subtasks of each vertex. A change hands whole key groups from one subtask to another.",
				"每个顶点的子任务数。修改后，键组会整组地从一个子任务移交给另一个。"},
		}, func(s *task.Settings) *int { return &s.Parallelism }),
		intKnob(Knob{
			Name: "maxParallelism", Group: "job", Min: 0, Max: maxParallelismBound, Scale: "log", TakesEffect: Restart, StartsEmpty: true, FlinkOption: "pipeline.max-parallelism",
			Label: Text{"Max parallelism", "最大并行度"},
			Help: Text{"The number of key groups. 0 derives it from the parallelism: 1.5 times, rounded up to a power of two, at least 128. Every key's group depends on it, so a change starts from empty state.",
				"键组的总数。0 表示由并行度推算：乘 1.5 后向上取 2 的幂，至少 128。每个键所属的组都取决于它，因此修改后从空状态开始。"},
		}, func(s *task.Settings) *int { return &s.MaxParallelism }),
		intKnob(Knob{
			Name: "taskManagers", Group: "job", Min: 1, Max: taskManagersBound, TakesEffect: Restart, FlinkOption: "minicluster.number-of-taskmanagers",
			Label: Text{"Task managers", "TaskManager 个数"},
			Help: Text{"Subtasks are dealt to them in turn. Channels inside one are local, channels between two are remote and need credit.",
				"子任务轮流分配给各个 TaskManager。同一个之内的通道是本地的，两个之间的通道是远程的，需要 credit。"},
		}, func(s *task.Settings) *int { return &s.TaskManagers }),
		boolKnob(Knob{
			Name: "chaining", Group: "job", TakesEffect: Restart, FlinkOption: "pipeline.operator-chaining.enabled",
			Label: Text{"Chaining", "算子链"},
			Help: Text{"Joins operators that need no exchange into one task. Off, each has its own task, and readings of its own.",
				"把之间不需要交换数据的算子合成一个任务。关闭后，每个算子有自己的任务和自己的读数。"},
		}, func(s *task.Settings) *bool { return &s.Chaining }),
		enumKnob(Knob{
			Name: "exchange", Group: "job", Values: []string{"hash", "rebalance", "rescale", "broadcast", "forward"}, TakesEffect: Restart,
			Label: Text{"Exchange", "数据交换方式"},
			Help: Text{"How records are dealt to the subtasks downstream: by key, in turn to all or to those near by, to every one, or straight on.",
				"记录怎样分给下游子任务：按键、轮流发给所有的或相邻的、发给每一个，或者一对一直接发。"},
		}, func(s *task.Settings) *string { return &s.Exchange }),
		enumKnob(Knob{
			Name: "restartStrategy", Group: "job", Values: []string{"none", "fixed-delay", "exponential-delay"}, TakesEffect: Now, FlinkOption: "restart-strategy.type",
			Label: Text{"Restart strategy", "重启策略"},
			Help: Text{"What follows a failure: none ends the job, the others restart it from its last checkpoint.",
				"失败之后怎么办：none 让作业结束，其余的从上一次检查点重启。"},
		}, func(s *task.Settings) *string { return &s.RestartStrategy }),
		intKnob(Knob{
			Name: "restartAttempts", Group: "job", Min: 0, Max: 1_000_000, Unit: "restarts", Scale: "log", TakesEffect: Now, FlinkOption: "restart-strategy.fixed-delay.attempts",
			Label: Text{"Restart attempts", "重启次数"},
			Help: Text{"How often fixed-delay restarts the job before it fails for good.",
				"fixed-delay 在作业最终失败之前重启多少次。"},
		}, func(s *task.Settings) *int { return &s.RestartAttempts }),
		intKnob(Knob{
			Name: "restartDelayMs", Group: "job", Min: 0, Max: 600_000, Unit: "ms", Scale: "log", TakesEffect: Now, FlinkOption: "restart-strategy.fixed-delay.delay",
			Label: Text{"Restart delay", "重启延迟"},
			Help: Text{"Time before each restart of fixed-delay, and before the first of exponential-delay.",
				"fixed-delay 每次重启之前等待的时间，也是 exponential-delay 第一次等待的时间。"},
		}, func(s *task.Settings) *int { return &s.RestartDelayMs }),
	}
}
