//go:build race

package exercises

// raced says that the race detector is on, with which everything is many times slower.
const raced = true
