//go:build unix

package labs

import (
	"syscall"
	"time"
)

// ProcessCPU is the CPU time that this process has taken.
func ProcessCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
