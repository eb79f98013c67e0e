package operator

import (
	"weir/engine/serde"
	"weir/engine/task"
)

// SlowSubtask is Slow in one subtask and passes records on at once in the others, so that a slow channel has fast
// neighbours.
type SlowSubtask struct {
	Slow
	slow int
}

// NewSlowSubtask makes the operator for keys of type t; subtask slow works.
func NewSlowSubtask(t serde.KeyType, slow int) *SlowSubtask {
	return &SlowSubtask{Slow: Slow{t: t}, slow: slow}
}

// Open keeps where to emit.
func (s *SlowSubtask) Open(ctx *task.Context, out task.Output) error {
	s.ctx, s.out = ctx, out
	s.SettingsChanged()
	return nil
}

// SettingsChanged applies the work from the next record on, in the slow subtask.
func (s *SlowSubtask) SettingsChanged() {
	s.Slow.SettingsChanged()
	if s.ctx.Index != s.slow {
		s.d = 0
	}
}
