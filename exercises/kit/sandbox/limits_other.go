//go:build !linux

package sandbox

import "time"

func limitSelf() {}

func limitCompiler(int) {}

// cpuTime is not known here.
func cpuTime(int) time.Duration { return -1 }
