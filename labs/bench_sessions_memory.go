package labs

import (
	"fmt"
	"os"
	"runtime"
)

// ResidentBytes is the memory of this process that is in RAM now; where the system has no /proc, what the Go runtime has
// from it.
func ResidentBytes() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, resident int64
		if _, err := fmt.Sscan(string(b), &size, &resident); err == nil {
			return resident * int64(os.Getpagesize())
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
