package job

import (
	"fmt"

	"weir/engine/task"
)

// checkSettings refuses what nothing else would: names that the engine does not know.
func checkSettings(s *task.Settings) error {
	if s.FlowControl != "credit" && s.FlowControl != "tcp" {
		return fmt.Errorf("flow control %q, must be one of credit, tcp", s.FlowControl)
	}
	if s.Backend != task.HashMap && s.Backend != task.LSM {
		return fmt.Errorf("state backend %q, must be one of %s, %s", s.Backend, task.HashMap, task.LSM)
	}
	if m := s.ClaimMode; m != "" && m != task.NoClaim && m != task.Claim {
		return fmt.Errorf("claim mode %q, must be one of %s, %s", m, task.NoClaim, task.Claim)
	}
	return checkRestartStrategy(s)
}
