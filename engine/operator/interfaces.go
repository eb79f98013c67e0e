package operator

import "weir/engine/task"

// What the package offers, as the task sees it.
var (
	_ task.Source   = (*Generator)(nil)
	_ task.Source   = (*Sequence)(nil)
	_ task.Source   = (*FileSource)(nil)
	_ task.Operator = (*Slow)(nil)
	_ task.Operator = (*KeyedCount)(nil)
	_ task.Operator = (*WindowCount)(nil)
	_ task.Operator = (*Sink)(nil)
	_ task.Operator = (*Checksum)(nil)
	_ task.Operator = (*FlatMap)(nil)
	_ task.Operator = (*Salt)(nil)
	_ task.Operator = (*PreCount)(nil)

	_ task.EventTimeSource   = (*EventSource)(nil)
	_ task.EventTimeOperator = (*WindowCount)(nil)
	_ task.WindowReporter    = (*WindowCount)(nil)

	_ task.Ticking    = (*PreCount)(nil)
	_ task.PreBarrier = (*PreCount)(nil)
)
