//go:build !unix

package labs

import (
	"runtime/metrics"
	"time"
)

// ProcessCPU is the CPU time that this process has taken, as the runtime estimates it.
func ProcessCPU() time.Duration {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	return time.Duration((s[0].Value.Float64() - s[1].Value.Float64()) * float64(time.Second))
}
