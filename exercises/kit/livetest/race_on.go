//go:build race

package livetest

// Raced says that the race detector is on, with which everything is many times slower, and a run in real time says little.
const Raced = true
