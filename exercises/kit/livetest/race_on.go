//go:build race

package livetest

// raced says that the race detector is on, with which a run in real time says little of the machine.
const raced = true
