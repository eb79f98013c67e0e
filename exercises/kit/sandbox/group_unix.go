//go:build unix

package sandbox

import (
	"os/exec"
	"syscall"
)

// groupOf puts a command and all that it starts into a group of its own, which is ended as one.
func groupOf(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
