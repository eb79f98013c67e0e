//go:build !race

package livetest

// Raced says that the race detector is off.
const Raced = false
