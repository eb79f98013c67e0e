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
	}
}
