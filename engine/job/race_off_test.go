//go:build !race

package job_test

// raced says that the race detector is off.
const raced = false
