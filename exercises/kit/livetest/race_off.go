//go:build !race

package livetest

// raced says that the race detector is off.
const raced = false
